"""Betting confidence sequences of means of bounded scores."""

import math

import numpy as np
from scipy.special import ndtr

# Shares of the capital that are bet, one for each gambler; all start with equal capital.
FRACTIONS = np.geomspace(0.02, 0.9, 8)
_HALVINGS = 44  # 1e-13 of the range
_PRICE = 1.2  # log capital lost because the best share is unknown (test_chance_of_a_decision)


def log_capital(values, counts, mean):
    """Log capital of gamblers who bet that a mean is higher.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Distinct scores in [0, 1].
    counts : array-like of shape (..., n_values)
        Counts of the scores.
    mean : float
        Hypothetical mean, in (0, 1].

    Returns
    -------
    float or ndarray of shape (...)
        Log of the mean over the `FRACTIONS` c of ``prod (1 - c + c x / mean)``.

    Notes
    -----
    If `mean` is the true mean, the capital is a test martingale for every share, and so for their
    mean (Waudby-Smith and Ramdas 2024, JRSS B 86, 1-27). By Ville's inequality, it ever reaches
    ``1 / alpha`` with probability at most alpha. Shares do not depend on the scores, so counts
    suffice. The order of the scores must not depend on their values.

    Examples
    --------
    >>> print(round(log_capital([0.0, 1.0], [2, 30], 0.5), 2))
    12.6
    """
    gains = np.log1p(FRACTIONS[:, None] * (np.asarray(values, dtype=float) / mean - 1))
    logs = np.asarray(counts) @ gains.T
    # Computed directly because scipy's logsumexp is slow.
    top = logs.max(axis=-1, keepdims=True)
    return (top + np.log(np.exp(logs - top).mean(axis=-1, keepdims=True)))[..., 0][()]


def confidence_sequence(values, counts, confidence_level=0.95):
    """Interval of a mean that is simultaneously valid at all times.

    Parameters
    ----------
    values, counts
        As in `log_capital`.
    confidence_level : float, default=0.95
        Probability that the interval contains the mean at every time.

    Returns
    -------
    low, high : float
        Ends of the interval.

    Notes
    -----
    The interval contains all means for which neither gamblers who bet on a higher mean nor those
    who bet on a lower one reach a capital of ``2 / alpha``. For a fixed number of scores,
    `skbench.stats.means.betting_interval` is shorter.

    Examples
    --------
    >>> low, high = confidence_sequence([0.0, 1.0], [20, 80])
    >>> print(round(low, 3), round(high, 3))
    0.651 0.906
    """
    values = np.asarray(values, dtype=float)
    goal = math.log(2 / (1 - confidence_level))
    return _low(values, counts, goal), 1 - _low(1 - values, counts, goal)


def _low(values, counts, goal):
    bottom, top = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (bottom + top) / 2
        if log_capital(values, counts, middle) >= goal:
            bottom = middle
        else:
            top = middle
    return bottom


def half_width(variance, n, confidence_level=0.95):
    """Approximate half width of a confidence sequence after n scores.

    ``sqrt(2 variance (log(2 / alpha) + 1.2) / n)``.

    Examples
    --------
    >>> print(round(half_width(0.16, 100), 3))
    0.125
    """
    goal = math.log(2 / (1 - confidence_level)) + _PRICE
    return math.sqrt(2 * variance * goal / n)


def chance_of_decision(mean, variance, n, n_end, reference, confidence_level=0.95):
    """Probability that a confidence sequence excludes a reference value at the end.

    Parameters
    ----------
    mean, variance : float
        Mean and variance of the scores so far.
    n, n_end : int
        Number of scores so far, and at the end.
    reference : float
        Value to be excluded, such as 0 for a difference.
    confidence_level : float, default=0.95
        As in `confidence_sequence`.

    Returns
    -------
    float
        Predictive probability under a flat prior for the true mean. The mean at the end is
        ``N(mean, variance (1 / n - 1 / n_end))``. The reference is excluded if it is more than
        `half_width` away.

    Examples
    --------
    >>> print(round(chance_of_decision(0.02, 0.3, 100, 400, 0.0), 3))
    0.096
    """
    needed = half_width(variance, n_end, confidence_level)
    ahead = math.sqrt(variance * max(1 / n - 1 / n_end, 0.0))
    if ahead == 0:
        return float(abs(mean - reference) > needed)
    ends = np.array([mean - reference - needed, reference - needed - mean]) / ahead
    return float(ndtr(ends).sum())
