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
from scipy.linalg import lapack

from skbench.stats.mixed._structure import Noise, apply

_SMALL = 48  # size up to which matrices are inverted all at once
_ENTRIES = 100_000  # of the matrices that are worked on at a time
_FAINT = 1e-4  # precision times variance below which ``1 - (1 - small)`` would lose digits


class Posterior(NamedTuple):
    """What the pseudo-observations say, given the variances.

    mean, variance : ndarray of shape (n_blocks, B), of eta; None for a variance not wanted
    noisy_mean, noisy_variance : ndarray of shape (n_blocks, B), of eta plus shared noise
    slope : ndarray of shape (n_blocks, B) or None, of eta on eta plus shared noise; None for 1
    coefficients, covariance : of the fixed effects
    gradient, information : of the restricted likelihood in the log variances
    residual : ndarray of shape (n_blocks, B), ``V^-1 (y - X beta)``
    precision : ndarray of shape (n_kinds, B, B), ``V^-1`` with ``V = Omega + C + 1 / W``
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
    precision: np.ndarray
    log_evidence: float


class _Solution(NamedTuple):
    """What the pseudo-observations say of the coefficients; `precision` as in `Posterior`."""

    precision: np.ndarray
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
    residual = _solved(W, b - W * fixed, precision, kinds)
    mean = fixed + _acted(residual, None, variances, structure)
    known = design.covariance(solution.covariance)
    law = _law(W, noise, variances, structure)
    noisy_variance, spread = _in_parts(_noisy_variances, *law, precision, known)
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


def with_latent(W, noise, variances, structure, fit):
    """A posterior with variance and slope of the latent values, where noise is shared.

    Parameters
    ----------
    W, noise, variances, structure
        As in `posterior`.
    fit : Posterior
        Theirs.

    Returns
    -------
    Posterior
    """
    if noise is None:
        return fit
    member, known = structure.kinds.member, structure.design.covariance(fit.covariance)
    law = _law(W, noise, variances, structure)
    variance, common = _in_parts(_latent_variances, *law, fit.precision, known)
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
        S = S + Noise(*map(kinds.of, noise)).covariance()
    known = structure.design.covariance(fit.covariance)
    P = fit.precision - _product(fit.precision, known) @ fit.precision
    shrinking = np.sum((S @ P) * np.swapaxes(S, 1, 2), axis=2)
    added = np.diagonal(S, axis1=1, axis2=2) - 2 * shrinking
    return np.where(seen, (own * b - fit.mean) ** 2 + added[kinds.member], 0)


def _law(W, noise, variances, structure):
    """What decides the matrices of each kind of blocks: precisions, prior variances, noise."""
    own, topic = structure.own_variance(variances), structure.topic_variance(variances)
    parts = W, own, topic, *((None, None) if noise is None else noise)
    return [None if part is None else structure.kinds.of(part) for part in parts]


def _in_parts(function, W, *arrays):
    """Results for a few blocks after the other: three times faster where caches are too small."""
    step = max(1, _ENTRIES // W.shape[1] ** 2)
    if len(W) <= step:
        return function(W, *arrays)
    parts = [
        function(*(x if x is None or len(x) == 1 else x[at : at + step] for x in (W, *arrays)))
        for at in range(0, len(W), step)
    ]
    return [np.concatenate(results) for results in zip(*parts, strict=True)]


def _total(own, topic, scale, shared):
    """Covariance of the latent values plus the noise that they share."""
    size = own.shape[1]
    if scale is None:
        total = np.zeros((max(len(own), len(topic)), size, size))
    else:
        total = Noise(scale, shared).covariance()
    total += topic[:, None, None]
    diagonal = np.arange(size)
    total[:, diagonal, diagonal] += own
    return total


def _precisions(W, own, topic, scale, shared):
    """``V^-1``, and the log determinants of ``1 + W^1/2 (V - 1 / W) W^1/2``."""
    root = np.sqrt(W)
    if scale is None:
        inner, log_determinant = _inverse_of_sum(1 + W * own, root, topic)
    else:
        scaled = root[:, :, None] * _total(own, topic, scale, shared) * root[:, None, :]
        diagonal = np.arange(W.shape[1])
        scaled[:, diagonal, diagonal] += 1
        inner, log_determinant = _inverse(scaled)
    return root[:, :, None] * inner * root[:, None, :], log_determinant


def _noisy_variances(W, own, topic, scale, shared, precision, known):
    """Posterior variances with the noise, and what the observations leave of the fixed part."""
    total = _total(own, topic, scale, shared)
    left = _left(W, total, precision)
    spread = np.sum(_product(left, known) * left, axis=2)
    return np.sum(left * total, axis=2) + spread, spread


def _latent_variances(W, own, topic, scale, shared, precision, known):
    """Posterior variances without the noise, and covariances with the values that have it."""
    left = _left(W, _total(own, topic, scale, shared), precision)
    gain = own[:, :, None] * precision + (topic[:, None] * precision.sum(axis=1))[:, None]
    diagonal = np.arange(W.shape[1])
    explained = own * gain[:, diagonal, diagonal] + topic[:, None] * gain.sum(axis=2)
    latent_left = np.eye(W.shape[1]) - gain
    acted = _product(latent_left, known)
    # Rounding may leave nothing, or less, of the variance of what is known exactly.
    variance = np.maximum(own + topic[:, None] - explained, 0)
    common = own * left[:, diagonal, diagonal] + topic[:, None] * left.sum(axis=2)
    # Cut at 0, though noise that explains the latent value away may leave less.
    common = np.maximum(common, 0) + np.sum(acted * left, axis=2)
    return variance + np.sum(acted * latent_left, axis=2), common


def _acted(values, noise, variances, structure):
    """Covariance of the latent values, plus the noise that they share, times values of blocks."""
    own, topic = structure.own_variance(variances), structure.topic_variance(variances)
    acted = own * values + topic[:, None] * values.sum(axis=1, keepdims=True)
    return acted if noise is None else acted + noise.times(values)


def _solution(W, b, noise, variances, structure):
    """Coefficients, and the evidence."""
    design, prior, kinds = structure.design, structure.precisions(variances), structure.kinds
    precision, log_determinant = _in_parts(_precisions, *_law(W, noise, variances, structure))
    information = design.information(kinds.counted(precision)) + np.diag(prior)
    covariance, log_information = (part[0] for part in _inverse(information[None]))
    solved = _solved(W, b, precision, kinds)
    pull = design.collected(solved)
    coefficients = covariance @ pull
    value = 0.5 * np.sum(b * _acted(solved, noise, variances, structure))
    value += 0.5 * (pull @ coefficients - log_information - kinds.counted(log_determinant).sum())
    value += 0.5 * np.sum(np.log(prior[prior > 0]))
    return _Solution(precision, coefficients, covariance, float(value))


def _inverse_of_sum(diagonal, root, factor):
    """Inverses of ``diag(diagonal) + factor root root'``, and their log determinants."""
    alone = root / diagonal
    more = 1 + factor * np.sum(root * alone, axis=1)
    inverse = (-factor / more)[:, None, None] * (alone[:, :, None] * alone[:, None, :])
    at = np.arange(root.shape[1])
    inverse[:, at, at] += 1 / diagonal
    return inverse, np.log(diagonal).sum(axis=1) + np.log(more)


