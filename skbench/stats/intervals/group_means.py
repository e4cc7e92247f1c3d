"""Means over groups of very different sizes that count equally."""

from typing import NamedTuple

import numpy as np

_BORROWED = 4.0  # degrees of freedom that the pooled variance is worth


class MeanOfGroups(NamedTuple):
    """Sampling variances of means over groups; arrays of the shape of one group's entry.

    Attributes
    ----------
    variance : ndarray
        Of the mean over the groups.
    left : ndarray
        Share of that variance that is left where some of the items are all there are.
    n : ndarray
        Number of items that as precise a mean of equal groups would have.
    """

    variance: np.ndarray
    left: np.ndarray
    n: np.ndarray


def freedom_of_mean(variance, n):
    """Degrees of freedom of the variance of a mean over groups.

    Parameters
    ----------
    variance : ndarray of shape (n_groups, ...)
        Sampling variances of the groups' means.
    n : ndarray of shape (n_groups, ...)
        Number of items behind them.

    Returns
    -------
    ndarray
        Satterthwaite's, with ``n - 1`` and 4 more for each group: large where groups are alike,
        small where one small group makes up most of the variance.

    Examples
    --------
    >>> freedom_of_mean(np.array([0.06, 0.001]), np.array([4, 300])).round(1).item()
    7.2
    """
    freedom = np.asarray(n) - 1 + _BORROWED
    return np.sum(variance, axis=0) ** 2 / np.sum(np.square(variance) / freedom, axis=0)


def mean_of_groups(variance, n, df, left=1.0):
    """Variance of a mean over groups, from variances that some of them cannot know.

    Parameters
    ----------
    variance : ndarray of shape (n_groups, ...)
        Sampling variances of the groups' means, score units squared; nan where unknown.
    n : ndarray of shape (n_groups, ...)
        Number of items behind them.
    df : ndarray of shape (n_groups, ...)
        Their degrees of freedom; nan or 0 where unknown.
    left : float or ndarray of shape (n_groups, ...), default=1
        Share of each variance that is left in a finite population, ``1 - n / N``.

    Returns
    -------
    MeanOfGroups
        nan where no group knows its variance.

    Notes
    -----
    Each group's variance of a single item is drawn to the one pooled over groups, with weights
    ``df`` and 4: groups of two or three items that agree by chance do not count as certain. The
    pooled variance weighs groups by their degrees of freedom. With a normal quantile, family errors
    of equal models are .03 to .06 where groups have 3 to 2,000 items.

    When not to use it: where groups are a sample of more groups.

    Examples
    --------
    Two items that agree, and three hundred that do not:

    >>> found = mean_of_groups(np.array([0.0, 0.25 / 300]), np.array([2, 300]), np.array([1, 299]))
    >>> found.variance.round(4).item(), found.n.round(1).item()
    (0.0251, 7.9)
    """
    variance, n, df, left = np.broadcast_arrays(variance, n, df, left)
    known = np.isfinite(variance) & (np.nan_to_num(df) > 0)
    df = np.where(known, df, 0.0)
    of_item = np.where(known, n * variance, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = np.sum(df * of_item, axis=0) / df.sum(axis=0)
        drawn = (df * of_item + _BORROWED * pooled) / (df + _BORROWED) / n
        total, of_rest = drawn.sum(axis=0), (left * drawn).sum(axis=0)
        share = np.where(total > 0, of_rest / total, left.mean(axis=0))
        equal = len(n) ** 2 / np.sum(1 / n, axis=0)
    return MeanOfGroups(total / len(n) ** 2, share, equal)
