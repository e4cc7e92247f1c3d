"""Mixtures of slightly skewed laws: moments of the score, and quantiles."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MOST_SKEWED = 1.0  # for which Cornish-Fisher quantiles still ascend
_HALVINGS = 50  # of an interval of some 20 standard deviations
_AT_ONCE = 2048  # laws with 32 nodes each


class Mixture(NamedTuple):
    """Laws of the groups on the scale of the model; arrays of shape (n_parts, n_groups).

    share : probabilities of the parts
    mean, variance, skewness : of the parts
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
        """Means and variances of the accuracies whose log odds these are, (n_groups,) each."""
        flat = [x.ravel() for x in self[1:]]
        starts = range(0, len(flat[0]), _AT_ONCE)
        parts = [_accuracies(*(x[at : at + _AT_ONCE] for x in flat)) for at in starts]
        first, second = (np.concatenate(x) for x in zip(*parts, strict=True))
        first, second = (
            np.sum(self.share * x.reshape(self.share.shape), axis=0) for x in (first, second)
        )
        return first, np.maximum(second - first**2, 0)

    def quantile(self, probability):
        """Quantiles of the mixtures, of shape (n_groups,), by bisection."""
        z, scale = abs(ndtri(probability)), np.sqrt(self.variance)
        reach = (z + _MOST_SKEWED * (1 + z**2) / 6) * scale
        low, high = np.min(self.mean - reach, axis=0), np.max(self.mean + reach, axis=0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = np.sum(self.share * self._distribution(middle, scale), axis=0) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def _distribution(self, x, scale):
        """Distribution functions of the parts: the inverse of Cornish-Fisher's quantiles."""
        bend = _bend(self.skewness)
        away = np.divide(x - self.mean, scale, out=np.sign(x - self.mean) * 40.0, where=scale > 0)
        y = away + bend
        return ndtr(2 * y / (1 + np.sqrt(np.maximum(0, 1 + 4 * bend * y))))

    def from_normal(self, x, part):
        """Draws of the mixtures from standard normal ones, (n_draws, n_groups), and their parts."""
        groups = np.arange(self.mean.shape[1])
        mean, scale, bend = (
            values[part, groups]
            for values in (self.mean, np.sqrt(self.variance), _bend(self.skewness))
        )
        return mean + scale * (x + bend * (x**2 - 1))


def _bend(skewness):
    return np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED) / 6


def _accuracies(mean, variance, skewness):
    """Means of accuracies and of their squares."""
    x = _NODES + _bend(skewness)[:, None] * (_NODES**2 - 1)
    p = expit(mean[:, None] + np.sqrt(variance)[:, None] * x)
    return p @ _WEIGHTS, p**2 @ _WEIGHTS
