"""Mixtures of slightly skewed distributions: moments of the score, and quantiles."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MAX_SKEWNESS = 1.0  # with more, Cornish-Fisher quantiles are not increasing
_HALVINGS = 50  # of an interval of about 20 standard deviations


class Mixture(NamedTuple):
    """Distributions of the groups on the scale of the model.

    The arrays have the shape (n_parts, n_groups); `share` holds the probabilities of the parts.
    """

    share: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    skewness: np.ndarray

    def center(self):
        """Means of the mixtures, of shape (n_groups,)."""
        return np.sum(self.share * self.mean, axis=0)

    def latent_variance(self):
        """Variances of the mixtures, of shape (n_groups,)."""
        square = np.sum(self.share * (self.variance + self.mean**2), axis=0)
        return np.maximum(square - self.center() ** 2, 0)

    def accuracy(self):
        """Means and variances of the accuracies with these log odds, (n_groups,) each."""
        x = _NODES + self._bend[..., None] * (_NODES**2 - 1)
        p = expit(self.mean[..., None] + np.sqrt(self.variance)[..., None] * x)
        first = np.sum(self.share * (p @ _WEIGHTS), axis=0)
        return first, np.maximum(np.sum(self.share * (p**2 @ _WEIGHTS), axis=0) - first**2, 0)

    @property
    def _bend(self):
        return np.clip(self.skewness, -_MAX_SKEWNESS, _MAX_SKEWNESS) / 6

    def quantile(self, probability):
        """Quantiles of the mixtures, of shape (n_groups,), by bisection."""
        z, scale = abs(ndtri(probability)), np.sqrt(self.variance)
        reach = (z + _MAX_SKEWNESS * (1 + z**2) / 6) * scale
        low, high = np.min(self.mean - reach, axis=0), np.max(self.mean + reach, axis=0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = np.sum(self.share * self._distribution(middle, scale), axis=0) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def _distribution(self, x, scale):
        """Distribution functions of the parts, inverse to the Cornish-Fisher quantiles."""
        away = np.divide(x - self.mean, scale, out=np.sign(x - self.mean) * 40.0, where=scale > 0)
        y = away + self._bend
        return ndtr(2 * y / (1 + np.sqrt(np.maximum(0, 1 + 4 * self._bend * y))))

    def from_normal(self, x, part):
        """Draws of the mixtures from standard normal draws (n_draws, n_groups) and their parts."""
        place = part * self.mean.shape[1] + np.arange(self.mean.shape[1])
        bent = x**2
        bent -= 1
        bent *= self._bend.take(place)
        bent += x
        bent *= np.sqrt(self.variance).take(place)
        bent += self.mean.take(place)
        return bent
