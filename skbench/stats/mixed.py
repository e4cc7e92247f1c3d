"""Crossed random effects of models and topics, for counts and for direct estimates."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skbench.stats import _mixed_fit as fitting
from skbench.stats._mixed_gaussian import Structure
from skbench.stats._mixed_layout import layout

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(30)
_MODEL_STD = 2.5  # of the weak prior of a model's log odds
_START = 0.5, 0.1  # variances of topic and interaction


class CrossedFit(NamedTuple):
    """A fitted crossed model.

    Attributes
    ----------
    mean, variance : ndarray of shape (n_groups,)
        Posterior of each group on the scale of the model (log odds for counts).
    model_mean : ndarray of shape (n_models,)
        Posterior means of the models' effects.
    model_covariance : ndarray of shape (n_models, n_models)
        Their posterior covariance.
    topic_variance, interaction_variance : float
        Variances of the topics' effects and of model x topic.
    topic_mean : ndarray of shape (n_topics,)
        Posterior means of the topics' effects.
    """

    mean: np.ndarray
    variance: np.ndarray
    model_mean: np.ndarray
    model_covariance: np.ndarray
    topic_variance: float
    interaction_variance: float
    topic_mean: np.ndarray


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
    correlation = where.correlation(item_correlation)
    likelihood = fitting.Binomial(
        where.blocks(np.asarray(k, dtype=float)), where.blocks(n), correlation
    )
    structure, start = _crossed_structure(where, 0.0, _MODEL_STD**-2)
    return _crossed_fit(fitting.fit_blocks(likelihood, structure, start), where, structure)


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
    scale = np.std(z) if np.ptp(z) > 0 else 1.0
    precision = scale**2 / np.maximum(sigma2, 1e-10 * scale**2)
    center = np.mean(z)
    likelihood = fitting.Gaussian(
        where.blocks((z - center) / scale),
        where.blocks(precision),
        where.correlation(item_correlation),
    )
    structure, start = _crossed_structure(where, 0.0, 1e-8)
    fit = _crossed_fit(fitting.fit_blocks(likelihood, structure, start), where, structure)
    return fit._replace(
        mean=center + scale * fit.mean,
        variance=scale**2 * fit.variance,
        model_mean=center + scale * fit.model_mean,
        model_covariance=scale**2 * fit.model_covariance,
        topic_variance=scale**2 * fit.topic_variance,
        interaction_variance=scale**2 * fit.interaction_variance,
        topic_mean=scale * fit.topic_mean,
    )


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


def _crossed_structure(where, prior_mean, prior_precision):
    """Kernels of topic and interaction, and variances to start from."""
    size = where.slot_model.shape[1]
    same_group = np.eye(size)[None]
    if size == 1:
        kernels, start = same_group[None], np.array([sum(_START)])
    else:
        kernels, start = np.stack([np.ones((1, size, size)), same_group]), np.array(_START)
    return Structure(kernels, where.design(), prior_mean, prior_precision), start


def _crossed_fit(fit, where, structure):
    posterior = fit.posterior
    crossed = len(fit.variances) > 1
    topic_variance = fit.variances[0] if crossed else 0.0
    return CrossedFit(
        mean=where.rows(posterior.mean),
        variance=where.rows(posterior.variance),
        model_mean=posterior.coefficients,
        model_covariance=posterior.covariance,
        topic_variance=float(topic_variance),
        interaction_variance=float(fit.variances[-1]),
        topic_mean=topic_variance * posterior.residual.sum(axis=1),
    )
