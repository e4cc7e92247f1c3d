"""Intervals and p-values from draws of a posterior, for one quantity or several at once."""

import numpy as np
from scipy.stats import norm

from skbench.stats.intervals.moments import ROUNDING


def posterior_interval(values, confidence_level=0.95, n_comparisons=1):
    """Equal-tailed intervals of draws.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_quantities)
        Draws of a posterior.
    confidence_level : float, default=0.95
        Of each interval; of all together if `n_comparisons` is more than 1.
    n_comparisons : int, default=1
        Number of intervals that are to hold at once, by Bonferroni.

    Returns
    -------
    low, high : ndarray of shape (n_quantities,)
        Values that were drawn, where one interval is asked for.

    Notes
    -----
    Quantiles at the level asked. Values that repeat have those of the mid-distribution, which takes
    half of the draws at a value for below it: totals of items are whole numbers, and quantiles that
    are passed for sure would be wider by about one item. For several intervals at once the ends
    move outwards by ``z' - z`` standard deviations, with normal quantiles of either level, as draws
    do not reach so far.

    When not to use it: for draws of a bootstrap, whose quantiles are no posterior.

    Examples
    --------
    >>> values = np.arange(1001.0)[:, None] / 1000
    >>> [end.round(3).tolist() for end in posterior_interval(values, 0.9)]
    [[0.05], [0.95]]
    >>> [end.round(2).tolist() for end in posterior_interval(values, 0.9, n_comparisons=10)]
    [[-0.22], [1.22]]
    """
    alpha = round(1 - confidence_level, 12)  # so that quantiles of whole numbers are whole
    low, high = _mid_quantile(values, alpha / 2), -_mid_quantile(-values, alpha / 2)
    further = norm.isf(alpha / 2 / n_comparisons) - norm.isf(alpha / 2)
    reach = further * values.std(axis=0)
    return low - reach, high + reach


def _mid_quantile(values, share):
    """The least value with at least this share of draws below it, half of those at it counted."""
    found = np.quantile(values, share, axis=0, method="lower")
    below = (values < found).sum(axis=0) + (values == found).sum(axis=0) / 2
    following = np.where(values > found, values, np.inf).min(axis=0)
    return np.where(below < share * len(values), np.minimum(following, values.max(axis=0)), found)


def equality_p_value(values):
    """Posterior p-value of several quantities being equal.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_quantities)
        Draws of a posterior.

    Returns
    -------
    float
        Share of draws whose deviations from their mean over quantities are at least as far from
        the posterior means of these deviations as 0 is.

    Notes
    -----
    The distance is the sum of squares of deviations over their posterior standard deviations. Means
    that are shrunk toward each other make it conservative where all quantities are equal. A
    deviation that is known, but for rounding, and is not 0 makes it 0.

    When not to use it: for two quantities; `posterior_p_value` of their difference is sharper.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> equality_p_value(rng.normal([0, 0.5, 0], 1, (2000, 3))) > 0.8
    True
    >>> equality_p_value(rng.normal([0, 9, 0], 1, (2000, 3))) < 0.001
    True
    """
    deviation = values - values.mean(axis=1, keepdims=True)
    center, spread = deviation.mean(axis=0), deviation.std(axis=0)
    rounding = ROUNDING * np.abs(values).max()
    known = spread <= rounding
    if np.any(np.abs(center[known]) > rounding):
        return 0.0
    deviation, center, spread = deviation[:, ~known], center[~known], spread[~known]
    distance = np.sum(((deviation - center) / spread) ** 2, axis=1)
    return float(np.mean(distance >= np.sum((center / spread) ** 2)))


def posterior_p_value(values):
    """Two-sided p-values of draws against 0 that agree with `posterior_interval`.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_quantities)
        Draws of differences.

    Returns
    -------
    ndarray of shape (n_quantities,)
        The `alpha` at which an interval of level ``1 - alpha`` has its end at 0; 1 where most
        draws are 0.

    Notes
    -----
    Twice the share of draws beyond 0, half of those at it counted. Where no draw is, the tail is
    normal from the extreme draw outwards.

    Examples
    --------
    >>> posterior_p_value(np.array([[-1.0], [1], [2], [3], [4], [5], [6], [7]]))
    array([0.25])
    """
    n = len(values)
    at = (values == 0).sum(axis=0) / 2
    beyond = np.minimum((values < 0).sum(axis=0), (values > 0).sum(axis=0)) + at
    nearest = np.minimum(np.abs(values.min(axis=0)), np.abs(values.max(axis=0)))
    std = values.std(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        tail = 2 * norm.sf(norm.isf(0.5 / n) + nearest / std)
    tail = np.where(std > 0, tail, 0.0)
    return np.minimum(np.where(beyond > 0, 2 * beyond / n, tail), 1.0)
