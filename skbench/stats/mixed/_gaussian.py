"""Gaussian algebra of mixed models whose covariance is block diagonal.

Every array has the blocks (topics) on its first axis. A block has ``B`` latent
values ``eta ~ N(X beta, Omega)`` with ``Omega = sum_j variances[j] kernels[j] + known``.
Coefficients are independent and normal around 0, with a precision that is known, or with
one of the variances that follow those of the kernels. What is seen of the latent values is
a pseudo-observation ``b / W`` with noise ``1 / W + C``: `W` is its own precision, 0 where
nothing was seen, and `C` the part of the noise that observations of a block share.
"""

from typing import NamedTuple

import numpy as np


class Structure(NamedTuple):
    """Which latent values there are and how they hang together.

    kernels : ndarray of shape (n_kernels, n_blocks or 1, B, B)
    design : ndarray of shape (n_blocks or 1, B, n_coefficients), None for identity
    prior_precision : float, of coefficients whose variance is not learned
    batch : ndarray of int of shape (n_coefficients,), which variance after those of the
        kernels a coefficient has; -1 where it is not learned
    known : ndarray of shape (n_blocks, B, B), what Omega has besides; 0.0 for nothing
    """

    kernels: np.ndarray
    design: np.ndarray | None
    prior_precision: float
    batch: np.ndarray
    known: np.ndarray | float = 0.0

    def block_covariance(self, variances):
        """Omega."""
        return np.tensordot(variances[: len(self.kernels)], self.kernels, axes=1) + self.known

    def precisions(self, variances):
        """Prior precisions of the coefficients."""
        learned = np.append(variances[len(self.kernels) :], 1.0)[self.batch]
        return np.where(self.batch < 0, self.prior_precision, 1 / learned)


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
    variances : ndarray of shape (n_kernels + n_batches,)
    structure : Structure

    Returns
    -------
    Posterior
    """
    omega, prior = structure.block_covariance(variances), structure.precisions(variances)
    total = omega if noise is None else omega + noise
    inner = np.linalg.inv(_scaled(W, total))
    precision = _marginal_precision(W, inner)
    seen = _times_design(precision, structure.design)
    root = np.linalg.inv(np.linalg.cholesky(_information(seen, structure.design, prior))).T
    covariance = root @ root.T
    beta = covariance @ _collected(_solved(W, b, inner), structure.design)
    fixed = _fixed_part(beta, structure.design)
    residual = _solved(W, b - W * fixed, inner)
    mean = fixed + _apply(omega, residual)
    # What the observations leave of the fixed part, times the root of its covariance.
    seen_root = _times_matrix(seen, root)
    whole = root if structure.design is None else _times_matrix(structure.design, root)
    left = whole - omega @ seen_root
    variance = _covariance(omega @ precision, omega, omega, left, left)
    noisy_mean, noisy_variance, slope = mean, variance, None
    if noise is not None:
        noisy_mean = fixed + _apply(total, residual)
        noisy_left = whole - total @ seen_root
        noisy_variance = _covariance(total @ precision, total, total, noisy_left, noisy_left)
        slope = _covariance(omega @ precision, omega, total, left, noisy_left) / noisy_variance
    known = precision, seen, seen_root
    gradient, information = _slopes(
        variances, residual, known, (beta, covariance, prior), structure
    )
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
    omega, prior = structure.block_covariance(variances), structure.precisions(variances)
    total = omega if noise is None else omega + noise
    scaled = _scaled(W, total)
    inner = np.linalg.inv(scaled)
    seen = _times_design(_marginal_precision(W, inner), structure.design)
    solved = _solved(W, b, inner)
    determinant = np.linalg.slogdet(scaled)[1].sum()
    information = _information(seen, structure.design, prior)
    pull = _collected(solved, structure.design)
    value = 0.5 * (np.sum(b * _apply(total, solved)) - determinant)
    value += 0.5 * (pull @ np.linalg.solve(information, pull) - np.linalg.slogdet(information)[1])
    return float(value + 0.5 * np.sum(np.log(prior[prior > 0])))


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


def _marginal_precision(W, inner):
    """``(total + 1 / W)^-1``, with zero rows where W is 0."""
    root = np.sqrt(W)
    return root[:, :, None] * inner * root[:, None, :]


def _solved(W, b, inner):
    """``(total + 1 / W)^-1 b / W``, in the form that loses no digits where W is large."""
    root = np.sqrt(W)
    return root * _apply(inner, np.divide(b, root, out=np.zeros_like(b), where=root > 0))


def _apply(matrices, vectors):
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _times_design(matrices, design):
    return matrices if design is None else matrices @ design


def _fixed_part(beta, design):
    return beta[None, :] if design is None else design @ beta


def _collected(values, design):
    if design is None:
        return values.sum(axis=0)
    return _stacked(np.broadcast_to(design, values.shape + design.shape[2:])).T @ values.ravel()


def _information(seen, design, prior):
    if design is None:
        total = seen.sum(axis=0)
    else:
        total = _stacked(np.broadcast_to(design, seen.shape)).T @ _stacked(seen)
    return total + np.diag(prior)


def _stacked(blocks):
    """All rows of all blocks: one product with them is faster than one per block."""
    return blocks.reshape(-1, blocks.shape[-1])


def _times_matrix(blocks, matrix):
    return (_stacked(blocks) @ matrix).reshape(*blocks.shape[:-1], -1)


def _covariance(gain, prior, other_prior, left, other_left):
    """Posterior covariance of each latent value with another of the same slot."""
    explained = np.sum(gain * np.swapaxes(other_prior, 1, 2), axis=2)
    # Rounding may leave nothing, or less, of the variance of what is known exactly.
    remaining = np.maximum(np.diagonal(prior, axis1=1, axis2=2) - explained, 0)
    return remaining + np.sum(left * other_left, axis=2)


def _slopes(variances, residual, known, coefficients, structure):
    """Gradient and average information of the restricted likelihood, in log variances."""
    precision, seen, seen_root = known
    beta, covariance, prior = coefficients
    pulled = [_apply(kernel, residual) for kernel in structure.kernels]
    trace = [
        np.sum(precision * kernel) - np.sum((kernel @ seen_root) * seen_root)
        for kernel in structure.kernels
    ]
    square = [np.sum(residual * f) for f in pulled]
    for number in range(len(variances) - len(pulled)):
        own = structure.batch == number
        # The design times the residual is the coefficient times its prior precision.
        pull = np.where(own, prior * beta, 0)
        pulled.append(_fixed_part(pull, structure.design))
        square.append(pull @ pull)
        trace.append(np.sum((prior - prior**2 * np.diag(covariance))[own]))
    projected = [_projected(f, precision, seen, covariance) for f in pulled]
    information = np.array([[np.sum(f * g) for g in projected] for f in pulled])
    gradient = 0.5 * variances * (np.array(square) - trace)
    return gradient, 0.5 * np.outer(variances, variances) * information


def _projected(vector, precision, seen, covariance):
    fixed = covariance @ (_stacked(seen).T @ vector.ravel())
    return _apply(precision, vector) - seen @ fixed
