"""Predictions of a fitted unit-level model: expected scores of items and draws of totals."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import betainc, expit, ndtr

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(17)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
_NO_VARIANCE = 1e-8
_ROWS, _ROWS_OF_DRAWS = 4096, 128
_GREATEST_LOGIT = 80  # odds beyond this overflow in single precision
_FEW = 5  # expected answers of one kind, below which their number is far from normal
_LEAST_PROBABILITY = 1e-6  # of a binomial distribution; below it, it is close to Poisson


class UnitFit(NamedTuple):
    """Posterior of the coefficients and topic effects.

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
        Residual variance of a score; None for correct and incorrect answers.
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
        Values of the items, as in `unit_level_logit`.

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
        Values of the items, as in `unit_level_logit`.

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
    """The fit with topic effects of 0, for predictions that ignore a topic's own answers."""
    return fit._replace(
        slope=np.zeros_like(fit.slope),
        offset=np.zeros_like(fit.offset),
        precision=np.full_like(fit.precision, 1 / _NO_VARIANCE),
    )


def drawn_effects(fit, normals):
    """Draw coefficients and topic effects.

    Parameters
    ----------
    fit : UnitFit
    normals : ndarray of shape (n_draws, n_coefficients + n_topics)
        Standard normal numbers. Correlate them between models whose errors are correlated.

    Returns
    -------
    coefficients : ndarray of shape (n_draws, n_coefficients)
    effects : ndarray of shape (n_draws, n_topics)
    """
    q = len(fit.coefficients)
    coefficients = fit.coefficients + normals[:, :q] @ np.linalg.cholesky(fit.covariance).T
    effects = fit.offset - coefficients @ fit.slope.T
    return coefficients, effects + normals[:, q:] / np.sqrt(fit.precision)


def drawn_answers(effects, X, topic, uniforms):
    """Draw the answers to items, given draws of the effects.

    Parameters
    ----------
    effects : tuple of ndarray
        Output of `drawn_effects`.
    X, topic
        Values of the items, as in `unit_level_logit`.
    uniforms : ndarray of shape (n_items, n_draws)
        Uniform numbers. An answer is correct if its probability exceeds this number.

    Returns
    -------
    ndarray of shape (n_items, n_draws)
        1 for correct, 0 for incorrect.
    """
    coefficients, of_topics = (part.astype(np.float32) for part in effects)
    value = X.astype(np.float32) @ coefficients.T
    value += of_topics.T[topic]
    # u < 1 / (1 + exp(-value)), in place.
    np.exp(np.negative(value, out=value), out=value)
    value += 1
    value *= uniforms
    return np.less(value, 1, out=value)


def drawn_expectations(effects, X, topic):
    """Draw sums of expected scores by topic, for scores with normal errors.

    Parameters
    ----------
    effects, X, topic
        As in `drawn_answers`.

    Returns
    -------
    ndarray of shape (n_draws, n_topics)
    """
    coefficients, of_topics = effects
    items = csr_matrix((np.ones(len(X)), (topic, np.arange(len(X)))), (of_topics.shape[1], len(X)))
    return coefficients @ (items @ X).T + items.sum(axis=1).A1 * of_topics


def drawn_sums(effects, X, topic, normals):
    """Draw sums of many answers by topic, given draws of the effects.

    Parameters
    ----------
    effects, X, topic
        As in `drawn_answers`, with items sorted by topic.
    normals : ndarray of shape (n_draws, n_topics)
        Standard normal numbers.

    Returns
    -------
    ndarray of shape (n_draws, n_topics)
        Whole numbers.

    Notes
    -----
    A sum of independent answers has the cumulants ``sum p``, ``sum p q`` and ``sum p q (1 - 2p)``.
    A polynomial of a normal number matches these cumulants (Cornish and Fisher 1938) and is
    rounded. If fewer than 5 correct or incorrect answers are expected, the quantile of a binomial
    distribution with the same mean and variance is used instead.
    """
    coefficients, of_topics = (part.astype(np.float32) for part in effects)
    sums = np.zeros(of_topics.shape)
    X, start = X.astype(np.float32), np.searchsorted(topic, np.arange(sums.shape[1] + 1))
    for t in np.flatnonzero(np.diff(start)):
        rows, z = X[start[t] : start[t + 1]], normals[:, t]
        right, wrong, variance, third = _cumulants(rows, coefficients.T, of_topics[:, t])
        skewed = third / np.maximum(variance, _NO_VARIANCE) * (z**2 - 1) / 6
        own = np.clip(np.rint(right + np.sqrt(variance) * z + skewed), 0, len(rows))
        few = right < _FEW
        own[few] = _binomial_quantile(right[few], variance[few], z[few])
        few = wrong < _FEW
        own[few] = len(rows) - _binomial_quantile(wrong[few], variance[few], -z[few])
        sums[:, t] = own
    return sums


def _cumulants(X, coefficients, effect):
    """Expected correct and incorrect answers to the items of one topic, and two more cumulants."""
    sums = np.zeros((4, len(effect)))
    for start in range(0, len(X), _ROWS_OF_DRAWS):
        odds = X[start : start + _ROWS_OF_DRAWS] @ coefficients + effect
        np.exp(np.minimum(odds, _GREATEST_LOGIT, out=odds), out=odds)
        wrong = 1 / (1 + odds)
        right = np.multiply(odds, wrong, out=odds)  # exact however small either is
        variance, ones = right * wrong, np.ones(len(odds), np.float32)
        sums += [ones @ right, ones @ wrong, ones @ variance, ones @ (variance * (wrong - right))]
    return sums


def _binomial_quantile(mean, variance, z):
    """Binomial quantiles at the probabilities of a standard normal `z`."""
    mean = np.maximum(mean, _NO_VARIANCE)
    p = np.clip(1 - variance / mean, _LEAST_PROBABILITY, 1)
    n, below = mean / p, ndtr(z)
    count, k = np.zeros(len(z)), 0
    while (more := (k < n) & (betainc(np.maximum(n - k, p), k + 1, 1 - p) < below)).any():
        count += more
        k += 1
    return count
