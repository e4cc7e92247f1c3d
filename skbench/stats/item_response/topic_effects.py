"""Effects of topics with heavy tails: a mixture of normal laws, as one normal factor a topic."""

from typing import NamedTuple

import numpy as np

_SHARES = np.array([0.93, 0.06, 0.01])  # of topics that are ordinary, odd, or broken
_WIDER = 3.0  # how much farther odd topics scatter than ordinary ones
_LEAST_VARIANCE = 1e-8
_LEAST_PRECISION = 1e-10


class TopicFactors(NamedTuple):
    """Normal factors that stand for the priors of the topics' effects.

    Attributes
    ----------
    precision, pull : ndarray of shape (n_grid, n_topics)
        Precision, and precision times mean.
    """

    precision: np.ndarray
    pull: np.ndarray


def topic_variances(known, std, broken_std):
    """Variances of ordinary, odd and broken topics.

    Parameters
    ----------
    known : ndarray of shape (n_topics,)
        Variance of what is known of each topic's effect already.
    std : ndarray of shape (n_grid,)
        Standard deviation of ordinary topics; 0 for no effects at all.
    broken_std : float
        That of broken ones, at least.

    Returns
    -------
    ndarray of shape (3, n_grid, n_topics)
    """
    broken = np.where(std > 0, np.maximum(broken_std, _WIDER * std), 0.0)
    stds = np.stack([std, _WIDER * std, broken])
    return _LEAST_VARIANCE + known + stds[:, :, None] ** 2


def first_factors(mean, variances):
    """Factors before any answer is seen: the mixture's mean and variance."""
    precision = 1 / np.tensordot(_SHARES, variances, axes=1)
    return TopicFactors(precision, precision * mean)


def matched_factors(mean, variance, factors, prior_mean, variances):
    """Factors that leave each topic the mean and variance of the exact mixture.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_grid, n_topics)
        Posterior of the effects with the present factors.
    factors : TopicFactors
    prior_mean : ndarray of shape (n_topics,)
    variances : ndarray of shape (3, n_grid, n_topics)
        See `topic_variances`.

    Returns
    -------
    factors : TopicFactors
    evidence : ndarray of shape (n_grid,)
        What the mixtures have over the present factors, in logs.

    Notes
    -----
    Expectation propagation [1]_ with the prior as the factor that is not normal: a topic is held
    against what its items say without any prior, and is the more likely to be an odd one the
    farther it is away. Between the two its variance is that of both, which no single normal law of
    the effects has. A factor is never wider than the widest law of the mixture.

    References
    ----------
    .. [1] Minka (2001). Expectation propagation for approximate Bayesian inference. UAI 17.
    """
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
