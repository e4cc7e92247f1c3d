"""Gauss quadrature for many distributions at once."""

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

_SMALL_MATRIX = 12  # rows up to which general eigenvalues, batched, beat tridiagonal ones


def gauss_rule(diagonal, off_diagonal):
    """Nodes and weights of Gauss rules from Jacobi matrices (Golub and Welsch 1969)."""
    nodes = _eigenvalues(diagonal, off_diagonal)
    # The weights are the inverse sums of squares of the orthonormal polynomials.
    before, value = np.zeros_like(nodes), np.ones_like(nodes)
    total = np.ones_like(nodes)
    for j in range(off_diagonal.shape[1]):
        following = (nodes - diagonal[:, j, None]) * value
        following -= before * (off_diagonal[:, j - 1, None] if j else 0)
        before, value = value, following / off_diagonal[:, j, None]
        total += value**2
    weights = 1 / total
    return nodes, weights / weights.sum(axis=1, keepdims=True)


def _eigenvalues(diagonal, off_diagonal):
    """Eigenvalues of symmetric tridiagonal matrices, many small ones at once."""
    n_groups, n_nodes = diagonal.shape
    if n_nodes > _SMALL_MATRIX:
        pairs = zip(diagonal, off_diagonal, strict=True)
        return np.stack([eigvalsh_tridiagonal(*pair) for pair in pairs])
    matrices = np.zeros((n_groups, n_nodes, n_nodes))
    i = np.arange(n_nodes)
    matrices[:, i, i] = diagonal
    matrices[:, i[1:], i[:-1]] = off_diagonal  # eigvalsh reads the lower triangle
    return np.linalg.eigvalsh(matrices)
