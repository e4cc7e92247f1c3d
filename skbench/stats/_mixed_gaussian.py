"""Gaussian algebra of mixed models whose covariance is block diagonal.

Every array has the blocks (topics) on its first axis. A block has ``B`` latent
values ``eta ~ N(X beta, Omega)`` with ``Omega = sum_j variances[j] kernels[j]``.
What is seen of them is a pseudo-observation ``b / W`` with noise ``1 / W + C``:
`W` is its own precision, 0 where nothing was seen, and `C` the part of the noise
that observations of a block share.
"""

from typing import NamedTuple

import numpy as np


class Structure(NamedTuple):
    """Which latent values there are and how they hang together.

    kernels : ndarray of shape (n_kernels, n_blocks or 1, B, B)
    design : ndarray of shape (n_blocks or 1, B, n_coefficients), None for identity
    prior_mean, prior_precision : float, of every coefficient; precision 0 is flat
    """

    kernels: np.ndarray
    design: np.ndarray | None
    prior_mean: float
    prior_precision: float


class Posterior(NamedTuple):
    """What the pseudo-observations say, given the variances.

    mean, variance : ndarray of shape (n_blocks, B), of eta
    noisy_mean, noisy_variance : ndarray of shape (n_blocks, B), of eta plus shared noise
    slope : ndarray of shape (n_blocks, B) or None, of eta on eta plus shared noise; None for 1
    coefficients, covariance : of the fixed effects
    gradient, information : of the restricted likelihood in the log variances
    residual : ndarray of shape (n_blocks, B), ``V^-1 (y - X beta)``
    precision : ndarray of shape (n_blocks, B, B), ``V^-1`` with ``V = Omega + C + 1 / W``
    """

    mean: np.ndarray
    variance: np.ndarray
    noisy_mean: np.ndarray
    noisy_variance: np.ndarray
    slope: np.ndarray | None
    coefficients: np.ndarray
    covariance: np.ndarray
    gradient: np.ndarray
    information: np.ndarray
    residual: np.ndarray
    precision: np.ndarray


def posterior(W, b, noise, variances, structure):
    """Posterior of the latent values, and the slope of the restricted likelihood.

    Parameters
    ----------
    W, b : ndarray of shape (n_blocks, B)
        Precisions of the pseudo-observations, and precisions times values.
    noise : ndarray of shape (n_blocks, B, B) or None
        Covariance of the noise that observations share.
    variances : ndarray of shape (n_kernels,)
    structure : Structure

    Returns
    -------
    Posterior
    """
    omega = np.tensordot(variances, structure.kernels, axes=1)
    total = omega if noise is None else omega + noise
    precision = _marginal_precision(W, total)
    seen = _times_design(precision, structure.design)
    beta, covariance = _coefficients(b - _apply(precision, _apply(total, b)), seen, structure)
    score = b - W * _fixed_part(beta, structure.design)
    residual = score - _apply(precision, _apply(total, score))
    fixed = _fixed_part(beta, structure.design)
    mean = fixed + _apply(omega, residual)
    left, own = _unexplained(omega, precision, structure.design)
    variance = _covariance(own, omega, omega, left, left, covariance)
    noisy_mean, noisy_variance, slope = mean, variance, None
    if noise is not None:
        noisy_mean = fixed + _apply(total, residual)
        noisy_left, noisy_own = _unexplained(total, precision, structure.design)
        noisy_variance = _covariance(noisy_own, total, total, noisy_left, noisy_left, covariance)
        shared = _covariance(own, omega, total, left, noisy_left, covariance)
        slope = shared / noisy_variance
    gradient, information = _slopes(variances, residual, precision, seen, covariance, structure)
    return Posterior(
        mean=mean,
        variance=variance,
        noisy_mean=noisy_mean,
        noisy_variance=noisy_variance,
        slope=slope,
        coefficients=beta,
        covariance=covariance,
        gradient=gradient,
        information=information,
        residual=residual,
        precision=precision,
    )


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
    omega = np.tensordot(variances, structure.kernels, axes=1)
    total = omega if noise is None else omega + noise
    precision = _marginal_precision(W, total)
    seen = _times_design(precision, structure.design)
    solved = b - _apply(precision, _apply(total, b))
    determinant = np.linalg.slogdet(_scaled(W, total))[1].sum()
    information = _information(seen, structure)
    pull = _collected(solved, structure.design) + structure.prior_precision * structure.prior_mean
    value = 0.5 * (np.sum(b * _apply(total, solved)) - determinant)
    value += 0.5 * (pull @ np.linalg.solve(information, pull) - np.linalg.slogdet(information)[1])
    if structure.prior_precision > 0:
        size = len(pull)
        value += 0.5 * size * np.log(structure.prior_precision)
        value -= 0.5 * size * structure.prior_precision * structure.prior_mean**2
    return float(value)


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
    seen = W > 0
    own = np.where(seen, 1 / np.where(seen, W, 1), 0)
    S = own[:, :, None] * np.eye(W.shape[1])
    if noise is not None:
        S = S + noise
    known = _times_design(fit.precision, structure.design)
    P = fit.precision - known @ fit.covariance @ np.swapaxes(known, 1, 2)
    shrinking = np.sum((S @ P) * np.swapaxes(S, 1, 2), axis=2)
    risk = (own * b - fit.mean) ** 2 + np.diagonal(S, axis1=1, axis2=2) - 2 * shrinking
    return np.where(seen, risk, 0)


