"""One new model on some items of a bank: a mixed model with one row per item.

``eta_i = h_i (x_i' beta + v_t(i))``: coefficients with normal priors, effects of topics with heavy
tails, and their variances on a grid. Given pseudo-observations all is Gaussian, and the topics are
eliminated first, so that the cost is linear in items and in topics.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(17)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MOST_ROUNDS = 40
_UNDAMPED = 12
_TOLERANCE = 2e-3
_NEGLIGIBLE = 9.0  # grid points whose log probability is so much below the best are left out
_ODD, _WIDER = 0.1, 3.0  # share of odd topics, and how much farther they scatter
_SORTED_OUT = 3, 6, 9  # rounds after which they are
_ROUNDS_OF_TOPICS = 4
_NO_VARIANCE = 1e-8
_NO_PRECISION = 1e-10
_ROWS = 2048


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
    """

    mean: np.ndarray
    precision: np.ndarray
    topic_mean: np.ndarray
    topic_known: np.ndarray
    topic_std: np.ndarray
    noise: np.ndarray
    log_weight: np.ndarray


class UnitFit(NamedTuple):
    """Posterior of the coefficients and of the topics' effects, on the grid that is left.

    Given the coefficients, the effect of topic `t` is normal with mean
    ``offset_t - slope_t' beta`` and variance ``1 / precision_t``.

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
    variance of the exact likelihood [1]_. Topics scatter as a mixture: nine in ten with
    ``topic_std``, one in ten with three times that, by the odds that their items give without
    their own prior. Both enter the evidence, which weighs the points of the grid.

    References
    ----------
    .. [1] Minka (2001). Expectation propagation for approximate Bayesian inference. UAI 17.
    """
    rows = _rows(X, topic, attenuation, len(prior.topic_mean))
    n_grid = len(prior.noise)
    W, b = np.full((n_grid, len(y)), 0.1), np.tile(0.6 * (y - 0.5), (n_grid, 1))
    kept, odd = np.arange(n_grid), np.full((n_grid, len(prior.topic_mean)), _ODD)
    for step in range(_MOST_ROUNDS):
        part = _at(prior, kept)
        posterior, gauss = _posterior(W, b, rows, part, odd)
        mean, variance = latent(posterior, X, topic, attenuation)
        spread = 1 / np.maximum(1 / variance - W, 1e-8)
        center = spread * (mean / variance - b)
        mass, held_out, new_W, new_b = _tilted(y, center, spread)
        new_odd, tails = _odd_topics(posterior, part, odd)
        sites = np.log(mass) + 0.5 * np.log1p(W * spread) + 0.5 * center**2 / spread
        sites -= 0.5 * (center / spread + b) ** 2 / (1 / spread + W)
        evidence = part.log_weight + gauss + tails + sites.sum(axis=1)
        if max(np.max(np.abs(new_W - W)), np.max(np.abs(new_b - b))) < _TOLERANCE:
            break
        share = 1.0 if step < _UNDAMPED else 0.5
        W, b = W + share * (new_W - W), b + share * (new_b - b)
        odd = new_odd
        if step in _SORTED_OUT:
            good = evidence > evidence.max() - _NEGLIGIBLE
            W, b, odd, kept = W[good], b[good], odd[good], kept[good]
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
        1, or below it for items with a normal effect of their own: their noise variance is
        divided by its square.
    prior : Prior

    Returns
    -------
    UnitFit
    """
    rows = _rows(X, topic, np.ones(len(y)), len(prior.topic_mean))
    W = attenuation**2 / prior.noise[:, None]
    b, kept = W * y, np.arange(len(W))
    odd = np.full((len(W), len(prior.topic_mean)), _ODD)
    for _ in range(_ROUNDS_OF_TOPICS):
        posterior, gauss = _posterior(W, b, rows, prior, odd)
        odd, tails = _odd_topics(posterior, prior, odd)
    mean, variance = latent(posterior, X, topic, np.ones(len(y)))
    spread = 1 / np.maximum(1 / variance - W, 1e-12)
    held_out = spread * (mean / variance - b)
    errors = 0.5 * np.sum(np.log(W) - W * y**2, axis=1)
    return _weighted(posterior, prior.log_weight + gauss + tails + errors, kept, held_out)


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
        Variance of a score around its expectation; None for right and wrong answers, whose
        variance is ``p (1 - p)``.

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


def _topic_variances(prior):
    """Prior variances of ordinary and of odd topics."""
    std = prior.topic_std[:, None]
    known = prior.topic_known + _NO_VARIANCE
    return known + std**2, known + (_WIDER * std) ** 2


def _topic_precision(prior, odd):
    ordinary, wide = _topic_variances(prior)
    return (1 - odd) / ordinary + odd / wide


def _posterior(W, b, rows, prior, odd):
    """Posterior given pseudo-observations, and their log evidence."""
    own = _topic_precision(prior, odd)
    weighted = rows.X.T * (W * rows.attenuation**2)[:, None, :]
    pull = b * rows.attenuation
    q = rows.X.shape[1]
    D = (W * rows.attenuation**2) @ rows.member + own
    slope = np.matmul(weighted, rows.member).transpose(0, 2, 1)  # (n_grid, n_topics, q)
    right = pull @ rows.member + own * prior.topic_mean
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
    gauss -= prior.precision @ prior.mean**2 + own @ prior.topic_mean**2
    fit = UnitFit(beta, covariance, scaled, right / D, D, None, None, None)
    return fit, gauss / 2


def _odd_topics(fit, prior, odd):
    """Probabilities that topics are odd, and what their tails add to the log evidence.

    By the odds of the two variances, given all that is known of a topic but its own prior.
    """
    own = _topic_precision(prior, odd)
    turned = np.matmul(fit.slope, fit.covariance)
    variance = 1 / fit.precision + np.sum(turned * fit.slope, axis=2)
    mean = fit.offset - np.matmul(fit.slope, fit.coefficients[:, :, None])[..., 0]
    spread = 1 / np.maximum(1 / variance - own, _NO_PRECISION)
    away = (spread * (mean / variance - own * prior.topic_mean) - prior.topic_mean) ** 2
    ordinary, wide = (_log_normal(away, spread + v) for v in _topic_variances(prior))
    ordinary, wide = ordinary + np.log1p(-_ODD), wide + np.log(_ODD)
    both = np.logaddexp(ordinary, wide)
    return np.exp(wide - both), np.sum(both - _log_normal(away, spread + 1 / own), axis=1)


def _log_normal(squared, variance):
    return -0.5 * (np.log(variance) + squared / variance)


def _tilted(y, center, spread):
    """Mass, held-out chance, and new pseudo-observation of every answer."""
    points = center[..., None] + np.sqrt(spread)[..., None] * _NODES
    p = expit(points)
    likelihood = _likelihood(p, y[:, None]) * _WEIGHTS
    mass = likelihood.sum(axis=-1)
    mean = np.sum(likelihood * points, axis=-1) / mass
    variance = np.sum(likelihood * points**2, axis=-1) / mass - mean**2
    W = np.maximum(1 / variance - 1 / spread, 1e-10)
    return mass, p @ _WEIGHTS, W, (W + 1 / spread) * mean - center / spread


def _likelihood(p, y):
    """Of answers; shares of right answers are powers of it."""
    if np.all((y == 0) | (y == 1)):
        return np.abs(1 - y - p)
    return p**y * (1 - p) ** (1 - y)


def _expected_answers(mean, variance):
    """Chance of a right answer, its derivative, and the variance of the answer."""
    points = mean[..., None] + np.sqrt(variance)[..., None] * _NODES
    p = expit(points)
    chance, slope = p @ _WEIGHTS, (p * (1 - p)) @ _WEIGHTS
    return chance, slope, slope


def _weighted(fit, evidence, kept, held_out):
    """The points that matter, with their probabilities."""
    good = evidence > evidence.max() - _NEGLIGIBLE
    weights = np.exp(evidence[good] - evidence.max())
    weights /= weights.sum()
    return UnitFit(*(part[good] for part in fit[:5]), weights, kept[good], weights @ held_out[good])
