"""Posterior moments of log odds and accuracies, beyond the Gaussian approximation."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skbench.stats._mixed_sites import cavity, tilted_rule

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


def gaussian_moments(mean, variance):
    """Moments where the latent value is the score."""
    return Moments(mean, variance, np.zeros_like(mean), mean, variance)


def binomial_moments(k, n, W, b, mean, variance, noisy_mean, noisy_variance, slope):
    """Moments of log odds and accuracy, with the exact likelihood of a group's own count.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Right answers and items, to the power of the likelihood.
    W, b : ndarray of shape (n_groups,)
        Pseudo-observations.
    mean, variance, noisy_mean, noisy_variance, slope : ndarray of shape (n_groups,)
        Of `skbench.stats._mixed_gaussian.Posterior`; slope None for 1.

    Returns
    -------
    Moments
    """
    points, log_weights = tilted_rule(k, n, *cavity(W, b, noisy_mean, noisy_variance))
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    away = points - noisy_mean[:, None]
    if slope is not None:
        away = slope[:, None] * away
        # What the group's own count does not determine is Gaussian around it.
        rest = np.maximum(variance - slope**2 * noisy_variance, 0)
        spread = np.sqrt(2 * rest)[:, None] * _INNER
        p = expit(mean[:, None, None] + away[:, :, None] + spread[:, None, :])
        inner = _INNER_WEIGHTS / np.sqrt(np.pi)
        first, second = p @ inner, p**2 @ inner
    else:
        first = expit(mean[:, None] + away)
        second = first**2
    score = np.sum(weights * first, axis=1)
    return Moments(
        mean,
        variance,
        np.sum(weights * away**3, axis=1),
        score,
        np.sum(weights * second, axis=1) - score**2,
    )


def mixture_moments(parts, weights):
    """Moments of a mixture of posteriors.

    Parameters
    ----------
    parts : list of Moments
    weights : ndarray of shape (n_parts,)
        Adding up to 1.

    Returns
    -------
    Moments
    """
    mean, variance, third, score, score_variance = (
        np.stack(values) for values in zip(*parts, strict=True)
    )
    center, score_center = weights @ mean, weights @ score
    away = mean - center
    return Moments(
        center,
        weights @ (variance + away**2),
        weights @ (third + 3 * away * variance + away**3),
        score_center,
        weights @ (score_variance + (score - score_center) ** 2),
    )
