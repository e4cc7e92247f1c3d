"""One new model, fitted."""

from typing import NamedTuple

import numpy as np

from skbench.bank._design import prior_of
from skbench.stats.item_response.unit_level import (
    UnitFit,
    unit_level_logit,
    unit_level_normal,
)

_PAST_WORTH = 4.0  # items that the noise of earlier models' scores is worth


class FittedModel(NamedTuple):
    """A new model, on items in sorted order; scores in units of the `Design`."""

    fit: UnitFit
    noise: np.ndarray | None  # (n_grid,), variance of a score; None for answers
    position: np.ndarray  # of items in the bank, -1 for those that it lacks
    topic: np.ndarray
    y: np.ndarray
    weight: np.ndarray  # inverse chances of being asked
    designed: bool  # whether the user gave those chances


def fit_model(bank, design, rows, y, own, answers):
    """The `FittedModel` of some rows, repeated ones averaged."""
    position, topic, score, weight = _averaged(bank, rows, y, own)
    designed = rows.probability is not None
    score = (score - design.center) / design.scale
    X, attenuation = design.features(position, topic)
    prior = prior_of(design, np.nan if answers else _noise(score, X[:, 1], design.noise))
    fitted = unit_level_logit if answers else unit_level_normal
    fit = fitted(score, X, topic, attenuation, prior)
    noise = None if answers else prior.noise[fit.kept]
    return FittedModel(fit, noise, position, topic, score, weight, designed)


def _averaged(bank, rows, y, own):
    """One row per item: items of the bank in its order, then the others in that of their ids."""
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
    probability = np.ones(len(first)) if rows.probability is None else rows.probability[own][first]
    # Sums in sorted order: the same numbers whatever the order of the rows.
    order = np.lexsort([y[own], code])
    mean = np.bincount(code[order], y[own][order]) / count
    return position[first], topic[first], mean, 1 / probability


def _noise(score, easiness, of_past):
    """Variance of scores around a line in easiness: the middle of the grid."""
    # Scores that happen to be alike do not make others certain, so earlier ones count too.
    X = np.column_stack([np.ones(len(score)), easiness])
    rest = score - X @ np.linalg.lstsq(X, score, rcond=None)[0]
    freedom = max(len(score) - 2, 0)
    return max((rest @ rest + _PAST_WORTH * of_past) / (freedom + _PAST_WORTH), 1e-4)
