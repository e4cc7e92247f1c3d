"""What a fitted unit-level model says of items: expected scores, and draws of their totals."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(17)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
_NO_VARIANCE = 1e-8
_ROWS = 4096


class UnitFit(NamedTuple):
    """Posterior of the coefficients and of the topics' effects.

    Given the coefficients, the effect of topic `t` is normal with mean ``offset_t - slope_t' beta``
    and variance ``1 / precision_t``.

    Attributes
    ----------
    coefficients : ndarray of shape (n_coefficients,)
    covariance : ndarray of shape (n_coefficients, n_coefficients)
    slope : ndarray of shape (n_topics, n_coefficients)
    offset, precision : ndarray of shape (n_topics,)
    held_out : ndarray of shape (n_items,)
        Expected score of each fitted item, predicted without its own answer.
    noise : float or None
        Variance of a score around its expectation; None for right and wrong answers.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    slope: np.ndarray
    offset: np.ndarray
    precision: np.ndarray
    held_out: np.ndarray | None
    noise: float | None


def latent(fit, X, topic, attenuation):
    """Posterior means and variances of the latent values of items.

    Parameters
    ----------
    fit : UnitFit
    X, topic, attenuation
        Of the items, as in `unit_level_logit`.

    Returns
    -------
    mean, variance : ndarray of shape (n_items,)
    """
    turned = X - fit.slope[topic]
    mean = turned @ fit.coefficients + fit.offset[topic]
    variance = np.sum((turned @ fit.covariance) * turned, axis=1) + 1 / fit.precision[topic]
    return attenuation * mean, attenuation**2 * variance


def item_scores(fit, X, topic, attenuation):
    """Expected scores of items.

    Parameters
    ----------
    fit : UnitFit
    X, topic, attenuation
        Of the items, as in `unit_level_logit`.

    Returns
    -------
    ndarray of shape (n_items,)
    """
    out = np.empty(len(X))
    for start in range(0, len(X), _ROWS):
        rows = slice(start, start + _ROWS)
        mean, variance = latent(fit, X[rows], topic[rows], attenuation[rows])
        if fit.noise is None:
            mean = expit(mean[:, None] + np.sqrt(variance)[:, None] * NODES) @ WEIGHTS
        out[rows] = mean
    return out


def without_topics(fit):
    """The fit with the topics' effects set to 0: predictions without a topic's own answers."""
    return fit._replace(
        slope=np.zeros_like(fit.slope),
        offset=np.zeros_like(fit.offset),
        precision=np.full_like(fit.precision, 1 / _NO_VARIANCE),
    )


def drawn_effects(fit, normals):
    """Draws of coefficients and topics' effects.

    Parameters
    ----------
    fit : UnitFit
    normals : ndarray of shape (n_draws, n_coefficients + n_topics)
        Standard normal; correlated ones for models whose errors are.

    Returns
    -------
    coefficients : ndarray of shape (n_draws, n_coefficients)
    effects : ndarray of shape (n_draws, n_topics)
    """
    q = len(fit.coefficients)
    coefficients = fit.coefficients + normals[:, :q] @ np.linalg.cholesky(fit.covariance).T
    effects = fit.offset - coefficients @ fit.slope.T
    return coefficients, effects + normals[:, q:] / np.sqrt(fit.precision)


def drawn_scores(fit, effects, X, topic, attenuation, uniforms):
    """Draws of the scores of items, given draws of effects.

    Parameters
    ----------
    fit : UnitFit
    effects : tuple of ndarray
        As `drawn_effects` returns them.
    X, topic, attenuation
        Of the items, as in `unit_level_logit`.
    uniforms : ndarray of shape (n_items, n_draws)
        An answer is right where its chance is above; unused for scores with normal errors, of
        which the expectations are drawn.

    Returns
    -------
    ndarray of shape (n_items, n_draws)
    """
    coefficients, of_topics = (part.astype(np.float32) for part in effects)
    value = X.astype(np.float32) @ coefficients.T
    value += of_topics.T[topic]
    value *= attenuation[:, None].astype(np.float32)
    if fit.noise is not None:
        return value
    # expit, in place: u < 1 / (1 + exp(-value)).
    np.exp(np.negative(value, out=value), out=value)
    value += 1
    return value * uniforms < 1
