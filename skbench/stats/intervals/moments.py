"""Sizes, means and centered products of columns by group, and sums of variances."""

from typing import NamedTuple

import numpy as np

from skbench.stats._arrays import floats

ROUNDING = 1e-12  # relative difference that is due to rounding
_EPS = np.finfo(float).eps


class Moments(NamedTuple):
    """Sizes, means and centered products of columns by group.

    Attributes
    ----------
    n : ndarray of shape (n_groups,)
        Number of rows.
    mean : ndarray of shape (n_groups, n_columns)
        Means; nan in a group without rows.
    products : ndarray of shape (n_groups, n_columns, n_columns)
        Sums of products of the deviations from the means.
    """

    n: np.ndarray
    mean: np.ndarray
    products: np.ndarray


def group_moments(columns, codes, n_groups, weights=None):
    """Means and centered products of columns in groups.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Numbers.
    codes : ndarray of int of shape (n_rows,)
        Group of each row, 0 to ``n_groups - 1``.
    n_groups : int
        Number of groups.
    weights : ndarray of shape (n_rows,), default=None
        Weights of the rows, rescaled within each group to sum to its number of rows.

    Returns
    -------
    Moments

    Notes
    -----
    Deviations from the group's mean are multiplied, so a large mean loses no digits.

    Examples
    --------
    >>> m = group_moments(np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1]), 2)
    >>> print(m.n, m.mean.ravel(), m.products.ravel())
    [2 1] [2. 5.] [2. 0.]
    """
    n, total = _sum_by(codes, n_groups)
    share = None if weights is None else weights * divided(n, total(weights))[codes]
    k = columns.shape[1]
    mean, products = np.empty((n_groups, k)), np.empty((n_groups, k, k))
    centered = []
    for j in range(k):
        column = columns[:, j]
        mean[:, j] = divided(total(column if share is None else share * column), n)
        deviation = np.take(mean[:, j], codes)
        centered.append(np.subtract(column, deviation, out=deviation))
    for i in range(k):
        left = centered[i] if share is None else share * centered[i]
        for j in range(i, k):
            products[:, i, j] = products[:, j, i] = total(left * centered[j])
    # Treat the rounding error of a sum of n equal numbers as 0.
    rounding = n[:, None] * (n[:, None] * _EPS * mean) ** 2
    return Moments(n, mean, _without_rounding(products, rounding))


def complement_moments(columns, excluded, codes, n_groups):
    """`group_moments` of all rows except a few, without a copy of the table.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Numbers.
    excluded : ndarray of int of shape (n_excluded,)
        Positions of the excluded rows.
    codes, n_groups
        As in `group_moments`.

    Returns
    -------
    Moments

    Notes
    -----
    Deviations from the mean of all rows of the group, corrected for the difference of the means.

    Examples
    --------
    >>> columns = np.array([[1.0], [3.0], [9.0]])
    >>> m = complement_moments(columns, np.array([2]), np.zeros(3, dtype=int), 1)
    >>> print(m.n, m.mean.ravel(), m.products.ravel())
    [2] [2.] [2.]
    """
    n_all, total = _sum_by(codes, n_groups)
    n = n_all - np.bincount(codes[excluded], minlength=n_groups)
    k = columns.shape[1]
    center, shift = np.empty((n_groups, k)), np.empty((n_groups, k))
    products = np.empty((n_groups, k, k))
    centered = []
    for j in range(k):
        center[:, j] = divided(total(columns[:, j]), n_all)
        deviation = np.take(center[:, j], codes)
        np.subtract(columns[:, j], deviation, out=deviation)
        deviation[excluded] = 0.0
        shift[:, j] = divided(total(deviation), n)
        centered.append(deviation)
    for i in range(k):
        for j in range(i, k):
            last_use = centered[i] if i == j == k - 1 else None
            product = np.multiply(centered[i], centered[j], out=last_use)
            products[:, i, j] = products[:, j, i] = total(product)
    known = np.where(n[:, None] > 0, shift, 0.0)
    between = n[:, None, None] * known[:, :, None] * known[:, None, :]
    n_column = n[:, None]
    rounding = n_column * ((n_all[:, None] * _EPS * center) ** 2 + n_column * _EPS * known**2)
    return Moments(n, center + shift, _without_rounding(products - between, rounding))


def divided(above, below):
    """Quotient of arrays; nan if the denominator is not positive.

    Parameters
    ----------
    above, below : array-like
        Broadcast against each other.

    Returns
    -------
    ndarray

    Notes
    -----
    It raises no warning, because the mean of an empty group is unknown.

    Examples
    --------
    >>> divided([1.0, 2.0], [0, 4])
    array([nan, 0.5])
    """
    above, below = floats(above, below)
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def satterthwaite_df(variances, df):
    """Degrees of freedom of a sum of independent variance estimates.

    Parameters
    ----------
    variances : array-like of shape (..., n_parts)
        Variances of the parts.
    df : array-like of shape (..., n_parts)
        Degrees of freedom of each part, positive.

    Returns
    -------
    ndarray of shape (...)
        Degrees of freedom; nan if all parts are 0 or one is unknown.

    Notes
    -----
    ``(sum v)^2 / sum(v^2 / df)``: the scaled chi-squared distribution with the mean and variance of
    the sum (Satterthwaite 1946, Biometrics Bulletin 2, 110-114). With two parts, these are Welch's
    degrees of freedom.

    Examples
    --------
    >>> satterthwaite_df([[0.01, 0.01], [0.01, 0.0]], [9, 9])
    array([18.,  9.])
    """
    variances = np.asarray(variances, dtype=float)
    return divided(variances.sum(axis=-1) ** 2, divided(variances**2, df).sum(axis=-1))


def _sum_by(codes, n_groups):
    """Sizes of the groups, and a function that sums values by group."""
    if not np.all(codes[1:] >= codes[:-1]):
        n = np.bincount(codes, minlength=n_groups)
        return n, lambda values: np.bincount(codes, values, n_groups)
    edges = np.searchsorted(codes, np.arange(n_groups + 1))
    n = np.diff(edges)
    filled = np.flatnonzero(n)

    def total(values):
        sums = np.zeros(n_groups)
        if filled.size:
            sums[filled] = np.add.reduceat(values, edges[filled])
        return sums

    return n, total


def _without_rounding(products, rounding):
    """Products, 0 in columns whose squares are within rounding error."""
    varies = np.einsum("gii->gi", products) > rounding
    return np.where(varies[:, :, None] & varies[:, None, :], products, 0.0)