def _inverse(matrices):
    """Inverses of positive definite matrices, and their log determinants.

    Large ones by Cholesky factors: twice as fast, and as exact where they are nearly singular.
    """
    if matrices.shape[1] <= _SMALL:
        return np.linalg.inv(matrices), np.linalg.slogdet(matrices)[1]
    inverse, log_determinant = np.empty(matrices.shape), np.empty(len(matrices))
    for at, matrix in enumerate(matrices):
        factor, failed = lapack.dpotrf(matrix, lower=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("covariance matrix is not positive definite")
        log_determinant[at] = 2 * np.log(np.diagonal(factor)).sum()
        lower = np.tril(lapack.dpotri(factor, lower=1, overwrite_c=1)[0])
        inverse[at] = lower + np.tril(lower, -1).T
    return inverse, log_determinant


def _solved(W, b, precision, kinds):
    """``V^-1 b / W``."""
    return kinds.times(precision, np.divide(b, W, out=np.zeros_like(b), where=W > 0))


def _left(W, total, precision):
    """``1 - total P``: what the observations leave of each latent value plus shared noise."""
    enough = W * np.diagonal(total, axis1=1, axis2=2) > _FAINT
    left = np.divide(
        precision, W[:, :, None], out=np.zeros_like(precision), where=enough[:, :, None]
    )
    if not enough.all():
        faint = ~enough[:, :, None]
        np.copyto(left, np.eye(W.shape[1]) - total @ precision, where=faint)
    return left


def _product(matrices, others):
    """Products of matrices, where the others may be one and the same for all."""
    if len(others) > 1:
        return matrices @ others
    size = matrices.shape[2]
    return (matrices.reshape(-1, size) @ others[0]).reshape(matrices.shape)


def _traces(W, precision, known, spread, structure):
    """Traces of the kernels of topic and interaction with the precision, less the fixed part."""
    kinds = structure.kinds
    diagonal = np.diagonal(precision, axis1=1, axis2=2)
    traces = [np.sum(kinds.counted(kinds.of(structure.own) * (diagonal - W**2 * spread)))]
    if structure.topic is not None:
        sums = precision.sum(axis=2)
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
    seen = structure.kinds.times(solution.precision, pulled)
    fixed = structure.design.collected(seen)
    information = np.tensordot(pulled, seen, axes=((0, 1), (0, 1))) - fixed.T @ covariance @ fixed
    gradient = 0.5 * variances * (np.array(square) - traces)
    return gradient, 0.5 * np.outer(variances, variances) * information
