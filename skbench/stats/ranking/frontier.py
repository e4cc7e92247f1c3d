"""Frontier of scores and costs: intervals of skewed means, and dominance."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t


class SkewedEnds(NamedTuple):
    """Ends of intervals of skewed means, each of shape (n_means,)."""

    low: np.ndarray
    high: np.ndarray


def skewed_ends(mean, variance, influence, df, confidence_level=0.95):
    """Intervals of means of skewed values that allow for one unobserved large value.

    Parameters
    ----------
    mean, variance, df : array-like of shape (n_means,)
        Means, their sampling variances and the degrees of freedom of these.
    influence : ndarray of shape (n_clusters, n_means)
        Contribution of each item or cluster to the error of each mean, such as
        ``(x - mean) / sqrt(n (n - 1))``. It is rescaled to `variance`.
    confidence_level : float, default=0.95
        Confidence level.

    Returns
    -------
    SkewedEnds
        The mean itself if `variance` is 0; nan if `variance` or `df` is unknown.

    Notes
    -----
    Hall's transformation [1]_ of the t statistic T, ``T + r T^2 / 3 + r^2 T^3 / 27 + r / 6``,
    corrects for the skewness r of the error of the mean. It is monotone, so it can be solved for
    the mean. Each end uses variance and skewness of the sample with its most extreme value on that
    side added once more, as `skbench.stats.worst_case` does for bounded scores. For lognormal
    costs on 50 items with log standard deviations of 0.5, 1 and 1.5, the upper end of a 95%
    interval is too low in 0.022, 0.037 and 0.067 of samples. For t intervals this is 0.048, 0.097
    and 0.18 (test_skewed_ends_miss_less_often_than_t).

    When not to use it: if a huge cost is rare, such as once in a thousand runs, because most
    samples do not contain it.

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
            # Keep the same share of the variance as in the influences.
            error = np.sqrt(variance * (share + share**2 * farthest**2 / second))
        end = mean - error * _solved(side, np.nan_to_num(skewness))
        ends.append(np.where(variance == 0, mean, end))
    return SkewedEnds(*ends)


def _solved(y, r):
    """T of ``T + r T^2 / 3 + r^2 T^3 / 27 + r / 6 = y``."""
    small = np.abs(r) < 1e-6  # the ratio below would lose precision
    safe = np.where(small, 1.0, r)
    return np.where(small, y, 3 / safe * (np.cbrt(1 + safe * (y - safe / 6)) - 1))


def observed_frontier(score, cost):
    """Models that no other dominates: none is better in score or cost and as good in the other.

    Parameters
    ----------
    score, cost : array-like of shape (n_models,)
        High scores and low costs are good; models with nan are not on the frontier.

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
    """Find pairs of models in which the first has a significantly better score and lower cost.

    Parameters
    ----------
    better : ndarray of bool of shape (n_models, n_models)
        Whether the row's model has a significantly better score than the column's.
    cost : ndarray of shape (n_models,)
        Mean costs; nan if unknown.
    variance, df : ndarray of shape (n_models, n_models)
        Sampling variances of cost differences, and their degrees of freedom; 0 for two costs
        that are known exactly, such as list prices.
    influence : ndarray of shape (n_clusters, n_models)
        As in `skewed_ends`, for each model's cost.
    confidence_level : float
        Confidence level of each difference; `better` should have the same level.

    Returns
    -------
    ndarray of bool of shape (n_models, n_models)
        Whether the row's model dominates the column's. Known costs may be equal.

    Notes
    -----
    This is an intersection-union test. The null hypothesis is that b scores no higher or costs no
    less than a. Both parts are tested at the full level, so no adjustment for two quantities is
    needed [1]_.

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
        difference = influence[:, [j]] - influence[:, others]
        moments = variance[j, others], difference, df[j, others]
        high = skewed_ends(cost[j] - cost[others], *moments, confidence_level).high
        found[j, others] = (high < 0) | ((variance[j, others] == 0) & (high == 0))
    return found
