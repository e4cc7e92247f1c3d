"""Restricted maximum likelihood for the variances, sites by expectation propagation."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skbench.stats import _mixed_gaussian as gaussian
from skbench.stats._mixed_sites import updated_sites

_MAX_STEPS = 200
_TOLERANCE = 1e-5
_LONGEST_STEP = 1.5  # of a log variance
_LEAST_VARIANCE = 1e-7
_LARGEST_VARIANCE = 1e3
_DOUBTFUL = 0.01  # accuracies nearer to 0 or 1 do not widen the noise further


class BlockFit(NamedTuple):
    """A fitted mixed model: variances, pseudo-observations, posterior, shared noise."""

    variances: np.ndarray
    W: np.ndarray
    b: np.ndarray
    noise: np.ndarray | None
    posterior: gaussian.Posterior


class Binomial:
    """Counts whose errors may be correlated within a block.

    The correlation `R` of the errors is split in ``c I`` and the rest. The rest is
    Gaussian noise on the log odds, ``D (R - c I) D`` with ``D = 1 / sqrt(n p (1 - p))``;
    the likelihood of the counts, to the power ``1 / c``, has the other part.
    """

    def __init__(self, k, n, correlation=None):
        self.n = n
        self._shared, own = split_correlation(correlation)
        self.k_own, self.n_own = k / own, n / own
        p = (k + 1) / (n + 2)
        self.start = (self.n_own * p * (1 - p), self.n_own * p * (1 - p) * np.log(p / (1 - p)))
        self.start_noise = self.noise(np.log(p / (1 - p)))

    def noise(self, mean):
        """Covariance of the noise that counts share, at these log odds."""
        if self._shared is None:
            return None
        p = np.clip(expit(mean), _DOUBTFUL, 1 - _DOUBTFUL)
        scale = np.where(self.n > 0, 1 / np.sqrt(np.maximum(self.n, 1) * p * (1 - p)), 0)
        return scale[:, :, None] * self._shared * scale[:, None, :]

    def update(self, W, b, posterior):
        """New pseudo-observations and noise, given the posterior."""
        W, b, _ = updated_sites(
            self.k_own, self.n_own, W, b, posterior.noisy_mean, posterior.noisy_variance
        )
        return W, b, self.noise(posterior.mean)


class Gaussian:
    """Direct estimates with known sampling variances; precision 0 where there is none."""

    def __init__(self, z, precision, correlation=None):
        shared, own = split_correlation(correlation)
        scale = np.where(precision > 0, 1 / np.sqrt(np.where(precision > 0, precision, 1)), 0)
        self.start = (precision / own, precision / own * z)
        self.start_noise = None
        if shared is not None:
            self.start_noise = scale[:, :, None] * shared * scale[:, None, :]

    def update(self, W, b, posterior):
        """Nothing changes: the observations are Gaussian already."""
        return W, b, self.start_noise


def split_correlation(correlation):
    """A correlation matrix less ``c I``, and `c`, the largest that leaves no negative variance."""
    if correlation is None:
        return None, 1.0
    own = float(np.clip(np.linalg.eigvalsh(correlation).min(), 0.05, 1.0))
    return correlation - own * np.eye(correlation.shape[-1]), own


def fit_blocks(likelihood, structure, variances, fixed=False):
    """Alternate between variances, posterior and pseudo-observations until nothing moves.

    Parameters
    ----------
    likelihood : Binomial or Gaussian
    structure : Structure
    variances : ndarray of shape (n_kernels,)
        Where to start.
    fixed : bool, default=False
        Keep the variances as they are.

    Returns
    -------
    BlockFit
    """
    W, b = likelihood.start
    noise = likelihood.start_noise
    log_variances = np.log(variances)
    previous = np.full(W.shape, np.inf)
    for _ in range(_MAX_STEPS):
        posterior = gaussian.posterior(W, b, noise, np.exp(log_variances), structure)
        step = np.zeros(len(variances)) if fixed else variance_step(posterior, log_variances)
        moved = np.max(np.abs(posterior.mean - previous))
        if max(moved, np.max(np.abs(step), initial=0)) < _TOLERANCE:
            break
        previous = posterior.mean
        log_variances = log_variances + step
        W, b, noise = likelihood.update(W, b, posterior)
    return BlockFit(np.exp(log_variances), W, b, noise, posterior)


def variance_step(posterior, log_variances):
    """A damped Newton step of the log variances towards the restricted maximum."""
    # In logs the curvature is the information less the slope, which a falling slope adds to.
    curvature = posterior.information + np.diag(np.maximum(-posterior.gradient, 1e-8))
    step = np.linalg.solve(curvature, posterior.gradient)
    step *= min(1.0, _LONGEST_STEP / max(np.max(np.abs(step)), 1e-300))
    ends = np.log(_LEAST_VARIANCE), np.log(_LARGEST_VARIANCE)
    return np.clip(log_variances + step, *ends) - log_variances
