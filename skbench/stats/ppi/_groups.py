"""Features of groups whose errors are independent of prediction-powered estimates."""

import numpy as np

from skbench.stats.intervals.moments import divided

_LEAST_BETWEEN = 0.01  # least proportion of the variance of means that is between groups


def independent_feature(mean, z, slope, spread, label_noise, known):
    """Mean scores of groups without the errors that they share with the estimates.

    Parameters
    ----------
    mean : ndarray of shape (n_groups, n_autoraters)
        Mean scores over all rows of each group, labeled and unlabeled.
    z : ndarray of shape (n_groups,)
        Prediction-powered estimates from the same rows; nan if unknown.
    slope, spread : ndarray of shape (n_autoraters,)
        Covariance of each judge's score with the label and variance of the score, both within
        groups and divided by the variance of the label. See `within_regression`.
    label_noise : ndarray of shape (n_groups,)
        Sampling variance of the mean if all rows had labels.
    known : ndarray of shape (n_groups,)
        Ratio of `label_noise` to the variance of `z`, 0 to 1. It is ignored if `z` is nan.

    Returns
    -------
    ndarray of shape (n_groups, n_autoraters)
        Features whose errors are uncorrelated with those of `z`. Groups of all sizes have the same
        slope.

    Notes
    -----
    For every power the covariance of `z` and the mean of `f` over all rows is
    ``cov(y, f) / (n + N)``. With ``h = known`` this is ``slope h var(z)``, so the errors of
    ``mean - slope h z`` and of `z` are uncorrelated.

    If the relation of scores to labels is the same across groups as within groups, this difference
    has ``1 - h`` of the slope and the error variance ``e = label_noise (spread - slope^2 h)``. Its
    distance from the average group is multiplied by ``V (1 - h) / (V (1 - h)^2 + e)``, where `V` is
    the variance of true means over groups. The result is the best linear prediction of the true
    mean score of the group.

    Examples
    --------
    A judge with the constant error 0.1 adds nothing to an estimate from all rows.

    >>> z, one = np.array([0.5, 0.7]), np.ones(1)
    >>> noise = np.array([0.01, 0.01])
    >>> independent_feature(z[:, None] + 0.1, z, one, one, noise, known=np.ones(2)).ravel()
    array([0.7, 0.7])
    >>> independent_feature(z[:, None] + 0.1, z, one, one, noise, known=np.zeros(2)).ravel()
    array([0.65, 0.75])
    """
    exists = np.isfinite(z)
    known = np.where(exists, np.clip(known, 0, 1), 0.0)[:, None]
    noise = label_noise[:, None] * spread
    distance = mean - mean.mean(axis=0)
    across = np.mean(distance**2, axis=0) * len(z) / max(len(z) - 1, 1)
    between = np.maximum(across - noise.mean(axis=0), _LEAST_BETWEEN * across)
    left = np.maximum(label_noise[:, None] * (spread - slope**2 * known), 0.0)
    deviation = np.where(exists, z - z[exists].mean(), 0.0)[:, None]
    signal = between * (1 - known)
    factor = divided(signal, signal * (1 - known) + left)
    return mean.mean(axis=0) + np.nan_to_num(factor) * (distance - slope * known * deviation)


def within_regression(labeled):
    """Covariance of each judge with the label, and its variance, within groups.

    Parameters
    ----------
    labeled : skbench.stats.moments.Moments
        Moments of the labeled rows. The columns are the judges and, last, the human label.

    Returns
    -------
    slope, spread : ndarray of shape (n_autoraters,)
        Covariance and variance, divided by the variance of the label; 0 if labels do not vary
        within groups.

    Examples
    --------
    >>> from skbench.stats.moments import group_moments
    >>> rows = np.array([[0.2, 0.0], [0.6, 1.0]])
    >>> slope, spread = within_regression(group_moments(rows, np.zeros(2, dtype=int), 1))
    >>> print(slope, spread.round(2))
    [0.4] [0.16]
    """
    products = labeled.products.sum(axis=0)
    slope = divided(products[:-1, -1], products[-1, -1])
    spread = divided(np.diag(products)[:-1], products[-1, -1])
    return np.nan_to_num(slope), np.nan_to_num(spread)
