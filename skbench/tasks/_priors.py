"""Priors of the prior counts (a, b) of every model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import expon

UNIFORM, EXPONENTIAL = "uniform", "exponential"
_TAIL = 1e-13  # prior probability beyond the quantiles at which the search starts
_WIDER = 1e4  # factor by which the search range extends beyond these quantiles
_SMALLEST, _LARGEST = 1e-300, 1e15  # limits of counts, where quantiles are 0 or infinite
_METHODS = ("logpdf", "sf", "isf", "support")


class UniformPrior(NamedTuple):
    """Uniform in the mean ``a / (a + b)`` and in the correlation ``1 / (1 + a + b)``."""

    range: tuple = ((1e-6, 1e6), (1e-6, 1e6))

    def log_joint_density(self, a, b):
        """Log density of (a, b)."""
        size = a + b
        # The density of the size is 1 / (1 + size)^2; the Jacobian of mean and size is 1 / size.
        return -2 * np.log1p(size) - np.log(size)

    def log_density(self, position, counts, rest):
        """Log density of `a` (position 0) or `b` (1) given the other, up to a constant."""
        return self.log_joint_density(counts, rest)

    def start(self, n_chains, rng):
        """Prior draws of (a, b), of shape (n_chains, 2)."""
        mean, correlation = rng.uniform(0.01, 0.99, size=(2, n_chains))
        size = 1 / correlation - 1
        return np.column_stack([size * mean, size * (1 - mean)])


class IndependentPrior:
    """Frozen scipy distributions of `a` and `b`, truncated to positive values."""

    def __init__(self, a, b):
        self.pair = (a, b)
        self.log_share = [distribution.logsf(0) for distribution in self.pair]

    def log_joint_density(self, a, b):
        """Log density of (a, b)."""
        return self.log_density(0, a) + self.log_density(1, b)

    def log_density(self, position, counts, rest=None):
        """Log density of `a` (position 0) or `b` (1), independent of the other."""
        value = self.pair[position].logpdf(counts) - self.log_share[position]
        return np.where(counts > 0, value, -np.inf)

    @property
    def range(self):
        """Search ranges of `a` and `b`."""
        return tuple(self._range(distribution) for distribution in self.pair)

    def start(self, n_chains, rng):
        """Prior draws of (a, b), of shape (n_chains, 2)."""
        share = rng.uniform(0.01, 0.99, size=(2, n_chains))
        return np.column_stack([_quantiles(*pair) for pair in zip(self.pair, share, strict=True)])

    @staticmethod
    def _range(distribution):
        tails = _quantiles(distribution, np.array([1 - _TAIL, _TAIL]))
        lowest, highest = distribution.support()
        low, high = max(tails[0] / _WIDER, lowest), min(tails[1] * _WIDER, highest)
        return tuple(np.clip([low, high], _SMALLEST, _LARGEST))


@dataclass(frozen=True)
class CountPriors:
    """The priors of all models."""

    priors: list
    which: np.ndarray

    def of(self, rows):
        """The priors of some of the models."""
        return CountPriors(self.priors, self.which[rows])

    def log_joint_density(self, a, b):
        """Log density of (a, b), each of shape (n_models, ...)."""
        value = np.empty(np.broadcast_shapes(a.shape, b.shape))
        for own, prior in self._parts():
            value[own] = prior.log_joint_density(a[own], b[own])
        return value

    def log_density(self, position, counts, rest):
        """Log density of one count given the other, arrays of shape (n_chains, n_models)."""
        value = np.empty(counts.shape)
        for own, prior in self._parts():
            value[:, own] = prior.log_density(position, counts[:, own], rest[:, own])
        return value

    def ranges(self):
        """Search ranges of `a` and `b`, each of shape (n_models, 2)."""
        ranges = np.array([prior.range for prior in self.priors])
        return ranges[self.which, 0], ranges[self.which, 1]

    def start(self, n_chains, rng):
        """Prior draws of (a, b), of shape (n_chains, n_models, 2)."""
        return np.stack([self.priors[i].start(n_chains, rng) for i in self.which], axis=1)

    def _parts(self):
        """Models of each prior; all models at once if there is only one prior."""
        if len(self.priors) == 1:
            return [(slice(None), self.priors[0])]
        return [(self.which == i, self.priors[i]) for i in np.unique(self.which)]


def check_prior(prior, models):
    """The priors of all models, from the user's `prior`."""
    if not isinstance(prior, Mapping):
        return CountPriors([_check_one(prior, "prior")], np.zeros(len(models), dtype=int))
    missing, unknown = models.difference(list(prior)), pd.Index(list(prior)).difference(models)
    if len(missing) or len(unknown):
        what, name = ("lacks", missing[0]) if len(missing) else ("has an unknown", unknown[0])
        raise ValueError(
            f"prior {what} model {name!r}. Pass a dict with all models, or one prior for all."
        )
    priors = [_check_one(prior[model], f"prior[{model!r}]") for model in models]
    return CountPriors(priors, np.arange(len(models)))


def names_exponential(prior):
    """Whether the prior of any model is the one named "exponential"."""
    several = isinstance(prior, Mapping)
    return any(
        isinstance(p, str) and p == EXPONENTIAL for p in (prior.values() if several else [prior])
    )


def _check_one(prior, name):
    if isinstance(prior, str) and prior == UNIFORM:
        return UniformPrior()
    if isinstance(prior, str) and prior == EXPONENTIAL:
        return IndependentPrior(expon(scale=10_000), expon(scale=10_000))
    is_pair = isinstance(prior, tuple | list) and len(prior) == 2
    if not is_pair or not all(map(_is_distribution, prior)):
        raise ValueError(
            f"{name} must be {UNIFORM!r}, {EXPONENTIAL!r} or a pair of frozen continuous scipy "
            "distributions of positive numbers, such as "
            f"(expon(scale=100), expon(scale=100)); got {prior!r}."
        )
    return IndependentPrior(*prior)


def _is_distribution(distribution):
    """Whether this is a frozen distribution of one number that can be positive."""
    if not all(hasattr(distribution, name) for name in _METHODS):
        return False
    return np.ndim(distribution.sf(0)) == 0 and distribution.sf(0) > 0


def _quantiles(distribution, upper_share):
    """Quantiles of the positive part of a distribution, by their upper tail probability."""
    return np.clip(distribution.isf(distribution.sf(0) * upper_share), _SMALLEST, _LARGEST)
