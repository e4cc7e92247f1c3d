"""Strata of scores: where they are cut, which are merged, how they are summed."""

from typing import NamedTuple

import numpy as np

from skbench.stats.intervals.moments import divided, satterthwaite_df
from skbench.stats.ppi.posteriors import k_proportion_draws, mean_draws

_FEWEST = 3  # labeled, and unlabeled, rows of a stratum that stands alone


class StratifiedMean(NamedTuple):
    """Weighted sums of estimates in strata; one entry per group.

    Attributes
    ----------
    value, variance, unlabeled_variance, df : ndarray of shape (n_groups,)
        As in `DifferenceEstimate`.
    weights : ndarray of shape (n_groups, n_strata)
        Weight of each stratum; 0 for strata without rows.
    """

    value: np.ndarray
    variance: np.ndarray
    unlabeled_variance: np.ndarray
    df: np.ndarray
    weights: np.ndarray


def quantile_edges(scores, codes, n_groups, n_strata):
    """Quantiles of scores at which bins of equal frequency are cut, group by group.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores.
    codes : ndarray of int of shape (n_rows,)
        Group of each row.
    n_groups, n_strata : int
        Numbers of groups, and of bins.

    Returns
    -------
    ndarray of shape (n_groups, n_strata - 1)
        Rising; inf in a group without rows.

    Notes
    -----
    Linear interpolation between order statistics, as numpy does. Equal quantiles leave bins between
    them empty.

    Examples
    --------
    >>> quantile_edges(np.array([0.1, 0.2, 0.8, 0.9]), np.zeros(4, dtype=int), 1, 2)
    array([[0.5]])
    """
    order = np.argsort(codes, kind="stable")
    filled, starts = np.unique(codes[order], return_index=True)
    edges = np.full((n_groups, n_strata - 1), np.inf)
    for group, own in zip(filled, np.split(scores[order], starts[1:]), strict=False):
        edges[group] = np.quantile(own, np.arange(1, n_strata) / n_strata)
    return edges


def strata_between(scores, edges, codes):
    """Bin of each row between the edges of its group, those of `quantile_edges`.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores.
    edges : ndarray of shape (n_groups, n_strata - 1)
        Rising; a score equal to one goes to the upper bin.
    codes : ndarray of int of shape (n_rows,)
        Group of each row.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        0 to ``n_strata - 1``.

    Examples
    --------
    >>> strata_between(np.array([0.1, 0.5]), np.array([[0.5]]), np.zeros(2, dtype=int))
    array([0, 1])
    """
    strata = np.zeros(scores.size, dtype=int)
    for edge in edges.T:
        strata += scores >= edge[codes]
    return strata


def merged_strata(n_labeled, n_unlabeled):
    """Which strata are too thin to stand alone and join "miscellaneous".

    Parameters
    ----------
    n_labeled, n_unlabeled : ndarray of int of shape (n_groups, n_strata)
        Numbers of rows.

    Returns
    -------
    ndarray of bool of shape (n_groups, n_strata)
        Members of "miscellaneous"; strata without rows are none.

    Notes
    -----
    Strata with fewer than three labeled or three unlabeled rows join it. While it has some rows
    but is itself such a one, the stratum with the fewest rows joins too.

    Examples
    --------
    >>> merged_strata(np.array([[1, 9, 5]]), np.array([[50, 50, 40]]))
    array([[ True, False,  True]])
    """
    rows = n_labeled + n_unlabeled
    joined = (rows > 0) & ((n_labeled < _FEWEST) | (n_unlabeled < _FEWEST))
    for _ in range(rows.shape[1]):
        thin = (np.where(joined, n_labeled, 0).sum(axis=1) < _FEWEST) | (
            np.where(joined, n_unlabeled, 0).sum(axis=1) < _FEWEST
        )
        free = (rows > 0) & ~joined
        grow = np.flatnonzero(thin & joined.any(axis=1) & free.any(axis=1))
        if grow.size == 0:
            break
        smallest = np.argmin(np.where(free, rows, np.iinfo(rows.dtype).max), axis=1)
        joined[grow, smallest[grow]] = True
    return joined


