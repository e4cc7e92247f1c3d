"""How groups vary together: features that are alike, and factors of errors on shared items."""

from typing import NamedTuple

import numpy as np

_CONSTANT = 1e-12  # spread of a feature, relative to its size, below which it does not vary
_SAME = 1e-12  # squared distance, relative to the largest, below which features are equal
_NOTHING = 1e-8  # eigenvalue, relative to the largest, that is rounding
_LANDMARKS = 300  # rows that a smooth kernel is built on, at most
_SMOOTH, _LINEAR, _WITHIN_MODELS = 50, 50, 200  # columns of the factors, at most
_ENTRIES = 6_000_000  # of each factor, at most: fewer columns for more groups
_MOST_FACTORS = 5  # of errors on shared items
_LEAST_OWN_SHARE = 0.1  # of the noise of a model
_FACTOR_ROUNDS = 60
_SAME_SHARE = 1e-4  # change of a share at which the factors are found


class FeatureBasis(NamedTuple):
    """What `feature_factors` goes by.

    Attributes
    ----------
    center, scale : ndarray of shape (n_features,)
        Units of the features; scale is inf for one that does not vary.
    axes : ndarray of shape (n_features, n_components)
        Directions of the linear kernel, in units.
    landmarks : ndarray of shape (n_landmarks, n_features)
        Distinct features in units, that the smooth kernel is built on.
    bandwidth : float
        Squared distance at which groups are alike by ``1 / e``.
    smooth_axes : ndarray of shape (n_landmarks, n_smooth)
        From similarities with the landmarks to columns.
    n_within : int
        Columns within models, all models together, at most.
    """

    center: np.ndarray
    scale: np.ndarray
    axes: np.ndarray
    landmarks: np.ndarray
    bandwidth: float
    smooth_axes: np.ndarray
    n_within: int

    def in_units(self, features):
        """Features less their mean, over their standard deviation; 0 where missing."""
        return np.nan_to_num((features - self.center) / self.scale)


def feature_basis(features):
    """Units, principal components and landmarks of the features of groups.

    Parameters
    ----------
    features : ndarray of shape (n_groups, n_features)
        May hold nan, which counts as the mean of its column.

    Returns
    -------
    FeatureBasis
        Does not depend on the order of the groups, but for signs.

    Examples
    --------
    >>> import numpy as np
    >>> basis = feature_basis(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    >>> basis.center
    array([2., 5.])
    """
    features = np.asarray(features, dtype=float)
    center, scale = _location(features)
    n_varying, room = np.sum(np.isfinite(scale)), _ENTRIES // len(features)
    basis = FeatureBasis(center, scale, *[None] * 5)
    units = basis.in_units(features)
    _, directions = _leading(units.T @ units, min(_LINEAR, room))
    landmarks = np.unique(units, axis=0)
    if len(landmarks) > _LANDMARKS:
        landmarks = landmarks[np.linspace(0, len(landmarks) - 1, _LANDMARKS).astype(int)]
    bandwidth = _median_distance(landmarks)
    similarity = np.exp(-_distances(landmarks, landmarks) / bandwidth)
    values, vectors = _leading(similarity, min(_SMOOTH, room) if n_varying else 0)
    return basis._replace(
        axes=directions / np.sqrt(max(1, n_varying)),
        landmarks=landmarks,
        bandwidth=bandwidth,
        smooth_axes=vectors / np.sqrt(values),
        n_within=min(_WITHIN_MODELS, room),
    )


def _location(features):
    """Means and standard deviations of columns that may miss values; inf where none vary."""
    seen = ~np.isnan(features)
    count = np.maximum(seen.sum(axis=0), 1)
    center = np.where(seen, features, 0).sum(axis=0) / count
    scale = np.sqrt((np.where(seen, features - center, 0) ** 2).sum(axis=0) / count)
    varies = scale > _CONSTANT * np.maximum(np.abs(center), 1e-300)
    return center, np.where(varies, scale, np.inf)


