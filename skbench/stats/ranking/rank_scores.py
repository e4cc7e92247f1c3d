"""Rank scores of models on one data set: distances from the best in standard deviations."""

import numpy as np
from scipy.stats import t as student_t

from skbench.stats.intervals.moments import ROUNDING, divided, satterthwaite_df

_SIGNIFICANCE = 0.05
_ROUNDING = 1e-12  # of means, relative


def welch_p_value(higher, lower):
    """One-sided Welch test of whether one mean exceeds another.

    Parameters
    ----------
    higher, lower : tuple of three floats or arrays
        Mean, variance (``ddof=1``) and number of the scores of each side, broadcast.

    Returns
    -------
    float or ndarray
        Probability of a t value at least as high if the means are equal; 0 or 1 without any spread,
        1 for equal means.

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
    """Rank scores on one data set, where insignificant differences count nothing.

    Parameters
    ----------
    mean : ndarray of shape (n_models,)
        Mean score of each model; high is good, nan for a missing score.
    variance : ndarray of shape (n_models,)
        Variance (``ddof=1``) of the raw scores of each.
    n : ndarray of shape (n_models,)
        Number of the raw scores of each, at least 2.

    Returns
    -------
    ndarray of shape (n_models,)
        Rank scores: 1 for the best, low is good, infinite where the score is missing.

    Notes
    -----
    In the order of their means each model is compared with the anchor, at first the best, whose
    score is 1, by a one-sided Welch test at 5%. A model that is significantly worse has the
    anchor's score plus ``(mean_anchor - mean) / sd`` and becomes the anchor; any other has the
    anchor's score. Of equal means the more certain one comes first; EuroEval leaves that to the
    order of its table. `sd` is the standard deviation (``ddof=0``) of the means (EuroEval,
    https://euroeval.com/methodology). Bootstrap replicates of one evaluation are not independent
    scores.

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
    """Rank scores on one data set, by distance from the best in units of all raw scores.

    Parameters
    ----------
    mean, variance, n
        As in `welch_rank_scores`; the variance of a single score is nan.

    Returns
    -------
    ndarray of shape (n_models,)
        Rank scores: 1 for the best, low is good, infinite where the score is missing.

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
    # 0 / 0: all scores are equal, so nobody is behind.
    distance = np.divide(behind, sd, out=np.zeros_like(behind), where=(behind > 0) & (sd > 0))
    return np.where(there, 1 + distance, np.inf)


def rank_score_errors(mean, variance, n, weight, pooled=False):
    """Mean rank scores without the gate, and the errors of their differences.

    Parameters
    ----------
    mean, variance, n : ndarray of shape (n_models, n_datasets)
        Mean score of each model on each data set, variance (``ddof=1``) and number of its raw
        scores, each from a bootstrap sample of the test set; nan for a missing score.
    weight : ndarray of shape (n_datasets,)
        Of each data set in the overall score.
    pooled : bool, default=False
        Whether distances are in standard deviations of all raw scores, as in `pooled_rank_scores`,
        or of the models' means.

    Returns
    -------
    score : ndarray of shape (n_models,)
        ``1 + sum_d w_d (best_d - mean_d) / s_d``; low is good. Nan where a score is missing; the
        others of that model count in ``best_d`` and ``s_d``.
    difference_error : ndarray of shape (n_models, n_models)
        Standard error of every difference; 0 on the diagonal.
    df : ndarray of shape (n_models, n_models)
        Its degrees of freedom; infinite where the error is 0.

    Notes
    -----
    The limit of `welch_rank_scores` for ever larger test sets. A mean over K bootstrap samples is
    off the truth by ``v (1 + 1/K)``, `v` being their variance, so that of a model's score is
    ``q = sum_d (w_d / s_d)^2 v_d (1 + 1/K)``, and that of a difference the sum of two, with
    Satterthwaite's degrees of freedom from ``K - 1`` each. The units ``s_d`` are taken as known,
    and models as independent.

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
    # A data set on which all models are the same parts none of them.
    unit = np.divide(weight, sd, out=np.zeros_like(sd), where=sd > 0)
    parts = unit**2 * variance * (1 + 1 / n)
    squares = parts.sum(axis=1)
    both = squares[:, None] + squares
    spread = (parts**2 / (n - 1)).sum(axis=1)
    below = spread[:, None] + spread
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
    """Means of equal scores made equal, and variances of equal scores made 0."""
    unit = ROUNDING * np.nanmax(np.abs(mean))
    if not unit > 0:
        return mean, variance
    return np.round(mean / unit) * unit, np.where(variance <= unit**2, 0.0, variance)
