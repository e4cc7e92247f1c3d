"""Scores against costs: intervals of skewed means, and who dominates whom."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t


class SkewedEnds(NamedTuple):
    """Ends of intervals of skewed means, each of shape (n_means,)."""

    low: np.ndarray
    high: np.ndarray


def skewed_ends(mean, variance, influence, df, confidence_level=0.95):
    """Intervals of means of skewed values that allow for a large value not seen.

    Parameters
    ----------
    mean, variance, df : array-like of shape (n_means,)
        Means, their sampling variances and the degrees of freedom of these.
    influence : ndarray of shape (n_clusters, n_means)
        What each item or cluster adds to the error of each mean, such as
        ``(x - mean) / sqrt(n (n - 1))``; only its shape counts where `variance` differs.
    confidence_level : float, default=0.95

    Returns
    -------
    SkewedEnds
        The mean itself where `variance` is 0, nan where it or `df` is not known.

    Notes
    -----
    Hall's transformation [1]_ of the t statistic T, ``T + r T^2 / 3 + r^2 T^3 / 27 + r / 6``,
    takes the skewness r of the error of the mean off; it is monotone, so that it can be solved for
    the mean. Each end has the variance and the skewness of the sample with its farthest value on
    that side once more, as `skbench.stats.worst_case` has for bounded scores. Lognormal costs with
    a log standard deviation of .5, 1 and 1.5 on 50 items: the upper end of a 95% interval misses in
    .022, .037 and .067 of samples, of a t interval in .048, .097 and .18
    (test_skewed_ends_miss_less_often_than_t).

    When not to use it: where a cost is rare and huge, such as one run in a thousand: no sample
    without it can tell.

    References
    ----------
    .. [1] Hall (1992). On the removal of skewness by transformation. Journal of the Royal
       Statistical Society B 54, 221-228.

    Examples
    --------
    >>> x = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 15.0])
    >>> influence = (x - x.mean())[:, None] / np.sqrt(30)
    >>> variance = np.sum(influence**2, axis=0)
    >>> [end.round(1).item() for end in skewed_ends([x.mean()], variance, influence, [5])]
    [0.3, 29.0]
    """
    mean, variance, df = (np.asarray(x, dtype=float) for x in (mean, variance, df))
    reach = student_t.isf((1 - confidence_level) / 2, np.where(df > 0, df, np.nan))
    share = len(influence) / (len(influence) + 1)
    second, third = (np.sum(influence**k, axis=0) for k in (2, 3))
    ends = []
    for farthest, side in ((influence.min(axis=0), reach), (influence.max(axis=0), -reach)):
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = (third + farthest**3) / (second + farthest**2) ** 1.5
            # As large a part of the variance as the influences have it.
            error = np.sqrt(variance * (share + share**2 * farthest**2 / second))
        end = mean - error * _solved(side, np.nan_to_num(skewness))
        ends.append(np.where(variance == 0, mean, end))
    return SkewedEnds(*ends)


def _solved(y, r):
    """T of ``T + r T^2 / 3 + r^2 T^3 / 27 + r / 6 = y``."""
    small = np.abs(r) < 1e-6  # where the ratio below loses its digits
    safe = np.where(small, 1.0, r)
    return np.where(small, y, 3 / safe * (np.cbrt(1 + safe * (y - safe / 6)) - 1))


def observed_frontier(score, cost):
    """Models that no other beats in one of score and cost and equals or beats in the other.

    Parameters
    ----------
    score, cost : array-like of shape (n_models,)
        High scores and low costs are good; nan is on no frontier.

    Returns
    -------
    ndarray of bool of shape (n_models,)

    Examples
    --------
    >>> observed_frontier([0.9, 0.8, 0.8, 0.5], [3.0, 1.0, 2.0, 1.0])
    array([ True,  True, False, False])
    """
    score, cost = np.asarray(score, dtype=float), np.asarray(cost, dtype=float)
    as_good = (score[:, None] >= score) & (cost[:, None] <= cost)
    better = (score[:, None] > score) | (cost[:, None] < cost)
    return ~(as_good & better).any(axis=0) & np.isfinite(score) & np.isfinite(cost)


def dominance(better, cost, variance, influence, df, confidence_level):
    """Which model surely scores higher than which other, and costs less.

    Parameters
    ----------
    better : ndarray of bool of shape (n_models, n_models)
        Whether the row's model surely has the better score than the column's.
    cost : ndarray of shape (n_models,)
        Mean costs; nan where unknown.
    variance, df : ndarray of shape (n_models, n_models)
        Sampling variances of the differences of costs, and their degrees of freedom; 0 for two
        costs that are known exactly, such as list prices.
    influence : ndarray of shape (n_clusters, n_models)
        As in `skewed_ends`, of each model's cost.
    confidence_level : float
        Level of the interval of each difference; `better` should have the same.

    Returns
    -------
    ndarray of bool of shape (n_models, n_models)
        Whether the row's model dominates the column's. Known costs may be equal.

    Notes
    -----
    An intersection-union test: that b dominates a is false if b scores no higher or costs no less,
    and both are rejected at the full level [1]_; a correction for two quantities is not needed.

    References
    ----------
    .. [1] Berger (1982). Multiparameter hypothesis testing and acceptance sampling.
       Technometrics 24, 295-300.

    Examples
    --------
    Two list prices:

    >>> known = np.zeros((2, 2))
    >>> higher = np.array([[False, True], [False, False]])
    >>> dominance(higher, np.array([1.0, 2.0]), known, np.zeros((9, 2)), known + 8, 0.95)
    array([[False,  True],
           [False, False]])
    """
    found = np.zeros(better.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        candidate = better & (cost[:, None] <= cost)
    for j in np.flatnonzero(candidate.any(axis=1)):
        others = np.flatnonzero(candidate[j])
        apart = influence[:, [j]] - influence[:, others]
        moments = variance[j, others], apart, df[j, others]
        high = skewed_ends(cost[j] - cost[others], *moments, confidence_level).high
        found[j, others] = (high < 0) | ((variance[j, others] == 0) & (high == 0))
    return found
