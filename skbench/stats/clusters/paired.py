"""Differences between two models: exact tests and intervals for paired items."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from skbench.stats.intervals.binomial import clopper_pearson_interval
from skbench.stats.intervals.moments import satterthwaite_df


class UnpairedDifference(NamedTuple):
    """Difference of two independent means.

    Attributes
    ----------
    difference : ndarray of shape (n_groups,)
        Mean of a minus mean of b.
    variance : ndarray of shape (n_groups,)
        Sampling variance of the difference.
    df : ndarray of shape (n_groups,)
        Degrees of freedom for a t interval.
    """

    difference: np.ndarray
    variance: np.ndarray
    df: np.ndarray


def unpaired_difference(mean_a, mean_b, variance_a, variance_b, df_a, df_b):
    """Difference of two independent means with Welch's degrees of freedom.

    Parameters
    ----------
    mean_a, mean_b : array-like of shape (n_groups,)
        Means of two models on different items.
    variance_a, variance_b : array-like of shape (n_groups,)
        Sampling variances of the means.
    df_a, df_b : array-like of shape (n_groups,)
        Degrees of freedom of these variances.

    Returns
    -------
    UnpairedDifference
        Difference of the means. Degrees of freedom are nan if both variances are 0.

    Notes
    -----
    The variance is ``V = V_a + V_b`` with ``V^2 / (V_a^2 / df_a + V_b^2 / df_b)`` degrees of
    freedom.

    Examples
    --------
    >>> unpaired_difference(0.7, 0.6, 0.001, 0.001, 9, 9).df.round(9).item()
    18.0
    """
    variance = np.asarray(variance_a, dtype=float) + variance_b
    both = np.stack([variance_a, variance_b], axis=-1)
    freedom = satterthwaite_df(both, np.stack([df_a, df_b], axis=-1))
    difference = np.subtract(mean_a, mean_b)
    return UnpairedDifference(difference, variance, freedom)


def distinct_counts(*counts):
    """Distinct combinations of counts, which are few even for all pairs of many models.

    Parameters
    ----------
    *counts : ndarray of int of shape (n_pairs,)
        Counts of each pair of models, at least 0.

    Returns
    -------
    distinct : list of ndarray of shape (n_distinct,)
        The counts of each combination.
    which : ndarray of int of shape (n_pairs,)
        Position of each pair's combination.

    Examples
    --------
    >>> distinct_counts(np.array([3, 1, 3]), np.array([0, 2, 0]))
    ([array([1, 3]), array([2, 0])], array([1, 0, 1]))
    """
    key = np.zeros(len(counts[0]), dtype=np.int64)
    for column in counts:
        if column.min() < column.max():
            key = key * (int(column.max()) + 1) + column.astype(np.int64)
    distinct = np.unique(key)
    which = np.searchsorted(distinct, key)
    pair = np.empty(len(distinct), dtype=np.int64)
    pair[which] = np.arange(len(which))
    return [column[pair] for column in counts], which


def mcnemar_exact(only_a, only_b):
    """Exact McNemar test of equal accuracy of two models.

    Parameters
    ----------
    only_a, only_b : array-like of int of shape (n_groups,)
        Numbers of items that only model a, and only model b, answered correctly.

    Returns
    -------
    ndarray of shape (n_groups,)
        Two-sided p-values; 1 if the models agree on all items.

    Notes
    -----
    The p-value is ``min(1, 2 P(K <= min(only_a, only_b)))``. K is binomial with probability 1/2 and
    the number of items on which the models disagree (McNemar 1947, Psychometrika 12, 153-157).

    When not to use it: for items in clusters.

    Examples
    --------
    >>> mcnemar_exact([10, 0], [5, 0]).round(4)
    array([0.3018, 1.    ])
    """
    only_a, only_b = np.asarray(only_a), np.asarray(only_b)
    return np.minimum(1, 2 * binom.cdf(np.minimum(only_a, only_b), only_a + only_b, 0.5))


def mcnemar_exact_less(only_a, only_b):
    """Exact one-sided McNemar test of whether model a is worse than model b.

    Parameters
    ----------
    only_a, only_b : array-like of int of shape (n_groups,)
        As in `mcnemar_exact`.

    Returns
    -------
    ndarray of shape (n_groups,)
        P-values ``P(K <= only_a)``, small if a is worse than b; 1 if the models agree on all items.

    Examples
    --------
    >>> mcnemar_exact_less([1, 0], [6, 0]).round(4)
    array([0.0625, 1.    ])
    """
    only_a, only_b = np.asarray(only_a), np.asarray(only_b)
    return binom.cdf(only_a, only_a + only_b, 0.5)


def mcnemar_interval(only_a, only_b, n, confidence_level=0.95):
    """Interval of the difference of paired proportions, consistent with McNemar's exact test.

    Parameters
    ----------
    only_a, only_b : array-like of int of shape (n_groups,)
        Numbers of items that only model a, and only model b, answered correctly.
    n : array-like of int of shape (n_groups,)
        Numbers of items, at least 1.
    confidence_level : float, default=0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval of the difference, a minus b. The interval excludes 0 if and only if
        ``mcnemar_exact(only_a, only_b) < 1 - confidence_level``.

    Notes
    -----
    Tango's interval (1998, Statistics in Medicine 17, 891-908) contains all differences that the
    score test does not reject. At 0 this is McNemar's test. If the exact test of 0 disagrees, the
    end nearest to 0 moves to 0, or to ``(2 p_low - 1) m_low``. These are the lower Clopper-Pearson
    ends of a's proportion of the disagreements and of the proportion of disagreements.

    When not to use it: for items in clusters.

    Examples
    --------
    >>> low, high = mcnemar_interval([10, 0], [5, 0], [100, 100])
    >>> print(low.round(3), high.round(3))
    [-0.029 -0.037] [0.133 0.037]
    """
    a, b, n = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (only_a, only_b, n)))
    rejects = mcnemar_exact(a, b) < 1 - confidence_level

    def high_end(a, b):
        """Upper end of a minus b; the lower end is minus that of b minus a."""
        end = _score_end(a, b, n, confidence_level)
        near = rejects & (b > a)
        below = -_exact_end(*(x[near] for x in (b, a + b, n)), confidence_level)
        end[near] = np.minimum(end[near], below)
        return np.where(rejects, end, np.maximum(end, 0))

    return -high_end(b, a), high_end(a, b)


def _score_end(a, b, n, confidence_level):
    """Largest difference that Tango's test does not reject, by Newton steps in a bracket."""
    z = -ndtri((1 - confidence_level) / 2)
    inside, outside = np.asarray((a - b) / n), np.ones_like(n)
    delta = inside + z * np.sqrt((a + b - (a - b) ** 2 / n + z**2 / 2) / n**2)  # nearly Wald's
    delta = np.where(delta < 1, delta, (inside + outside) / 2)
    for _ in range(60):
        linear, slope = -a - b + (2 * n - a + b) * delta, 2 * n - a + b
        root = np.sqrt(np.maximum(linear**2 + 8 * n * b * delta * (1 - delta), 0))
        error = np.sqrt(np.maximum((root - linear) / 2 + n * delta * (1 - delta), 0))
        beyond = n * delta - (a - b) - z * error
        inside, outside = (
            np.where(beyond <= 0, delta, inside),
            np.where(beyond <= 0, outside, delta),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            of_root = (linear * slope + 4 * n * b * (1 - 2 * delta)) / root
            of_error = ((of_root - slope) / 2 + n * (1 - 2 * delta)) / (2 * error)
            new = delta - beyond / (n - z * of_error)
        new = np.where((new >= inside) & (new <= outside), new, (inside + outside) / 2)
        step, delta = np.abs(new - delta), new
        if step.max(initial=0) < 1e-13:  # rounding prevents smaller steps
            break
    return delta


def _exact_end(wins, disagreements, n, confidence_level):
    """Product of exact lower ends: the lead among disagreements and their proportion."""
    share = clopper_pearson_interval(wins, np.maximum(disagreements, 1), confidence_level)[0]
    rate = clopper_pearson_interval(disagreements, n, confidence_level)[0]
    return (2 * share - 1) * rate
