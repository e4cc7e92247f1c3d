"""Rank scores of models on a data set: distances from the best in standard deviations."""

import numpy as np
from scipy.stats import t as student_t

from skbench.stats.intervals.moments import ROUNDING, divided, satterthwaite_df

_SIGNIFICANCE = 0.05
_ROUNDING = 1e-12  # of means, relative


def welch_p_value(higher, lower):
    """One-sided p-value of Welch's test that one mean exceeds another.

    Parameters
    ----------
    higher, lower : tuple of three floats or arrays
        Mean, variance (``ddof=1``) and number of scores of each side, broadcast.

    Returns
    -------
    float or ndarray
        p-value. If both variances are 0, it is 0 if the first mean is higher, and otherwise 1.

    Notes
    -----
    ``t = (m1 - m2) / sqrt(v1 / n1 + v2 / n2)`` with Welch's degrees of freedom.

    Examples
    --------
    >>> print(round(welch_p_value((0.8, 0.01, 10), (0.7, 0.02, 10)), 4))
    0.0432
    """
    (mean_1, variance_1, n_1), (mean_2, variance_2, n_2) = higher, lower
    n = np.stack(np.broadcast_arrays(n_1, n_2), axis=-1)
    squares = np.stack(np.broadcast_arrays(variance_1, variance_2), axis=-1) / n
    error = np.sqrt(squares.sum(axis=-1))
    p = student_t.sf(divided(mean_1 - mean_2, error), satterthwaite_df(squares, n - 1))
    return np.where(error > 0, p, mean_1 <= mean_2)[()]


def welch_rank_scores(mean, variance, n):
    """Rank scores on one data set, in which insignificant differences count as 0.

    Parameters
    ----------
    mean : ndarray of shape (n_models,)
        Mean score of each model; high is good, nan for a missing score.
    variance : ndarray of shape (n_models,)
        Variance (``ddof=1``) of the raw scores of each model.
    n : ndarray of shape (n_models,)
        Number of raw scores of each model, at least 2.

    Returns
    -------
    ndarray of shape (n_models,)
        Rank scores: 1 for the best, low is good; infinite if the score is missing.

    Notes
    -----
    In the order of their means, models are compared with an anchor by a one-sided Welch test at 5%.
    The first anchor is the best model, with score 1. A significantly worse model has the anchor's
    score plus ``(mean_anchor - mean) / sd``, and becomes the next anchor. Other models have the
    anchor's score. `sd` is the standard deviation (``ddof=0``) of the means (EuroEval,
    https://euroeval.com/methodology). Among equal means, the one with the smaller standard error
    comes first; EuroEval uses the order of its table. The test assumes independent raw scores,
    which bootstrap replicates of one evaluation are not.

    Examples
    --------
    >>> welch_rank_scores(np.array([60.0, 59.9, 50.0]), np.full(3, 1.0), np.full(3, 10)).round(3)
    array([1.   , 1.   , 3.132])
    """
    mean, variance = _without_rounding(mean, variance)
    scores = np.full(len(mean), np.inf)
    order = np.lexsort((n, variance / n, -mean))
    order = order[~np.isnan(mean[order])]
    sd = np.nanstd(mean)
    scores[order[:1]] = 1.0
    while len(order):
        anchor, rest = order[0], order[1:]
        sides = [(mean[i], variance[i], n[i]) for i in (anchor, rest)]
        worse = np.flatnonzero(welch_p_value(*sides) < _SIGNIFICANCE)
        tied = worse[0] if len(worse) else len(rest)
        scores[rest[:tied]] = scores[anchor]
        order = rest[tied:]  # the next anchor first
        scores[order[:1]] = scores[anchor] + (mean[anchor] - mean[order[:1]]) / sd
    return scores


def pooled_rank_scores(mean, variance, n):
    """Rank scores on one data set, in standard deviations of all raw scores.

    Parameters
    ----------
    mean, variance, n
        As in `welch_rank_scores`; the variance of a single score is nan.

    Returns
    -------
    ndarray of shape (n_models,)
        Rank scores: 1 for the best, low is good; infinite if the score is missing.

    Notes
    -----
    ``1 + (best - mean) / sd`` with `sd` the standard deviation (``ddof=0``) of all raw scores.

    Examples
    --------
    >>> pooled_rank_scores(np.array([60.0, 59.9, 50.0]), np.full(3, 1.0), np.full(3, 10)).round(3)
    array([1.   , 1.021, 3.09 ])
    """
    mean, variance = _without_rounding(mean, variance)
    there = ~np.isnan(mean)
    sd = _pooled_sd(mean, variance, n)
    behind = np.nanmax(mean) - mean
    # 0 / 0 means that all scores are equal, with distance 0.
    distance = np.divide(behind, sd, out=np.zeros_like(behind), where=(behind > 0) & (sd > 0))
    return np.where(there, 1 + distance, np.inf)


