"""Correlation of the residuals of models, which models of one family share."""

import numpy as np
from scipy.special import expit

from skbench.stats.item_response.easiness import rasch_easiness

_LEAST_VARIANCE = 0.05  # added to p (1 - p), to bound the residuals of very easy items


def centered(scores):
    """Scores minus their item's mean (0 where missing), and where they are known."""
    known = np.isfinite(scores)
    n = known.sum(axis=1, keepdims=True)
    mean = np.where(known, scores, 0.0).sum(axis=1, keepdims=True) / np.maximum(n, 1)
    return np.where(known, scores - mean, 0.0), known


def residual_correlation(scores):
    """Correlation of the models' residuals, and the number of items of each pair."""
    known = np.isfinite(scores)
    ends = np.nanmin(scores), np.nanmax(scores)
    if np.isin(scores[known], ends).all():  # correct and incorrect, in any unit
        easiness, ability = rasch_easiness(np.where(known, scores > ends[0], np.nan))
        p = expit(easiness[:, None] + ability - easiness.mean())
        own = np.where(
            known, ((scores > ends[0]) - p) / np.sqrt(p * (1 - p) + _LEAST_VARIANCE), 0.0
        )
    else:
        own = centered(scores)[0]
        own -= np.where(known, own.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0)
    both = known.T.astype(float) @ known
    norm2 = np.sum(own**2, axis=0)
    norm2 = np.where(norm2 > 0, norm2, np.inf)
    return own.T @ own / np.sqrt(np.outer(norm2, norm2)), both


def models_along(scores):
    """Number of independent models that give a contrast along the scores the same precision."""
    own, known = centered(scores)
    mean = own.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    x = mean - mean.mean()
    x = np.column_stack([np.ones(len(x)), x / max(np.abs(x).max(), 1e-300)])
    contrast = x[:, 1] ** 2 - x @ np.linalg.lstsq(x, x[:, 1] ** 2, rcond=None)[0]
    size = np.sum(contrast**2)
    if size <= 1e-6 * len(x):
        return float(len(x))
    r, _ = residual_correlation(scores)
    by_chance = np.sqrt(2 / len(own))
    return float(len(x) / max(contrast @ r @ contrast / size - by_chance, 1.0))
