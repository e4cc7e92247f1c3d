"""Strata of scores: cut points, merging, and weighted sums."""

from typing import NamedTuple

import numpy as np

from skbench.stats.intervals.moments import divided, satterthwaite_df
from skbench.stats.ppi.posteriors import k_proportion_draws, mean_draws

_FEWEST = 3  # labeled rows, and unlabeled rows, of a stratum that is not merged


class StratifiedMean(NamedTuple):
    """Weighted sums of estimates in strata; one entry per group.

    Attributes
    ----------
    value, variance, unlabeled_variance, df : ndarray of shape (n_groups,)
        As in `DifferenceEstimate`.
    weights : ndarray of shape (n_groups, n_strata)
        Weight of each stratum; 0 without rows.
    """

    value: np.ndarray
    variance: np.ndarray
    unlabeled_variance: np.ndarray
    df: np.ndarray
    weights: np.ndarray


def quantile_edges(scores, codes, n_groups, n_strata):
    """Cut points between bins of equal frequency in each group.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores.
    codes : ndarray of int of shape (n_rows,)
        Group of each row.
    n_groups, n_strata : int
        Numbers of groups and of bins.

    Returns
    -------
    ndarray of shape (n_groups, n_strata - 1)
        Cut points in increasing order; inf in a group without rows.

    Notes
    -----
    The cut points are quantiles with linear interpolation, as in numpy. Bins between equal cut
    points are empty.

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
    """Bin of each row between the cut points of its group.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores.
    edges : ndarray of shape (n_groups, n_strata - 1)
        Cut points from `quantile_edges`. A score equal to a cut point belongs to the upper bin.
    codes : ndarray of int of shape (n_rows,)
        Group of each row.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Bins from 0 to ``n_strata - 1``.

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
    """Whether strata have too few rows and must be merged into one.

    Parameters
    ----------
    n_labeled, n_unlabeled : ndarray of int of shape (n_groups, n_strata)
        Numbers of rows.

    Returns
    -------
    ndarray of bool of shape (n_groups, n_strata)
        Whether the stratum is merged; False for strata without rows.

    Notes
    -----
    Strata with fewer than three labeled or three unlabeled rows are merged. While the merged
    stratum is still too small, the smallest other stratum joins it. Hofer et al. (2024) call it
    "miscellaneous".

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
    """Sum of estimates in strata, weighted by their numbers of unlabeled rows.

    Parameters
    ----------
    value, variance, unlabeled_variance, df : ndarray of shape (n_groups, n_strata)
        Estimates in the strata from `skbench.stats.ppi.difference_estimate`.
    counts : ndarray of shape (n_groups, n_strata)
        Numbers of unlabeled rows; 0 if a stratum does not exist.

    Returns
    -------
    StratifiedMean

    Notes
    -----
    The result has the mean and variance of ``sum p_k m_k``. The `m_k` are independent with the
    given means and variances. The weights p have the Dirichlet distribution with parameters ``N_k +
    1 / K`` for K strata with rows (Hofer et al. 2024, Bayesian Prediction-Powered Inference). The
    degrees of freedom are Satterthwaite's for the labeled parts.

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
    # If no stratum has residual variance, Satterthwaite's formula is 0 / 0.
    freedom = np.where(labels.sum(axis=1) > 0, freedom, np.where(exists, df, 0.0).sum(axis=1))
    unlabeled = (square * fixed).sum(axis=1) + between
    return StratifiedMean(mean, labels.sum(axis=1) + unlabeled, unlabeled, freedom, p)


def stratified_draws(estimates, n_labeled, n_unlabeled, counts, n_draws, rng):
    """Draws from the posterior of the sum in `stratified_mean`.

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
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws, n_groups)
        Draws; nan for a group with a stratum of fewer than two labels.

    Notes
    -----
    `mean_draws` gives the judge's mean and the rectifier of each stratum, and `k_proportion_draws`
    gives the weights. All are independent.

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
        # The judge has weight 0 with fewer than two unlabeled rows.
        judged = mean_draws(0 * fixed, fixed * N, np.maximum(N, 2), n_draws, rng)
        share = k_proportion_draws(count, n_draws, rng)
        draws[:, group] = (share * (labels + judged)).sum(axis=1)
    return draws
