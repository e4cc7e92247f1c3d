"""Differences of models that answered the same items."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from skbench.stats.intervals.binomial import clopper_pearson_interval
from skbench.stats.intervals.moments import satterthwaite_df


class UnpairedDifference(NamedTuple):
    """Differences of two independent means.

    Attributes
    ----------
    difference : ndarray of shape (n_groups,)
        Mean of a minus mean of b.
    variance : ndarray of shape (n_groups,)
        Its sampling variance.
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
        Their sampling variances.
    df_a, df_b : array-like of shape (n_groups,)
        Degrees of freedom of these variances.

    Returns
    -------
    UnpairedDifference
        Degrees of freedom are nan where both variances are 0.

    Notes
    -----
    ``V = V_a + V_b`` with ``V^2 / (V_a^2 / df_a + V_b^2 / df_b)`` degrees of freedom.

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
    """Distinct combinations of counts: all pairs of many models on few items have few.

    Parameters
    ----------
    *counts : ndarray of int of shape (n_pairs,)
        Counts of each pair, at least 0.

    Returns
    -------
    distinct : list of ndarray of shape (n_distinct,)
        The counts of each combination.
    which : ndarray of int of shape (n_pairs,)
        Combination of each pair.

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
    """Exact McNemar test that two models answer equally many items correctly.

    Parameters
    ----------
    only_a, only_b : array-like of int of shape (n_groups,)
        Numbers of items that only the one and only the other answered correctly.

    Returns
    -------
    ndarray of shape (n_groups,)
        Two-sided p-values; 1 where no item tells the models apart.

    Notes
    -----
    ``min(1, 2 P(K <= min(only_a, only_b)))`` with K binomial with probability 1/2 among the items
    on which the models disagree (McNemar 1947, Psychometrika 12, 153-157). Items must be
    independent, not in clusters.

    Examples
    --------
    >>> mcnemar_exact([10, 0], [5, 0]).round(4)
    array([0.3018, 1.    ])
    """
    only_a, only_b = np.asarray(only_a), np.asarray(only_b)
    return np.minimum(1, 2 * binom.cdf(np.minimum(only_a, only_b), only_a + only_b, 0.5))


def mcnemar_exact_less(only_a, only_b):
    """Exact one-sided McNemar test against a model that answers fewer items correctly.

    Parameters
    ----------
    only_a, only_b : array-like of int of shape (n_groups,)
        As in `mcnemar_exact`.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``P(K <= only_a)``, small where a is worse than b; 1 where no item tells the models apart.

    Examples
    --------
    >>> mcnemar_exact_less([1, 0], [6, 0]).round(4)
    array([0.0625, 1.    ])
    """
    only_a, only_b = np.asarray(only_a), np.asarray(only_b)
    return binom.cdf(only_a, only_a + only_b, 0.5)


def mcnemar_interval(only_a, only_b, n, confidence_level=0.95):
    """Interval of the difference of two proportions that agrees with McNemar's exact test.

    Parameters
    ----------
    only_a, only_b : array-like of int of shape (n_groups,)
        Numbers of items that only the one and only the other answered correctly.
    n : array-like of int of shape (n_groups,)
        Numbers of items, at least 1.
    confidence_level : float, default=0.95
        Nominal level.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval of the difference, a minus b. It leaves out 0 when, and only when,
        ``mcnemar_exact(only_a, only_b) < 1 - confidence_level``.

    Notes
    -----
    Tango's interval (1998, Statistics in Medicine 17, 891-908): all differences that the score
    test, which is McNemar's at 0, does not reject. Where the exact test of 0 disagrees, the end
    next to 0 follows it: it goes to 0, or to ``(2 p_low - 1) m_low`` of the Clopper-Pearson ends of
    a's share of the disagreements and of the share of disagreements. Items must be independent, not
    in clusters.

    Examples
    --------
    >>> low, high = mcnemar_interval([10, 0], [5, 0], [100, 100])
    >>> print(low.round(3), high.round(3))
    [-0.029 -0.037] [0.133 0.037]
    """
    a, b, n = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (only_a, only_b, n)))
    rejects = mcnemar_exact(a, b) < 1 - confidence_level

    def high_end(a, b):
        """Of a minus b; the low end is that of b minus a, with its sign changed."""
        end = _score_end(a, b, n, confidence_level)
        near = rejects & (b > a)
        below = -_exact_end(*(x[near] for x in (b, a + b, n)), confidence_level)
        end[near] = np.minimum(end[near], below)
        return np.where(rejects, end, np.maximum(end, 0))

    return -high_end(b, a), high_end(a, b)


def _score_end(a, b, n, confidence_level):
    """Largest difference that Tango's test does not reject, by Newton's method in brackets."""
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
        if step.max(initial=0) < 1e-13:  # by rounding it may go to and fro for ever
            break
    return delta


def _exact_end(wins, disagreements, n, confidence_level):
    """Product of the exact lower ends of the lead among disagreements and of their share."""
    share = clopper_pearson_interval(wins, np.maximum(disagreements, 1), confidence_level)[0]
    rate = clopper_pearson_interval(disagreements, n, confidence_level)[0]
    return (2 * share - 1) * rate