def _scaled(W, total):
    root = np.sqrt(W)
    return np.eye(W.shape[1]) + root[:, :, None] * total * root[:, None, :]


def _marginal_precision(W, total):
    """``(total + 1 / W)^-1``, with zero rows where W is 0."""
    root = np.sqrt(W)
    return root[:, :, None] * np.linalg.inv(_scaled(W, total)) * root[:, None, :]


def _apply(matrices, vectors):
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _times_design(matrices, design):
    return matrices if design is None else matrices @ design


def _fixed_part(beta, design):
    return beta[None, :] if design is None else design @ beta


def _collected(values, design):
    if design is None:
        return values.sum(axis=0)
    return np.sum(design * values[:, :, None], axis=(0, 1))


def _information(seen, structure):
    if structure.design is None:
        total = seen.sum(axis=0)
    else:
        total = np.sum(np.swapaxes(structure.design, 1, 2) @ seen, axis=0)
    return total + structure.prior_precision * np.eye(len(total))


def _coefficients(solved, seen, structure):
    covariance = np.linalg.inv(_information(seen, structure))
    pull = _collected(solved, structure.design) + structure.prior_precision * structure.prior_mean
    return covariance @ pull, covariance


def _unexplained(prior, precision, design):
    """What observations leave of the fixed part, and how they weigh in the latent values."""
    gain = prior @ precision
    if design is None:
        return np.eye(gain.shape[1]) - gain, gain
    return design - gain @ design, gain


def _covariance(gain, prior, other_prior, left, other_left, covariance):
    """Posterior covariance of each latent value with another of the same slot."""
    explained = np.sum(gain * np.swapaxes(other_prior, 1, 2), axis=2)
    # Rounding may leave nothing, or less, of the variance of what is known exactly.
    remaining = np.maximum(np.diagonal(prior, axis1=1, axis2=2) - explained, 0)
    return remaining + np.sum((left @ covariance) * other_left, axis=2)


def _slopes(variances, residual, precision, seen, covariance, structure):
    """Gradient and average information of the restricted likelihood, in log variances."""
    pulled = [_apply(kernel, residual) for kernel in structure.kernels]
    projection = precision - seen @ covariance @ np.swapaxes(seen, 1, 2)
    trace = np.array([np.sum(projection * kernel) for kernel in structure.kernels])
    square = np.array([np.sum(residual * f) for f in pulled])
    projected = [_projected(f, precision, seen, covariance) for f in pulled]
    information = np.array([[np.sum(f * g) for g in projected] for f in pulled])
    return 0.5 * variances * (square - trace), 0.5 * np.outer(variances, variances) * information


def _projected(vector, precision, seen, covariance):
    fixed = covariance @ np.sum(seen * vector[:, :, None], axis=(0, 1))
    return _apply(precision, vector) - seen @ fixed
