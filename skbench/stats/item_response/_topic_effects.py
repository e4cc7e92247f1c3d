"""Effects of topics with heavy tails: a mixture of normal laws, as one normal factor a topic."""

from typing import NamedTuple

import numpy as np

_SHARES = np.array([0.93, 0.06, 0.01])  # of topics that are ordinary, odd, or broken
_WIDER = 3.0  # how much farther odd topics scatter than ordinary ones
_LEAST_VARIANCE = 1e-8
_LEAST_PRECISION = 1e-10


class TopicFactors(NamedTuple):
    """Normal factors that stand for the priors of the topics' effects."""

    precision: np.ndarray
    pull: np.ndarray


def topic_variances(known, std, broken_std):
    """Variances of ordinary, odd and broken topics."""
    broken = np.where(std > 0, np.maximum(broken_std, _WIDER * std), 0.0)
    stds = np.stack([std, _WIDER * std, broken])
    return _LEAST_VARIANCE + known + stds[:, :, None] ** 2


def first_factors(mean, variances):
    """Factors before any answer is seen: the mixture's mean and variance."""
    precision = 1 / np.tensordot(_SHARES, variances, axes=1)
    return TopicFactors(precision, precision * mean)


def matched_factors(mean, variance, factors, prior_mean, variances):
    """Factors that leave each topic the mean and variance of the exact mixture."""
    # Expectation propagation (Minka 2001), the prior being the factor that is not normal.
    own = factors.precision
    spread = 1 / np.maximum(1 / variance - own, _LEAST_PRECISION)
    away = spread * (mean / variance - factors.pull) - prior_mean
    logs = np.log(_SHARES)[:, None, None] + _log_normal(away, spread + variances)
    both = np.logaddexp.reduce(logs, axis=0)
    share = np.exp(logs - both)
    # Of a topic that is of one kind: mean of the effect, from the prior's, and variance.
    shrunk = variances / (variances + spread)
    center = np.sum(share * shrunk, axis=0) * away
    second = np.sum(share * (shrunk * spread + (shrunk * away) ** 2), axis=0)
    tilted = second - center**2
    precision = np.maximum(1 / tilted - 1 / spread, 1 / variances.max(axis=0))
    pull = (precision + 1 / spread) * center - away / spread + precision * prior_mean
    old = _log_normal(away + prior_mean - factors.pull / own, spread + 1 / own)
    return TopicFactors(precision, pull), np.sum(both - old, axis=1)


def _log_normal(away, variance):
    return -0.5 * (np.log(variance) + away**2 / variance)