def feature_factors(basis, features, model, n_models):
    """Columns whose random coefficients make groups with like features alike.

    Parameters
    ----------
    basis : FeatureBasis
    features : ndarray of shape (n_groups, n_features)
        Of any groups, fitted ones or new.
    model : ndarray of int of shape (n_groups,)
        Codes from 0; -1 for a model that was not fitted.
    n_models : int
        Models that were fitted.

    Returns
    -------
    list of ndarray of shape (n_groups, n_columns)
        Factors `F` of the kernels ``exp(-d^2 / median d^2)``, ``x'y / n_features``, and the
        latter where the model is the same (only if there are two), in standardized features.

    Notes
    -----
    ``F F'`` is the kernel, up to its smallest eigenvalues: the smooth one has the 50 largest
    of at most 300 groups (Nystrom's method), the linear ones have 50 principal components,
    and 200 columns for all models; fewer with more than 30,000 groups. Groups with the same
    features do not count in the median.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0]])
    >>> basis = feature_basis(X)
    >>> smooth, linear = feature_factors(basis, X, np.zeros(2, dtype=int), 1)
    >>> (smooth @ smooth.T).round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    >>> (linear @ linear.T).round(2)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    units = basis.in_units(np.asarray(features, dtype=float))
    similarity = np.exp(-_distances(units, basis.landmarks) / basis.bandwidth)
    linear = units @ basis.axes
    factors = [similarity @ basis.smooth_axes, linear]
    if n_models > 1:
        kept = linear[:, : max(1, basis.n_within // n_models)]
        own = np.equal.outer(model, np.arange(n_models))
        factors.append((own[:, :, None] * kept[:, None, :]).reshape(len(units), -1))
    return factors


def _leading(matrix, most):
    """Largest eigenvalues of a positive semidefinite matrix, and their vectors."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    kept = values > _NOTHING * values.max(initial=0)
    return values[kept], vectors[:, kept]


def _distances(features, others):
    """Squared Euclidean distances, of shape (n_groups, n_others)."""
    squares = np.sum(features**2, axis=1)[:, None] + np.sum(others**2, axis=1)
    return np.maximum(squares - 2 * features @ others.T, 0)


def _median_distance(features):
    """Median squared distance between groups that differ; 1 where none do."""
    distances = _distances(features, features)[np.triu_indices(len(features), 1)]
    apart = distances[distances > _SAME * distances.max(initial=0)]
    return float(np.median(apart)) if len(apart) else 1.0


def shared_factors(correlation):
    """Principal factors of a correlation of the models' errors on shared items.

    Parameters
    ----------
    correlation : ndarray of shape (n_models, n_models)

    Returns
    -------
    own_share : ndarray of shape (n_models,)
        Part of each model's noise that no factor explains, at least .1.
    factors : ndarray of shape (n_models, n_factors)
        ``correlation ~ diag(own_share) + factors @ factors.T``; as many as the matrix has
        eigenvalues above 1, at least 1 and at most 5.

    Notes
    -----
    Iterated principal factors: the leading eigenpairs of the matrix less `own_share`, which
    becomes what they leave. Rows are scaled where `own_share` was cut.

    Examples
    --------
    >>> import numpy as np
    >>> own_share, factors = shared_factors(np.array([[1, 0.36], [0.36, 1]]))
    >>> own_share.round(2), np.abs(factors).round(1)
    (array([0.64, 0.64]), array([[0.6],
           [0.6]]))
    """
    n_factors = np.clip(np.sum(np.linalg.eigvalsh(correlation) > 1), 1, _MOST_FACTORS)
    own_share = np.full(len(correlation), 0.5)
    for _ in range(_FACTOR_ROUNDS):
        values, vectors = np.linalg.eigh(correlation - np.diag(own_share))
        leading = np.maximum(values[-n_factors:], 0)
        factors = vectors[:, -n_factors:] * np.sqrt(leading)
        before, explained = own_share, np.sum(factors**2, axis=1)
        own_share = np.maximum(_LEAST_OWN_SHARE, 1 - explained)
        if np.max(np.abs(own_share - before)) < _SAME_SHARE:
            break
    cut = own_share > 1 - explained
    scale = np.where(cut, np.sqrt((1 - own_share) / np.maximum(explained, _SAME)), 1.0)
    return own_share, factors * scale[:, None]
