"""Cluster-robust variance of a mean with every matrix written out."""

import numpy as np

_POWER = {"cr0": 0.0, "cr1": 0.0, "cr2": -0.5, "cr3": -1.0}


def variance_and_freedom(scores, clusters, kind):
    """Sandwich variance of an intercept and its Bell-McCaffrey degrees of freedom."""
    scores, clusters = np.asarray(scores, dtype=float), np.asarray(clusters)
    n = scores.size
    X = np.ones((n, 1))
    bread = np.linalg.inv(X.T @ X)
    H = X @ bread @ X.T
    residual_maker = np.eye(n) - H
    residuals = residual_maker @ scores
    labels = np.unique(clusters)
    meat, columns = 0.0, []
    for label in labels:
        members = np.flatnonzero(clusters == label)
        adjusted = _power(residual_maker[np.ix_(members, members)], _POWER[kind])
        weights = adjusted @ X[members] @ bread
        meat += float(weights[:, 0] @ residuals[members]) ** 2
        columns.append(residual_maker[:, members] @ weights[:, 0])
    if kind == "cr1":
        meat *= labels.size / (labels.size - 1)
    G = np.column_stack(columns)
    eigenvalues = np.linalg.eigvalsh(G.T @ G)
    return meat, eigenvalues.sum() ** 2 / (eigenvalues**2).sum()


def _power(symmetric, exponent):
    values, vectors = np.linalg.eigh(symmetric)
    return vectors @ np.diag(values**exponent) @ vectors.T
