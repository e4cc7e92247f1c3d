"""Means of several estimates of the same groups, and how sure of them one may be.

The estimates come from the same direct estimates, so their errors are highly dependent:
averaging lowers the error, but by less than any formula for independent ones says. Here
errors count as perfectly dependent, where estimates differ each is charged with its distance
to the mean, and Stein's identity tells whether even that is too little.
"""

import numpy as np

from skbench.stats.shrinkage.risk import stein_loss

_FAR = 9.0  # times the usual squared distance to a direct estimate: three standard deviations
_MEDIAN_SQUARE = 0.455  # of a standard normal variable


def mean_standard_errors(values, standard_errors, weights=None):
    """Standard errors of a mean of estimates whose errors are perfectly dependent.

    Parameters
    ----------
    values, standard_errors : ndarray of shape (n_estimates, n_groups)
        What each estimator says, and of its own error.
    weights : array-like of shape (n_estimates,) or (n_estimates, n_groups), default=None
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
    weights : array-like of shape (n_estimates,) or (n_estimates, n_groups), default=None
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


def interval_inflation(
    values, standard_errors, z, noise, weights=None, *, size=None, largest_noise=None
):
    """Factors by which intervals of a mean of estimates must be widened.

    Parameters
    ----------
    values : ndarray of shape (n_estimates, n_groups)
        The estimates.
    standard_errors, z, noise, weights
        As in `squared_errors`.
    size : ndarray of shape (n_groups,), default=None
        What errors are multiplied with, so that small groups do not stand for all: numbers
        of items, or precisions. None for ones.
    largest_noise : ndarray of shape (n_groups,), default=None
        Sampling variances that are not too small in any group, which tell an unusual
        distance from noise; None for `noise`.

    Returns
    -------
    common : float
        Of groups like the others, at least 1.
    factors : ndarray of shape (n_groups,)
        The same, but larger where a direct estimate lies unusually far away.

    Notes
    -----
    `common` is the root of the mean of `squared_errors` over that of the squares of
    `mean_standard_errors`; 1 if that is less. Groups whose squared distance
    ``(value - z)^2`` to the direct estimate is more than 9 times what is expected, or 9 times
    what is usual, do not count in it: they are widened alone, to their own squared error.

    When not to use it: with a handful of groups, where it is nearly always noise; or for
    estimators whose standard errors are smaller than the weight they give a group's own
    direct estimate justifies.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.array([0.1, 0.9])
    >>> values = np.full((2, 2), 0.5)
    >>> common, _ = interval_inflation(values, np.full((2, 2), 0.1), z, np.full(2, 0.02))
    >>> round(common, 3)
    4.0
    """
    claimed = mean_standard_errors(values, standard_errors, weights) ** 2
    value = np.average(values, axis=0, weights=weights)
    error = squared_errors(value, standard_errors, z, noise, weights)
    size = np.ones_like(claimed) if size is None else size / np.mean(size)
    largest = noise if largest_noise is None else largest_noise
    near = ~_far(value, standard_errors, z, largest, weights, size)
    total = np.sum((size * claimed)[near])
    common = max(1.0, np.sum((size * error)[near]) / total) if total > 0 else 1.0
    own = np.divide(error, claimed, out=np.ones_like(error), where=claimed > 0)
    return float(np.sqrt(common)), np.sqrt(np.where(near, common, np.maximum(common, own)))


def _far(value, standard_errors, z, noise, weights, size):
    """Groups much farther from their direct estimates than expected, and than usual."""
    posterior_variance = np.average(np.square(standard_errors), axis=0, weights=weights)
    expected = np.maximum(noise - posterior_variance, 0)
    # The noise of one group is itself an estimate: that of a usual group of its size is less so.
    expected = np.maximum(expected, np.median(size * expected) / size)
    if not np.all(expected > 0):
        return np.zeros(len(z), dtype=bool)
    relative = (z - value) ** 2 / expected
    return relative > _FAR * max(1.0, np.median(relative) / _MEDIAN_SQUARE)


def weight_of_direct(value, standard_errors, z, noise, weights=None):
    """How far an estimate must be moved to the direct one, so that it is no worse.

    Parameters
    ----------
    value, standard_errors, z, noise, weights
        As in `squared_errors`.

    Returns
    -------
    float
        Weight of the direct estimates: 0 where the estimated risk, the mean of
        `squared_errors`, is not above theirs by more than its standard error; else the one
        with the least estimated risk.

    Notes
    -----
    With ``D = mean((value - z)^2)``, ``N`` the mean noise and ``v`` the mean squared standard
    error, the mean ``(1 - w) value + w z`` has the estimated risk
    ``(1 - w)^2 D - N + 2 ((1 - w) v + w N)``, least at ``1 - w = (N - v) / D``.

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.full((1, 2), 0.1)
    >>> weight_of_direct(np.array([0.5, 0.5]), errors, np.array([0.1, 0.9]), np.full(2, 0.02))
    0.9375
    """
    lost = squared_errors(value, standard_errors, z, noise, weights) - noise
    if np.mean(lost) <= np.std(lost) / np.sqrt(len(lost)):
        return 0.0
    variance = np.mean(np.average(np.square(standard_errors), axis=0, weights=weights))
    gain, apart = np.mean(noise) - variance, np.mean((value - z) ** 2)
    # Estimates that are the direct ones have nowhere to move, but their intervals have.
    return float(1 - np.clip(gain / apart, 0, 1)) if apart > 0 else float(gain < 0)
