"""Items answered several times: at least one right answer, all of them right, and flips."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import hypergeom
from scipy.stats import t as student_t

from skbench.stats.intervals.binomial import wilson_interval_of_mean

_UNSEEN = 0.3  # items at the far end that were not drawn (test_intervals_cover)


def pass_at_k(n_correct, n_runs, k, all_of_them=False):
    """Chance that at least one, or that every one, of k answers to an item is right.

    Parameters
    ----------
    n_correct : array-like of int of shape (n_items,)
        Right answers to each item.
    n_runs : array-like of int of shape (n_items,)
        Answers to each item, at least `k`.
    k : int
        Answers that are looked at.
    all_of_them : bool, default=False
        Whether all `k` have to be right (pass^k), not just one (pass@k).

    Returns
    -------
    ndarray of shape (n_items,)
        ``1 - C(R - c, k) / C(R, k)``, or ``C(c, k) / C(R, k)``.

    Notes
    -----
    The share of all choices of k among R answers with c right ones (Chen et al. 2021, arXiv
    2107.03374), unbiased for ``1 - (1 - p)^k`` and ``p^k``. Answers must be drawn anew; those of
    greedy decoding are all alike.

    Examples
    --------
    >>> print(pass_at_k([2, 0], 8, 3).round(4), pass_at_k([2, 7], 8, 3, True).round(4))
    [0.6429 0.    ] [0.    0.625]
    """
    n_correct, n_runs = np.broadcast_arrays(n_correct, n_runs)
    chosen = n_correct if all_of_them else n_runs - n_correct
    steps = np.arange(k)
    parts = np.maximum(chosen[..., None] - steps, 0) / (n_runs[..., None] - steps)
    return parts.prod(axis=-1) if all_of_them else 1 - parts.prod(axis=-1)


def item_mean_interval(mean, variance, n_units, n_items, df=np.inf, confidence_level=0.95):
    """Interval of a mean over items of values in [0, 1], few of which may matter.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_groups,)
        Of the items drawn, and its sampling variance.
    n_units, n_items : ndarray of shape (n_groups,)
        Independent units (items, or clusters of them), and items.
    df : float or ndarray, default=inf
        Degrees of freedom of a variance by clusters.
    confidence_level : float, default=0.95
        Nominal level.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        nan where `df` is.

    Notes
    -----
    Wilson's interval for as many items as the variance is worth. Each end has 0.3 of an unseen item
    at 0 (at 1) in its variance, up to that of right and wrong answers.

    Examples
    --------
    >>> low, high = item_mean_interval(np.array([0.05]), np.array([0.0009]), 40, 40)
    >>> print(low.round(3), high.round(3))
    [0.016] [0.155]
    """
    tail, n = (1 + confidence_level) / 2, np.asarray(n_units, dtype=float)
    wider = (student_t.ppf(tail, df) / ndtri(tail)) ** 2
    ends = []
    for far in (mean, 1 - mean):
        unseen = n * _UNSEEN / (n + _UNSEEN) * far**2
        with np.errstate(divide="ignore", invalid="ignore"):
            smoothed = (n * (n - 1) * variance + unseen) / (n * (n - 1 + _UNSEEN))
            most = np.maximum(variance, mean * (1 - mean) / (n - 1))
        smoothed = np.minimum(smoothed, most) * wider
        ends.append(wilson_interval_of_mean(mean, smoothed, n_items, confidence_level))
    return ends[0][0], ends[1][1]


class Flips(NamedTuple):
    """What noise explains of items that one model solves and another does not.

    Attributes
    ----------
    p_value : ndarray of shape (n_items,)
        That both models answer the item equally well; two-sided, exact.
    flipped : ndarray of bool of shape (n_items,)
        Whether one model is right most of the time and the other is not.
    chance : ndarray of shape (n_items,)
        Of such a flip, were the two equally good at the item.
    """

    p_value: np.ndarray
    flipped: np.ndarray
    chance: np.ndarray


def flips(correct_a, runs_a, correct_b, runs_b):
    """Compare repeated answers of two models to each item.

    Parameters
    ----------
    correct_a, runs_a, correct_b, runs_b : array-like of int of shape (n_items,)
        Right answers and all answers of each model.

    Returns
    -------
    Flips

    Notes
    -----
    Fisher's exact test, its smaller tail doubled. The sum of `chance` is the number of flips that
    noise alone makes. Among 1,000 items without a change 50 have a p-value below .05.

    Examples
    --------
    >>> found = flips([8, 5], 8, [0, 3], 8)
    >>> print(found.p_value.round(4)[1], found.flipped, found.chance.round(2))
    0.6193 [ True  True] [0.62 0.62]
    """
    a, runs_a, b, runs_b = np.broadcast_arrays(correct_a, runs_a, correct_b, runs_b)
    law = hypergeom(runs_a + runs_b, a + b, runs_a)
    p_value = np.minimum(1, 2 * np.minimum(law.cdf(a), law.sf(a - 1)))
    # Right most of the time: 2 a >= runs. Given the total, b = a + b - a.
    least_a, least_b = -(-runs_a // 2), -(-runs_b // 2)
    most_without_b = a + b - least_b
    solved_by_a = law.sf(np.maximum(least_a - 1, most_without_b))
    solved_by_b = law.cdf(np.minimum(least_a - 1, most_without_b))
    flipped = (a >= least_a) != (b >= least_b)
    return Flips(p_value, flipped, solved_by_a + solved_by_b)
