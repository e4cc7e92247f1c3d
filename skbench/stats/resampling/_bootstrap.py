"""Bootstrap draws of mean scores: of counts, of normal means, of resampled items or clusters."""

import numpy as np

from skbench.stats._arrays import floats

_BATCH_CELLS = 2**21  # resampling counts held at once, 16 MB
# Measured: numpy's multinomial costs about 20 times as much per row as an index per item.
_ITEMS_PER_ROW = 20


def binomial_means(z, n, n_draws, rng):
    """Bootstrap draws of proportions, without resampling a single item.

    Parameters
    ----------
    z : array-like of shape (...)
        Observed proportions, 0 to 1.
    n : array-like of int of shape (...)
        Number of items behind each. Broadcasts against `z`.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    ndarray of shape (n_draws, ...)
        Proportions of right answers among `n` items drawn with replacement.

    Notes
    -----
    The number of right answers among items drawn with replacement is ``Binomial(n, z)``: exactly
    the bootstrap of [1]_. Items must be independent, and so must the errors of models that are
    compared.

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
    # Draws on the last axis: numpy prepares a law once and uses it for all of them.
    counts = rng.binomial(n[..., None], z[..., None], size=(*z.shape, n_draws))
    return np.moveaxis(counts, -1, 0) / n


def normal_means(z, sigma2, n_draws, rng):
    """Draws of means whose sampling variance is all that is known.

    Parameters
    ----------
    z : array-like of shape (...)
        Observed means.
    sigma2 : array-like of shape (...)
        Their sampling variances. Broadcasts against `z`.
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
    """The different rows of a table, and how often each occurs.

    Parameters
    ----------
    rows : array-like of shape (n_rows, n_columns)
        Numbers.

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_columns)
        Sorted.
    counts : ndarray of int of shape (n_distinct,)
        How often each occurs.

    Notes
    -----
    `resampled_means` draws how often each kind of row occurs.

    Examples
    --------
    >>> rows, counts = distinct_rows([[1, 0], [1, 1], [1, 0]])
    >>> print(rows.tolist(), counts)
    [[1, 0], [1, 1]] [2 1]
    """
    return np.unique(np.asarray(rows), axis=0, return_counts=True)


def resampled_means(sums, sizes, counts, n_draws, rng):
    """Bootstrap draws of the means of several models, whole rows at a time.

    Parameters
    ----------
    sums : ndarray of shape (n_rows, n_models)
        Sum of the scores of each model in each row: an item, or a cluster of items.
    sizes : ndarray of shape (n_rows, n_models)
        Number of scores in each sum, 1 for items; at least 1. One column stands for all models.
    counts : ndarray of int of shape (n_rows,)
        How many items or clusters look like this row.
    n_draws, rng
        As in `binomial_means`.

    Returns
    -------
    ndarray of shape (n_draws, n_models)
        Mean score of each model over ``counts.sum()`` items or clusters drawn with replacement, the
        same for all models.

    Notes
    -----
    With ``w ~ Multinomial(N, counts / N)`` a draw is ``sum w_r sums_r / sum w_r sizes_r``: the
    plain, the paired (several models) or the cluster bootstrap (one row per cluster). With few
    clusters the variance is that of CR0, too small by a factor of about ``(C - 1) / C``.

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
    """Bootstrap p-value of the hypothesis that a quantity is 0.

    Parameters
    ----------
    draws : array-like of shape (n_draws, ...)
        Draws of the quantity.

    Returns
    -------
    ndarray of shape (...)
        ``min(1, 2 (1 + k) / (1 + n_draws))``, `k` the number of draws on the rarer side of 0, those
        at 0 included.

    Notes
    -----
    The smallest level at which the equal-tailed quantile interval excludes 0; the 1s keep it above
    0.

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
    """Whether an index per item is cheaper than a multinomial count per row."""
    return n_items < _ITEMS_PER_ROW * n_rows


def _resampling_counts(counts, n_draws, rng):
    """How often each row is drawn; ndarray of float of shape (n_draws, n_rows)."""
    n_rows, n_items = len(counts), int(counts.sum())
    if not _by_item(n_rows, n_items):
        return rng.multinomial(n_items, counts / n_items, size=n_draws).astype(float)
    row_of_item = np.repeat(np.arange(n_rows), counts)
    drawn = row_of_item[rng.integers(n_items, size=(n_draws, n_items))]
    drawn += n_rows * np.arange(n_draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_draws * n_rows).reshape(n_draws, -1).astype(float)
