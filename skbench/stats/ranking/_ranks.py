"""Ranks of models, rank aggregations over tasks, and rank probabilities.

Rank 1 is the highest value. The last two axes of scores are models and tasks. Earlier axes, such as
draws, are preserved. The five aggregations are those of Longjohn, Gopalan and
Casleton (2024), Statistical uncertainty quantification for aggregate performance metrics in machine
learning benchmarks.
"""

import numpy as np

from skbench.stats.intervals.moments import ROUNDING

_TIES = ("average", "best", "worst")
_POINTS = 100.0  # percentage points in a score of 1


def ranks(values, ties="average"):
    """Ranks along the last axis; the highest value has rank 1.

    Parameters
    ----------
    values : array-like of shape (..., n)
        Values; nan has rank nan and is not counted.
    ties : {"average", "best", "worst"}, default="average"
        Rank of equal values: average, best or worst of the ranks that they occupy.

    Returns
    -------
    ndarray of float of shape (..., n)
        Ranks, 1 to n.

    Notes
    -----
    Values with a relative difference below 1e-12 are equal, because means of equal scores may
    differ by rounding.

    Examples
    --------
    >>> ranks([0.7, 0.9, 0.7, 0.2])
    array([2.5, 1. , 2.5, 4. ])
    """
    if ties not in _TIES:
        raise ValueError(f"ties must be one of {_TIES}, got {ties!r}.")
    values = np.asarray(values, dtype=float, order="C")
    order = np.argsort(-values, axis=-1)  # nan last
    descending = np.take_along_axis(values, order, axis=-1)
    place = np.arange(1.0, values.shape[-1] + 1)
    higher = descending[..., :-1]
    tolerance = np.where(np.isfinite(higher), ROUNDING * np.abs(higher), 0)
    changes = ~(descending[..., 1:] >= higher - tolerance)
    sorted_ranks = np.broadcast_to(place, values.shape).copy()
    tied = ~changes.all(axis=-1)
    changes = changes[tied]
    edge = np.ones((len(changes), 1), dtype=bool)
    first = np.where(np.concatenate([edge, changes], axis=-1), place, 0)
    last = np.where(np.concatenate([changes, edge], axis=-1), place, np.inf)
    best = np.maximum.accumulate(first, axis=-1)
    worst = np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1]
    sorted_ranks[tied] = {"best": best, "worst": worst, "average": (best + worst) / 2}[ties]
    result = np.empty_like(values)
    np.put_along_axis(result, order, sorted_ranks, axis=-1)
    result[np.isnan(values)] = np.nan
    return result


def ranks_by_mean(scores, weights=None):
    """Ranks of the models' mean scores over tasks.

    Parameters
    ----------
    scores : array-like of shape (..., n_models, n_tasks)
        Scores, or draws of scores.
    weights : array-like of shape (n_tasks,), default=None
        Weights of the tasks; None means equal weights.

    Returns
    -------
    ndarray of shape (..., n_models)
        Ranks of ``sum_j w_j scores_j / sum_j w_j``; ties share their average rank.

    Notes
    -----
    First of the five rank aggregations of Longjohn, Gopalan and Casleton (2024).

    Examples
    --------
    >>> ranks_by_mean([[0.9, 0.2], [0.6, 0.4], [0.7, 0.7]])
    array([2., 3., 1.])
    """
    return ranks(_task_mean(scores, weights))


def ranks_by_geometric_mean(scores, weights=None):
    """Ranks of the models' geometric mean scores over tasks.

    Parameters
    ----------
    scores, weights
        As in `ranks_by_mean`; scores are at least 0.

    Returns
    -------
    ndarray of shape (..., n_models)
        Ranks of ``exp(sum_j w_j log(scores_j) / sum_j w_j)``; ties share their average rank.

    Notes
    -----
    Second of the five rank aggregations of Longjohn, Gopalan and Casleton (2024). A single score
    of 0 makes the geometric mean 0, so such models are tied on the last ranks.

    Examples
    --------
    >>> ranks_by_geometric_mean([[0.9, 0.2], [0.6, 0.4], [0.7, 0.7]])
    array([3., 2., 1.])
    """
    with np.errstate(divide="ignore"):  # log 0 means a geometric mean of 0
        return ranks(_task_mean(np.log(np.asarray(scores, dtype=float)), weights))


