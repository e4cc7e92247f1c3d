"""Correlation of the errors of models that answered the same items."""

import numpy as np
from scipy import sparse

_MOST_FACTORS = 5
_LEAST_OWN_SHARE = 0.1  # of the sampling variance of a model
_ROUNDS = 60
_ROUNDING = 1e-8  # of an eigenvalue
_CONVERGED = 1e-4  # change of a share at which the iteration stops


def item_correlation(scores, topic, cluster=None):
    """Correlation of the sampling errors of models that answered the same items.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Score of each model on each item; nan if missing.
    topic : ndarray of int of shape (n_items,)
        Topic of each item, codes from 0 without gaps.
    cluster : ndarray of int of shape (n_items,), default=None
        Cluster of each item, codes from 0 without gaps. A cluster belongs to one topic.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Positive semidefinite correlation matrix.

    Notes
    -----
    Each score is centered by the mean of its model in the topic. Centered scores, or their sums
    over clusters, are correlated over all items that both models answered. The entries are shrunk
    toward their mean by the proportion of their variance that chance explains (Schafer and
    Strimmer 2005, Statistical Applications in Genetics and Molecular Biology 4), because with many
    models and few items the matrix would be singular. Pairs without common items get the mean.

    Examples
    --------
    >>> scores = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 1, 0.0]])
    >>> item_correlation(scores, np.zeros(4, dtype=int)).round(2)
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    return correlation_of_products(error_products(scores, topic, cluster))


def error_products(scores, topic, cluster=None):
    """Sums over items or clusters for the correlation of errors.

    Parameters
    ----------
    scores, topic, cluster
        As for `item_correlation`.

    Returns
    -------
    ndarray of shape (3, n_models, n_models)
        Products of the errors of two models, squared errors of the row's model on the items that
        both answered, and numbers of these items (or clusters). Results of topics can be added.
    """
    seen = np.isfinite(scores).astype(float)
    residuals = np.where(seen, scores, 0.0)
    means = _sums_by(topic, residuals) / np.maximum(_sums_by(topic, seen), 1)
    residuals -= seen * means[topic]
    if cluster is not None:
        residuals, seen = _sums_by(cluster, residuals), _sums_by(cluster, seen)
        seen = (seen > 0).astype(float)
    return np.stack([residuals.T @ residuals, (residuals**2).T @ seen, seen.T @ seen])


def correlation_of_products(products):
    """Correlation matrix of `item_correlation` from the sum of `error_products` over topics."""
    errors, squares, both = products
    scale = np.sqrt(squares * squares.T)
    correlation = np.divide(errors, scale, out=np.zeros_like(scale), where=scale > 0)
    return _shrunk_correlation(correlation, np.where(scale > 0, both, 0))


def _sums_by(codes, rows):
    entries = np.ones(len(codes)), (codes, np.arange(len(codes)))
    return sparse.csr_array(entries) @ rows


def _shrunk_correlation(correlation, n_items):
    """Shrink toward the mean correlation by the proportion of variance due to chance."""
    pairs = ~np.eye(len(correlation), dtype=bool) & (n_items > 2)
    common = np.average(correlation[pairs], weights=n_items[pairs]) if pairs.any() else 0.0
    chance = np.sum((1 - correlation[pairs] ** 2) ** 2 / n_items[pairs])
    spread = np.sum((correlation[pairs] - common) ** 2)
    weight = min(1.0, chance / spread) if spread > 0 else 1.0
    shrunk = np.where(pairs, (1 - weight) * correlation + weight * common, common)
    np.fill_diagonal(shrunk, 1.0)
    return _nearest_correlation(shrunk)


def _nearest_correlation(matrix):
    values, vectors = np.linalg.eigh(matrix)
    matrix = (vectors * np.maximum(values, 0)) @ vectors.T
    scale = np.sqrt(np.diag(matrix))
    return matrix / np.outer(scale, scale)


def shared_factors(correlation):
    """Principal factors of the correlation of errors on shared items.

    Parameters
    ----------
    correlation : ndarray of shape (n_models, n_models)
        Correlation matrix from `item_correlation`.

    Returns
    -------
    own_share : ndarray of shape (n_models,)
        Proportion of each model's sampling variance that no factor explains, at least 0.1.
    factors : ndarray of shape (n_models, n_factors)
        Loadings with ``correlation ~ diag(own_share) + factors @ factors.T``. The number of factors
        is that of eigenvalues above 1, at most 5. It is 0 without correlation.

    Notes
    -----
    The method is iterated principal factors: the leading eigenpairs of the matrix minus `own_share`
    give the factors, and these give the next `own_share`. Rows are rescaled where `own_share` is at
    its lower limit.

    Examples
    --------
    >>> own_share, factors = shared_factors(np.array([[1, 0.36], [0.36, 1]]))
    >>> own_share.round(2), np.abs(factors).round(1)
    (array([0.64, 0.64]), array([[0.6],
           [0.6]]))
    """
    n_factors = min(np.sum(np.linalg.eigvalsh(correlation) > 1 + _ROUNDING), _MOST_FACTORS)
    own_share = np.full(len(correlation), 0.5)
    for _ in range(_ROUNDS):
        values, vectors = np.linalg.eigh(correlation - np.diag(own_share))
        leading = len(values) - n_factors
        factors = vectors[:, leading:] * np.sqrt(np.maximum(values[leading:], 0))
        before, explained = own_share, np.sum(factors**2, axis=1)
        own_share = np.maximum(_LEAST_OWN_SHARE, 1 - explained)
        if np.max(np.abs(own_share - before)) < _CONVERGED:
            break
    cut = own_share > 1 - explained
    scale = np.where(cut, np.sqrt((1 - own_share) / np.maximum(explained, 1e-12)), 1.0)
    return own_share, factors * scale[:, None]
