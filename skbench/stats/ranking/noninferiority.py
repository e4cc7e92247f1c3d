"""Is a candidate not worse than a baseline by more than a margin: verdicts and power."""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from skbench.stats.ranking.power import power_mcnemar


def decide(low, high, margin, fail="worse"):
    """Verdicts of intervals of candidate minus baseline.

    Parameters
    ----------
    low, high : array-like of shape (n_groups,)
        Ends of the intervals; nan is undecided.
    margin : float
        Loss that is put up with, above 0.
    fail : {"worse", "margin"}, default="worse"
        Whether it fails where a loss is shown, or only where one beyond the margin is.

    Returns
    -------
    ndarray of str of shape (n_groups,)
        "pass" where ``low > -margin``, else "fail" where ``high < 0`` (or ``high < -margin``), else
        "undecided".

    Examples
    --------
    >>> decide([-0.01, -0.05, -0.05], [0.03, -0.01, 0.01], 0.02).tolist()
    ['pass', 'fail', 'undecided']
    """
    worst = 0.0 if fail == "worse" else -margin
    cases = [np.greater(low, -margin), np.less(high, worst)]
    return np.select(cases, ["pass", "fail"], "undecided")


def disagreement(only_a, only_b, n, difference):
    """Most likely probability that one model alone is right, given their difference.

    Parameters
    ----------
    only_a, only_b, n : array-like of shape (n_groups,)
        Items that only the one and only the other answered correctly, and all items.
    difference : float or array-like
        Of the proportions of right answers, a minus b.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``2 q + difference``, at least the difference itself, with `q` the probability of an item
        for b alone: the root of Tango's quadratic (`skbench.stats.paired`).

    Examples
    --------
    >>> print(disagreement([10, 0], [20, 0], 100, -0.1).round(3))
    [0.3 0.1]
    """
    a, b, n = (np.asarray(x, dtype=float) for x in (only_a, only_b, n))
    linear = (2 * n - a + b) * difference - a - b
    root = np.sqrt(np.maximum(linear**2 + 8 * n * b * difference * (1 - difference), 0))
    return (root - linear) / (2 * n) + difference


def power_of_counts(n, disagreement_share, margin, confidence_level=0.95, fail="worse"):
    """Chance that a gate on right and wrong answers decides what its margin is for.

    Parameters
    ----------
    n : int
        Items.
    disagreement_share : float
        Probability that one model alone answers an item correctly, see `disagreement`; at least the
        margin is taken.
    margin, fail
        As in `decide`.
    confidence_level : float, default=0.95
        Of the interval.

    Returns
    -------
    float
        For ``fail="worse"`` the chance to fail a candidate that is worse by the margin, else the
        chance to pass one that is as good.

    Notes
    -----
    To fail: the power of McNemar's exact test, at most ``1 - alpha / 2``. To pass: normal, with
    Tango's variance at the margin, within .06 of the sum over all counts from 40 items on.

    Examples
    --------
    >>> print(power_of_counts(400, 0.2, 0.05).round(3))
    0.569
    """
    share, alpha = min(max(disagreement_share, margin), 1.0), 1 - confidence_level
    if fail == "worse":
        return min(power_mcnemar(margin, n, share, confidence_level), 1 - alpha / 2)
    spread = math.sqrt(share), math.sqrt(_variance_at(share, margin))
    return float(ndtr((math.sqrt(n) * margin + ndtri(alpha / 2) * spread[1]) / spread[0]))


def items_to_pass(disagreement_share, margin, confidence_level=0.95, power=0.8):
    """Number of items at which a gate passes a candidate that is as good.

    Parameters
    ----------
    disagreement_share, margin, confidence_level
        As in `power_of_counts`.
    power : float, default=0.8
        Chance to pass.

    Returns
    -------
    int

    Examples
    --------
    >>> n = items_to_pass(0.2, 0.05)
    >>> n, round(power_of_counts(n, 0.2, 0.05, fail="margin"), 3)
    (644, 0.8)
    """
    wide = ndtri((1 + confidence_level) / 2) * math.sqrt(_variance_at(disagreement_share, margin))
    return math.ceil(((wide + ndtri(power) * math.sqrt(disagreement_share)) / margin) ** 2)


def _variance_at(share, margin):
    """Tango's variance of a difference of 0, were it minus the margin."""
    return disagreement(share / 2, share / 2, 1, -margin) - margin**2
