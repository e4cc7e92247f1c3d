"""Priors that owe nothing to a group's own fold, for intervals that cover each group."""

import numpy as np

from skbench.groups._regressors import rows_of
from skbench.groups.crossfit import CrossFitKFold, cross_fit
from skbench.stats import scales
from skbench.stats.shrinkage import fab

_INNER_FOLDS = 2


def outside_variances(regressor, X, z, weights, splits, groups, variance_of, n_jobs=None):
    """Prior variance of each group from cross-fitting inside the other folds.

    Parameters
    ----------
    regressor : estimator
        As for `cross_fit`.
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Features.
    z, weights, groups
        As for `cross_fit`.
    splits : iterable of (train, test)
        The folds; every group is held out equally often.
    variance_of : callable
        ``variance_of(prior_means, train)`` is the prior variance from the residuals
        of the groups `train` around `prior_means`, which is nan elsewhere.

    Returns
    -------
    ndarray of shape (n_groups,)
        Mean over the repeats; infinite where the other folds hold a single unit.
    """
    total, count = np.zeros(len(z)), np.zeros(len(z))
    for train, test in splits:
        inner = None if groups is None else np.asarray(groups)[train]
        total[test] += (
            np.inf
            if _units(inner, train) < _INNER_FOLDS
            else variance_of(_inner_means(regressor, X, z, weights, train, inner, n_jobs), train)
        )
        count[test] += 1
    return total / count


def _units(groups, train):
    return len(train) if groups is None else len(np.unique(groups))


def _inner_means(regressor, X, z, weights, train, groups, n_jobs):
    splitter = CrossFitKFold(_INNER_FOLDS, n_repeats=1, random_state=0)
    kept = None if weights is None else weights[train]
    means = np.full(len(z), np.nan)
    means[train] = cross_fit(
        regressor, rows_of(X, train), z[train], kept, splitter, groups, n_jobs
    )[0][0]
    return means


def covering_interval(z, sigma2, n, binary, prior_mean, prior_variance, scale, confidence_level):
    """Intervals that cover each group, assisted by a prior on some scale.

    Parameters
    ----------
    z, sigma2, n : ndarray of shape (n_groups,)
        Direct estimates, sampling variances and sizes (None if unknown).
    binary : bool
        Whether ``z * n`` are numbers of right answers.
    prior_mean, prior_variance : ndarray of shape (n_groups,)
        From other groups' data, on the scale; an infinite variance is no prior.
    scale : {"identity", "arcsine", "logit"}
        See `skbench.stats.scales`.
    confidence_level : float
        Coverage of each group.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
    """
    known = np.isfinite(prior_variance)
    variance = np.where(known, prior_variance, 0.0)
    mean = scales.from_scale_mean(prior_mean, variance, scale)
    variance = np.where(known, scales.from_scale_variance(prior_mean, variance, scale), np.inf)
    if binary:
        alpha, beta = fab.beta_prior(mean, variance)
        alpha, beta = (np.where(known, parameter, 1.0) for parameter in (alpha, beta))
        return fab.fab_binomial_interval(np.round(z * n), n, alpha, beta, confidence_level)
    if n is None:
        return fab.fab_normal_interval(z, np.sqrt(sigma2), mean, variance, confidence_level)
    return fab.fab_normal_interval(
        z, np.sqrt(sigma2), mean, variance, confidence_level, n - 1, _others_sigma2(sigma2, n)
    )


def _others_sigma2(sigma2, n):
    """Sampling variances that the item variances of the other groups suggest."""
    if len(n) == 1:
        return sigma2
    item_variance = n * sigma2
    return (item_variance.sum() - item_variance) / (len(n) - 1) / n
