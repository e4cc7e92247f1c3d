"""Crossed random effects of models and topics, for counts and for direct estimates."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from skbench.stats import _mixed_fit as fitting
from skbench.stats._mixed_gaussian import Structure
from skbench.stats._mixed_layout import layout
from skbench.stats._mixed_moments import binomial_moments, gaussian_moments, mixture_moments

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(30)
_MODEL_STD = 2.5  # of the weak prior of a model's log odds
_START = 0.5, 0.1  # variances of topic and interaction
_PRIOR_STD = 1.0, 0.5  # half-normal scales of their standard deviations
_FEW_TOPICS = 12  # up to which the variances are integrated over
_EXACT = 1e-10  # least sampling variance, of the variance of the direct estimates
_FLAT = 1e-8  # precision of the model effects, in the same unit
_MOST_SKEWED = 1.0  # skewness beyond which the Cornish-Fisher expansion misleads


class CrossedFit(NamedTuple):
    """A fitted crossed model.

    Attributes
    ----------
    mean, variance, skewness : ndarray of shape (n_groups,)
        Posterior of each group on the scale of the model: log odds for counts.
    score, score_variance : ndarray of shape (n_groups,)
        Posterior mean and variance in score units: accuracies for counts.
    model_mean : ndarray of shape (n_models,)
        Posterior means of the models' effects.
    model_covariance : ndarray of shape (n_models, n_models)
        Their posterior covariance.
    topic_mean : ndarray of shape (n_topics,)
        Posterior means of the topics' effects.
    topic_variance, interaction_variance : float
        Variances of the topics' effects and of model x topic; posterior means where
        they are integrated over.
    """

    mean: np.ndarray
    variance: np.ndarray
    skewness: np.ndarray
    score: np.ndarray
    score_variance: np.ndarray
    model_mean: np.ndarray
    model_covariance: np.ndarray
    topic_mean: np.ndarray
    topic_variance: float
    interaction_variance: float


def crossed_logit(k, n, model, topic, item_correlation=None):
    """Crossed random effects on the logit scale, for counts.

    Parameters
    ----------
    k, n : ndarray of shape (n_groups,)
        Right answers and items.
    model, topic : ndarray of int of shape (n_groups,)
        Codes from 0 without gaps.
    item_correlation : ndarray of shape (n_models, n_models), default=None
        Correlation of errors of models on the same items; None for independence.

    Returns
    -------
    CrossedFit
    """
    where = layout(model, topic)
    k, n = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    likelihood = fitting.Binomial(
        where.blocks(k), where.blocks(n), where.correlation(item_correlation)
    )
    structure, start = _crossed_structure(where, _MODEL_STD**-2)

    def moments(fit):
        own = [where.rows(values) for values in (likelihood.k_own, likelihood.n_own, fit.W, fit.b)]
        posterior = fit.posterior
        slope = posterior.slope
        return binomial_moments(
            *own,
            where.rows(posterior.mean),
            where.rows(posterior.variance),
            where.rows(posterior.noisy_mean),
            where.rows(posterior.noisy_variance),
            None if slope is None else where.rows(slope),
        )

    return _crossed_fit(likelihood, structure, start, moments)


def crossed_normal(z, sigma2, model, topic, item_correlation=None):
    """Crossed random effects for direct estimates with known sampling variances.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.
    model, topic, item_correlation
        As in `crossed_logit`.

    Returns
    -------
    CrossedFit
    """
    where = layout(model, topic)
    center, scale = np.mean(z), np.std(z) if np.ptp(z) > 0 else 1.0
    precision = scale**2 / np.maximum(sigma2, _EXACT * scale**2)
    likelihood = fitting.Gaussian(
        where.blocks((z - center) / scale),
        where.blocks(precision),
        where.correlation(item_correlation),
    )
    structure, start = _crossed_structure(where, _FLAT)

    def moments(fit):
        return gaussian_moments(where.rows(fit.posterior.mean), where.rows(fit.posterior.variance))

    fit = _crossed_fit(likelihood, structure, start, moments)
    return fit._replace(
        mean=center + scale * fit.mean,
        variance=scale**2 * fit.variance,
        score=center + scale * fit.score,
        score_variance=scale**2 * fit.score_variance,
        model_mean=center + scale * fit.model_mean,
        model_covariance=scale**2 * fit.model_covariance,
        topic_mean=scale * fit.topic_mean,
        topic_variance=scale**2 * fit.topic_variance,
        interaction_variance=scale**2 * fit.interaction_variance,
    )


def skewed_interval(mean, variance, skewness, confidence_level=0.95):
    """Equal-tailed interval of a distribution close to normal.

    Parameters
    ----------
    mean, variance, skewness : ndarray of shape (n_groups,)
        Of the distribution.
    confidence_level : float, default=0.95
        Probability between the ends.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Cornish-Fisher quantiles ``mean + std (z + skewness (z^2 - 1) / 6)``, with
        skewness cut to [-1, 1].
    """
    z = norm.ppf((1 + confidence_level) / 2)
    shift = np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED) * (z**2 - 1) / 6
    std = np.sqrt(variance)
    return mean + std * (shift - z), mean + std * (shift + z)


def logistic_moments(mean, variance):
    """Mean and variance of an accuracy whose log odds are normal.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_groups,)
        Of the log odds.

    Returns
    -------
    mean, variance : ndarray of shape (n_groups,)
        Of the accuracy, by Gauss-Hermite quadrature with 30 points.
    """
    mean, variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
    points = expit(mean[..., None] + np.sqrt(2 * variance)[..., None] * _NODES)
    weights = _WEIGHTS / np.sqrt(np.pi)
    center = points @ weights
    return center, (points - center[..., None]) ** 2 @ weights


def item_correlation(scores, topic):
    """Correlation across models of the errors that shared items cause.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Score of each model on each item; nan where it did not answer.
    topic : ndarray of int of shape (n_items,)
        Topic of each item, codes from 0 without gaps.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Positive semidefinite, ones on the diagonal.
    """
    seen = ~np.isnan(scores)
    residuals = np.where(seen, scores, 0.0)
    sums = np.zeros((topic.max() + 1, scores.shape[1]))
    counts = np.zeros_like(sums)
    np.add.at(sums, topic, residuals)
    np.add.at(counts, topic, seen)
    residuals = np.where(seen, residuals - (sums / np.maximum(counts, 1))[topic], 0.0)
    both = seen.astype(float).T @ seen
    squares = (residuals**2).T @ seen  # of the row's model, over items both answered
    scale = np.sqrt(squares * squares.T)
    correlation = np.divide(
        residuals.T @ residuals, scale, out=np.zeros_like(scale), where=scale > 0
    )
    return _shrunk_correlation(correlation, np.where(scale > 0, both, 0))


def _shrunk_correlation(correlation, n_items):
    """Towards one common correlation, as far as chance spreads the entries."""
    pairs = ~np.eye(len(correlation), dtype=bool) & (n_items > 2)
    common = np.average(correlation[pairs], weights=n_items[pairs]) if pairs.any() else 0.0
    chance = np.sum((1 - correlation[pairs] ** 2) ** 2 / n_items[pairs])
    spread = np.sum((correlation[pairs] - common) ** 2)
    weight = min(1.0, chance / spread) if spread > 0 else 1.0
    shrunk = np.where(pairs, (1 - weight) * correlation + weight * common, common)
    np.fill_diagonal(shrunk, 1.0)
    return _nearest_correlation(shrunk)


def _nearest_correlation(matrix):
    values, vectors = np.linalg.eigh(matrix)
    matrix = (vectors * np.maximum(values, 0)) @ vectors.T
    scale = np.sqrt(np.diag(matrix))
    return matrix / np.outer(scale, scale)


def _crossed_structure(where, prior_precision):
    """Kernels of topic and interaction, and variances to start from."""
    size = where.slot_model.shape[1]
    same_group = np.eye(size)[None]
    if size == 1:
        kernels, start = same_group[None], np.array([sum(_START)])
    else:
        kernels, start = np.stack([np.ones((1, size, size)), same_group]), np.array(_START)
    return Structure(kernels, where.design(), 0.0, prior_precision), start


def _crossed_fit(likelihood, structure, start, moments):
    fit = fitting.fit_blocks(likelihood, structure, start)
    fits, weights = [fit], np.ones(1)
    if len(fit.W) <= _FEW_TOPICS:
        prior_std = np.array(_PRIOR_STD[: len(start)])
        fits, weights = fitting.integrated(likelihood, structure, fit, prior_std)
    mixed = mixture_moments([moments(part) for part in fits], weights)
    effects = np.array([part.posterior.coefficients for part in fits])
    model_mean = weights @ effects
    away = effects - model_mean
    covariances = np.array([part.posterior.covariance for part in fits])
    topic_variances = np.array([part.variances[0] if len(start) > 1 else 0.0 for part in fits])
    pulls = np.array([part.posterior.residual.sum(axis=1) for part in fits])
    return CrossedFit(
        mean=mixed.mean,
        variance=mixed.variance,
        skewness=mixed.third / mixed.variance**1.5,
        score=mixed.score,
        score_variance=mixed.score_variance,
        model_mean=model_mean,
        model_covariance=np.tensordot(weights, covariances, 1) + (weights * away.T) @ away,
        topic_mean=(weights * topic_variances) @ pulls,
        topic_variance=float(weights @ topic_variances),
        interaction_variance=float(weights @ [part.variances[-1] for part in fits]),
    )
