"""Binomial likelihoods: their moments under a normal prior, by quadrature around the mode."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(24)
_LOG_WEIGHTS = np.log(_WEIGHTS) + _NODES**2
_MODE_STEPS = 40
_MODE_STEP = 1e-5  # relative size of the last: the next would be its square
_LARGEST_LOG = 700.0  # whose exponential is a number
_AT_ONCE = 1024  # groups with 24 nodes each: they stay in the cache
_LEAST = 1e-12


class Moments(NamedTuple):
    """Log of the mass, mean, variance and third central moment; arrays of shape (n_groups,)."""

    log_mass: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    third: np.ndarray


class Counts:
    """Right answers, each likelihood to the power of ``1 / own_share``.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,), right answers and items
    own_share : ndarray of shape (n_groups,), part of the sampling noise that is not shared
    """

    def __init__(self, k, n, own_share):
        self.k, self.n = k / own_share, n / own_share
        self.size = n
        p = (k + 1) / (n + 2)
        self.first_mean = np.log(p / (1 - p))
        self.first_precision = self.n * p * (1 - p)

    def noise_scale(self, latent):
        """Standard deviation of the sampling noise at these log odds."""
        p = np.clip(expit(latent), 0.01, 0.99)
        return 1 / np.sqrt(self.size * p * (1 - p))

    def tilted(self, mean, variance):
        """`Moments` of the log odds with normal priors of shape (n_groups,)."""
        starts = range(0, len(mean), _AT_ONCE)
        parts = [
            _tilted(*(x[at : at + _AT_ONCE] for x in (self.k, self.n, mean, variance)))
            for at in starts
        ]
        return Moments(*(np.concatenate(x) for x in zip(*parts, strict=True)))

    def updated(self, mean, variance):
        """Precision, and precision times mean, of the pseudo-observations for these cavities."""
        tilted = self.tilted(mean, variance)
        # A binomial likelihood is log concave: it only adds precision, but for rounding.
        precision = np.maximum(1 / tilted.variance - 1 / variance, 1e-8)
        return precision, tilted.mean * (precision + 1 / variance) - mean / variance


class Scores:
    """Direct estimates with normal noise, part of it shared.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
    own_share : ndarray of shape (n_groups,), part of the sampling noise that is not shared
    """

    def __init__(self, z, sigma2, own_share):
        self.first_mean, self.own_noise = z, np.maximum(own_share * sigma2, _LEAST)
        self.first_precision = 1 / self.own_noise
        self._scale = np.sqrt(sigma2)

    def noise_scale(self, latent):
        """Standard deviation of the sampling noise."""
        return self._scale

    def tilted(self, mean, variance):
        """`Moments` of the expected score with normal priors of shape (n_groups,)."""
        total = variance + self.own_noise
        away = self.first_mean - mean
        log_mass = -0.5 * (np.log(2 * np.pi * total) + away**2 / total)
        after = mean + variance / total * away, variance * self.own_noise / total
        return Moments(log_mass, *after, np.zeros_like(mean))

    def updated(self, mean, variance):
        """Precision, and precision times mean, of the observations."""
        return self.first_precision, self.first_precision * self.first_mean


def _tilted(k, n, mean, variance):
    points, log_weights = _rule(k, n, mean, variance)
    # Next to the mode nothing is much smaller than the largest, which takes longer to find.
    top = log_weights[:, len(_NODES) // 2]
    weights = np.exp(log_weights - top[:, None])
    mass = weights @ np.ones(len(_NODES))
    weights /= mass[:, None]
    center = np.einsum("ij,ij->i", weights, points)
    away = points - center[:, None]
    square = weights * away**2
    third = np.einsum("ij,ij->i", square, away)
    return top + np.log(mass), center, square @ np.ones(len(_NODES)), third


def _rule(k, n, mean, variance):
    """Nodes and log weights of Gauss-Hermite quadrature at the mode of the posterior."""
    center = _mode(k, n, mean, variance)
    p = expit(center)
    spread = np.sqrt(2 / (n * p * (1 - p) + 1 / variance))
    points = center[:, None] + spread[:, None] * _NODES
    # log(1 + e^x) to an absolute 1e-16, a quarter of the time of np.logaddexp.
    log_both = np.maximum(points, np.log(1 + np.exp(np.minimum(points, _LARGEST_LOG))))
    log_likelihood = k[:, None] * points - n[:, None] * log_both
    log_prior = -0.5 * (points - mean[:, None]) ** 2 / variance[:, None]
    scale = np.log(spread) - 0.5 * np.log(2 * np.pi * variance)
    return points, log_likelihood + log_prior + _LOG_WEIGHTS + scale[:, None]


def _mode(k, n, mean, variance):
    """Where ``k x - n log(1 + e^x) - (x - mean)^2 / (2 variance)`` peaks."""
    # The slope is 0 between these: at the prior mean it is variance (k - n p) away at most.
    low, high = mean - variance * (n - k), mean + variance * k
    precision, own = 1 / variance, (k + 0.5) * (n - k + 0.5) / (n + 1)
    x = (precision * mean + own * np.log((k + 0.5) / (n - k + 0.5))) / (precision + own)
    x = np.clip(x, low, high)
    for _ in range(_MODE_STEPS):
        p = expit(x)
        right = n * p
        slope = k - right - (x - mean) * precision
        rises = slope >= 0
        low, high = np.where(rises, x, low), np.where(rises, high, x)
        new = x + slope / (right * (1 - p) + precision)
        inside = (new >= low) & (new <= high)
        new = np.where(inside, new, (low + high) / 2)
        if np.all(np.abs(new - x) <= _MODE_STEP * (1 + np.abs(x))):
            return new
        x = new
    return x
