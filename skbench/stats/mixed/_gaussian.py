"""Gaussian algebra of mixed models whose covariance is block diagonal.

Every array has the blocks (topics) on its first axis. A block has ``B`` latent
values ``eta ~ N(X beta, Omega)``; `Omega` is diagonal plus a constant: the interactions, and
the effect of the topic that all values of the block share.
Coefficients are independent and normal around 0, with a precision that is known, or with
one of the variances that follow those of topic and interaction. What is seen of the latent
values is a pseudo-observation ``b / W`` with noise ``1 / W + C``: `W` is its own precision, 0
where nothing was seen, and `C` the part of the noise that observations of a block share.

Arrays may have more axes in front: several sets of variances and pseudo-observations at once.
"""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed._precision import Factored, Full, Law, inverse, precision_of


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
    noisy_variance = noisy_variance[..., kinds.member, :]
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
    member, known = fit.precision.law.kinds.member, structure.design.covariance(fit.covariance)
    variance, common = fit.precision.latent_variances(known)
    slope = common[..., member, :] / fit.noisy_variance
    return fit._replace(variance=variance[..., member, :], slope=slope)


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
    W, b = (np.broadcast_to(x, (*variances.shape[:-1], *x.shape[-2:])) for x in (W, b))
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
    kinds, seen = fit.precision.law.kinds, W > 0
    own = np.where(seen, 1 / np.where(seen, W, 1), 0)
    S = kinds.of(own)[..., None] * np.eye(W.shape[-1])
    if noise is not None:
        S = S + noise.of(kinds).covariance()
    known = structure.design.covariance(fit.covariance).dense()
    precision = fit.precision.dense()
    P = precision - precision @ known @ precision
    shrinking = np.sum((S @ P) * np.swapaxes(S, -1, -2), axis=-1)
    added = np.diagonal(S, axis1=-2, axis2=-1) - 2 * shrinking
    return np.where(seen, (own * b - fit.mean) ** 2 + added[..., kinds.member, :], 0)


def _law(W, noise, variances, structure):
    """What decides the matrices of each kind of blocks: precisions, prior variances, noise."""
    own, topic = structure.own_variance(variances), structure.topic_variance(variances)
    kinds = structure.kinds
    shared = None if noise is None else noise.of(kinds)
    return Law(kinds.of(W), kinds.of(own), kinds.of(topic, -1), shared, kinds)


def _acted(values, noise, variances, structure):
    """Covariance of the latent values, plus the noise that they share, times values of blocks."""
    own, topic = structure.own_variance(variances), structure.topic_variance(variances)
    acted = own * values + topic[..., None] * values.sum(axis=-1, keepdims=True)
    return acted if noise is None else acted + noise.times(values)


def _solution(W, b, noise, variances, structure):
    """Coefficients, and the evidence."""
    design, prior, kinds = structure.design, structure.precisions(variances), structure.kinds
    precision = precision_of(_law(W, noise, variances, structure))
    information = design.information(precision, kinds)
    information = information + prior[..., None] * np.eye(prior.shape[-1])
    covariance, log_information = inverse(information)
    solved = precision.times(kinds, _values(W, b))
    pull = design.collected(solved)
    coefficients = (covariance @ pull[..., None])[..., 0]
    value = np.sum(b * _acted(solved, noise, variances, structure), axis=(-2, -1))
    value += np.sum(pull * coefficients, axis=-1) - log_information
    value -= kinds.counted(precision.log_determinant, -1).sum(axis=-1)
    value += np.sum(np.log(np.where(prior > 0, prior, 1)), axis=-1)
    return _Solution(precision, coefficients, covariance, value / 2)


def _values(W, b):
    """Of the pseudo-observations, 0 where nothing was seen."""
    return np.divide(b, W, out=np.zeros_like(b), where=W > 0)


def _traces(W, precision, known, spread, structure):
    """Traces of the kernels of topic and interaction with the precision, less the fixed part."""
    kinds = structure.kinds
    left = kinds.of(structure.own) * (precision.diagonal() - W**2 * spread)
    traces = [np.sum(kinds.counted(left, -2), axis=(-2, -1))]
    if structure.topic is not None:
        sums = precision.sums()
        left = sums.sum(axis=-1) - np.sum(sums * known.times(sums[..., None])[..., 0], axis=-1)
        traces.insert(0, np.sum(kinds.counted(kinds.of(structure.topic, -1) * left, -1), axis=-1))
    return traces


def _slopes(variances, residual, traces, solution, structure):
    """Gradient and average information of the restricted likelihood, in log variances."""
    beta, covariance = solution.coefficients, solution.covariance
    prior = structure.precisions(variances)
    pulled = [structure.own * residual]
    if structure.topic is not None:
        sums = residual.sum(axis=-1)
        pulled.insert(0, (structure.topic * sums)[..., None] + np.zeros_like(residual))
    square = [np.sum(residual * f, axis=(-2, -1)) for f in pulled]
    certain = np.diagonal(covariance, axis1=-2, axis2=-1)
    n_effects = len(pulled)
    batches = structure.batch == np.arange(variances.shape[-1] - n_effects)[:, None]
    # The design times the residual is the coefficient times its prior precision.
    pulls = [np.where(batch, prior * beta, 0) for batch in batches]
    for batch, pull in zip(batches, pulls, strict=True):
        square.append(np.sum(pull**2, axis=-1))
        traces.append(np.sum((prior - prior**2 * certain)[..., batch], axis=-1))
    pulled = np.stack(pulled)
    if pulls:
        pulled = np.concatenate([pulled, structure.design.times(np.stack(pulls))])
    seen = solution.precision.times(structure.kinds, pulled)
    fixed = np.moveaxis(structure.design.collected(seen), 0, -1)
    pulled, seen = (
        np.moveaxis(parts.reshape(*parts.shape[:-2], -1), 0, -1) for parts in (pulled, seen)
    )
    information = np.swapaxes(pulled, -1, -2) @ seen
    information = information - np.swapaxes(fixed, -1, -2) @ covariance @ fixed
    square, traces = np.stack(square, axis=-1), np.stack(traces, axis=-1)
    scale = variances[..., :, None] * variances[..., None, :]
    return 0.5 * variances * (square - traces), 0.5 * scale * information
