"""Stein's estimate of the error of shrunk estimates, compared with direct estimates."""

import numpy as np

from skbench.stats.shrinkage.risk import stein_loss

_LARGEST_RATIO = 4.0  # squared error over posterior variance


def squared_errors(value, posterior_variance, z, noise):
    """Stein's estimates of the squared errors of posterior means.

    Parameters
    ----------
    value, posterior_variance : ndarray of shape (n_groups,)
        Estimates and their posterior variances, in score units.
    z : ndarray of shape (n_groups,)
        Direct estimates.
    noise : ndarray of shape (n_groups,)
        Sampling variances of `z`, unbiased on average over groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``(value - z)^2 - noise + 2 posterior_variance``. Values are noisy and often negative; only
        means over many groups are useful.

    Notes
    -----
    Stein's identity: for a Bayes rule with normal noise, the covariance of an estimate with the
    noise is its posterior variance, however other groups' errors are correlated
    (test_unbiased_risk_of_a_posterior_mean). Then the estimates are unbiased. For binomial counts
    and estimated variances, they are approximately unbiased.

    Examples
    --------
    >>> squared_errors(np.array([0.5]), 0.01, np.array([0.9]), np.array([0.02])).round(3)
    array([0.16])
    """
    return stein_loss(value, z, noise, 0.0) + 2 * posterior_variance


def inflation(value, posterior_variance, z, noise, size):
    """Factor of standard deviations that matches the estimated squared error.

    Parameters
    ----------
    value, posterior_variance, z, noise
        As in `squared_errors`.
    size : ndarray of shape (n_groups,)
        Weights of the groups: numbers of items, or precisions. They keep small groups from
        dominating.

    Returns
    -------
    float
        Root of the weighted sum of `squared_errors` over that of `posterior_variance`, with the
        ratio clipped to [1, 4].

    Examples
    --------
    >>> z = np.array([0.1, 0.9])
    >>> round(inflation(np.full(2, 0.5), np.full(2, 0.06), z, np.full(2, 0.02), np.ones(2)), 3)
    2.0
    """
    claimed = np.sum(size * posterior_variance)
    if claimed <= 0:
        return 1.0
    error = np.sum(size * squared_errors(value, posterior_variance, z, noise))
    return float(np.sqrt(np.clip(error / claimed, 1, _LARGEST_RATIO)))


def weight_of_direct(value, posterior_variance, z, noise):
    """Weight of the direct estimates with which estimates are no worse than these.

    Parameters
    ----------
    value, posterior_variance, z, noise
        As in `squared_errors`.

    Returns
    -------
    float
        Weight of the direct estimates. It is 0 if the estimated risk (the mean of `squared_errors`)
        does not exceed that of the direct estimates by more than one standard error, or if all
        noise is 0. Otherwise it is the weight with the smallest estimated risk.

    Notes
    -----
    With ``D = mean((value - z)^2)``, ``N`` the mean noise and ``v`` the mean posterior variance,
    ``(1 - w) value + w z`` has the estimated risk ``(1 - w)^2 D - N + 2 ((1 - w) v + w N)``, least
    at ``1 - w = (N - v) / D``.

    Examples
    --------
    >>> z, half = np.array([0.1, 0.9]), np.full(2, 0.5)
    >>> weight_of_direct(half, np.full(2, 0.01), z, np.full(2, 0.02))
    0.9375
    """
    lost = squared_errors(value, posterior_variance, z, noise) - noise
    if not np.any(noise) or np.mean(lost) <= np.std(lost) / np.sqrt(len(lost)):
        return 0.0
    gain, apart = np.mean(noise) - np.mean(posterior_variance), np.mean((value - z) ** 2)
    # Estimates equal to the direct ones cannot move, but their intervals can.
    return float(1 - np.clip(gain / apart, 0, 1)) if apart > 0 else float(gain < 0)
