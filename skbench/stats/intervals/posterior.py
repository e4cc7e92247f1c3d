"""Intervals and p-values from posterior draws, for one or several quantities."""

import numpy as np
from scipy.stats import norm

from skbench.stats.intervals.moments import ROUNDING


def posterior_interval(values, confidence_level=0.95, n_comparisons=1):
    """Equal-tailed intervals of posterior draws.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_quantities)
        Draws of a posterior.
    confidence_level : float, default=0.95
        Level of each interval, or of all intervals jointly if `n_comparisons` is more than 1.
    n_comparisons : int, default=1
        Number of simultaneous intervals (Bonferroni).

    Returns
    -------
    low, high : ndarray of shape (n_quantities,)
        Ends of the intervals. With one comparison, they are drawn values.

    Notes
    -----
    The ends are quantiles of the mid-distribution, which counts half of the draws at a value as
    below it. This matters for whole numbers, such as totals of items, for which usual quantiles are
    wider by about one item. For several simultaneous intervals, the ends move outward by ``z' - z``
    standard deviations, with the normal quantiles of both levels, because draws do not reach so
    far.

    **When not to use it.** Bootstrap replicates are not posterior draws.

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
    """The smallest value with at least this share of draws below it; those at it count half."""
    found = np.quantile(values, share, axis=0, method="lower")
    below = (values < found).sum(axis=0) + (values == found).sum(axis=0) / 2
    following = np.where(values > found, values, np.inf).min(axis=0)
    return np.where(below < share * len(values), np.minimum(following, values.max(axis=0)), found)


def equality_p_value(values):
    """Posterior p-value of the hypothesis that several quantities are equal.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_quantities)
        Draws of a posterior.

    Returns
    -------
    float
        Consider the deviations of the quantities from their mean. The p-value is the share of draws
        whose deviations are at least as far from their posterior means as 0 is.

    Notes
    -----
    The distance is the sum of squared deviations in units of their posterior standard deviations.
    If quantities are shrunk toward each other, the p-value is conservative. It is 0 if a deviation
    is known (up to rounding) and not 0.

    **When not to use it.** For two quantities, `posterior_p_value` of their difference has more
    power.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> equality_p_value(rng.normal([0, 0.5, 0], 1, (2000, 3))) > 0.8
    True
    >>> equality_p_value(rng.normal([0, 9, 0], 1, (2000, 3))) < 0.001
    True
    """
    deviation = values - values.mean(axis=1, keepdims=True)
    center, scale = deviation.mean(axis=0), deviation.std(axis=0)
    rounding = ROUNDING * np.abs(values).max()
    known = scale <= rounding
    if np.any(np.abs(center[known]) > rounding):
        return 0.0
    deviation, center, scale = deviation[:, ~known], center[~known], scale[~known]
    distance = np.sum(((deviation - center) / scale) ** 2, axis=1)
    return float(np.mean(distance >= np.sum((center / scale) ** 2)))


def posterior_p_value(values):
    """Two-sided posterior p-values against 0, consistent with `posterior_interval`.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_quantities)
        Draws of differences.

    Returns
    -------
    ndarray of shape (n_quantities,)
        The `alpha` at which an interval of level ``1 - alpha`` ends at 0; 1 if most draws are 0.

    Notes
    -----
    Twice the share of draws beyond 0, counting half of those at 0. If no draw lies beyond 0, the
    tail is normal from the extreme draw outward.

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
