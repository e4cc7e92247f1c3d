"""Kernels of features for the mixed model."""

import numpy as np

_CONSTANT = 1e-12  # relative standard deviation below which a feature is constant
_SAME = 1e-12  # relative squared distance below which features are equal
_NEGLIGIBLE = 1e-8  # relative size of eigenvalues that are due to rounding
_LANDMARKS = 300  # maximum number of rows behind the smooth kernel
_SMOOTH, _LINEAR, _WITHIN_MODELS = 50, 50, 200  # maximum numbers of columns
_ENTRIES = 6_000_000  # maximum size of a factor, which limits its columns


class FeatureKernels:
    """Kernels of features, as columns with random coefficients.

    Parameters
    ----------
    features : ndarray of shape (n_groups, n_features)
        Features of the fitted groups; nan counts as the mean of its column.
    n_models : int
        Number of fitted models.

    Notes
    -----
    With standardized features, the kernels are ``exp(-d^2 / median d^2)``, ``x'y / n_features``,
    and the latter within each model if there are at least two models. The columns `F` satisfy ``F
    F' = kernel`` up to the smallest eigenvalues. The smooth kernel has the 50 largest eigenvalues
    from at most 300 groups (Nystrom's method). The linear kernel has 50 principal components, and
    the one within models 200 columns in total; fewer with more than 30,000 groups.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]])
    >>> smooth, linear = FeatureKernels(X, 1).factors(X)
    >>> (smooth @ smooth.T).round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    >>> (linear @ linear.T).round(2)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, features, n_models):
        seen = ~np.isnan(features)
        count = np.maximum(seen.sum(axis=0), 1)
        self.center = np.where(seen, features, 0).sum(axis=0) / count
        away = np.where(seen, features - self.center, 0)
        scale = np.sqrt(np.sum(away**2, axis=0) / count)
        self.varies = scale > _CONSTANT * np.maximum(np.abs(self.center), 1e-300)
        self.scale = np.where(self.varies, scale, np.inf)
        room = _ENTRIES // len(features)
        units = self._in_units(features)
        _, axes = _leading(units.T @ units, min(_LINEAR, room))
        self.axes = axes / np.sqrt(max(1, self.varies.sum()))
        self.n_models, self.n_within = n_models, max(1, min(_WITHIN_MODELS, room) // n_models)
        every = np.unique(units, axis=0)
        at = np.linspace(0, len(every) - 1, min(len(every), _LANDMARKS)).astype(int)
        self.landmarks = every[at]
        distances = _distances(self.landmarks, self.landmarks)
        apart = distances[distances > _SAME * distances.max()]
        self.bandwidth = np.median(apart) if len(apart) else 1.0
        values, vectors = _leading(np.exp(-distances / self.bandwidth), min(_SMOOTH, room))
        self.smooth_axes = vectors / np.sqrt(values)

    def _in_units(self, features):
        return np.nan_to_num((features - self.center) / self.scale)

    def factors(self, features):
        """Columns of each kernel, for fitted or new groups; none if no feature varies.

        Parameters
        ----------
        features : ndarray of shape (n_groups, n_features)

        Returns
        -------
        list of ndarray of shape (n_groups, n_columns)
            If there are three, the last one has separate coefficients for each model.
        """
        if not self.varies.any():
            return []
        units = self._in_units(features)
        linear = units @ self.axes
        similarity = np.exp(-_distances(units, self.landmarks) / self.bandwidth)
        factors = [similarity @ self.smooth_axes, linear]
        return factors if self.n_models == 1 else [*factors, linear[:, : self.n_within]]


def _leading(matrix, most):
    """Largest eigenvalues of a positive semidefinite matrix, and their eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    kept = values > _NEGLIGIBLE * values.max(initial=0)
    return values[kept], vectors[:, kept]


def _distances(features, others):
    """Squared Euclidean distances, of shape (n_groups, n_others)."""
    squares = np.sum(features**2, axis=1)[:, None] + np.sum(others**2, axis=1)
    return np.maximum(squares - 2 * features @ others.T, 0)
