"""One new model on some items of a bank: a mixed model with one row per item.

``eta_i = h_i (x_i' beta + v_t(i))``: coefficients with normal priors, those of components with one
variance that is learned, and t distributed effects of topics. Given pseudo-observations all is
Gaussian, and the topics are eliminated first, so that the cost is linear in items and in topics.
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
_FIRST_VARIANCE = 0.1  # of components' coefficients
_POWER = 0.5  # of that variance, in its prior
_PRIOR_SCORES = 4.0  # that the prior of the noise is worth


class Prior(NamedTuple):
    """Priors of coefficients, topics and noise.

    Attributes
    ----------
    mean, precision : ndarray of shape (n_fixed,)
        Of the first coefficients; those after them have mean 0 and one variance that is learned.
    n_topics : int
        Number of topics, with answers or without.
    scale : float
        Of the half-normal laws of the standard deviations of topics and components.
    noise : float, default=nan
        First guess of the variance of a score around its expectation; nan for right and wrong
        answers.
    """

    mean: np.ndarray
    precision: np.ndarray
    n_topics: int
    scale: float = 1.0
    noise: float = np.nan


def unit_level_logit(y, X, topic, attenuation, prior):
    """Right and wrong answers of one model, by expectation propagation.

    Parameters
    ----------
    y : ndarray of shape (n_items,)
        Answers: 1 right, 0 wrong; shares of right answers between them.
    X : ndarray of shape (n_items, n_coefficients)
        Features, the constant among them, those of components last.
    topic : ndarray of int of shape (n_items,)
        Codes from 0.
    attenuation : ndarray of shape (n_items,)
        1, or ``1 / sqrt(1 + pi omega^2 / 8)`` for items with a normal effect of their own of
        variance ``omega^2``.
    prior : Prior

    Returns
    -------
    UnitFit

    Notes
    -----
    Each round replaces every answer by the Gaussian pseudo-observation that leaves its item the
    mean and variance of the exact likelihood (Minka 2001, UAI 17), and the prior of every topic's
    effect likewise: a t distribution with 4 degrees of freedom, averaged over its scale. The
    variance of the components' coefficients moves by a Newton step of its log towards its penalized
    maximum, with a half-normal prior of the standard deviation times the variance to the power .5,
    which keeps it off 0 (Chung, Rabe-Hesketh, Dorie, Gelman and Liu 2013, Psychometrika 78).
    """
    rows = _Rows(X, topic, attenuation, prior.n_topics)
    precision, pull = np.full(len(y), 0.1), 0.6 * (y - 0.5)
    state = _State(_FIRST_VARIANCE * prior.scale**2, *_topics(prior))
    for step in range(_MOST_ROUNDS):
        fit = _posterior(precision, pull, rows, prior, state)
        mean, variance = latent(fit, X, topic, attenuation)
        spread = 1 / np.maximum(1 / variance - precision, 1e-8)
        center = spread * (mean / variance - pull)
        held_out, new_precision, new_pull = _tilted(y, center, spread)
        moved = max(np.max(np.abs(new_precision - precision)), np.max(np.abs(new_pull - pull)))
        share = 1.0 if step < _UNDAMPED else 0.5
        before, state = state, _moved(state, fit, prior, share)
        moved = max(moved, abs(np.log(state.variance / before.variance)))
        if moved < _TOLERANCE:
            break
        precision = precision + share * (new_precision - precision)
        pull = pull + share * (new_pull - pull)
    if not np.isfinite(fit.coefficients).all():
        raise ValueError("The unit-level model did not converge on these answers: add items.")
    return fit._replace(held_out=held_out)


def unit_level_normal(y, X, topic, attenuation, prior):
    """Scores of one model with normal errors: `unit_level_logit` for scores that are not 0/1.

    Parameters
    ----------
    y : ndarray of shape (n_items,)
        Scores.
    X, topic
        As in `unit_level_logit`.
    attenuation : ndarray of shape (n_items,)
        1, or below it for items with a normal effect of their own: their noise variance is divided
        by its square.
    prior : Prior
        With a `noise`, which counts as much as four scores.

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
        freedom = len(y) - precision @ variance  # less the effective number of coefficients
        squares = attenuation**2 @ (y - mean) ** 2 + _PRIOR_SCORES * prior.noise
        before, noise = noise, squares / (freedom + _PRIOR_SCORES)
        last, state = state, _moved(state, fit, prior, 1.0)
        moved = abs(np.log(noise / before)), abs(np.log(state.variance / last.variance))
        if max(moved) < _TOLERANCE:
            break
    spread = 1 / np.maximum(1 / variance - precision, 1e-12)
    return fit._replace(held_out=spread * (mean / variance - precision * y), noise=float(noise))


class _Rows:
    """Design of the fitted items."""

    def __init__(self, X, topic, attenuation, n_topics):
        self.X, self.attenuation = X, attenuation
        shape = n_topics, len(X)
        self.of_topic = csr_matrix((np.ones(len(X)), (topic, np.arange(len(X)))), shape)


class _State(NamedTuple):
    """What a round changes beside the pseudo-observations."""

    variance: float  # of the components' coefficients
    topics: object  # the TopicPrior
    factors: TopicFactors


def _topics(prior):
    """The prior of the topics' effects, and the first factors for it."""
    topics = topic_prior(prior.scale, prior.n_topics)
    return topics, first_factors(topics, prior.n_topics)


def _posterior(W, b, rows, prior, state):
    """Posterior given pseudo-observations of precision `W` and pull `b`, and the state."""
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
    """The state after a Newton step of the log variance, and after the topics' factors."""
    turned = fit.slope @ fit.covariance
    mean = fit.offset - fit.slope @ fit.coefficients
    variance = 1 / fit.precision + np.sum(turned * fit.slope, axis=1)
    matched = matched_factors(mean, variance, state.factors, state.topics)
    factors = (a + share * (c - a) for a, c in zip(state.factors, matched, strict=True))
    step = _step(state.variance, fit, len(prior.mean), prior.scale)
    return _State(state.variance * np.exp(step), state.topics, TopicFactors(*factors))


def _step(variance, fit, n_fixed, scale):
    """Newton step of the log variance of components' coefficients, at most 1."""
    own, around = fit.coefficients[n_fixed:], fit.covariance[n_fixed:, n_fixed:]
    if not own.size:
        return 0.0
    known = np.eye(len(own)) - around / variance
    gradient = (own @ own / variance - np.trace(known)) / 2
    gradient += _POWER - variance / (2 * scale**2)
    information = np.sum(known * known.T) / 2 + _POWER + max(0.0, -gradient)
    return float(np.clip(gradient / information, -1, 1))


def _tilted(y, center, spread):
    """Held-out chance, and new pseudo-observation of every answer."""
    points = center[:, None] + np.sqrt(spread)[:, None] * NODES
    logs = _log_likelihood(points, y[:, None])
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True)) * WEIGHTS
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    mean = np.sum(likelihood * points, axis=1)
    variance = np.sum(likelihood * (points - mean[:, None]) ** 2, axis=1)
    precision = np.maximum(1 / variance - 1 / spread, 1e-10)
    return expit(points) @ WEIGHTS, precision, (precision + 1 / spread) * mean - center / spread


def _log_likelihood(log_odds, y):
    """Of answers; shares of right answers count as parts of one."""
    return -y * np.logaddexp(0, -log_odds) - (1 - y) * np.logaddexp(0, log_odds)
