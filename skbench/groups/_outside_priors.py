"""Priors from the other folds, for intervals that cover each group."""

import numpy as np
import pandas as pd

from skbench.groups._regressors import Encoded, rows_of
from skbench.groups.crossfit import CrossFitKFold, cross_fit, splits_of
from skbench.stats.shrinkage import fab

_INNER_FOLDS = 2


def outside_variances(regressor, X, z, splitter, groups, n_jobs, variance_of):
    """Prior variance of each group, estimated by cross-fitting within the other folds.

    The mean over repeats; infinite if the other folds hold a single unit.
    """
    total, count = np.zeros(len(z)), np.zeros(len(z))
    inside = CrossFitKFold(_INNER_FOLDS, n_repeats=1, random_state=0)
    for train, test in splits_of(splitter, X, z, groups):
        inner = None if groups is None else groups[train]
        if len(train if inner is None else pd.unique(inner)) < _INNER_FOLDS:
            total[test] = np.inf
        else:
            encoded = Encoded.once(regressor, rows_of(X, train))
            prior_means, _ = cross_fit(encoded, z[train], None, inside, inner, n_jobs)
            total[test] += variance_of(prior_means[0], train)
        count[test] += 1
    return total / count


def covering_interval(z, sigma2, n, binary, prior_mean, prior_variance, confidence_level):
    """Intervals that cover each group, assisted by a prior; an infinite variance means no prior."""
    if binary:
        prior = fab.beta_prior(prior_mean, prior_variance)
        alpha, beta = np.where(np.isfinite(prior_variance), prior, 1.0)
        return fab.fab_binomial_interval(np.round(z * n), n, alpha, beta, confidence_level)
    prior = z, np.sqrt(sigma2), prior_mean, prior_variance, confidence_level
    if n is None:
        return fab.fab_normal_interval(*prior)
    return fab.fab_normal_interval(*prior, n - 1, _others_sigma2(sigma2, n))


def _others_sigma2(sigma2, n):
    """Sampling variances implied by the item variances of the other groups."""
    if len(n) == 1:
        return sigma2
    item_variance = n * sigma2
    return (item_variance.sum() - item_variance) / (len(n) - 1) / n
