"""Mean scores of models with intervals, for a leaderboard."""

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

from skbench.containers import ON_AVERAGE, UNLESS_SKEWED, Estimate
from skbench.stats.intervals import binomial
from skbench.stats.intervals.group_means import freedom_of_mean, mean_of_groups
from skbench.stats.intervals.moments import divided
from skbench.stats.intervals.worst_case import worst_case_interval


def scores_of_models(table, mean, variance, freedom, confidence_level, exact=False):
    """Scores of the models in the order of the table, with exact binomial intervals if `exact`."""
    value = mean.mean(axis=1)
    n = _answered(table)
    total, left, n_equal = _of_whole(table, variance, freedom, n)
    error = np.sqrt(total)
    if table.is_binary and not table.is_clustered:
        kind, ends = ("Clopper-Pearson", _exact) if exact else ("Wilson", _wilson)
        low, high = ends(table, value, total, n_equal, confidence_level)
    else:
        if table.is_clustered:  # the worst case is a whole cluster
            n_equal = n_equal * np.sum(np.nan_to_num(freedom.T) + 1, axis=0) / n.sum(axis=0)
        df = freedom[:, 0] if table.n_groups == 1 else np.where(np.isfinite(total), np.inf, np.nan)
        bounds = table.bounds or (-np.inf, np.inf)
        if table.bounds is None:  # equal scores do not show how other items would vary
            total = np.where(total > 0, total, np.nan)
        low, high = worst_case_interval(value, total, n_equal, df, confidence_level, *bounds)
        kind = "clusters, CR2" if table.is_clustered else "t"
    low, high = (value + np.sqrt(left) * (end - value) for end in (low, high))
    low, high = (np.where(left > 0, end, value) for end in (low, high))
    what = "mean of the items" if table.groups is None else f"mean of {table.n_groups} topics"
    if np.any(table.n_answers == 0):
        what += ", least squares on shared items"
    return Estimate(
        value=value,
        low=low,
        high=high,
        # Equal answers do not show how other items would vary.
        standard_error=np.where(left > 0, np.where(error > 0, error * np.sqrt(left), np.nan), 0.0),
        confidence_level=confidence_level,
        labels=table.models,
        method=f"{what}, {kind}",
        guarantee=UNLESS_SKEWED if table.bounds is None else ON_AVERAGE,
    )


def _wilson(table, value, variance, n, confidence_level):
    """Wilson intervals of shares of correct answers, with an effective number of items."""
    p, k = np.clip(value, 0, 1), np.clip(value, 0, 1) * n
    if table.n_groups > 1:
        of_topics = _variances_of_answers(table)
        df = freedom_of_mean(of_topics, _answered(table))
        reach = student_t.isf((1 - confidence_level) / 2, df)  # for small topics of large weight
        return binomial.wilson_interval(k, n, 2 * norm.cdf(reach) - 1)
    # With missing answers, use the variance of the least-squares score.
    gaps = ~table.n_answers.all(axis=0)
    of_scores = binomial.wilson_interval_of_mean(p, variance, n, confidence_level)
    return np.where(gaps, of_scores, binomial.wilson_interval(k, n, confidence_level))


def _exact(table, value, variance, n, confidence_level):
    """Clopper-Pearson intervals, which cover at every share of correct answers."""
    p, gaps = np.clip(value, 0, 1), ~table.n_answers.all(axis=0)
    n_effective = divided(p * (1 - p), variance) + 1
    n = np.where(gaps & (variance > 0), n_effective, n)
    return binomial.clopper_pearson_interval(p * n, n, confidence_level)


def _variances_of_answers(table):
    """Smoothed variances of the shares of correct answers, (n_groups, n_models)."""
    right = table.group_sums(np.nan_to_num(table.scores))
    return binomial.sampling_variance(right, _answered(table))


def _answered(table):
    """Number of items that each model answered, (n_groups, n_models)."""
    return table.group_sums(table.n_answers > 0)


def _of_whole(table, variance, freedom, n):
    """Variances of the scores, the share that remains in a finite population, numbers of items."""
    sizes = np.full(table.n_groups, np.inf) if table.sizes is None else table.sizes
    left = 1 - n / sizes[:, None]
    if table.n_groups == 1:
        return variance[:, 0], left[0], n[0]
    if table.is_binary and not table.is_clustered:
        known = _variances_of_answers(table) / table.n_groups**2
        total = known.sum(axis=0)
        p = ((table.group_sums(np.nan_to_num(table.scores)) + 1) / (n + 2)).mean(axis=0)
        # The number of items at which a single proportion is as precise.
        return total, (left * known).sum(axis=0) / total, p * (1 - p) / total
    return mean_of_groups(zip(variance.T, n, freedom.T, left, strict=True))


def covariance_of_scores(fits, error):
    """Covariance of the scores with these standard errors and independent topics."""
    total = sum(fit.influence.T @ fit.influence for fit in fits)
    own = np.sqrt(np.diag(total))
    correlation = np.nan_to_num(divided(total, np.outer(own, own)))
    np.fill_diagonal(correlation, 1.0)
    return correlation * np.outer(error, error)
