"""Gaussian algebra of mixed models whose covariance is block diagonal.

Every array has the blocks (topics) on its first axis. A block has ``B`` latent
values ``eta ~ N(X beta, Omega)``; `Omega` is diagonal plus a constant: the interactions, and
the effect of the topic that all values of the block share.
Coefficients are independent and normal around 0, with a precision that is known, or with
one of the variances that follow those of topic and interaction. What is seen of the latent
values is a pseudo-observation ``b / W`` with noise ``1 / W + C``: `W` is its own precision, 0
where nothing was seen, and `C` the part of the noise that observations of a block share.
"""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed._precision import Factored, Full, Law, inverse, precision_of
from skbench.stats.mixed._structure import apply


class Posterior(NamedTuple):
    """What the pseudo-observations say, given the variances.

    mean, variance : ndarray of shape (n_blocks, B), of eta; None for a variance not wanted
    noisy_mean, noisy_variance : ndarray of shape (n_blocks, B), of eta plus shared noise
    slope : ndarray of shape (n_blocks, B) or None, of eta on eta plus shared noise; None for 1
    coefficients, covariance : of the fixed effects
    gradient, information : of the restricted likelihood in the log variances
    residual : ndarray of shape (n_blocks, B), ``V^-1 (y - X beta)``
    precision : Full or Factored, ``V^-1`` of each kind, with ``V = Omega + C + 1 / W``
    log_evidence : float, see the function
    """

    mean: np.ndarray
    variance: np.ndarray | None
    noisy_mean: np.ndarray
    noisy_variance: np.ndarray
    slope: np.ndarray | None
    coefficients: np.ndarray
    covariance: np.ndarray
    gradient: np.ndarray | None
    information: np.ndarray | None
    residual: np.ndarray
    precision: Full | Factored
    log_evidence: float


class _Solution(NamedTuple):
    """What the pseudo-observations say of the coefficients; `precision` as in `Posterior`."""

    precision: Full | Factored
    coefficients: np.ndarray
    covariance: np.ndarray
    log_evidence: float


def posterior(W, b, noise, variances, structure, *, learn=True):
    """Posterior of the latent values, and the slope of the restricted likelihood.

    Parameters
    ----------
    W, b : ndarray of shape (n_blocks, B)
        Precisions of the pseudo-observations, and precisions times values.
    noise : Noise or None
        That observations share.
    variances : ndarray of shape (n_variances,)
    structure : Structure
    learn : bool, default=True
        Whether gradient and information are wanted.

    Returns
    -------
    Posterior
        Without `variance` and `slope`, where noise is shared: see `with_latent`.
    """
    kinds, design = structure.kinds, structure.design
    solution = _solution(W, b, noise, variances, structure)
    precision = solution.precision
    fixed = design.times(solution.coefficients)
    residual = precision.times(kinds, _values(W, b - W * fixed))
    mean = fixed + _acted(residual, None, variances, structure)
    known = design.covariance(solution.covariance)
    noisy_variance, spread = precision.noisy_variances(known)
    noisy_variance = noisy_variance[kinds.member]
    gradient = information = None
    if learn:
        traces = _traces(kinds.of(W), precision, known, spread, structure)
        gradient, information = _slopes(variances, residual, traces, solution, structure)
    return Posterior(
        mean=mean,
        variance=noisy_variance if noise is None else None,
        noisy_mean=mean if noise is None else mean + noise.times(residual),
        noisy_variance=noisy_variance,
        slope=None,
        coefficients=solution.coefficients,
        covariance=solution.covariance,
        gradient=gradient,
        information=information,
        residual=residual,
        precision=precision,
        log_evidence=solution.log_evidence,
    )


def with_latent(structure, fit):
    """A posterior with variance and slope of the latent values, where noise is shared.

    Parameters
    ----------
    structure : Structure
    fit : Posterior
        Of a `posterior` with this structure.

    Returns
    -------
    Posterior
    """
    if fit.precision.law.noise is None:
        return fit
    member, known = structure.kinds.member, structure.design.covariance(fit.covariance)
    variance, common = fit.precision.latent_variances(known)
    return fit._replace(variance=variance[member], slope=common[member] / fit.noisy_variance)


def log_evidence(W, b, noise, variances, structure):
    """Log restricted likelihood of the pseudo-observations, up to a function of W and b.

    Parameters
    ----------
    As in `posterior`.

    Returns
    -------
    float
        ``log int N(eta + shared noise) exp(b' x - x' W x / 2)`` over all latent
        values and coefficients; a flat prior of the coefficients counts as density 1.
    """
    return _solution(W, b, noise, variances, structure).log_evidence


