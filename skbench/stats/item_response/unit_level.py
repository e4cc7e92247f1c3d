"""One new model on some items of a bank: a mixed model with one row per item.

``eta_i = h_i (x_i' beta + v_t(i))``: coefficients with normal priors, effects of topics with heavy
tails, and their variances on a grid. Given pseudo-observations all is Gaussian, and the topics are
eliminated first, so that the cost is linear in items and in topics.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skbench.stats.item_response._topic_effects import (
    TopicFactors,
    first_factors,
    matched_factors,
    topic_variances,
)
from skbench.stats.item_response.unit_prediction import NODES, WEIGHTS, UnitFit, latent

_MOST_ROUNDS = 40
_UNDAMPED = 12
_TOLERANCE = 2e-3
_NEGLIGIBLE = 9.0  # grid points whose log probability is so much below the best are left out
_SORTED_OUT = 3, 6, 9  # rounds after which they are
_ROUNDS_OF_TOPICS = 8


class Prior(NamedTuple):
    """Priors on a grid of variances.

    Attributes
    ----------
    mean : ndarray of shape (n_coefficients,)
    precision : ndarray of shape (n_grid, n_coefficients)
        Of the coefficients.
    topic_mean, topic_known : ndarray of shape (n_topics,)
        What is known of the topics' effects already: means, and the variances of those.
    topic_std : ndarray of shape (n_grid,)
        Standard deviation of the effects around them; 0 for none.
    noise : ndarray of shape (n_grid,)
        Variance of a score around its expectation; nan for right and wrong answers.
    log_weight : ndarray of shape (n_grid,)
        Log prior probabilities of the points.
    broken_std : float
        Standard deviation of the effects of the few topics that are like no other.
    """

    mean: np.ndarray
    precision: np.ndarray
    topic_mean: np.ndarray
    topic_known: np.ndarray
    topic_std: np.ndarray
    noise: np.ndarray
    log_weight: np.ndarray
    broken_std: float = 2.5


def unit_level_logit(y, X, topic, attenuation, prior):
    """Right and wrong answers of one model, by expectation propagation.

    Parameters
    ----------
    y : ndarray of shape (n_items,)
        Answers: 1 right, 0 wrong; shares of right answers between them.
    X : ndarray of shape (n_items, n_coefficients)
        Features, the constant among them.
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
    Every answer is replaced by the Gaussian pseudo-observation that leaves its item the mean and
    variance of the exact likelihood (Minka 2001, UAI 17), and so is the prior of every topic's
    effect, a mixture: most scatter with ``topic_std``, six in a hundred with three times that, one
    in a hundred with ``broken_std``. Both enter the evidence, which weighs the points of the grid.
    """
    rows = _rows(X, topic, attenuation, len(prior.topic_mean))
    n_grid = len(prior.noise)
    W, b = np.full((n_grid, len(y)), 0.1), np.tile(0.6 * (y - 0.5), (n_grid, 1))
    kept = np.arange(n_grid)
    spreads = topic_variances(prior.topic_known, prior.topic_std, prior.broken_std)
    factors = first_factors(prior.topic_mean, spreads)
    for step in range(_MOST_ROUNDS):
        part = _at(prior, kept)
        posterior, gauss = _posterior(W, b, rows, part, factors)
        mean, variance = latent(posterior, X, topic, attenuation)
        spread = 1 / np.maximum(1 / variance - W, 1e-8)
        center = spread * (mean / variance - b)
        mass, held_out, new_W, new_b = _tilted(y, center, spread)
        effects = _effects(posterior)
        matched, tails = matched_factors(*effects, factors, prior.topic_mean, spreads)
        sites = np.log(mass) + 0.5 * np.log1p(W * spread) + 0.5 * center**2 / spread
        sites -= 0.5 * (center / spread + b) ** 2 / (1 / spread + W)
        evidence = part.log_weight + gauss + tails + sites.sum(axis=1)
        if max(np.max(np.abs(new_W - W)), np.max(np.abs(new_b - b))) < _TOLERANCE:
            break
        share = 1.0 if step < _UNDAMPED else 0.5
        W, b = W + share * (new_W - W), b + share * (new_b - b)
        moved = (a + share * (c - a) for a, c in zip(factors, matched, strict=True))
        factors = TopicFactors(*moved)
        if step in _SORTED_OUT:
            good = evidence > evidence.max() - _NEGLIGIBLE
            W, b, kept, spreads = W[good], b[good], kept[good], spreads[:, good]
            factors = TopicFactors(*(part[good] for part in factors))
    return _weighted(posterior, evidence, kept, held_out)


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

    Returns
    -------
    UnitFit
    """
    rows = _rows(X, topic, np.ones(len(y)), len(prior.topic_mean))
    W = attenuation**2 / prior.noise[:, None]
    b, kept = W * y, np.arange(len(W))
    spreads = topic_variances(prior.topic_known, prior.topic_std, prior.broken_std)
    factors = first_factors(prior.topic_mean, spreads)
    for _ in range(_ROUNDS_OF_TOPICS):
        posterior, gauss = _posterior(W, b, rows, prior, factors)
        effects = _effects(posterior)
        factors, tails = matched_factors(*effects, factors, prior.topic_mean, spreads)
    mean, variance = latent(posterior, X, topic, np.ones(len(y)))
    spread = 1 / np.maximum(1 / variance - W, 1e-12)
    held_out = spread * (mean / variance - b)
    errors = 0.5 * np.sum(np.log(W) - W * y**2, axis=1)
    return _weighted(posterior, prior.log_weight + gauss + tails + errors, kept, held_out)


