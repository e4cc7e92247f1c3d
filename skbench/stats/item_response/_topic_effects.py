"""Effects of topics: t distributed, their scale averaged over, as one normal factor a topic."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skbench.stats.mixed._scales import LOG_TOPIC_PRIOR, TOPIC_WEIGHTS

_STDS = np.geomspace(0.03, 2.5, 12)  # of topics' effects, in units of the prior's scale
_LOG_WEIGHTS = LOG_TOPIC_PRIOR - logsumexp(LOG_TOPIC_PRIOR)
_LEAST_PRECISION = 1e-10
_LARGEST = 2.0  # standard deviation of a factor, in units of the largest of `_STDS`


class TopicFactors(NamedTuple):
    """Normal factors that stand for the priors of the topics' effects."""

    precision: np.ndarray
    pull: np.ndarray


class TopicPrior(NamedTuple):
    """Standard deviations that the topics' effects may have, and their log probabilities."""

    std: np.ndarray
    log_weight: np.ndarray

    def variances(self):
        """Of an effect, for each standard deviation and weight of the t distribution."""
        return self.std[:, None] ** 2 / TOPIC_WEIGHTS


def topic_prior(scale, n_topics):
    """A half-normal law of this scale on the standard deviation; no effects of a single topic."""
    if n_topics < 2:
        return TopicPrior(np.array([1e-4]), np.zeros(1))
    log_weight = np.log(_STDS) - _STDS**2 / 2  # the points are even in logs
    return TopicPrior(scale * _STDS, log_weight - logsumexp(log_weight))


def first_factors(prior, n_topics):
    """Factors before any answer is seen, of the median standard deviation."""
    middle = np.searchsorted(np.cumsum(np.exp(prior.log_weight)), 0.5)
    precision = np.full(n_topics, prior.std[min(middle, len(prior.std) - 1)] ** -2.0)
    return TopicFactors(precision, np.zeros(n_topics))


def matched_factors(mean, variance, factors, prior):
    """Factors that leave each topic the mean and variance of the exact mixture."""
    # Expectation propagation (Minka 2001), the prior being the factor that is not normal.
    spread = 1 / np.maximum(1 / variance - factors.precision, _LEAST_PRECISION)
    away = spread * (mean / variance - factors.pull)
    variances = prior.variances()[:, :, None]
    logs = _LOG_WEIGHTS[:, None] + _log_normal(away, spread + variances)
    of_std = logsumexp(logs, axis=1)
    # What the other topics say of the standard deviation.
    others = prior.log_weight[:, None] + of_std.sum(axis=1, keepdims=True) - of_std
    logs = logs + others[:, None]
    share = np.exp(logs - logsumexp(logs, axis=(0, 1)))
    # Of a topic with this variance: mean of the effect, and variance.
    shrunk = variances / (variances + spread)
    center = np.sum(share * shrunk, axis=(0, 1)) * away
    second = np.sum(share * (shrunk * spread + (shrunk * away) ** 2), axis=(0, 1))
    precision = 1 / (second - center**2) - 1 / spread
    # An effect that only one item shows could have any size: without an end the rounds swing.
    precision = np.maximum(precision, (_LARGEST * prior.std.max()) ** -2)
    return TopicFactors(precision, (precision + 1 / spread) * center - away / spread)


def _log_normal(away, variance):
    return -0.5 * (np.log(variance) + away**2 / variance)
