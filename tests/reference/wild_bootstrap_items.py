"""Wild cluster bootstrap of a mean, item by item and draw by draw."""

from itertools import product

import numpy as np


def wild_p_value(scores, clusters, null, values):
    """Share of all weightings whose absolute t reaches that of the data."""
    scores, clusters = np.asarray(scores, dtype=float), np.asarray(clusters)
    observed = abs(_t(scores, clusters, null))
    labels = list(np.unique(clusters))
    reached = []
    for weights in product(values, repeat=len(labels)):
        v = np.array([weights[labels.index(c)] for c in clusters])
        reached.append(abs(_t(null + v * (scores - null), clusters, null)) >= observed - 1e-9)
    return np.mean(reached)


def _t(scores, clusters, null):
    mean = scores.mean()
    squares = sum((scores[clusters == c] - mean).sum() ** 2 for c in np.unique(clusters))
    distance = mean - null
    return distance / np.sqrt(squares) * scores.size if squares > 1e-18 else np.inf * distance
