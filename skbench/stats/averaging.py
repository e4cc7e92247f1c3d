"""Means of several estimates of the same groups, and how sure of them one may be.

The estimates come from the same direct estimates, so their errors are highly dependent:
averaging lowers the error, but by less than any formula for independent ones says. Here
errors count as perfectly dependent, where estimates differ each is charged with its distance
to the mean, and Stein's identity tells whether even that is too little.
"""

import numpy as np

from skbench.stats.risk import stein_loss


def mean_standard_errors(values, standard_errors, weights=None):
    """Standard errors of a mean of estimates whose errors are perfectly dependent.

    Parameters
    ----------
    values, standard_errors : ndarray of shape (n_estimates, n_groups)
        What each estimator says, and of its own error.
    weights : array-like of shape (n_estimates,), default=None
        Of the mean; None for equal ones.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``sum_k w_k sqrt(s_k^2 + (value_k - mean)^2)`` [1]_: at least the mean standard error,
        and more where the estimates differ.

    References
    ----------
    .. [1] Buckland, Burnham and Augustin (1997). Model selection: an integral part of
       inference. Biometrics 53.

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.full((2, 2), 0.3)
    >>> mean_standard_errors(np.array([[0.1, 0.5], [0.9, 0.5]]), errors)
    array([0.5, 0.3])
    """
    away = values - np.average(values, axis=0, weights=weights)
    return np.average(np.hypot(standard_errors, away), axis=0, weights=weights)


def squared_errors(value, standard_errors, z, noise, weights=None):
    """Unbiased estimates of the squared errors of a mean of estimates.

    Parameters
    ----------
    value : ndarray of shape (n_groups,)
        Mean of the estimates.
    standard_errors : ndarray of shape (n_estimates, n_groups)
        What each estimator says of its own error, as posterior standard deviations.
    z : ndarray of shape (n_groups,)
        Direct estimates.
    noise : ndarray of shape (n_groups,)
        Their sampling variances, right on average over groups.
    weights : array-like of shape (n_estimates,), default=None
        Of the mean of estimates; None for equal ones.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``(value - z)^2 - noise + 2 v`` with ``v`` the weighted mean of the squared standard
        errors. Noisy, and often negative: only means over many groups are of use.

    Notes
    -----
    Stein's identity. For a Bayes rule with normal noise the covariance of an estimate with
    the noise is its posterior variance, whatever it borrows from other groups and however
    their errors are correlated (test_unbiased_risk_of_the_mean). It believes the estimators
    on how much weight they give each group, and nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.full((2, 1), 0.1)
    >>> squared_errors(np.array([0.5]), errors, np.array([0.9]), np.array([0.02])).round(3)
    array([0.16])
    """
    posterior_variance = np.average(np.square(standard_errors), axis=0, weights=weights)
    return stein_loss(value, z, noise, 0.0) + 2 * posterior_variance


def interval_inflation(values, standard_errors, z, noise, weights=None):
    """Factor by which intervals of a mean of estimates must be widened.

    Parameters
    ----------
    values : ndarray of shape (n_estimates, n_groups)
        The estimates.
    standard_errors, z, noise, weights
        As in `squared_errors`.

    Returns
    -------
    float
        At least 1.

    Notes
    -----
    The root of the mean of `squared_errors` over that of the squares of
    `mean_standard_errors`; 1 if that is less.

    When not to use it: with a handful of groups, where it is nearly always noise; or for
    estimators whose standard errors are smaller than the weight they give a group's own
    direct estimate justifies.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.array([0.1, 0.9])
    >>> values = np.full((2, 2), 0.5)
    >>> round(interval_inflation(values, np.full((2, 2), 0.1), z, np.full(2, 0.02)), 3)
    4.0
    """
    claimed = np.mean(mean_standard_errors(values, standard_errors, weights) ** 2)
    if not claimed > 0:
        return 1.0
    value = np.average(values, axis=0, weights=weights)
    error = np.mean(squared_errors(value, standard_errors, z, noise, weights))
    return float(np.sqrt(max(1.0, error / claimed)))
