"""What a fitted unit-level model says of items: expected scores, and their sums by topic."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(17)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
_NO_VARIANCE = 1e-8
_ROWS = 2048


class UnitFit(NamedTuple):
    """Posterior of the coefficients and of the topics' effects, on the grid that is left.

    Given the coefficients, the effect of topic `t` is normal with mean ``offset_t - slope_t' beta``
    and variance ``1 / precision_t``.

    Attributes
    ----------
    coefficients : ndarray of shape (n_grid, n_coefficients)
    covariance : ndarray of shape (n_grid, n_coefficients, n_coefficients)
    slope : ndarray of shape (n_grid, n_topics, n_coefficients)
    offset, precision : ndarray of shape (n_grid, n_topics)
    weights : ndarray of shape (n_grid,)
        Posterior probabilities of the points.
    kept : ndarray of int of shape (n_grid,)
        Positions of the points in the prior.
    held_out : ndarray of shape (n_items,)
        Expected score of each fitted item, predicted without its own answer.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    slope: np.ndarray
    offset: np.ndarray
    precision: np.ndarray
    weights: np.ndarray
    kept: np.ndarray
    held_out: np.ndarray


def latent(fit, X, topic, attenuation):
    """Posterior means and variances of the latent values of items.

    Parameters
    ----------
    fit : UnitFit
    X, topic, attenuation
        Of the items, as in `unit_level_logit`.

    Returns
    -------
    mean, variance : ndarray of shape (n_grid, n_items)
    """
    turned = X - fit.slope[:, topic]
    mean = np.matmul(turned, fit.coefficients[:, :, None])[..., 0] + fit.offset[:, topic]
    variance = np.sum(np.matmul(turned, fit.covariance) * turned, axis=2)
    return attenuation * mean, attenuation**2 * (variance + 1 / fit.precision[:, topic])


def item_scores(fit, X, topic, attenuation, answers=True):
    """Expected scores of items.

    Parameters
    ----------
    fit : UnitFit
    X, topic, attenuation
        Of the items, as in `unit_level_logit`.
    answers : bool, default=True
        Whether scores are answers, right or wrong; else the latent value is the score.

    Returns
    -------
    ndarray of shape (n_items,)
    """
    out = np.empty(len(X))
    for start in range(0, len(X), _ROWS):
        rows = slice(start, start + _ROWS)
        mean, variance = latent(fit, X[rows], topic[rows], attenuation[rows])
        out[rows] = fit.weights @ (_expected_answers(mean, variance)[0] if answers else mean)
    return out


def without_topics(fit):
    """The fit with the topics' effects set to 0: predictions without a topic's own answers."""
    return fit._replace(
        slope=np.zeros_like(fit.slope),
        offset=np.zeros_like(fit.offset),
        precision=np.full_like(fit.precision, 1 / _NO_VARIANCE),
    )


class ItemSums(NamedTuple):
    """Expected scores of items, and what their sums by topic hang on.

    Attributes
    ----------
    expected : ndarray of shape (n_items,)
        Posterior mean of the expected score of each item.
    total : ndarray of shape (n_grid, n_topics)
        Sums of the expected scores over the items of each topic.
    by_coefficient : ndarray of shape (n_grid, n_topics, n_coefficients)
    by_topic : ndarray of shape (n_grid, n_topics)
        Derivatives of those sums by coefficients and by the topic's effect.
    noise : ndarray of shape (n_grid, n_topics)
        Variance of the sums of scores around the sums of their expectations.
    """

    expected: np.ndarray
    total: np.ndarray
    by_coefficient: np.ndarray
    by_topic: np.ndarray
    noise: np.ndarray


def item_sums(fit, X, topic, attenuation, share, noise=None):
    """Expected scores of items, summed by topic.

    Parameters
    ----------
    fit : UnitFit
    X, topic, attenuation
        Of the items, as in `unit_level_logit`.
    share : ndarray of shape (n_items,)
        How many times each item counts in the sums.
    noise : ndarray of shape (n_grid,), default=None
        Variance of a score around its expectation; None for right and wrong answers, whose variance
        is ``p (1 - p)``.

    Returns
    -------
    ItemSums
    """
    n_grid, n_topics, q = fit.slope.shape
    expected = np.empty(len(X))
    total, by_topic, spread = np.zeros((3, n_grid, n_topics))
    by_coefficient = np.zeros((n_grid, n_topics, q))
    order = np.argsort(topic, kind="stable")
    for start in range(0, len(X), _ROWS):
        rows = order[start : start + _ROWS]
        there, code = np.unique(topic[rows], return_inverse=True)
        member = np.zeros((len(there), len(rows)))
        member[code, np.arange(len(rows))] = share[rows]
        h = attenuation[rows]
        mean, variance = latent(fit, X[rows], topic[rows], h)
        if noise is None:
            score, slope, own = _expected_answers(mean, variance)
            slope = slope * h
        else:
            score, slope = mean, np.broadcast_to(h, mean.shape)
            own = np.broadcast_to(noise[:, None], mean.shape)
        expected[rows] = fit.weights @ score
        total[:, there] += score @ member.T
        by_topic[:, there] += slope @ member.T
        spread[:, there] += own @ member.T
        by_coefficient[:, there] += np.matmul(slope[:, None, :] * member, X[rows])
    return ItemSums(expected, total, by_coefficient, by_topic, spread)


def sum_moments(fit, sums, member):
    """Posterior of sums of scores over sets of topics.

    Parameters
    ----------
    fit : UnitFit
    sums : ItemSums
    member : ndarray of shape (n_sets, n_topics)
        Weight of each topic in each set.

    Returns
    -------
    mean : ndarray of shape (n_sets,)
    covariance : ndarray of shape (n_sets, n_sets)
        Of the sums of the scores themselves: with the noise of single items.
    """
    total = sums.total @ member.T
    turned = sums.by_coefficient - sums.by_topic[:, :, None] * fit.slope
    slope = np.matmul(member, turned)
    own = sums.by_topic**2 / fit.precision + sums.noise
    within = np.matmul(np.matmul(slope, fit.covariance), slope.transpose(0, 2, 1))
    within += np.matmul(member * own[:, None, :], member.T)
    mean = fit.weights @ total
    away = total - mean
    return mean, np.tensordot(fit.weights, within, axes=1) + (fit.weights * away.T) @ away


def _expected_answers(mean, variance):
    """Chance of a right answer, its derivative, and the variance of the answer."""
    points = mean[..., None] + np.sqrt(variance)[..., None] * NODES
    p = expit(points)
    chance, slope = p @ WEIGHTS, (p * (1 - p)) @ WEIGHTS
    return chance, slope, slope
