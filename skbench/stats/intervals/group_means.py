"""Variance of unweighted means over groups of very different sizes."""

from typing import NamedTuple

import numpy as np

_BORROWED = 4.0  # degrees of freedom of the pooled variance


class MeanOfGroups(NamedTuple):
    """Sampling variances of means over groups; arrays with the shape of one group's entry.

    Attributes
    ----------
    variance : ndarray
        Variance of the mean over the groups.
    left : ndarray
        Share of that variance that remains in finite populations.
    n : ndarray
        Number of items of an equally precise mean of groups of equal size.
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
        Satterthwaite's, with ``n - 1 + 4`` for each group. They are small if one small group has
        most of the variance.

    Examples
    --------
    >>> freedom_of_mean(np.array([0.06, 0.001]), np.array([4, 300])).round(1).item()
    7.2
    """
    freedom = np.asarray(n) - 1 + _BORROWED
    return np.sum(variance, axis=0) ** 2 / np.sum(np.square(variance) / freedom, axis=0)


def mean_of_groups(groups):
    """Variance of a mean over groups, some of which have unknown variances.

    Parameters
    ----------
    groups : iterable of tuples of four arrays
        For each group: the sampling variance of its mean in squared score units (nan if unknown);
        its number of items; its degrees of freedom (nan or 0 if unknown); the share of the
        variance that remains in a finite population, ``1 - n / N``.

    Returns
    -------
    MeanOfGroups
        nan if no group has a known variance.

    Notes
    -----
    Each group's variance of a single item is shrunk toward the variance pooled over groups, with
    weights ``df`` and 4. Groups of two or three items that agree by chance therefore do not count
    as certain. The pooled variance weights groups by their degrees of freedom. With a normal
    quantile, family-wise errors of equal models are .03 to .06 for groups of 3 to 2,000 items.

    **When not to use it.** It ignores the variance between groups, which matters if the groups are
    a sample of more groups.

    Examples
    --------
    Two items that agree, and three hundred that do not:

    >>> found = mean_of_groups([(0.0, 2, 1, 1.0), (0.25 / 300, 300, 299, 1.0)])
    >>> found.variance.round(4).item(), found.n.round(1).item()
    (0.0251, 7.9)
    """
    n_groups, sums = 0, [0.0] * 8
    with np.errstate(invalid="ignore", divide="ignore"):
        for variance, n, df, left in groups:
            known = np.isfinite(variance) & (np.nan_to_num(df) > 0)
            df = np.where(known, df, 0.0)
            own = np.where(known, df * n * variance, 0.0)
            weight, inverse = 1 / ((df + _BORROWED) * n), np.divide(1, n)
            rest = left * weight
            parts = own, df, weight, weight * own, rest, rest * own, left, inverse
            sums = [total + part for total, part in zip(sums, parts, strict=True)]
            n_groups += 1
        own, df, weight, drawn, rest, drawn_rest, left, inverse = sums
        pooled = _BORROWED * own / df
        total, of_rest = drawn + pooled * weight, drawn_rest + pooled * rest
        share = np.where(total > 0, of_rest / total, left / n_groups)
        equal = n_groups**2 / inverse
    return MeanOfGroups(total / n_groups**2, share, equal)
