"""Draws from posteriors of means and proportions under weak priors."""

import numpy as np

from skbench.stats._arrays import floats
from skbench.stats.ppi._quadrature import gauss_rule

_LARGEST_T_SAMPLE = 30  # with more rows the posterior of a mean is normal


def mean_draws(mean, variance, n, n_draws, rng):
    """Draws from the posterior of a population mean.

    Parameters
    ----------
    mean : array-like of shape (n_groups,)
        Sample means, in the units of the score.
    variance : array-like of shape (n_groups,)
        Sample variances with divisor ``n - 1``, in squared units of the score.
    n : array-like of shape (n_groups,)
        Numbers of observations.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws, n_groups)
        Draws; nan in groups with fewer than two observations.

    Notes
    -----
    The posterior is that of section A.1 of Hofer et al. (2024), Bayesian Prediction-Powered
    Inference. It is normal with variance ``variance / n`` above 30 observations, and Student's t
    with ``n - 1`` degrees of freedom up to 30. With three observations or fewer its variance is
    infinite.

    Examples
    --------
    >>> draws = mean_draws([0.5, 0.7], 0.25, [25, 100], 1000, np.random.default_rng(0))
    >>> draws.shape
    (1000, 2)
    """
    location, variance, n = floats(mean, variance, n)
    scale = np.where(n >= 2, np.sqrt(variance / np.maximum(n, 1)), np.nan)
    df = np.where(n > _LARGEST_T_SAMPLE, np.inf, np.where(n >= 2, n - 1, np.nan))
    shape = (n_draws, *location.shape)
    draws = rng.standard_normal(shape)
    small = np.isfinite(df)
    freedom = np.where(small, df, 1.0)
    chi_square = 2 * rng.standard_gamma(freedom / 2, shape)
    draws /= np.where(small, np.sqrt(chi_square / freedom), 1.0)
    return location + scale * draws


def proportion_draws(k, n, n_draws, rng):
    """Draws from the posterior of a proportion under Jeffreys' prior.

    Parameters
    ----------
    k, n : array-like of shape (n_groups,)
        Numbers of successes and of trials. ``n = 0`` gives draws from the prior.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws, n_groups)
        Draws from Beta(k + 1/2, n - k + 1/2).

    Notes
    -----
    Section A.1 of Hofer et al. (2024), Bayesian Prediction-Powered Inference.

    Examples
    --------
    >>> proportion_draws([9, 0], [10, 0], 1000, np.random.default_rng(0)).shape
    (1000, 2)
    """
    k, n = floats(k, n)
    return rng.beta(k + 0.5, n - k + 0.5, (n_draws, *k.shape))


def k_proportion_draws(counts, n_draws, rng):
    """Draws from the posterior of K proportions that sum to 1.

    Parameters
    ----------
    counts : array-like of shape (..., n_values)
        Counts of the K values.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws, ..., n_values)
        Draws from Dirichlet(counts + 1/K), which sum to 1 along the last axis.

    Notes
    -----
    Section A.1 of Hofer et al. (2024), Bayesian Prediction-Powered Inference. For K = 2 the
    posterior is that of `proportion_draws`.

    Examples
    --------
    >>> draws = k_proportion_draws([[3, 1, 0]], 1000, np.random.default_rng(0))
    >>> draws.shape, bool(np.allclose(draws.sum(axis=-1), 1))
    ((1000, 1, 3), True)
    """
    counts = np.asarray(counts, float)
    gammas = rng.standard_gamma(counts + 1 / counts.shape[-1], (n_draws, *counts.shape))
    return gammas / gammas.sum(axis=-1, keepdims=True)


def beta_rule(a, b, n_nodes):
    """Gauss quadrature for expectations under many beta distributions.

    Parameters
    ----------
    a, b : array-like of shape (n_groups,)
        Parameters of the beta distributions.
    n_nodes : int
        Number of nodes.

    Returns
    -------
    nodes, weights : ndarray of shape (n_groups, n_nodes)
        Nodes in [0, 1] and weights that sum to 1. Expectations of polynomials up to degree
        ``2 n_nodes - 1`` are exact.

    Notes
    -----
    The nodes come from the recurrence of the Jacobi polynomials (Golub and Welsch 1969).

    Examples
    --------
    >>> nodes, weights = beta_rule([3.5], [1.5], 4)
    >>> print(f"{(weights * nodes).sum():.4f}")
    0.7000
    """
    a, b = np.asarray(a, float)[:, None], np.asarray(b, float)[:, None]
    i = np.arange(1, n_nodes)
    total = a + b + 2 * i
    diagonal = np.empty((len(a), n_nodes))
    diagonal[:, :1] = (a - b) / (a + b)
    diagonal[:, 1:] = (a - b) * (a + b - 2) / ((total - 2) * total)
    squares = np.empty((len(a), n_nodes - 1))
    # The first entry of the general formula is 0 / 0 if a + b = 1.
    squares[:, :1] = 4 * a * b / ((a + b) ** 2 * (a + b + 1))
    j, rest = i[1:], total[:, 1:] - 2
    numerator = 4 * j * (j + a - 1) * (j + b - 1) * (j + a + b - 2)
    squares[:, 1:] = numerator / (rest**2 * (rest + 1) * (rest - 1))
    nodes, weights = gauss_rule(diagonal, np.sqrt(squares))
    return (1 + nodes) / 2, weights
