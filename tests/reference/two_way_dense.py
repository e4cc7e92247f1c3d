"""Least squares of score = model + item, CR2 and Bell-McCaffrey by dense matrices."""

import numpy as np


def dense_pair(scores, clusters, a, b):
    """Difference of two models, its CR2 variance and degrees of freedom."""
    return dense_contrast(scores, clusters, np.eye(scores.shape[1])[a] - np.eye(scores.shape[1])[b])


def dense_contrast(scores, clusters, weights):
    """The same of a contrast of all models."""
    answered = np.isfinite(scores)
    used = answered.sum(axis=1) > 1
    item, model = np.nonzero(answered & used[:, None])
    n_items, n_models = scores.shape
    design = np.zeros((item.size, n_items + n_models))
    design[np.arange(item.size), item] = 1
    design[np.arange(item.size), n_items + model] = 1
    y = scores[item, model]
    bread = np.linalg.pinv(design.T @ design)
    hat = design @ bread @ design.T
    beta = bread @ design.T @ y
    residual = y - design @ beta
    contrast = np.append(np.zeros(n_items), weights)
    parts, rows = [], []
    for cluster in np.unique(clusters[item]):
        mine = np.flatnonzero(clusters[item] == cluster)
        values, vectors = np.linalg.eigh(np.eye(mine.size) - hat[np.ix_(mine, mine)])
        inverse = np.where(values > 1e-8, 1 / np.sqrt(np.maximum(values, 1e-12)), 0)
        weight = contrast @ bread @ design[mine].T @ (vectors * inverse) @ vectors.T
        parts.append(weight @ residual[mine])
        rows.append(weight @ (np.eye(item.size) - hat)[mine])
    middle = np.array(rows) @ np.array(rows).T
    df = np.trace(middle) ** 2 / np.sum(middle**2)
    return contrast @ beta, np.sum(np.square(parts)), df