class _Rows(NamedTuple):
    """Design of the fitted items."""

    X: np.ndarray
    member: np.ndarray  # (n_items, n_topics): 1 in the column of the topic
    attenuation: np.ndarray


def _rows(X, topic, attenuation, n_topics):
    member = np.zeros((len(X), n_topics))
    member[np.arange(len(X)), topic] = 1.0
    return _Rows(X, member, attenuation)


def _at(prior, kept):
    """The prior at some points of the grid."""
    on_grid = ("precision", "topic_std", "noise", "log_weight")
    return prior._replace(**{name: getattr(prior, name)[kept] for name in on_grid})


def _posterior(W, b, rows, prior, factors):
    """Posterior given pseudo-observations and factors of topics, and their log evidence."""
    own = factors.precision
    weighted = rows.X.T * (W * rows.attenuation**2)[:, None, :]
    pull = b * rows.attenuation
    q = rows.X.shape[1]
    D = (W * rows.attenuation**2) @ rows.member + own
    slope = np.matmul(weighted, rows.member).transpose(0, 2, 1)  # (n_grid, n_topics, q)
    right = pull @ rows.member + factors.pull
    scaled = slope / D[:, :, None]
    left = np.matmul(weighted, rows.X) + np.eye(q) * prior.precision[:, :, None]
    left -= np.matmul(slope.transpose(0, 2, 1), scaled)
    side = pull @ rows.X + prior.precision * prior.mean
    side -= np.matmul(right[:, None, :], scaled)[:, 0]
    covariance = np.linalg.inv(left)
    beta = np.matmul(covariance, side[:, :, None])[..., 0]
    gauss = np.sum(np.log(prior.precision), axis=1) + np.sum(np.log(own / D), axis=1)
    gauss -= np.linalg.slogdet(left)[1]
    gauss += np.sum(beta * side, axis=1) + np.sum(right**2 / D, axis=1)
    gauss -= prior.precision @ prior.mean**2 + np.sum(factors.pull**2 / own, axis=1)
    fit = UnitFit(beta, covariance, scaled, right / D, D, None, None, None)
    return fit, gauss / 2


def _effects(fit):
    """Posterior means and variances of the topics' effects."""
    turned = np.matmul(fit.slope, fit.covariance)
    mean = fit.offset - np.matmul(fit.slope, fit.coefficients[:, :, None])[..., 0]
    return mean, 1 / fit.precision + np.sum(turned * fit.slope, axis=2)


def _tilted(y, center, spread):
    """Mass, held-out chance, and new pseudo-observation of every answer."""
    points = center[..., None] + np.sqrt(spread)[..., None] * NODES
    p = expit(points)
    likelihood = _likelihood(p, y[:, None]) * WEIGHTS
    mass = likelihood.sum(axis=-1)
    mean = np.sum(likelihood * points, axis=-1) / mass
    variance = np.sum(likelihood * points**2, axis=-1) / mass - mean**2
    W = np.maximum(1 / variance - 1 / spread, 1e-10)
    return mass, p @ WEIGHTS, W, (W + 1 / spread) * mean - center / spread


def _likelihood(p, y):
    """Of answers; shares of right answers are powers of it."""
    if np.all((y == 0) | (y == 1)):
        return np.abs(1 - y - p)
    return p**y * (1 - p) ** (1 - y)


def _weighted(fit, evidence, kept, held_out):
    """The points that matter, with their probabilities."""
    good = evidence > evidence.max() - _NEGLIGIBLE
    weights = np.exp(evidence[good] - evidence.max())
    weights /= weights.sum()
    return UnitFit(*(part[good] for part in fit[:5]), weights, kept[good], weights @ held_out[good])
