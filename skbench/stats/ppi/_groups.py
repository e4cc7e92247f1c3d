"""What prediction-powered estimates of many groups need before they are shrunk."""

import numpy as np

from skbench.stats.intervals.moments import divided

_LEAST_BETWEEN = 0.01  # of the variance of means over groups is taken to be theirs, not noise


def independent_feature(mean, z, slope, spread, label_noise, known):
    """Autorater means without the luck that they share with the estimates.

    Parameters
    ----------
    mean : ndarray of shape (n_groups, n_autoraters)
        Mean scores over all rows of each group, labeled and unlabeled.
    z : ndarray of shape (n_groups,)
        Prediction-powered estimates from the same rows; nan where there are none.
    slope, spread : ndarray of shape (n_autoraters,)
        Covariance of each autorater's score with the label, and its variance, over the variance of
        the label, within groups: `within_regression`.
    label_noise : ndarray of shape (n_groups,)
        Variance that the mean of labels of all rows would have.
    known : ndarray of shape (n_groups,)
        The same over the variance of `z`, 0 to 1; read only where `z` is known.

    Returns
    -------
    ndarray of shape (n_groups, n_autoraters)
        Features whose errors are uncorrelated with those of `z`, and that have one slope across
        groups, whatever their sizes.

    Notes
    -----
    Whatever the power, the estimate `z` has with the mean of `f` over all rows the covariance
    ``cov(y, f) / (n + N)``. With ``h = known`` that is ``slope h var(z)``, so the errors of
    ``mean - slope h z`` and of `z` are uncorrelated.

    Where the autorater's mean follows the truth across groups as within, that difference follows it
    with ``1 - h`` of the slope, with errors of variance ``e = label_noise (spread - slope^2 h)``.
    Its distance from the average group is multiplied by ``V (1 - h) / (V (1 - h)^2 + e)``, with `V`
    the variance of means over groups less their noise: the best linear prediction of what an
    autorater without noise says of the group.

    Examples
    --------
    An autorater that only adds .1 says nothing beyond an estimate from all of it.

    >>> z, one = np.array([0.5, 0.7]), np.ones(1)
    >>> noise = np.array([0.01, 0.01])
    >>> independent_feature(z[:, None] + 0.1, z, one, one, noise, known=np.ones(2)).ravel()
    array([0.7, 0.7])
    >>> independent_feature(z[:, None] + 0.1, z, one, one, noise, known=np.zeros(2)).ravel()
    array([0.65, 0.75])
    """
    there = np.isfinite(z)
    known = np.where(there, np.clip(known, 0, 1), 0.0)[:, None]
    noise = label_noise[:, None] * spread
    distance = mean - mean.mean(axis=0)
    across = np.mean(distance**2, axis=0) * len(z) / max(len(z) - 1, 1)
    between = np.maximum(across - noise.mean(axis=0), _LEAST_BETWEEN * across)
    left = np.maximum(label_noise[:, None] * (spread - slope**2 * known), 0.0)
    apart = np.where(there, z - z[there].mean(), 0.0)[:, None]
    signal = between * (1 - known)
    factor = divided(signal, signal * (1 - known) + left)
    return mean.mean(axis=0) + np.nan_to_num(factor) * (distance - slope * known * apart)


def within_regression(labeled):
    """How every autorater goes with the label, within groups.

    Parameters
    ----------
    labeled : skbench.stats.moments.Moments
        Of the labeled rows; columns are the autoraters and, last, the human label.

    Returns
    -------
    slope, spread : ndarray of shape (n_autoraters,)
        Covariance with the label, and variance, over the variance of the label; 0 where labels do
        not vary within groups.

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
