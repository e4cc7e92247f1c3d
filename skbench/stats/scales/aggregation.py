"""Weighted scores over tasks: closed-form variances, normalization, weights of categories."""

import numpy as np


def weighted_variance(weights, covariance):
    """Sampling variance of a weighted sum of task scores.

    Parameters
    ----------
    weights : array-like of shape (..., n_tasks)
        Weights of the tasks.
    covariance : array-like of shape (..., n_tasks, n_tasks)
        Covariance matrix of one model's task scores; diagonal where tasks share no items.

    Returns
    -------
    ndarray of shape (...)
        ``sum_j w_j^2 Var_j + 2 sum_{j<k} w_j w_k Cov_jk``.

    Notes
    -----
    Equation (2) of [1]_. Taking positively correlated tasks as independent makes the variance too
    SMALL.

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
        Correlation of their errors, -1 to 1; positive where both models find the same items hard.

    Returns
    -------
    ndarray of shape (...)
        ``v_a + v_b - 2 rho sqrt(v_a v_b)``.

    Notes
    -----
    Equation (3) of Longjohn, Gopalan and Casleton (2024, see `weighted_variance`): with equal
    variances, `rho` takes a share of `rho` off. Answers to shared items give the covariance itself
    (`covariance_of_means`).

    Examples
    --------
    >>> print(difference_variance(0.04, 0.04, 0.5))
    0.04
    """
    a, b = np.asarray(variance_a, dtype=float), np.asarray(variance_b, dtype=float)
    # Rounding must not make the difference of a model from itself negative.
    return np.maximum(a + b - 2 * np.asarray(rho) * np.sqrt(a * b), 0)


def covariance_of_means(sums, sizes, counts):
    """Sampling covariance of the mean scores of models that answered the same items.

    Parameters
    ----------
    sums : ndarray of shape (n_rows, n_models)
        Sum of the scores of each model in each row: an item, or a cluster of items.
    sizes : ndarray of shape (n_rows, n_models)
        Number of scores in each sum, 1 for items. One column stands for all models.
    counts : ndarray of int of shape (n_rows,)
        How many items or clusters look like this row.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Covariance matrix; nan for fewer than two items or clusters.

    Notes
    -----
    With the residual sums ``r_c = sums_c - sizes_c * mean`` of the ``C`` items or clusters,
    ``C / (C - 1) * sum_c r_c r_c' / (n n')``: for items their covariance matrix (ddof 1) over n,
    for clusters CR1. Times ``(C - 1) / C`` it is the limit of the bootstrap of
    `skbench.stats.resampling.resampled_means`.

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
    """Scores on the scale where `low` is 0 and `high` is 1.

    Parameters
    ----------
    scores : array-like of shape (..., n_tasks)
        Scores.
    low, high : float or array-like of shape (n_tasks,)
        What each task counts as 0 and as 1: chance and perfection, say.

    Returns
    -------
    ndarray of shape (..., n_tasks)
        ``(scores - low) / (high - low)``; below 0 for scores below `low`.

    Notes
    -----
    Variances are divided by ``(high - low)^2``.

    Examples
    --------
    >>> normalized([[0.25, 0.8], [0.75, 1.0]], [0.25, 0.5], 1.0).round(3)
    array([[0.   , 0.6  ],
           [0.667, 1.   ]])
    """
    low = np.asarray(low, dtype=float)
    return (np.asarray(scores, dtype=float) - low) / (np.asarray(high, dtype=float) - low)


def category_weights(codes, weights):
    """Weights of tasks that share the weight of their category equally.

    Parameters
    ----------
    codes : array-like of int of shape (n_tasks,)
        Category of each task, 0 to ``n_categories - 1``.
    weights : array-like of shape (..., n_categories)
        Weights of the categories.

    Returns
    -------
    ndarray of shape (..., n_tasks)
        With the sums of `weights`.

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
        Steps from 0 to 1 along an edge.

    Returns
    -------
    ndarray of shape ((resolution + 1) (resolution + 2) / 2, 3)
        All ``(i, j, k) / resolution`` with ``i + j + k = resolution``; `i` slowest.

    Notes
    -----
    The corners, each giving all weight to one category, are among them, as is the center where
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
