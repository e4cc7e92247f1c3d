"""Unit-level model: a mixed model with one row per answered item, for one new model.

``eta_i = h_i (x_i' beta + v_t(i))``. The coefficients `beta` have normal priors, and those of
components share one estimated variance. The topic effects `v` have a t distribution. Given
pseudo-observations everything is Gaussian. Topics are eliminated first, so the cost is linear in
the numbers of items and topics.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import expit

from skbench.stats.item_response._topic_effects import (
    TopicFactors,
    first_factors,
    matched_factors,
    topic_prior,
)
from skbench.stats.item_response.unit_prediction import NODES, WEIGHTS, UnitFit, latent

_MOST_ROUNDS = 60
_UNDAMPED = 12
_TOLERANCE = 2e-3
_FIRST_VARIANCE = 0.1  # starting value, for the coefficients of components
_POWER = 0.5  # of this variance, in its prior
_PRIOR_SCORES = 4.0  # weight, in scores, of the prior of the noise


class Prior(NamedTuple):
    """Priors of coefficients, topic effects and noise.

    Attributes
    ----------
    mean, precision : ndarray of shape (n_fixed,)
        Prior means and precisions of the first coefficients. The other coefficients have mean 0 and
        share one estimated variance.
    n_topics : int
        Number of topics, with or without answers.
    scale : float
        Scale of the half-normal priors of the standard deviations of topics and components.
    noise : float, default=nan
        First guess of the residual variance of a score; nan for correct and incorrect answers.
    """

    mean: np.ndarray
    precision: np.ndarray
    n_topics: int
    scale: float = 1.0
    noise: float = np.nan


def unit_level_logit(y, X, topic, attenuation, prior):
    """Fit the unit-level model to correct and incorrect answers by expectation propagation.

    Parameters
    ----------
    y : ndarray of shape (n_items,)
        Answers: 1 for correct, 0 for incorrect, or shares of correct answers.
    X : ndarray of shape (n_items, n_coefficients)
        Features, including the constant. Components are last.
    topic : ndarray of int of shape (n_items,)
        Topic codes from 0.
    attenuation : ndarray of shape (n_items,)
        1, or ``1 / sqrt(1 + pi omega^2 / 8)`` for items that have their own normal effect of
        variance ``omega^2``.
    prior : Prior

    Returns
    -------
    UnitFit

    Notes
    -----
    Each iteration replaces every answer by a Gaussian pseudo-observation. The pseudo-observation
    gives the item the mean and variance of the exact likelihood (Minka 2001, UAI 17). The prior of
    every topic effect is replaced likewise; it is a t distribution with 4 degrees of freedom whose
    scale is integrated out. The variance of the coefficients of components takes a Newton step in
    its log toward its penalized maximum. Its prior is half-normal in the standard deviation times
    the variance to the power 0.5, which keeps it above 0 (Chung, Rabe-Hesketh, Dorie, Gelman and
    Liu 2013, Psychometrika 78).
    """
    rows = _Rows(X, topic, attenuation, prior.n_topics)
    precision, pull = np.full(len(y), 0.1), 0.6 * (y - 0.5)
    state = _State(_FIRST_VARIANCE * prior.scale**2, *_topics(prior))
    for step in range(_MOST_ROUNDS):
        fit = _posterior(precision, pull, rows, prior, state)
        mean, variance = latent(fit, X, topic, attenuation)
        cavity = 1 / np.maximum(1 / variance - precision, 1e-8)
        center = cavity * (mean / variance - pull)
        held_out, new_precision, new_pull = _tilted(y, center, cavity)
        moved = max(np.max(np.abs(new_precision - precision)), np.max(np.abs(new_pull - pull)))
        share = 1.0 if step < _UNDAMPED else 0.5
        before, state = state, _moved(state, fit, prior, share)
        moved = max(moved, abs(np.log(state.variance / before.variance)))
        if moved < _TOLERANCE:
            break
        precision = precision + share * (new_precision - precision)
        pull = pull + share * (new_pull - pull)
    if not np.isfinite(fit.coefficients).all():
        raise ValueError("The unit-level model did not converge on these answers. Add items.")
    return fit._replace(held_out=held_out)


def unit_level_normal(y, X, topic, attenuation, prior):
    """Fit the unit-level model to scores with normal errors, for scores that are not 0/1.

    Parameters
    ----------
    y : ndarray of shape (n_items,)
        Scores.
    X, topic
        As in `unit_level_logit`.
    attenuation : ndarray of shape (n_items,)
        1, or a smaller value for items with their own normal effect. The noise variance of an item
        is divided by the square of this value.
    prior : Prior
        Prior with a value of `noise`, which has the weight of four scores.

    Returns
    -------
    UnitFit
    """
    rows = _Rows(X, topic, np.ones(len(y)), prior.n_topics)
    noise = prior.noise
    state = _State(_FIRST_VARIANCE * prior.scale**2, *_topics(prior))
    for _ in range(_MOST_ROUNDS):
        precision = attenuation**2 / noise
        fit = _posterior(precision, precision * y, rows, prior, state)
        mean, variance = latent(fit, X, topic, np.ones(len(y)))
        freedom = len(y) - precision @ variance  # minus the effective number of coefficients
        squares = attenuation**2 @ (y - mean) ** 2 + _PRIOR_SCORES * prior.noise
        before, noise = noise, squares / (freedom + _PRIOR_SCORES)
        last, state = state, _moved(state, fit, prior, 1.0)
        moved = abs(np.log(noise / before)), abs(np.log(state.variance / last.variance))
        if max(moved) < _TOLERANCE:
            break
    cavity = 1 / np.maximum(1 / variance - precision, 1e-12)
    return fit._replace(held_out=cavity * (mean / variance - precision * y), noise=float(noise))


class _Rows:
    """Design of the fitted items."""

    def __init__(self, X, topic, attenuation, n_topics):
        self.X, self.attenuation = X, attenuation
        shape = n_topics, len(X)
        self.of_topic = csr_matrix((np.ones(len(X)), (topic, np.arange(len(X)))), shape)


class _State(NamedTuple):
    """Quantities that an iteration updates besides the pseudo-observations."""

    variance: float  # of the coefficients of components
    topics: object  # TopicPrior
    factors: TopicFactors


def _topics(prior):
    """The prior of the topic effects and its first factors."""
    topics = topic_prior(prior.scale, prior.n_topics)
    return topics, first_factors(topics, prior.n_topics)


def _posterior(W, b, rows, prior, state):
    """Posterior given the state and pseudo-observations of precision `W` and pull `b`."""
    X, n_fixed = rows.X, len(prior.mean)
    precision = np.full(X.shape[1], 1 / state.variance)
    precision[:n_fixed] = prior.precision
    weight, pull = W * rows.attenuation**2, b * rows.attenuation
    weighted = weight[:, None] * X
    D = rows.of_topic @ weight + state.factors.precision
    slope = (rows.of_topic @ weighted) / D[:, None]
    right = rows.of_topic @ pull + state.factors.pull
    side = X.T @ pull - right @ slope
    side[:n_fixed] += prior.precision * prior.mean
    left = X.T @ weighted + np.diag(precision) - (D[:, None] * slope).T @ slope
    covariance = np.linalg.inv(left)
    return UnitFit(covariance @ side, covariance, slope, right / D, D, None, None)


def _moved(state, fit, prior, share):
    """The state after a Newton step of the log variance and an update of the topic factors."""
    turned = fit.slope @ fit.covariance
    mean = fit.offset - fit.slope @ fit.coefficients
    variance = 1 / fit.precision + np.sum(turned * fit.slope, axis=1)
    matched = matched_factors(mean, variance, state.factors, state.topics)
    factors = (a + share * (c - a) for a, c in zip(state.factors, matched, strict=True))
    step = _step(state.variance, fit, len(prior.mean), prior.scale)
    return _State(state.variance * np.exp(step), state.topics, TopicFactors(*factors))


def _step(variance, fit, n_fixed, scale):
    """Newton step of the log variance of the coefficients of components, at most 1."""
    own, around = fit.coefficients[n_fixed:], fit.covariance[n_fixed:, n_fixed:]
    if not own.size:
        return 0.0
    known = np.eye(len(own)) - around / variance
    gradient = (own @ own / variance - np.trace(known)) / 2
    gradient += _POWER - variance / (2 * scale**2)
    information = np.sum(known * known.T) / 2 + _POWER + max(0.0, -gradient)
    return float(np.clip(gradient / information, -1, 1))


def _tilted(y, center, cavity):
    """Held-out probability and new pseudo-observation of every answer."""
    points = center[:, None] + np.sqrt(cavity)[:, None] * NODES
    logs = _log_likelihood(points, y[:, None])
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True)) * WEIGHTS
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    mean = np.sum(likelihood * points, axis=1)
    variance = np.sum(likelihood * (points - mean[:, None]) ** 2, axis=1)
    precision = np.maximum(1 / variance - 1 / cavity, 1e-10)
    return expit(points) @ WEIGHTS, precision, (precision + 1 / cavity) * mean - center / cavity


def _log_likelihood(log_odds, y):
    """Log likelihood of answers; shares of correct answers count as fractions of an answer."""
    return -y * np.logaddexp(0, -log_odds) - (1 - y) * np.logaddexp(0, log_odds)
