"""Likelihoods of the groups, and their moments under a normal prior by quadrature."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from skbench.stats.mixed._effects import Sites

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(24)
_LOG_WEIGHTS = np.log(_WEIGHTS) + _NODES**2
_AT_ONCE = 500  # groups whose tables of nodes fit in the processor's cache
_MODE_STEPS = 40
_MODE_STEP = 1e-5  # relative size of the last step; the next would be its square
_LARGEST_LOG = 700.0  # largest exponent without overflow
_LEAST_PRECISION, _LEAST_NOISE = 1e-8, 1e-12


class Moments(NamedTuple):
    """Log mass, mean, variance and third central moment; arrays of shape (n_groups,)."""

    log_mass: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    third: np.ndarray


class Counts:
    """Binomial likelihoods of correct answers, each to the power ``1 / own_share``.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Correct answers and items.
    own_share : ndarray of shape (n_groups,)
        Share of the sampling noise that is not shared.
    """

    def __init__(self, k, n, own_share):
        self.k, self.n = k / own_share, n / own_share
        self.own_share = own_share

    def first_sites(self):
        """Start of expectation propagation: the smoothed accuracies."""
        k, n = self.k * self.own_share + 1, self.n * self.own_share + 2
        p = k / n
        return Sites(self.n * p * (1 - p), logit(p))

    def noise_scale(self, latent):
        """Standard deviation of the sampling noise at these log odds."""
        p = np.clip(expit(latent), 0.01, 0.99)
        return 1 / np.sqrt(self.n * self.own_share * p * (1 - p))

    def tilted(self, mean, variance):
        """`Moments` of the log odds with normal priors of shape (n_groups,)."""
        given = self.k, self.n, mean, variance, *_peak(self.k, self.n, mean, variance)
        starts = range(0, max(1, len(mean)), _AT_ONCE)
        parts = [_moments(*(x[start : start + _AT_ONCE] for x in given)) for start in starts]
        return Moments(*map(np.concatenate, zip(*parts, strict=True)))

    def updated(self, mean, variance):
        """`Sites` whose posteriors have the moments under the exact likelihoods."""
        tilted = self.tilted(mean, variance)
        # A binomial likelihood is log concave, so it adds precision except for rounding.
        precision = np.maximum(1 / tilted.variance - 1 / variance, _LEAST_PRECISION)
        return Sites(precision, tilted.mean + (tilted.mean - mean) / (variance * precision))


class Scores:
    """Normal likelihoods of direct estimates, with partly shared noise.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and sampling variances.
    own_share : ndarray of shape (n_groups,)
        Share of the sampling noise that is not shared.
    """

    def __init__(self, z, sigma2, own_share):
        self.z, self.sigma2 = z, sigma2
        self.own_noise = np.maximum(own_share * sigma2, _LEAST_NOISE)

    def first_sites(self):
        """The observations."""
        return Sites(1 / self.own_noise, self.z)

    def noise_scale(self, latent):
        """Standard deviation of the sampling noise."""
        return np.sqrt(self.sigma2)

    def tilted(self, mean, variance):
        """`Moments` of the expected score with normal priors of shape (n_groups,)."""
        total = variance + self.own_noise
        away = self.z - mean
        log_mass = -0.5 * (np.log(2 * np.pi * total) + away**2 / total)
        after = mean + variance / total * away, variance * self.own_noise / total
        return Moments(log_mass, *after, np.zeros_like(mean))

    def updated(self, mean, variance):
        """The observations, which do not depend on the cavities."""
        return self.first_sites()


def _peak(k, n, mean, variance):
    """Mode of the posterior, and the scale of the nodes around it."""
    center = _mode(k, n, mean, variance)
    p = expit(center)
    return center, np.sqrt(2 / (n * p * (1 - p) + 1 / variance))


def _moments(k, n, mean, variance, center, scale):
    """`Moments` by Gauss-Hermite quadrature, nodes by groups."""
    points = center + scale * _NODES[:, None]
    # log(1 + e^x) with absolute error 1e-16, four times as fast as np.logaddexp.
    log_both = np.maximum(points, np.log(1 + np.exp(np.minimum(points, _LARGEST_LOG))))
    log_prior = -0.5 * (points - mean) ** 2 / variance
    log_weights = k * points - n * log_both + log_prior + _LOG_WEIGHTS[:, None]
    top = log_weights[len(_NODES) // 2]  # next to the mode
    weights = np.exp(log_weights - top)
    mass = weights.sum(axis=0)
    weights /= mass
    center = np.sum(weights * points, axis=0)
    away = points - center
    square = weights * away**2
    log_mass = top + np.log(mass * scale) - 0.5 * np.log(2 * np.pi * variance)
    return Moments(log_mass, center, square.sum(axis=0), np.sum(square * away, axis=0))


def _mode(k, n, mean, variance):
    """Maximizer of ``k x - n log(1 + e^x) - (x - mean)^2 / (2 variance)`` (damped Newton steps)."""
    precision, own = 1 / variance, (k + 0.5) * (n - k + 0.5) / (n + 1)
    x = (precision * mean + own * np.log((k + 0.5) / (n - k + 0.5))) / (precision + own)
    for _ in range(_MODE_STEPS):
        p = expit(x)
        step = (k - n * p - (x - mean) * precision) / (n * p * (1 - p) + precision)
        x = x + np.clip(step, -2, 2)
        if np.all(np.abs(step) <= _MODE_STEP * (1 + np.abs(x))):
            break
    return x
