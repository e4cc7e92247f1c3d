"""How groups of scores vary together: shared items, and features that are alike."""

import numpy as np

_CONSTANT = 1e-12  # spread of a feature, relative to its size, below which it does not vary
_SAME = 1e-12  # squared distance, relative to the largest, below which features are equal


def item_correlation(scores, topic):
    """Correlation across models of the errors that shared items cause.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Score of each model on each item; nan where it did not answer.
    topic : ndarray of int of shape (n_items,)
        Topic of each item, codes from 0 without gaps.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Positive semidefinite, ones on the diagonal.

    Notes
    -----
    Scores less the mean of their model in the topic, correlated over all items that
    both models answered. Entries are drawn towards their mean by the share of their
    scatter that chance explains, as Schafer and Strimmer [1]_ do: with many models
    and few items the raw matrix is singular, and its inverse noise. Pairs without
    common items get the mean.

    References
    ----------
    .. [1] Schafer and Strimmer (2005). A shrinkage approach to large-scale covariance
       matrix estimation. Statistical Applications in Genetics and Molecular Biology 4.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 1, 0.0]])
    >>> item_correlation(scores, np.zeros(4, dtype=int)).round(2)
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    seen = ~np.isnan(scores)
    residuals = np.where(seen, scores, 0.0)
    sums = np.zeros((topic.max() + 1, scores.shape[1]))
    counts = np.zeros_like(sums)
    np.add.at(sums, topic, residuals)
    np.add.at(counts, topic, seen)
    residuals = np.where(seen, residuals - (sums / np.maximum(counts, 1))[topic], 0.0)
    both = seen.astype(float).T @ seen
    squares = (residuals**2).T @ seen  # of the row's model, over items both answered
    scale = np.sqrt(squares * squares.T)
    correlation = np.divide(
        residuals.T @ residuals, scale, out=np.zeros_like(scale), where=scale > 0
    )
    return _shrunk_correlation(correlation, np.where(scale > 0, both, 0))


def _shrunk_correlation(correlation, n_items):
    """Towards one common correlation, as far as chance spreads the entries."""
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


def feature_kernels(features, others, reference, same_model):
    """Kernels of group features: smooth, linear, and linear within a model.

    Parameters
    ----------
    features : ndarray of shape (n_groups, n_features)
        Features of some groups.
    others : ndarray of shape (n_others, n_features)
        Features of the groups to compare them with.
    reference : ndarray of shape (n_fitted, n_features)
        The groups whose means, standard deviations and median squared distance set
        location, units and bandwidth.
    same_model : ndarray of bool of shape (n_groups, n_others)
        Whether a pair belongs to one model.

    Returns
    -------
    ndarray of shape (3, n_groups, n_others)
        ``exp(-d^2 / median d^2)``, ``x'y / n_features``, and the latter where the
        model is the same.

    Notes
    -----
    Features are standardized; one that does not vary is left out. Pairs of groups with
    the same features do not count in the median.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0]])
    >>> feature_kernels(X, X, X, np.eye(2, dtype=bool)).round(2)[:2]
    array([[[ 1.  ,  0.37],
            [ 0.37,  1.  ]],
    <BLANKLINE>
           [[ 1.  , -1.  ],
            [-1.  ,  1.  ]]])
    """
    center, scale = reference.mean(axis=0), reference.std(axis=0)
    varies = scale > _CONSTANT * np.maximum(np.abs(center), 1e-300)
    features, others, reference = (
        ((x - center) / np.where(varies, scale, 1))[:, varies]
        for x in (features, others, reference)
    )
    smooth = _distances(features, others) / _median_distance(reference)
    linear = features @ others.T / max(1, features.shape[1])
    return np.stack([np.exp(-smooth), linear, np.where(same_model, linear, 0.0)])


def _distances(features, others):
    """Squared Euclidean distances, of shape (n_groups, n_others)."""
    squares = np.sum(features**2, axis=1)[:, None] + np.sum(others**2, axis=1)
    return np.maximum(squares - 2 * features @ others.T, 0)


def _median_distance(features):
    """Median squared distance between groups that differ; 1 where none do."""
    distances = _distances(features, features)[np.triu_indices(len(features), 1)]
    # Groups of one topic often share their features, and say nothing of the scale.
    apart = distances[distances > _SAME * distances.max(initial=0)]
    return float(np.median(apart)) if len(apart) else 1.0