def average_ranks(scores, weights=None):
    """Average over tasks of the ranks on each task.

    Parameters
    ----------
    scores, weights
        As in `ranks_by_mean`.

    Returns
    -------
    ndarray of shape (..., n_models)
        Average ranks between 1 and n_models; low is good.

    Notes
    -----
    Third of the five rank aggregations of Longjohn, Gopalan and Casleton (2024).

    Examples
    --------
    >>> average_ranks([[0.9, 0.2], [0.6, 0.4], [0.7, 0.7]])
    array([2. , 2.5, 1.5])
    """
    return _average_ranks(np.asarray(scores, dtype=float), "average", weights)


def average_ranks_with_noise(scores, rng, weights=None):
    """Average ranks after adding noise of one percentage point to the scores.

    Parameters
    ----------
    scores : array-like of shape (..., n_models, n_tasks)
        Scores as fractions of 1.
    rng : numpy.random.Generator
        Source of the noise.
    weights : array-like of shape (n_tasks,), default=None
        Weights of the tasks; None means equal weights.

    Returns
    -------
    ndarray of shape (..., n_models)
        Average ranks, 1 to n_models; low is good.

    Notes
    -----
    Fourth of the five rank aggregations of Longjohn, Gopalan and Casleton (2024). The noise is
    independent N(0, 1) in percentage points. It does not represent sampling uncertainty.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> average_ranks_with_noise([[0.9, 0.2], [0.6, 0.4], [0.7, 0.7]], rng)
    array([2. , 2.5, 1.5])
    """
    scores = np.asarray(scores, dtype=float)
    noisy = scores + rng.standard_normal(scores.shape) / _POINTS
    return _average_ranks(noisy, "average", weights)


def average_ranks_in_bins(scores, weights=None):
    """Average ranks after rounding scores down to whole percentage points.

    Parameters
    ----------
    scores, weights
        As in `ranks_by_mean`; scores are fractions of 1.

    Returns
    -------
    ndarray of shape (..., n_models)
        Average ranks, 1 to n_models; low is good.

    Notes
    -----
    Fifth of the five rank aggregations of Longjohn, Gopalan and Casleton (2024). Models in the
    same bin of one point all have the worst of the ranks that they occupy, as in the paper.

    Examples
    --------
    >>> average_ranks_in_bins([[0.903, 0.2], [0.908, 0.4], [0.7, 0.7]])
    array([2.5, 2. , 2. ])
    """
    points = _POINTS * np.asarray(scores, dtype=float)
    # Round first, because 0.29 * 100 is 28.999...
    return _average_ranks(np.floor(points.round(9)), "worst", weights)


def rank_probabilities(draws_of_ranks):
    """Share of draws in which each model has each rank.

    Parameters
    ----------
    draws_of_ranks : array-like of shape (n_draws, n_models)
        Ranks of the models in each draw, 1 to n_models.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Entry (i, r) is the share of draws in which model `i` has rank ``r + 1``. Rows sum to 1.

    Notes
    -----
    A tie counts in parts for both neighboring ranks, so that row `i` times ``(1, ..., n_models)``
    is the mean rank of `i`. If models are nearly equal, quantiles of these distributions cover the
    true rank far too rarely; use `skbench.rank_confidence_sets`.

    Examples
    --------
    >>> rank_probabilities([[1, 2], [1, 2], [2, 1], [1.5, 1.5]])
    array([[0.625, 0.375],
           [0.375, 0.625]])
    """
    draws_of_ranks = np.asarray(draws_of_ranks, dtype=float)
    n_draws, n_models = draws_of_ranks.shape
    lower = np.floor(draws_of_ranks)
    share_above = draws_of_ranks - lower
    cell = n_models * np.arange(n_models) + lower.astype(int) - 1
    counts = np.bincount(cell.ravel(), (1 - share_above).ravel(), minlength=n_models**2 + 1)
    counts += np.bincount(cell.ravel() + 1, share_above.ravel(), minlength=n_models**2 + 1)
    return counts[:-1].reshape(n_models, n_models) / n_draws


def _task_mean(values, weights):
    values = np.asarray(values, dtype=float)
    if weights is None:
        return values.mean(axis=-1)
    weights = np.asarray(weights, dtype=float)
    # Exclude tasks of weight 0, because 0 * log 0 is nan.
    used = weights > 0
    return values[..., used] @ (weights[used] / weights.sum())


def _average_ranks(scores, ties, weights):
    return _task_mean(np.swapaxes(ranks(np.swapaxes(scores, -1, -2), ties), -1, -2), weights)
