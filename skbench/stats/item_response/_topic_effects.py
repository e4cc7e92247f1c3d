"""Topic effects with a t distribution: each is approximated by a normal factor."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skbench.stats.mixed._scales import LOG_TOPIC_PRIOR, TOPIC_WEIGHTS

_STDS = np.geomspace(0.03, 2.5, 12)  # of topic effects, in units of the prior scale
_LOG_WEIGHTS = LOG_TOPIC_PRIOR - logsumexp(LOG_TOPIC_PRIOR)
_LEAST_PRECISION = 1e-10
_LARGEST = 2.0  # standard deviation of a factor, in units of the largest of `_STDS`


class TopicFactors(NamedTuple):
    """Normal factors that approximate the priors of the topic effects."""

    precision: np.ndarray
    pull: np.ndarray


class TopicPrior(NamedTuple):
    """Grid of standard deviations of the topic effects, with their log probabilities."""

    std: np.ndarray
    log_weight: np.ndarray

    def variances(self):
        """Variances of an effect, by standard deviation and weight of the t distribution."""
        return self.std[:, None] ** 2 / TOPIC_WEIGHTS


def topic_prior(scale, n_topics):
    """Half-normal prior of the standard deviation; a single topic has no effect."""
    if n_topics < 2:
        return TopicPrior(np.array([1e-4]), np.zeros(1))
    log_weight = np.log(_STDS) - _STDS**2 / 2  # the points are even in logs
    return TopicPrior(scale * _STDS, log_weight - logsumexp(log_weight))


def first_factors(prior, n_topics):
    """Factors before any answer, with the median standard deviation."""
    middle = np.searchsorted(np.cumsum(np.exp(prior.log_weight)), 0.5)
    precision = np.full(n_topics, prior.std[min(middle, len(prior.std) - 1)] ** -2.0)
    return TopicFactors(precision, np.zeros(n_topics))


def matched_factors(mean, variance, factors, prior):
    """Factors that give each topic effect the mean and variance of the exact mixture."""
    # Expectation propagation (Minka 2001). The factor that is not normal is the prior.
    cavity = 1 / np.maximum(1 / variance - factors.precision, _LEAST_PRECISION)
    center = cavity * (mean / variance - factors.pull)
    variances = prior.variances()[:, :, None]
    logs = _LOG_WEIGHTS[:, None] + _log_normal(center, cavity + variances)
    of_std = logsumexp(logs, axis=1)
    # Information of the other topics about the standard deviation.
    others = prior.log_weight[:, None] + of_std.sum(axis=1, keepdims=True) - of_std
    logs = logs + others[:, None]
    share = np.exp(logs - logsumexp(logs, axis=(0, 1)))
    # Mean and second moment of the effect.
    shrunk = variances / (variances + cavity)
    first = np.sum(share * shrunk, axis=(0, 1)) * center
    second = np.sum(share * (shrunk * cavity + (shrunk * center) ** 2), axis=(0, 1))
    precision = 1 / (second - first**2) - 1 / cavity
    # One item does not bound the effect of its topic, so the iterations may oscillate without this.
    precision = np.maximum(precision, (_LARGEST * prior.std.max()) ** -2)
    return TopicFactors(precision, (precision + 1 / cavity) * first - center / cavity)


def _log_normal(value, variance):
    return -0.5 * (np.log(variance) + value**2 / variance)
