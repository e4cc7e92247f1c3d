"""Bootstrap replicates of mean scores from counts, normal means, or resampled items or clusters."""

import numpy as np

from skbench.stats._arrays import floats

_BATCH_CELLS = 2**21  # resampling counts in memory, 16 MB
# In numpy a multinomial count per row takes about 20 times as long as an index per item.
_ITEMS_PER_ROW = 20


def binomial_means(z, n, n_draws, rng):
    """Bootstrap replicates of proportions without resampling items.

    Parameters
    ----------
    z : array-like of shape (...)
        Observed proportions, 0 to 1.
    n : array-like of int of shape (...)
        Numbers of items. They broadcast against `z`.
    n_draws : int
        Number of replicates.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws, ...)
        Proportions of correct answers among `n` items drawn with replacement.

    Notes
    -----
    The number of correct answers among items drawn with replacement has the distribution
    ``Binomial(n, z)``. So this is exactly the bootstrap of [1]_.

    When not to use it: for dependent items, or to compare models that answered the same items
    (`resampled_means`).

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty quantification for
       aggregate performance metrics in machine learning benchmarks.

    Examples
    --------
    >>> draws = binomial_means([0.5, 1.0], [10, 10], 1000, np.random.default_rng(0))
    >>> print(draws.std(axis=0).round(2))
    [0.15 0.  ]
    """
    z, n = np.broadcast_arrays(np.asarray(z, dtype=float), np.asarray(n))
    # With draws on the last axis numpy initializes each distribution only once.
    counts = rng.binomial(n[..., None], z[..., None], size=(*z.shape, n_draws))
    return np.moveaxis(counts, -1, 0) / n


def normal_means(z, sigma2, n_draws, rng):
    """Normal draws of means with known sampling variance.

    Parameters
    ----------
    z : array-like of shape (...)
        Observed means.
    sigma2 : array-like of shape (...)
        Sampling variances of the means. They broadcast against `z`.
    n_draws, rng
        As in `binomial_means`.

    Returns
    -------
    ndarray of shape (n_draws, ...)
        Draws of ``N(z, sigma2)``.

    Examples
    --------
    >>> draws = normal_means([0.5, 30.0], [0.01, 4.0], 1000, np.random.default_rng(0))
    >>> print(draws.std(axis=0).round(1))
    [0.1 2. ]
    """
    z, sigma2 = floats(z, sigma2)
    return z + np.sqrt(sigma2) * rng.standard_normal((n_draws, *z.shape))


def distinct_rows(rows):
    """Distinct rows of a table and their counts.

    Parameters
    ----------
    rows : array-like of shape (n_rows, n_columns)
        Numbers.

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_columns)
        Distinct rows in sorted order.
    counts : ndarray of int of shape (n_distinct,)
        Number of occurrences of each row.

    Notes
    -----
    The result is the input of `resampled_means`.

    Examples
    --------
    >>> rows, counts = distinct_rows([[1, 0], [1, 1], [1, 0]])
    >>> print(rows.tolist(), counts)
    [[1, 0], [1, 1]] [2 1]
    """
    return np.unique(np.asarray(rows), axis=0, return_counts=True)


def resampled_means(sums, sizes, counts, n_draws, rng):
    """Bootstrap replicates of the means of several models on the same items.

    Parameters
    ----------
    sums : ndarray of shape (n_rows, n_models)
        Sum of the scores of each model in each row. A row is an item or a cluster of items.
    sizes : ndarray of shape (n_rows, n_models)
        Number of scores in each sum, at least 1. It is 1 for items. A single column applies to all
        models.
    counts : ndarray of int of shape (n_rows,)
        Number of items or clusters that equal the row.
    n_draws, rng
        As in `binomial_means`.

    Returns
    -------
    ndarray of shape (n_draws, n_models)
        Mean score of each model over ``counts.sum()`` items or clusters drawn with replacement. All
        models have the same items.

    Notes
    -----
    With ``w ~ Multinomial(N, counts / N)`` a replicate is ``sum w_r sums_r / sum w_r sizes_r``.
    This is the paired bootstrap for several models, and the cluster bootstrap if rows are clusters.

    When not to use it: with few clusters C, because the variance is that of CR0, which is too small
    by a factor of about ``(C - 1) / C``.

    Examples
    --------
    >>> right = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    >>> draws = resampled_means(
    ...     right, np.ones((3, 1)), np.array([60, 5, 35]), 1000, np.random.default_rng(0)
    ... )
    >>> gain = draws[:, 0] - draws[:, 1]
    >>> print(draws.std(axis=0).round(2), gain.std().round(2))
    [0.05 0.05] 0.02
    """
    n_rows, n_items = len(counts), int(counts.sum())
    batch = max(1, _BATCH_CELLS // max(n_rows, n_items if _by_item(n_rows, n_items) else 1))
    draws = np.empty((n_draws, sums.shape[1]))
    for start in range(0, n_draws, batch):
        stop = min(start + batch, n_draws)
        weights = _resampling_counts(counts, stop - start, rng)
        draws[start:stop] = (weights @ sums) / (weights @ sizes)
    return draws


def two_sided_p_value(draws):
    """Two-sided bootstrap p-value of the hypothesis that a quantity is 0.

    Parameters
    ----------
    draws : array-like of shape (n_draws, ...)
        Bootstrap replicates of the quantity.

    Returns
    -------
    ndarray of shape (...)
        P-values ``min(1, 2 (1 + k) / (1 + n_draws))``. `k` is the number of replicates on the rarer
        side of 0, including those at 0.

    Notes
    -----
    The p-value is the smallest significance level at which the equal-tailed quantile interval
    excludes 0. The added 1s keep it above 0.

    Examples
    --------
    >>> two_sided_p_value([[0.1, 0.0], [0.2, 0.0], [0.1, 0.0]])
    array([0.5, 1. ])
    """
    draws = np.asarray(draws, dtype=float)
    rarer = np.minimum((draws <= 0).sum(axis=0), (draws >= 0).sum(axis=0))
    p_value = np.minimum(1, 2 * (1 + rarer) / (1 + len(draws)))
    return np.where(np.isnan(draws).any(axis=0), np.nan, p_value)


def _by_item(n_rows, n_items):
    """Whether an index per item is faster than a multinomial count per row."""
    return n_items < _ITEMS_PER_ROW * n_rows


def _resampling_counts(counts, n_draws, rng):
    """Number of times that each row is drawn, as floats of shape (n_draws, n_rows)."""
    n_rows, n_items = len(counts), int(counts.sum())
    if not _by_item(n_rows, n_items):
        return rng.multinomial(n_items, counts / n_items, size=n_draws).astype(float)
    row_of_item = np.repeat(np.arange(n_rows), counts)
    drawn = row_of_item[rng.integers(n_items, size=(n_draws, n_items))]
    drawn += n_rows * np.arange(n_draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_draws * n_rows).reshape(n_draws, -1).astype(float)
