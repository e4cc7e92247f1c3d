"""The normal-normal model with explicit matrices and generic optimisers."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal


def marginal_log_likelihood(A, z, sigma2, X, restricted=False):
    """Profile log likelihood, from the density of a multivariate normal."""
    V = np.diag(A + sigma2)
    if X.shape[1] == 0:
        return multivariate_normal(np.zeros(len(z)), V).logpdf(z)
    information = X.T @ np.linalg.inv(V) @ X
    beta = np.linalg.solve(information, X.T @ np.linalg.inv(V) @ z)
    value = multivariate_normal(X @ beta, V).logpdf(z)
    return value - 0.5 * np.linalg.slogdet(information)[1] if restricted else value


def maximise(criterion, upper, n_starts=400):
    """Best of a fine grid in log A, polished by a bounded search."""
    grid = np.geomspace(1e-8 * upper, upper, n_starts)
    best = int(np.argmax([criterion(A) for A in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, n_starts - 1)]
    return minimize_scalar(
        lambda A: -criterion(A), bounds=bounds, method="bounded", options={"xatol": 1e-12}
    ).x