def stratified_mean(value, variance, unlabeled_variance, df, counts):
    """Estimates in strata, weighed by how many unlabeled rows fall into each.

    Parameters
    ----------
    value, variance, unlabeled_variance, df : ndarray of shape (n_groups, n_strata)
        Estimates in the strata, as `skbench.stats.ppi.difference_estimate` gives them.
    counts : ndarray of shape (n_groups, n_strata)
        Numbers of unlabeled rows, 0 for a stratum that does not exist.

    Returns
    -------
    StratifiedMean

    Notes
    -----
    Mean and variance of ``sum p_k m_k`` with independent `m_k` of the given means and variances and
    p of the Dirichlet law with parameters ``N_k + 1 / K`` (Hofer et al. 2024, Bayesian
    Prediction-Powered Inference), K being the number of strata with rows. The degrees of freedom
    are Satterthwaite's for the labeled parts.

    Examples
    --------
    >>> m = stratified_mean(np.array([[0.2, 0.8]]), np.full((1, 2), 0.01), np.zeros((1, 2)),
    ...     np.full((1, 2), 9.0), np.array([[500, 500]]))
    >>> print(m.value, m.variance.round(5), m.df.round(2))
    [0.5] [0.00509] [18.]
    """
    exists = counts > 0
    prior = divided(1.0, exists.sum(axis=1))[:, None]
    strength = np.where(exists, counts + prior, 0.0)
    total = strength.sum(axis=1, keepdims=True)
    p = divided(strength, total)
    p_variance = p * (1 - p) / (total + 1)
    square = p**2 + p_variance
    value, variance, fixed, df = (
        np.where(exists, column, 0.0) for column in (value, variance, unlabeled_variance, df)
    )
    mean = np.where(exists.any(axis=1), (p * value).sum(axis=1), np.nan)
    between = ((p * (value - mean[:, None]) ** 2).sum(axis=1)) / (total[:, 0] + 1)
    labels = square * (variance - fixed)
    freedom = satterthwaite_df(labels, np.where(exists, df, 1.0))
    # Without any spread among the residuals there is nothing to weigh the strata by.
    freedom = np.where(labels.sum(axis=1) > 0, freedom, np.where(exists, df, 0.0).sum(axis=1))
    unlabeled = (square * fixed).sum(axis=1) + between
    return StratifiedMean(mean, labels.sum(axis=1) + unlabeled, unlabeled, freedom, p)


def stratified_draws(estimates, n_labeled, n_unlabeled, counts, n_draws, rng):
    """Draws from the posterior of the sum that `stratified_mean` has the moments of.

    Parameters
    ----------
    estimates : sequence of ndarray of shape (n_groups, n_strata)
        Value, variance and unlabeled variance of `skbench.stats.ppi.difference_estimate`.
    n_labeled, n_unlabeled : ndarray of int of shape (n_groups, n_strata)
        Numbers of rows.
    counts : ndarray of shape (n_groups, n_strata)
        As in `stratified_mean`.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_draws, n_groups)
        nan for a group with a stratum of fewer than two labels.

    Notes
    -----
    The autorater's mean and the rectifier of each stratum by `mean_draws`, the weights by
    `k_proportion_draws`, all independent.

    Examples
    --------
    >>> estimates, n = ([[0.2, 0.8]], [[0.01, 0.01]], [[0.0, 0.0]]), [[40, 40]]
    >>> rng = np.random.default_rng(0)
    >>> d = stratified_draws(estimates, n, [[500, 500]], [[500, 500]], 10_000, rng)
    >>> print(f"{d.mean():.2f} +- {d.std():.2f}")
    0.50 +- 0.07
    """
    columns = map(np.asarray, (*estimates, n_labeled, n_unlabeled, counts))
    draws = np.empty((n_draws, len(counts)))
    for group, rows in enumerate(zip(*columns, strict=True)):
        value, variance, fixed, n, N, count = (column[rows[-1] > 0] for column in rows)
        labels = mean_draws(value, (variance - fixed) * n, n, n_draws, rng)
        # Of fewer than two unlabeled rows the autorater's mean is not used.
        judged = mean_draws(0 * fixed, fixed * N, np.maximum(N, 2), n_draws, rng)
        share = k_proportion_draws(count, n_draws, rng)
        draws[:, group] = (share * (labels + judged)).sum(axis=1)
    return draws
