"""Easiness of items, and components of the answers of earlier models."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

_ROUNDS = 25
_TOLERANCE = 1e-4
_LEAST_VARIANCE = 0.05  # of easiness in squared log odds, so that items are never all equal
_EXACT_MODELS = 1500  # up to here the models' cross products are decomposed exactly
_ROWS = 8192


class Easiness(NamedTuple):
    """Easiness of items and ability of models, in log odds.

    Attributes
    ----------
    easiness : ndarray of shape (n_items,)
        Log odds of a correct answer by a model of average ability.
    ability : ndarray of shape (n_models,)
        Log odds of a correct answer to an item of average easiness.
    """

    easiness: np.ndarray
    ability: np.ndarray


def smoothed_easiness(scores):
    """Easiness of items that every model answered.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Correct (1) and incorrect (0) answers, none missing.

    Returns
    -------
    Easiness
        ``logit((k + 1) / (M + 2))`` for `k` correct answers of `M`, and the same for models.

    Examples
    --------
    >>> smoothed_easiness(np.array([[1.0, 1.0], [0.0, 1.0]])).easiness.round(2)
    array([1.1, 0. ])
    """
    n_items, n_models = scores.shape
    return Easiness(
        logit((scores.sum(axis=1, dtype=float) + 1) / (n_models + 2)),
        logit((scores.sum(axis=0, dtype=float) + 1) / (n_items + 2)),
    )


def rasch_easiness(scores):
    """Easiness of items with missing answers, from a Rasch model.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Correct (1) and incorrect (0) answers; nan if an answer is missing.

    Returns
    -------
    Easiness

    Notes
    -----
    ``logit p = ability + easiness`` with ``easiness ~ N(0, variance)`` (Rasch 1960). Items are
    estimated by their posterior modes and the variance by second moments. Models are estimated by
    maximum likelihood, after half a correct and half an incorrect answer are added. An item without
    answers has easiness 0.

    Examples
    --------
    >>> fit = rasch_easiness(np.array([[1, 1, np.nan], [0, 1, 0], [0, np.nan, 0], [1, 0, 1.0]]))
    >>> bool(fit.easiness[0] > fit.easiness[3] > fit.easiness[2])
    True
    """
    known = np.isfinite(scores)
    k_item = np.nansum(scores, axis=1, dtype=float)
    k_model, n_model = np.nansum(scores, axis=0, dtype=float) + 0.5, known.sum(axis=0) + 1
    ability, variance = logit(k_model / n_model), 1.0
    easiness = np.zeros(len(scores))
    for _ in range(_ROUNDS):
        previous = easiness
        expected, slope = _expected(easiness, ability, known, axis=1)
        step = (k_item - expected - easiness / variance) / (slope + 1 / variance)
        easiness = easiness + np.clip(step, -2, 2)
        variance = max(np.mean(easiness**2 + 1 / (slope + 1 / variance)), _LEAST_VARIANCE)
        expected, slope = _expected(easiness, ability, known, axis=0)
        half = expit(ability)  # for the answer that is added to every model
        step = (k_model - expected - half) / (slope + half * (1 - half))
        ability = ability + np.clip(step, -2, 2)
        center = easiness.mean()
        easiness, ability = easiness - center, ability + center
        if np.max(np.abs(easiness - previous)) < _TOLERANCE:
            break
    center = np.average(ability)
    return Easiness(easiness + center, ability)


def _expected(easiness, ability, known, axis):
    """Sums over models (axis 1) or items (axis 0) of the probabilities and their slopes."""
    expected = np.zeros(known.shape[1 - axis])
    slope = np.zeros(known.shape[1 - axis])
    for start in range(0, len(known), _ROWS):
        rows = slice(start, start + _ROWS)
        p = expit(easiness[rows, None] + ability) * known[rows]
        where = rows if axis == 1 else slice(None)
        expected[where] += p.sum(axis=axis)
        slope[where] += (p * (1 - p)).sum(axis=axis)
    return expected, slope


def mean_easiness(scores):
    """Easiness and ability for scores that are not 0/1: means of items and models.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores; nan if a score is missing.

    Returns
    -------
    Easiness
        In score units. The easiness is the mean of an item minus the means of its models, shrunk
        toward the overall mean. The ability is the mean of a model.

    Examples
    --------
    >>> mean_easiness(np.array([[0.9, 0.7], [0.3, 0.1], [0.2, 0.2]])).ability.round(2)
    array([0.47, 0.33])
    """
    known = np.isfinite(scores)
    total = np.nanmean(scores, dtype=float)
    n_model = known.sum(axis=0)
    ability = np.nansum(scores, axis=0, dtype=float) / np.maximum(n_model, 1)
    ability = np.where(n_model > 0, ability, total)
    rest = scores - ability
    n_item = known.sum(axis=1)
    item = np.nansum(rest, axis=1, dtype=float) / np.maximum(n_item, 1)
    within = np.nansum(np.where(known, (rest - item[:, None]) ** 2, 0), dtype=float)
    noise = within / max(known.sum() - len(scores), 1)
    signal = max(np.mean(item**2) - np.mean(noise / np.maximum(n_item, 1)), 0.1 * np.mean(item**2))
    share = signal * n_item / (signal * n_item + noise) if signal + noise > 0 else 0.0
    return Easiness(total + share * item, ability)


def residual_components(scores, expected, spread, n_components, decompose):
    """Components of the answers beyond easiness: left singular vectors times singular values.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores; nan if a score is missing.
    expected : callable
        ``expected(rows)`` returns the expected scores of a slice of items, for every model.
    spread : callable
        ``spread(expected)`` returns the standard deviation of such scores.
    n_components : int
        Maximum number of components.
    decompose : callable
        ``decompose(residuals, n_components)`` returns left singular vectors times singular values.
        It is used if there are too many models for an exact decomposition.

    Returns
    -------
    ndarray of shape (n_items, n_components)
        Components, scaled so that the squares of an item sum to 1 on average. The largest entry of
        each component is positive.

    Notes
    -----
    The residuals are ``(score - expected) / spread`` minus their item means, and 0 for missing
    answers. A linear model on the components is a kernel method: it gives weight to earlier models
    that answer like the new one.
    """
    n_items, n_models = scores.shape
    rank = min(n_components, n_models - 1, n_items - 1)
    if rank < 1:
        return np.zeros((n_items, 0))
    residuals = np.empty((n_items, n_models), dtype=np.float32)
    for start in range(0, n_items, _ROWS):
        rows = slice(start, start + _ROWS)
        mean = expected(rows)
        rest = (scores[rows] - mean) / spread(mean)
        known = np.isfinite(rest)
        rest = np.where(known, rest, 0)
        item = rest.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
        residuals[rows] = np.where(known, rest - item, 0)
    if n_models <= _EXACT_MODELS:
        values, vectors = np.linalg.eigh((residuals.T @ residuals).astype(float))
        found = values > 1e-6 * max(values[-1], 1e-12)
        kept = np.flatnonzero(found)[::-1][:rank]
        components = residuals @ vectors[:, kept].astype(np.float32)
    else:
        components = decompose(residuals, rank)
    components = components.astype(float)
    if not components.shape[1]:
        return components
    largest = np.argmax(np.abs(components), axis=0)
    components *= np.sign(components[largest, np.arange(components.shape[1])])
    return components / np.sqrt(np.mean(np.sum(components**2, axis=1)))
