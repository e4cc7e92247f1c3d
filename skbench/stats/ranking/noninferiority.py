"""Non-inferiority of a candidate to a baseline: verdicts and power."""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from skbench.stats.ranking.power import power_mcnemar


def decide(low, high, margin, fail="worse"):
    """Verdicts from intervals of candidate minus baseline.

    Parameters
    ----------
    low, high : array-like of shape (n_groups,)
        Ends of the intervals; nan means undecided.
    margin : float
        Tolerated loss, above 0.
    fail : {"worse", "margin"}, default="worse"
        Whether any significant loss fails, or only one significantly larger than the margin.

    Returns
    -------
    ndarray of str of shape (n_groups,)
        "pass" if ``low > -margin``, else "fail" if ``high < 0`` (or ``high < -margin``), else
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
    """Maximum likelihood estimate of the probability of disagreement, given the difference.

    Parameters
    ----------
    only_a, only_b, n : array-like of shape (n_groups,)
        Items that only model a, or only model b, answered correctly, and all items.
    difference : float or array-like
        Difference of the shares of correct answers, a minus b.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``2 q + difference``, where `q` is the probability that only model b is correct: the root of
        Tango's quadratic (`skbench.stats.paired`).

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
    """Power of a gate on scores of 0 and 1.

    Parameters
    ----------
    n : int
        Number of items.
    disagreement_share : float
        Probability that only one model answers an item correctly (see `disagreement`); at least
        the margin is used.
    margin, fail
        As in `decide`.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    float
        With ``fail="worse"``, the probability of failing a candidate that is worse by the margin.
        Otherwise, the probability of passing one that is as good.

    Notes
    -----
    The probability of failing is the power of McNemar's exact test, at most ``1 - alpha / 2``. The
    probability of passing is a normal approximation with Tango's variance at the margin. From 40
    items on it is within 0.06 of the sum over all counts.

    Examples
    --------
    >>> print(power_of_counts(400, 0.2, 0.05).round(3))
    0.569
    """
    share, alpha = min(max(disagreement_share, margin), 1.0), 1 - confidence_level
    if fail == "worse":
        return min(power_mcnemar(margin, n, share, confidence_level), 1 - alpha / 2)
    deviations = math.sqrt(share), math.sqrt(_variance_at(share, margin))
    return float(ndtr((math.sqrt(n) * margin + ndtri(alpha / 2) * deviations[1]) / deviations[0]))


def items_to_pass(disagreement_share, margin, confidence_level=0.95, power=0.8):
    """Number of items at which a gate passes an equally good candidate with a given probability.

    Parameters
    ----------
    disagreement_share, margin, confidence_level
        As in `power_of_counts`.
    power : float, default=0.8
        Probability of passing.

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
    """Tango's variance at a difference of minus the margin, if the observed difference is 0."""
    return disagreement(share / 2, share / 2, 1, -margin) - margin**2
