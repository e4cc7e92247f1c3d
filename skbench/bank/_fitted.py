"""Features and priors of the unit-level model, and the fit of one new model."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skbench._checks import plain
from skbench.items.rows import CHANCE
from skbench.stats.item_response.unit_level import (
    Prior,
    UnitFit,
    unit_level_logit,
    unit_level_normal,
)

_SHARES_OF_STD = 0.5  # prior scale for scores that are not 0/1, which vary less than log odds
_SLOPE_STD = 1.0
_WIDER_ABILITY, _LEAST_ABILITY = 2.0, 2.0
_LARGE = 10.0
_NEW_ITEM = 0.25  # variance of an item that is not in the bank, beyond that of easiness
_SAME = 1e-6  # relative difference up to which probabilities count as equal
_PAST_WEIGHT = 4.0  # weight, in items, of the noise of earlier models' scores


class Design(NamedTuple):
    """Features of items, and the units of the scores."""

    bank: np.ndarray  # (n_items, n_coefficients), of the items of the bank
    topics: np.ndarray  # (n_topics + n_new, n_coefficients), of items that are not in the bank
    attenuation: float  # of items that are not in the bank
    scale: float  # scores are modeled as (score - center) / scale
    center: float
    prior_mean: np.ndarray  # of all coefficients except those of components
    prior_std: np.ndarray
    noise: float  # variance of a score around model and item among the earlier models

    def features(self, position, topic):
        """Features and attenuations of items, by position (-1 if not in the bank) and topic."""
        known = position >= 0
        X = np.where(known[:, None], self.bank[position], self.topics[topic])
        return X, np.where(known, 1.0, self.attenuation)


def design(bank, n_new, y=None):
    """The `Design` of a bank with `n_new` new topics; pass scores `y` if they are not 0/1."""
    # Columns: constant, easiness within topics and between them, components.
    easiness, ability = bank.easiness_, bank.ability_
    scale, center, slope = 1.0, 0.0, 1.0
    level, deviation = np.median(ability), np.std(ability)
    if y is not None:
        scale = np.nanstd(bank.scores_)
        if bank.binary_:  # the units differ, so only the order of the items is known
            easiness, slope = expit(easiness), 0.0
            easiness = easiness / (np.std(easiness) or 1.0)
            scale, center = np.std(y), np.mean(y)
            level, deviation = 0.0, _LARGE
        scale = scale if scale > 0 else 1.0
        if not bank.binary_:
            easiness, deviation = easiness / scale, deviation / scale
            center, level = level, 0.0
    codes, n_topics = bank.topic_codes_, len(bank.topics_)
    of_topic = np.bincount(codes, easiness, n_topics) / np.bincount(codes, minlength=n_topics)
    within = easiness - of_topic[codes]
    between = of_topic - easiness.mean()
    columns, by_topic = [np.ones(len(codes)), within], [np.ones(n_topics), np.zeros(n_topics)]
    if n_topics > 1:
        columns.append(between[codes])
        by_topic.append(between)
    width = len(columns) + bank.components_.shape[1]
    topics = np.zeros((n_topics + n_new, width))
    topics[:n_topics, : len(columns)] = np.column_stack(by_topic)
    topics[n_topics:, 0] = 1.0
    own = np.var(within) + _NEW_ITEM
    ability_std = max(_WIDER_ABILITY * deviation, _LEAST_ABILITY)
    return Design(
        bank=np.column_stack([*columns, bank.components_]),
        topics=topics,
        attenuation=1 / np.sqrt(1 + np.pi * own / 8) if y is None else 1 / np.sqrt(1 + own),
        scale=float(scale),
        center=float(center),
        prior_mean=np.array([level, slope, slope][: len(columns)]),
        prior_std=np.array([ability_std, _SLOPE_STD, _SLOPE_STD][: len(columns)]),
        noise=1.0 if bank.binary_ else _noise_of_earlier(bank.scores_) / scale**2,
    )


def _noise_of_earlier(scores):
    """Variance of earlier scores around the means of their item and model."""
    if scores.shape[1] < 2:
        return np.nanvar(scores)
    rest = scores - np.nanmean(scores, axis=1, keepdims=True)
    rest -= np.nanmean(rest, axis=0)
    return np.nanmean(rest**2)


def prior_of(design, noise):
    """The `Prior` for a first guess of the residual variance (nan for 0/1 scores)."""
    return Prior(
        mean=design.prior_mean,
        precision=design.prior_std**-2.0,
        n_topics=len(design.topics),
        scale=1.0 if np.isnan(noise) else _SHARES_OF_STD,
        noise=noise,
    )


class FittedModel(NamedTuple):
    """Fit of a new model, with items in sorted order and scores in units of the `Design`."""

    fit: UnitFit
    position: np.ndarray  # in the bank; -1 for items that are not in it
    topic: np.ndarray
    y: np.ndarray
    weight: np.ndarray  # inverse inclusion probabilities
    designed: bool  # whether the user passed inclusion probabilities

    @property
    def is_answers(self):
        """Whether scores are correct and incorrect answers."""
        return self.fit.noise is None


def fit_model(bank, design, rows, y, own, answers):
    """The `FittedModel` of some rows, with repeated answers averaged."""
    position, topic, score, weight = _averaged(bank, rows, y, own)
    designed = rows.probability is not None
    score = (score - design.center) / design.scale
    X, attenuation = design.features(position, topic)
    prior = prior_of(design, np.nan if answers else _noise(score, X[:, 1], design.noise))
    fitted = unit_level_logit if answers else unit_level_normal
    fit = fitted(score, X, topic, attenuation, prior)
    return FittedModel(fit, position, topic, score, weight, designed)


def _averaged(bank, rows, y, own):
    """One row per item: items of the bank in its order, then the others sorted by id."""
    position, topic = rows.position[own], rows.topic[own]
    key = position.astype(np.int64)
    lacking = position < 0
    if lacking.any():
        pairs = list(zip(topic[lacking], map(str, rows.item[own][lacking]), strict=True))
        number = {pair: len(bank.items_) + i for i, pair in enumerate(sorted(set(pairs)))}
        key[lacking] = [number[pair] for pair in pairs]
    _, first, code, count = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    probability = np.ones(len(first))
    if rows.probability is not None:
        probability = rows.probability[own][first]
        _refuse_conflicting(rows.probability[own], code, rows.item[own], rows.model[own])
    # Sums in sorted order, so that results do not depend on the order of the rows.
    order = np.lexsort([y[own], code])
    mean = np.bincount(code[order], y[own][order]) / count
    return position[first], topic[first], mean, 1 / probability


def _refuse_conflicting(probability, code, item, model):
    """Raise an error if an item has several inclusion probabilities."""
    least, most = np.full(code.max() + 1, np.inf), np.zeros(code.max() + 1)
    np.minimum.at(least, code, probability)
    np.maximum.at(most, code, probability)
    conflicting = most > (1 + _SAME) * least
    if conflicting.any():
        worst = int(np.argmax(conflicting))
        at = int(np.argmax(code == worst))
        raise ValueError(
            f"Item {plain(item[at])!r} of model {plain(model[at])!r} has several values of "
            f"{CHANCE}, from {least[worst]:g} to {most[worst]:g}. Pass one value per item: the "
            "probability of being selected in any of the sampling rounds."
        )


def _noise(score, easiness, of_past):
    """Residual variance of scores around a line in easiness."""
    # Earlier scores are included because a few equal new scores do not mean zero variance.
    X = np.column_stack([np.ones(len(score)), easiness])
    rest = score - X @ np.linalg.lstsq(X, score, rcond=None)[0]
    freedom = max(len(score) - 2, 0)
    return max((rest @ rest + _PAST_WEIGHT * of_past) / (freedom + _PAST_WEIGHT), 1e-4)
