"""Posterior moments of log odds and accuracies, beyond the Gaussian approximation."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skbench.stats.mixed._sites import in_parts, tilted_law, weighted_sums

_AT_ONCE = 512  # groups with 24 x 8 nodes each
_LARGEST_LOG = 300.0  # of odds whose products are finite
_INNER, _INNER_WEIGHTS = np.polynomial.hermite.hermgauss(8)


class Moments(NamedTuple):
    """Moments of the latent value and of the score, arrays of shape (n_groups,).

    third : third central moment of the latent value
    score, score_variance : mean and variance of what the latent value stands for
    """

    mean: np.ndarray
    variance: np.ndarray
    third: np.ndarray
    score: np.ndarray
    score_variance: np.ndarray


class Cavity(NamedTuple):
    """What all but its own observation says of each group: normal laws.

    noisy_mean, noisy_variance : of the latent value plus the noise it shares
    mean : of the latent value
    slope, rest : of the latent value on that plus noise, and what this leaves of its
        variance; None where there is no shared noise
    """

    noisy_mean: np.ndarray
    noisy_variance: np.ndarray
    mean: np.ndarray
    slope: np.ndarray | None
    rest: np.ndarray | None


def gaussian_moments(W, b, cavity):
    """Moments where the latent value is the score, seen as ``b / W`` with precision `W`.

    Parameters
    ----------
    W, b : ndarray of shape (n_groups,)
    cavity : Cavity

    Returns
    -------
    Moments
    """
    variance = 1 / (1 / cavity.noisy_variance + W)
    away = variance * (b - W * cavity.noisy_mean)
    if cavity.slope is not None:
        away, variance = cavity.slope * away, cavity.rest + cavity.slope**2 * variance
    mean = cavity.mean + away
    return Moments(mean, variance, np.zeros_like(mean), mean, variance)


def binomial_moments(k, n, cavity):
    """Moments of log odds and accuracy, with the exact likelihood of a group's own count.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Right answers and items, to the power of the likelihood.
    cavity : Cavity

    Returns
    -------
    Moments
    """
    return binomial_posterior(k, n, cavity)[1]


def binomial_posterior(k, n, cavity):
    """The same, after the log probability of each count, as `tilted_moments` has it.

    Parameters
    ----------
    k, n, cavity
        As in `binomial_moments`.

    Returns
    -------
    log_mass : ndarray of shape (n_groups,)
    moments : Moments
    """
    shape = np.shape(cavity.mean)
    flat = [None if x is None else np.ravel(np.broadcast_to(x, shape)) for x in (k, n, *cavity)]
    log_mass, *moments = (x.reshape(shape) for x in in_parts(_AT_ONCE, _moments_of_a_few, *flat))
    return log_mass, Moments(*moments)


def _moments_of_a_few(k, n, *law):
    cavity = Cavity(*law)
    points, weights, log_mass = tilted_law(k, n, cavity.noisy_mean, cavity.noisy_variance)
    noisy_mean = weighted_sums(weights, points)
    away = points - noisy_mean[:, None]
    square = away**2
    variance, mean = weighted_sums(weights, square), noisy_mean
    third = weighted_sums(weights, square * away)
    if cavity.slope is None:
        first = expit(points)
        second = first**2
    else:
        slope = cavity.slope
        mean = cavity.mean + slope * (noisy_mean - cavity.noisy_mean)
        away, variance = slope[:, None] * away, cavity.rest + slope**2 * variance
        third = slope**3 * third
        # What the group's own count does not determine is Gaussian around it.
        spread = np.sqrt(2 * cavity.rest) * _INNER[:, None]
        first, second = _means_over(_odds_against(mean[:, None] + away), _odds_against(spread))
    score = weighted_sums(weights, first)
    score_variance = weighted_sums(weights, second) - score**2
    return log_mass, mean, variance, third, score, score_variance


def _means_over(outer, inner):
    """Means of accuracies and of their squares over the inner nodes, given odds against both.

    Odds of sums are products of odds: an exponential for each node, none for each pair. The
    inner nodes come first, so that numpy works along all the others.
    """
    p = np.multiply(inner[:, :, None], outer, out=np.empty((len(inner), *outer.shape)))
    np.divide(1, np.add(p, 1, out=p), out=p)
    weights, flat = _INNER_WEIGHTS / np.sqrt(np.pi), p.reshape(len(inner), -1)
    means = weights @ flat, weights @ np.square(flat, out=flat)
    return (mean.reshape(outer.shape) for mean in means)


def _odds_against(log_odds):
    return np.exp(-np.clip(log_odds, -_LARGEST_LOG, _LARGEST_LOG))


def mixture_moments(parts, weights):
    """Moments of a mixture of posteriors.

    Parameters
    ----------
    parts : sequence of Moments
    weights : ndarray of shape (n_parts,) or (n_parts, n_groups)
        Adding up to 1 over the parts.

    Returns
    -------
    Moments
    """
    return mean_moments(
        Moments(*(np.stack(values) for values in zip(*parts, strict=True))), weights
    )


def mean_moments(several, weights):
    """The same for parts of which each moment is one array, of shape (n_parts, n_groups)."""
    mean, variance, third, score, score_variance = several
    weights = np.broadcast_to(weights.T, mean.T.shape).T

    def averaged(values):
        return np.einsum("ij,ij->j", weights, values)

    center, score_center = averaged(mean), averaged(score)
    away, score_away = mean - center, score - score_center
    square = away**2
    return Moments(
        center,
        averaged(variance + square),
        averaged(third + away * (3 * variance + square)),
        score_center,
        averaged(score_variance + score_away**2),
    )
