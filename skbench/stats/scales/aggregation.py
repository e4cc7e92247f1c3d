"""Weighted scores over tasks: variances, normalization and weights of categories."""

import numpy as np


def weighted_variance(weights, covariance):
    """Sampling variance of a weighted sum of task scores.

    Parameters
    ----------
    weights : array-like of shape (..., n_tasks)
        Weights of the tasks.
    covariance : array-like of shape (..., n_tasks, n_tasks)
        Covariance matrix of one model's task scores; diagonal if tasks share no items.

    Returns
    -------
    ndarray of shape (...)
        ``sum_j w_j^2 Var_j + 2 sum_{j<k} w_j w_k Cov_jk``.

    Notes
    -----
    Equation (2) of [1]_. The variance is too small if positively correlated tasks are treated as
    independent.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty quantification for
       aggregate performance metrics in machine learning benchmarks.

    Examples
    --------
    >>> print(weighted_variance([0.5, 0.5], [[0.04, 0.02], [0.02, 0.04]]))
    0.03
    """
    weights = np.asarray(weights, dtype=float)
    return np.einsum("...j,...jk,...k->...", weights, np.asarray(covariance, float), weights)


def difference_variance(variance_a, variance_b, rho=0.0):
    """Sampling variance of the difference of two scores with a given correlation.

    Parameters
    ----------
    variance_a, variance_b : array-like of shape (...)
        Sampling variances of the scores.
    rho : float or array-like of shape (...), default=0.0
        Correlation of the errors, -1 to 1. It is positive if both models fail on the same items.

    Returns
    -------
    ndarray of shape (...)
        ``v_a + v_b - 2 rho sqrt(v_a v_b)``.

    Notes
    -----
    Equation (3) of Longjohn, Gopalan and Casleton (2024, see `weighted_variance`). With equal
    variances the correlation reduces the variance by the proportion `rho`. If models answered the
    same items, `covariance_of_means` estimates the covariance.

    Examples
    --------
    >>> print(difference_variance(0.04, 0.04, 0.5))
    0.04
    """
    a, b = np.asarray(variance_a, dtype=float), np.asarray(variance_b, dtype=float)
    # Rounding could make the variance negative if rho is 1.
    return np.maximum(a + b - 2 * np.asarray(rho) * np.sqrt(a * b), 0)


def covariance_of_means(sums, sizes, counts):
    """Sampling covariance of the mean scores of models that answered the same items.

    Parameters
    ----------
    sums : ndarray of shape (n_rows, n_models)
        Sum of the scores of each model in each row. A row is an item or a cluster of items.
    sizes : ndarray of shape (n_rows, n_models)
        Number of scores in each sum, 1 for items. A single column applies to all models.
    counts : ndarray of int of shape (n_rows,)
        Number of items or clusters that equal the row.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Covariance matrix; nan with fewer than two items or clusters.

    Notes
    -----
    The result is ``C / (C - 1) * sum_c r_c r_c' / (n n')`` with the residual sums
    ``r_c = sums_c - sizes_c * mean`` of the ``C`` items or clusters. For items this is their
    covariance matrix (ddof 1) over n, for clusters it is CR1. Times ``(C - 1) / C`` it is the limit
    of the bootstrap in `skbench.stats.resampling.resampled_means`.

    Examples
    --------
    >>> right = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    >>> covariance_of_means(right, np.ones((3, 1)), np.array([60, 5, 35])).round(5)
    array([[0.0023 , 0.00212],
           [0.00212, 0.00242]])
    """
    n_independent = counts.sum()
    if n_independent < 2:
        return np.full((sums.shape[1], sums.shape[1]), np.nan)
    total = counts @ sizes
    residuals = (sums - sizes * ((counts @ sums) / total)) / total
    return n_independent / (n_independent - 1) * (residuals.T * counts) @ residuals


def normalized(scores, low, high):
    """Rescale scores so that `low` becomes 0 and `high` becomes 1.

    Parameters
    ----------
    scores : array-like of shape (..., n_tasks)
        Scores.
    low, high : float or array-like of shape (n_tasks,)
        Scores that become 0 and 1, such as those by chance and of a perfect model.

    Returns
    -------
    ndarray of shape (..., n_tasks)
        ``(scores - low) / (high - low)``. It is negative for scores below `low`.

    Notes
    -----
    Divide variances by ``(high - low)^2``.

    Examples
    --------
    >>> normalized([[0.25, 0.8], [0.75, 1.0]], [0.25, 0.5], 1.0).round(3)
    array([[0.   , 0.6  ],
           [0.667, 1.   ]])
    """
    low = np.asarray(low, dtype=float)
    return (np.asarray(scores, dtype=float) - low) / (np.asarray(high, dtype=float) - low)


def category_weights(codes, weights):
    """Divide the weight of each category equally among its tasks.

    Parameters
    ----------
    codes : array-like of int of shape (n_tasks,)
        Category of each task, 0 to ``n_categories - 1``.
    weights : array-like of shape (..., n_categories)
        Weights of the categories.

    Returns
    -------
    ndarray of shape (..., n_tasks)
        Weights of the tasks. Their sum is that of `weights`.

    Notes
    -----
    ``w_j = weights_c / n_c`` for a task `j` of category `c` with `n_c` tasks.

    Examples
    --------
    >>> category_weights([0, 0, 1], [0.5, 0.5])
    array([0.25, 0.25, 0.5 ])
    """
    codes = np.asarray(codes)
    return (np.asarray(weights, dtype=float) / np.bincount(codes))[..., codes]


def simplex_grid(resolution):
    """Evenly spaced weightings of three categories.

    Parameters
    ----------
    resolution : int
        Number of steps from 0 to 1 along an edge.

    Returns
    -------
    ndarray of shape ((resolution + 1) (resolution + 2) / 2, 3)
        All ``(i, j, k) / resolution`` with ``i + j + k = resolution``, sorted by `i`, then by `j`.

    Notes
    -----
    The grid contains the corners, which give all weight to one category. It contains the center if
    `resolution` is a multiple of 3.

    Examples
    --------
    >>> simplex_grid(1)
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """
    first, second = np.meshgrid(*2 * [np.arange(resolution + 1)], indexing="ij")
    inside = first + second <= resolution
    i, j = first[inside], second[inside]
    return np.column_stack([i, j, resolution - i - j]) / resolution
