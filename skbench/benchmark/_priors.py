"""Priors of the prior counts (a, b): pairs of scipy distributions, one or one per model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import expon

_TAIL = 1e-13  # prior probability beyond the quantiles where the search starts
_PULL = 1e4  # and by how much more the answers may have moved a count
_SMALLEST, _LARGEST = 1e-300, 1e15  # of counts, where quantiles are 0 or infinite
_METHODS = ("logpdf", "sf", "isf", "support")


def default_prior():
    """Exponential with mean 10,000, for a and for b."""
    return (expon(scale=10_000), expon(scale=10_000))


@dataclass(frozen=True)
class CountPriors:
    """Independent priors of a and b, cut to positive values.

    Parameters
    ----------
    pairs : list of pairs of frozen distributions
        The different priors.
    which : ndarray of int of shape (n_models,)
        Which of `pairs` each model has.
    """

    pairs: list
    which: np.ndarray

    def of(self, rows):
        """The priors of some of the models."""
        return CountPriors(self.pairs, self.which[rows])

    def log_density(self, position, counts):
        """Log density of a (position 0) or b (1) at an array of shape (n_models, ...)."""
        value = np.empty(counts.shape)
        for i in np.unique(self.which):
            own, distribution = self.which == i, self.pairs[i][position]
            value[own] = distribution.logpdf(counts[own]) - distribution.logsf(0)
        return np.where(counts > 0, value, -np.inf)

    def log_joint_density(self, a, b):
        """Log density of (a, b), each of shape (n_models, ...)."""
        return self.log_density(0, a) + self.log_density(1, b)

    def ranges(self):
        """Ranges of a and of b to look for the posterior in, of shape (n_models, 2).

        The answers may pull counts far beyond the quantiles of the prior, but not out
        of its support.
        """
        return tuple(self._range(position) for position in (0, 1))

    def start(self, n_chains, rng):
        """Prior draws of (a, b), of shape (n_chains, n_models, 2)."""
        share = rng.uniform(0.01, 0.99, size=(2, len(self.which), n_chains))
        counts = [self._quantiles(position, share[position]) for position in (0, 1)]
        return np.stack(counts, axis=2).transpose(1, 0, 2)

    def _range(self, position):
        tails = self._quantiles(position, np.array([1 - _TAIL, _TAIL]))
        support = np.array([pair[position].support() for pair in self.pairs])[self.which]
        low = np.maximum(tails[:, 0] / _PULL, support[:, 0])
        high = np.minimum(tails[:, 1] * _PULL, support[:, 1])
        return np.clip(np.column_stack([low, high]), _SMALLEST, _LARGEST)

    def _quantiles(self, position, upper_share):
        """Counts of which the prior has `upper_share` above, of shape (n_models, ...)."""
        upper_share = np.broadcast_to(upper_share, (len(self.which), np.shape(upper_share)[-1]))
        counts = np.empty(upper_share.shape)
        for i in np.unique(self.which):
            own, distribution = self.which == i, self.pairs[i][position]
            counts[own] = distribution.isf(distribution.sf(0) * upper_share[own])
        return np.clip(counts, _SMALLEST, _LARGEST)


def check_prior(prior, models):
    """The priors of all models, from what the user gave.

    Parameters
    ----------
    prior : None, pair of frozen distributions, or dict of such pairs by model
        None for the default.
    models : pandas.Index of length n_models
        Labels of the models.

    Returns
    -------
    CountPriors

    Raises
    ------
    ValueError
        If a model is missing or unknown, or a distribution has no density, or no
        probability above 0.
    """
    if not isinstance(prior, Mapping):
        pair = default_prior() if prior is None else _check_pair(prior, "prior")
        return CountPriors([pair], np.zeros(len(models), dtype=int))
    missing, unknown = models.difference(list(prior)), pd.Index(list(prior)).difference(models)
    if len(missing) or len(unknown):
        what, name = ("lacks", missing[0]) if len(missing) else ("has an unknown", unknown[0])
        raise ValueError(f"prior {what} model {name!r}. Give every model a pair, or one to all.")
    pairs = [_check_pair(prior[model], f"prior[{model!r}]") for model in models]
    return CountPriors(pairs, np.arange(len(models)))


def _check_pair(pair, name):
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(
            f"{name} must be a pair of frozen scipy distributions, of a and of b, such as "
            f"(expon(scale=100), expon(scale=100)); got {pair!r}."
        )
    for distribution, count in zip(pair, "ab", strict=True):
        if not all(callable(getattr(distribution, f, None)) for f in _METHODS):
            raise ValueError(
                f"{name} has {distribution!r} for {count}, which is no frozen continuous "
                f"distribution of scipy.stats: it needs {', '.join(_METHODS)}."
            )
        if np.ndim(distribution.sf(0)) or not distribution.sf(0) > 0:
            raise ValueError(
                f"{name} has a distribution for {count} that is not one law with probability above "
                "0. Its parameters must be single numbers, and prior counts are positive."
            )
    return tuple(pair)
