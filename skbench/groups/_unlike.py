"""Estimates of groups that may be unlike their peers, for methods with one prior for all."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import expit, logit
from scipy.stats import norm

from skbench.groups._base import Bounds
from skbench.stats import mixed
from skbench.stats.mixed import Moments

FEWEST_SCORES = 20  # behind a sampling variance, to tell who is unlike its peers
_HEEDED = 0.1  # least probability that moves a group: with less, all stays as it was
_LEAST_VARIANCE = 1e-12
_LEAST_CORRELATION = 0.05  # of models' errors on a topic: a hundred models are no sure mean


class Topics(NamedTuple):
    """Groups of one topic taken together, for all topics with more than one group.

    member : sparse matrix of shape (n_groups, n_topics), 1 where a group is of a topic
    weights : the same shape, the groups' parts of the items of their topic
    z, sigma2, n : ndarray of shape (n_topics,); n is None where sizes are unknown
    """

    member: csr_array
    weights: csr_array
    z: np.ndarray
    sigma2: np.ndarray
    n: np.ndarray | None

    def to_groups(self, log_odds):
        """Log odds of topics, (..., n_topics), for each of their groups; -inf without a topic."""
        topic = self.member.argmax(axis=1)
        return np.where(self._inside, log_odds[..., topic], -np.inf)

    def likelier(self, gain, log_odds):
        """Log of how much likelier all becomes by odd groups, or topics that are odd as a whole."""
        in_topics = np.logaddexp(gain @ self.member, log_odds).sum(axis=-1)
        return in_topics + gain[..., ~self._inside].sum(axis=-1)

    @property
    def _inside(self):
        return np.diff(self.member.indptr) > 0


def pooled_topics(z, sigma2, n, groups, sampling):
    """Direct estimates of topics over all models, with no more certainty than they have.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
    n : ndarray of shape (n_groups,) or None
    groups : ndarray of shape (n_groups,) or None
        Topic of each group.
    sampling : Sampling or None
        Models that answered the same items say less together: the variance of their mean
        is multiplied by ``1 + (m - 1) r``, and their items are divided by it. `r` is the mean
        correlation of their errors, at least .05; 1 where it is not known.

    Returns
    -------
    Topics or None
        None where no topic has two groups.
    """
    if groups is None:
        return None
    code, _ = pd.factorize(np.asarray(groups, dtype=object))
    count = np.bincount(code)
    several = np.flatnonzero(count > 1)
    if not len(several):
        return None
    size = np.ones(len(z)) if n is None else n.astype(float)
    code = np.where(count > 1, np.cumsum(count > 1) - 1, -1)[code]
    inside = np.flatnonzero(code >= 0)
    place = (inside, code[inside]), (len(z), len(several))
    total = np.bincount(code[inside], size[inside])
    member = csr_array((np.ones(len(inside)), place[0]), shape=place[1])
    weights = csr_array((size[inside] / total[code[inside]], place[0]), shape=place[1])
    design = 1 + (count[several] - 1) * _mean_correlation(sampling)
    sigma2 = design * (sigma2 @ weights**2)
    return Topics(member, weights, z @ weights, sigma2, n if n is None else total / design)


def _mean_correlation(sampling):
    if sampling is None or (sampling.items_shared and sampling.item_correlation is None):
        return 1.0
    if not sampling.items_shared:
        return _LEAST_CORRELATION
    matrix = sampling.item_correlation.to_numpy()
    return max(_LEAST_CORRELATION, matrix[~np.eye(len(matrix), dtype=bool)].mean())


class Odd(NamedTuple):
    """What speaks for groups, and for topics as a whole, being unlike their peers.

    factors : ndarray of shape (n_splits, n_groups), log Bayes factors
    topic_odds : ndarray of shape (n_splits, n_topics) or None, log odds of topics
    topics : Topics or None
    """

    factors: np.ndarray
    topic_odds: np.ndarray | None
    topics: Topics | None

    def replace(self, splits, new):
        """Write those of some splits over the old ones."""
        self.factors[splits] = new.factors
        if self.topics is not None:
            self.topic_odds[splits] = new.topic_odds

    def log_odds(self, shares):
        """Of each group that it, its topic, or both are odd, by the share of odd groups."""
        own = self.factors + logit(shares)[:, None]
        if self.topics is None:
            return own
        whole = self.topics.to_groups(self.topic_odds)
        return np.logaddexp(np.logaddexp(own, whole), own + whole)

    def likelihood(self, shares):
        """Log probability of all groups, less that of all if unlike their peers."""
        own = self.factors + logit(shares)[:, None]
        gain = np.maximum(own, 0) + np.log(1 + np.exp(-np.abs(own)))
        if self.topics is not None:
            return self.topics.likelier(gain, self.topic_odds) - self.factors.sum(axis=1)
        return np.sum(gain - self.factors, axis=1)

    def of_single_groups(self):
        """The factors; 0 where the topic is odd, which says nothing of single groups."""
        if self.topics is None:
            return self.factors
        return np.where(self.topics.to_groups(self.topic_odds) > 0, 0.0, self.factors)


def heeded(unlike):
    """Probabilities of being unlike the others, 0 where they are small."""
    return np.where(unlike > _HEEDED, unlike, 0.0)


def heeded_odds(log_odds):
    """Log odds of being unlike the others, -inf where the probability is small."""
    return np.where(expit(log_odds) > _HEEDED, log_odds, -np.inf)


def mixed_mean(value, alone, unlike):
    """Estimates from those of a common prior, and what each group says alone.

    Parameters
    ----------
    value : ndarray of shape (n_groups,)
        Of groups like their peers.
    alone : Moments
        Of groups unlike them.
    unlike : ndarray of shape (n_groups,)
        Probability of the second; below 1/10 it counts as 0.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    share = heeded(unlike)
    return np.where(share > 0, (1 - share) * value + share * alone.score, value)


def mixed_bounds(bounds, alone, unlike, confidence_level):
    """The same for interval ends and standard errors.

    Parameters
    ----------
    bounds : Bounds
        Of groups like their peers; those of a normal law, as far as the mixture goes.
    alone, unlike
        As in `mixed_mean`.
    confidence_level : float

    Returns
    -------
    Bounds
    """
    share = heeded(unlike)
    moved = np.flatnonzero(share > 0)
    if not len(moved):
        return bounds
    share, rest = share[moved], Moments(*(part[moved] for part in alone))
    low, high, error = (part[moved] for part in bounds)
    center, z = (low + high) / 2, norm.ppf((1 + confidence_level) / 2)
    spread = np.maximum(((high - low) / 2 / z) ** 2, _LEAST_VARIANCE)
    like = Moments(center, spread, np.zeros_like(center), center, error**2)
    mixture = mixed.mixture_moments((like, rest), np.stack([1 - share, share]))
    ends = mixed.mixture_interval((like, rest), share, confidence_level)
    new = (*ends, np.sqrt(mixture.score_variance))
    return Bounds(*(_replaced(*pair, moved) for pair in zip(bounds, new, strict=True)))


def _replaced(values, new, where):
    values = values.copy()
    values[where] = new
    return values