def rank_score_errors(mean, variance, n, weight, pooled=False):
    """Mean rank scores without significance tests, and standard errors of their differences.

    Parameters
    ----------
    mean, variance, n : ndarray of shape (n_models, n_datasets)
        Mean of each model on each data set, variance (``ddof=1``) and number of raw scores, each
        from a bootstrap sample of the test set; nan for a missing score.
    weight : ndarray of shape (n_datasets,)
        Weight of each data set in the overall score.
    pooled : bool, default=False
        Whether distances are in standard deviations of all raw scores (`pooled_rank_scores`) or
        of the means of models.

    Returns
    -------
    score : ndarray of shape (n_models,)
        ``1 + sum_d w_d (best_d - mean_d) / s_d``; low is good. nan for models with a missing score,
        although their other scores count in ``best_d`` and ``s_d``.
    difference_error : ndarray of shape (n_models, n_models)
        Standard error of every difference; 0 on the diagonal.
    df : ndarray of shape (n_models, n_models)
        Degrees of freedom of the difference; infinite if the error is 0.

    Notes
    -----
    The score is the limit of `welch_rank_scores` for large test sets. If K bootstrap samples have
    variance `v`, their mean has sampling variance ``v (1 + 1/K)``. So the variance of a model's
    score is ``q = sum_d (w_d / s_d)^2 v_d (1 + 1/K)``. That of a difference is the sum of two, with
    Satterthwaite degrees of freedom from ``K - 1`` each. Units ``s_d`` are treated as known, and
    models as independent.

    Examples
    --------
    >>> mean = np.array([[60.0, 70.0], [58.0, 69.0], [40.0, 50.0]])
    >>> found = rank_score_errors(mean, np.ones((3, 2)), np.full((3, 2), 10), np.full(2, 0.5))
    >>> score, error, df = found
    >>> score.round(2), error[0].round(3)
    (array([1.  , 1.17, 3.2 ]), array([0.   , 0.115, 0.115]))
    """
    n = np.where(np.isnan(mean), np.nan, n)
    if pooled:
        columns = zip(mean.T, variance.T, n.T, strict=True)
        sd = np.array([_pooled_sd(*column) for column in columns])
    else:
        sd = np.nanstd(mean, axis=0)
        sd[sd <= _ROUNDING * np.nanmax(np.abs(mean), axis=0)] = 0
    # A data set with equal means for all models has no effect.
    unit = np.divide(weight, sd, out=np.zeros_like(sd), where=sd > 0)
    parts = unit**2 * variance * (1 + 1 / n)
    squares = parts.sum(axis=1)
    both = squares[:, None] + squares
    weighted = (parts**2 / (n - 1)).sum(axis=1)
    below = weighted[:, None] + weighted
    df = np.divide(both**2, below, out=np.full_like(both, np.inf), where=below > 0)
    error = np.sqrt(both)
    np.fill_diagonal(error, 0.0)
    return 1 + (np.nanmax(mean, axis=0) - mean) @ unit, error, df


def _pooled_sd(mean, variance, n):
    """Standard deviation (``ddof=0``) of all raw scores; nan in `mean` is a missing score."""
    there = ~np.isnan(mean)
    weight = np.where(there, n, 0)
    known = np.where(there, mean, 0.0)
    center = np.average(known, weights=weight)
    inside = np.where(weight > 1, (weight - 1) * variance, 0.0)
    return np.sqrt((inside + weight * (known - center) ** 2).sum() / weight.sum())


def _without_rounding(mean, variance):
    """Make means of equal scores equal, and variances of equal scores 0."""
    unit = ROUNDING * np.nanmax(np.abs(mean))
    if not unit > 0:
        return mean, variance
    return np.round(mean / unit) * unit, np.where(variance <= unit**2, 0.0, variance)
