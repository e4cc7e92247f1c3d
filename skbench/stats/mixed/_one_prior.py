"""Groups unlike their peers where every group has a prior mean of its own, and nothing else."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, expit, logit, logsumexp

from skbench.stats.mixed._moments import Cavity, Moments, binomial_moments
from skbench.stats.mixed._peers import UNLIKE_VARIANCE
from skbench.stats.mixed._sites import tilted_rule, weighted_sums

_LEAST_PRECISION = 1.0  # of a beta prior: with less it has its mass at 0 and 1
_MOST_PRECISION = 1e8  # beyond it the digits of log beta functions are lost


class Alone(NamedTuple):
    """Groups that have nothing to do with the others.

    log_mass : ndarray of shape (n_groups,), log probability of what was seen of each
    posterior : Moments of its score
    """

    log_mass: np.ndarray
    posterior: Moments


def alone_counts(k, n):
    """Counts of groups that have nothing to do with the others.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Right answers and items.

    Returns
    -------
    Alone
        Log odds are ``N(0, 2.5^2)``, as in `crossed_logit`; probabilities lack the binomial
        coefficient, as those of `log_mass_of_counts` do.

    Examples
    --------
    >>> import numpy as np
    >>> alone = alone_counts(np.array([8.0, 1.0]), np.full(2, 10.0))
    >>> alone.posterior.score.round(2)
    array([0.78, 0.13])
    >>> (alone.log_mass - log_mass_of_counts(np.array([8.0, 1]), 10.0, 0.85, 0.004)).round(1)
    array([-1.1,  8.8])
    """
    own = np.full(len(k), UNLIKE_VARIANCE)
    points, log_weights = tilted_rule(k, n, np.zeros(len(k)), own)
    log_mass = logsumexp(log_weights, axis=1)
    weights = np.exp(log_weights - log_mass[:, None])
    p = expit(points)
    score = weighted_sums(weights, p)
    away = p - score[:, None]
    square = away**2  # a third power takes ten times as long
    second, third = (weighted_sums(weights, power) for power in (square, square * away))
    return Alone(log_mass, Moments(score, second, third, score, second))


def alone_scores(z, sigma2, center, spread):
    """Direct estimates of groups that have nothing to do with the others.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.
    center, spread : float
        Mean and variance of the direct estimates of all: a group unlike the others is
        ``N(center, 2.5^2 spread)``, as in `crossed_normal`.

    Returns
    -------
    Alone

    Examples
    --------
    >>> import numpy as np
    >>> alone_scores(np.array([0.8, 0.1]), np.full(2, 0.001), 0.8, 0.01).posterior.score.round(2)
    array([0.8 , 0.11])
    """
    wide = UNLIKE_VARIANCE * spread
    weight = wide / (wide + sigma2)
    mean, variance = center + weight * (z - center), weight * sigma2
    log_mass = _log_density(z, center, wide + sigma2)
    return Alone(log_mass, Moments(mean, variance, np.zeros_like(mean), mean, variance))


def log_mass_of_counts(k, n, mean, variance):
    """Log probability of counts of groups that are like the others.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Right answers and items.
    mean, variance : ndarray of shape (n_groups,)
        Of the accuracy of each, from the others: its law is a beta one.

    Returns
    -------
    ndarray of shape (n_groups,)
        Without the binomial coefficient.
    """
    edge = 1 / (4 * np.max(n))
    mean = np.clip(mean, edge, 1 - edge)
    precision = mean * (1 - mean) / np.maximum(variance, 1e-300) - 1
    precision = np.clip(precision, _LEAST_PRECISION, _MOST_PRECISION)
    a, b = mean * precision, (1 - mean) * precision
    return betaln(k + a, n - k + b) - betaln(a, b)


def log_mass_of_scores(z, sigma2, mean, variance):
    """The same for direct estimates with known sampling variances, whose law is normal.

    Parameters
    ----------
    z, sigma2, mean, variance : ndarray of shape (n_groups,)

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    return _log_density(z, mean, variance + sigma2)


def _log_density(z, mean, variance):
    """Of normal laws; that of scipy checks its arguments for longer than it takes."""
    return -0.5 * ((z - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def alone_or_not(mass, share):
    """Probability that each group is unlike its peers.

    Parameters
    ----------
    mass : tuple of two ndarray of shape (n_groups,)
        Log probabilities of what was seen of it, if it is like them, and if not.
    share : float
        Of groups unlike their peers, before this one was seen.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    if share == 0:
        return np.zeros_like(mass[0])
    return expit(logit(share) + mass[1] - mass[0])


def log_odds_of_counts(k, n, mean, variance):
    """Counts whose log odds have a normal law: their log probability, and the posterior.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Right answers and items.
    mean, variance : ndarray of shape (n_groups,)
        Of the log odds.

    Returns
    -------
    log_mass : ndarray of shape (n_groups,)
        Without the binomial coefficient.
    posterior : Moments
        Of log odds and accuracies.
    """
    _, log_weights = tilted_rule(k, n, mean, variance)
    return logsumexp(log_weights, axis=1), binomial_moments(
        k, n, Cavity(mean, variance, mean, None, None)
    )
