"""Stein's estimate of the error of estimates that borrow, next to that of the direct ones."""

import numpy as np

from skbench.stats.shrinkage.risk import stein_loss

_LARGEST_RATIO = 4.0  # of the squared error to the posterior variance


def squared_errors(value, posterior_variance, z, noise):
    """Unbiased estimates of the squared errors of posterior means.

    Parameters
    ----------
    value, posterior_variance : ndarray of shape (n_groups,)
        Estimates and their posterior variances, in score units.
    z : ndarray of shape (n_groups,)
        Direct estimates.
    noise : ndarray of shape (n_groups,)
        Their sampling variances, right on average over groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``(value - z)^2 - noise + 2 posterior_variance``. Noisy, and often negative: only means over
        many groups are of use.

    Notes
    -----
    Stein's identity: for a Bayes rule with normal noise the covariance of an estimate with the
    noise is its posterior variance, however other groups' errors are correlated
    (test_unbiased_risk_of_a_posterior_mean).

    Examples
    --------
    >>> squared_errors(np.array([0.5]), 0.01, np.array([0.9]), np.array([0.02])).round(3)
    array([0.16])
    """
    return stein_loss(value, z, noise, 0.0) + 2 * posterior_variance


def inflation(value, posterior_variance, z, noise, size):
    """Factor by which standard deviations must grow to match the estimated squared error.

    Parameters
    ----------
    value, posterior_variance, z, noise
        As in `squared_errors`.
    size : ndarray of shape (n_groups,)
        Weights, so that small groups do not stand for all: numbers of items, or precisions.

    Returns
    -------
    float
        Root of the weighted sum of `squared_errors` over that of `posterior_variance`, with the
        ratio cut to [1, 4].

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
    """How far estimates must be moved to the direct ones, so that they are no worse.

    Parameters
    ----------
    value, posterior_variance, z, noise
        As in `squared_errors`.

    Returns
    -------
    float
        Weight of the direct estimates: 0 where the estimated risk, the mean of `squared_errors`, is
        not above theirs by more than its standard error, or where no noise was seen, which says
        nothing of theirs; else the one with the least estimated risk.

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
    # Estimates that are the direct ones have nowhere to move, but their intervals have.
    return float(1 - np.clip(gain / apart, 0, 1)) if apart > 0 else float(gain < 0)