def unbiased_risk(W, b, noise, fit, structure):
    """Stein's unbiased estimate of the squared error of each posterior mean.

    Parameters
    ----------
    W, b, noise, structure
        As in `posterior`.
    fit : Posterior
        Theirs.

    Returns
    -------
    ndarray of shape (n_blocks, B)
        ``(y - mean)^2 + S - 2 (S P S)`` on the diagonal, with the pseudo-observations
        ``y = b / W``, their noise ``S`` and ``P`` the inverse covariance of `y` without
        the fixed effects; 0 where nothing was seen.
    """
    kinds, seen = structure.kinds, W > 0
    own = np.where(seen, 1 / np.where(seen, W, 1), 0)
    S = kinds.of(own)[:, :, None] * np.eye(W.shape[1])
    if noise is not None:
        S = S + noise.of(kinds).covariance()
    known = structure.design.covariance(fit.covariance)
    precision = fit.precision.dense()
    P = precision - precision @ known @ precision
    shrinking = np.sum((S @ P) * np.swapaxes(S, 1, 2), axis=2)
    added = np.diagonal(S, axis1=1, axis2=2) - 2 * shrinking
    return np.where(seen, (own * b - fit.mean) ** 2 + added[kinds.member], 0)


def _law(W, noise, variances, structure):
    """What decides the matrices of each kind of blocks: precisions, prior variances, noise."""
    own, topic = structure.own_variance(variances), structure.topic_variance(variances)
    parts = map(structure.kinds.of, (W, own, topic))
    return Law(*parts, None if noise is None else noise.of(structure.kinds))


def _acted(values, noise, variances, structure):
    """Covariance of the latent values, plus the noise that they share, times values of blocks."""
    own, topic = structure.own_variance(variances), structure.topic_variance(variances)
    acted = own * values + topic[:, None] * values.sum(axis=1, keepdims=True)
    return acted if noise is None else acted + noise.times(values)


def _solution(W, b, noise, variances, structure):
    """Coefficients, and the evidence."""
    design, prior, kinds = structure.design, structure.precisions(variances), structure.kinds
    precision = precision_of(_law(W, noise, variances, structure))
    information = design.information(precision, kinds) + np.diag(prior)
    covariance, log_information = (part[0] for part in inverse(information[None]))
    solved = precision.times(kinds, _values(W, b))
    pull = design.collected(solved)
    coefficients = covariance @ pull
    value = 0.5 * np.sum(b * _acted(solved, noise, variances, structure))
    value += 0.5 * (pull @ coefficients - log_information)
    value -= 0.5 * kinds.counted(precision.log_determinant).sum()
    value += 0.5 * np.sum(np.log(prior[prior > 0]))
    return _Solution(precision, coefficients, covariance, float(value))


def _values(W, b):
    """Of the pseudo-observations, 0 where nothing was seen."""
    return np.divide(b, W, out=np.zeros_like(b), where=W > 0)


def _traces(W, precision, known, spread, structure):
    """Traces of the kernels of topic and interaction with the precision, less the fixed part."""
    kinds = structure.kinds
    left = precision.diagonal() - W**2 * spread
    traces = [np.sum(kinds.counted(kinds.of(structure.own) * left))]
    if structure.topic is not None:
        sums = precision.sums()
        fixed = np.sum(sums * apply(known, sums), axis=1)
        traces.insert(
            0, np.sum(kinds.counted(kinds.of(structure.topic) * (sums.sum(axis=1) - fixed)))
        )
    return traces


def _slopes(variances, residual, traces, solution, structure):
    """Gradient and average information of the restricted likelihood, in log variances."""
    beta, covariance = solution.coefficients, solution.covariance
    prior = structure.precisions(variances)
    sums = residual.sum(axis=1, keepdims=True)
    pulled = [structure.own * residual]
    if structure.topic is not None:
        pulled.insert(0, structure.topic[:, None] * np.broadcast_to(sums, residual.shape))
    square = [np.sum(residual * f) for f in pulled]
    for number in range(len(variances) - len(pulled)):
        batch = structure.batch == number
        # The design times the residual is the coefficient times its prior precision.
        pull = np.where(batch, prior * beta, 0)
        pulled.append(structure.design.times(pull))
        square.append(pull @ pull)
        traces.append(np.sum((prior - prior**2 * np.diag(covariance))[batch]))
    pulled = np.stack(pulled, axis=2)
    seen = solution.precision.times(structure.kinds, pulled)
    fixed = structure.design.collected(seen)
    information = np.tensordot(pulled, seen, axes=((0, 1), (0, 1))) - fixed.T @ covariance @ fixed
    gradient = 0.5 * variances * (np.array(square) - traces)
    return gradient, 0.5 * np.outer(variances, variances) * information
