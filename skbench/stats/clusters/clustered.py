"""Means of scores of clustered items, such as passages, documents or repeated answers."""

from typing import NamedTuple

import numpy as np

from skbench.stats.intervals.moments import divided

# Residuals are divided by this power of the proportion of items outside the cluster.
_LEVERAGE_POWER = {"cr0": 0.0, "cr1": 0.0, "cr2": 0.5, "cr3": 1.0, "cluster_mean": 0.5}


class ClusterRobust(NamedTuple):
    """Mean of each group with its cluster-robust variance.

    Attributes
    ----------
    mean : ndarray of shape (n_groups,)
        Item-weighted mean, or unweighted mean of cluster means.
    variance : ndarray of shape (n_groups,)
        Sampling variance of the mean; nan with fewer than two clusters.
    df : ndarray of shape (n_groups,)
        Degrees of freedom for a t interval; nan with fewer than two clusters.
    n_clusters : ndarray of int of shape (n_groups,)
        Number of clusters.
    """

    mean: np.ndarray
    variance: np.ndarray
    df: np.ndarray
    n_clusters: np.ndarray


def clustered_standard_error(scores, clusters, kind="cr2"):
    """Cluster-robust standard error of the mean of one set of scores.

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        Scores.
    clusters : array-like of shape (n_items,)
        Cluster label of each score: numbers or strings.
    kind : {"cr0", "cr1", "cr2", "cr3", "cluster_mean"}, default="cr2"
        As in `cluster_robust_variance`. "cluster_mean" is the standard error of the unweighted mean
        of the cluster means.

    Returns
    -------
    float
        Standard error in the units of the score; nan with one cluster.

    Raises
    ------
    ValueError
        If the numbers of scores and clusters differ, or a cluster is missing.

    Notes
    -----
    The result is the square root of the `variance` from `cluster_robust_variance`. With few
    clusters use a t quantile with the `df` from that function.

    Examples
    --------
    >>> scores = [1, 1, 0, 0, 1, 0]
    >>> print(round(clustered_standard_error(scores, ["a", "a", "b", "b", "c", "c"]), 4))
    0.2887
    """
    scores, clusters = np.asarray(scores, dtype=float), np.asarray(clusters)
    if scores.shape != clusters.shape:
        raise ValueError(
            f"scores has {scores.size} entries, but clusters has {clusters.size}. Pass one cluster "
            "per score."
        )
    missing = [label is None or label != label for label in clusters]
    if any(missing):
        raise ValueError(
            f"clusters has {sum(missing)} missing values of {clusters.size} (first in row "
            f"{missing.index(True)}). Fill in the clusters or drop these scores."
        )
    names, codes = np.unique(clusters, return_inverse=True)
    sums = np.bincount(codes, scores)
    one_group = np.zeros(names.size, dtype=int)
    robust = cluster_robust_variance(sums, np.bincount(codes), one_group, 1, kind)
    return float(np.sqrt(robust.variance[0]))


def cluster_robust_variance(cluster_sums, cluster_sizes, codes, n_groups, kind="cr2"):
    """Means of groups of clusters with cluster-robust sampling variances.

    Parameters
    ----------
    cluster_sums : array-like of shape (n_all_clusters,) or (n_scores, n_all_clusters)
        Sum of the scores of each cluster, with one row per score if there are several.
    cluster_sizes : array-like of shape (n_all_clusters,)
        Number of items of each cluster, at least 1.
    codes : array-like of int of shape (n_all_clusters,)
        Group of each cluster, 0 to ``n_groups - 1``.
    n_groups : int
        Number of groups.
    kind : {"cr0", "cr1", "cr2", "cr3", "cluster_mean"}, default="cr2"
        The first four are variances of the item-weighted mean. "cluster_mean" is the variance of
        the unweighted mean of the cluster means, a different estimand if cluster sizes differ.

    Returns
    -------
    ClusterRobust
        `mean`, `variance`, `df` and `n_clusters` of each group. With several scores `mean` and
        `variance` have one row per score. A group without clusters has nan.

    Raises
    ------
    ValueError
        If `kind` is unknown.

    Notes
    -----
    Cluster `c` has the proportion `p_c` of the group's items and the sum `r_c` of residuals from
    the mean. The variance is ``sum (r_c / (1 - p_c)^q)^2 / n^2`` with q = 0 (CR0), 1/2 (CR2) or 1
    (CR3). CR1 is CR0 times C / (C - 1) for C clusters. These are the sandwich estimators of [1]_
    for a model with only an intercept, where `p_c` is the leverage of a cluster.

    The degrees of freedom of CR2 are those of [1]_ for independent items of equal variance,
    ``tr(M)^2 / tr(M^2)``. M has trace 1, `p_c` on its diagonal and ``-u_c u_d`` elsewhere, with
    ``u_c = p_c / sqrt(1 - p_c)``. The other kinds have C - 1. "cluster_mean" is CR2 of the cluster
    means, ``sum (s_c - s)^2 / (C (C - 1))``.

    When not to use it: CR0 and CR1 are too small with few clusters.

    References
    ----------
    .. [1] Bell and McCaffrey (2002). Bias reduction in standard errors for linear regression with
       multi-stage samples. Survey Methodology 28, 169-181.

    Examples
    --------
    >>> r = cluster_robust_variance([2, 0, 1, 3], [2, 2, 2, 4], [0, 0, 0, 1], 2)
    >>> print(r.mean, r.variance.round(4), r.df.round(4), r.n_clusters)
    [0.5  0.75] [0.0833    nan] [ 2. nan] [3 1]
    """
    if kind not in _LEVERAGE_POWER:
        raise ValueError(f"kind must be one of {tuple(_LEVERAGE_POWER)}, got {kind!r}.")
    sums = np.asarray(cluster_sums, dtype=float)
    sizes = np.asarray(cluster_sizes, dtype=float)
    if kind == "cluster_mean":
        sums, sizes = sums / sizes, np.ones_like(sizes)
    mean = divided(_totals(sums, codes, n_groups), _totals(sizes, codes, n_groups))
    residuals = sums - sizes * mean[..., codes]
    return _robust(residuals**2, np.ones_like(sizes), mean, sizes, codes, n_groups, kind)


def cluster_robust_by_size(sums, squares, counts, sizes, codes, n_groups):
    """CR2 variance of `cluster_robust_variance` from sums over clusters of equal size.

    The input has one row per group and cluster size, even for millions of clusters.

    Parameters
    ----------
    sums : array-like of shape (n_rows,)
        Sum of the scores of all clusters of one group and size.
    squares : array-like of shape (n_rows,)
        Sum of the squared sums of these clusters.
    counts : array-like of shape (n_rows,)
        Number of these clusters.
    sizes : array-like of shape (n_rows,)
        Number of items in each of these clusters, at least 1.
    codes, n_groups
        Group of each row, 0 to ``n_groups - 1``, and number of groups.

    Returns
    -------
    ClusterRobust
        As in `cluster_robust_variance`. A variance within rounding errors is 0.

    Notes
    -----
    The squared residuals of clusters of size s sum to ``squares - 2 s m sums + counts s^2 m^2``
    with the group mean m. To limit rounding errors, subtract a number near the overall mean from
    the scores first.

    Examples
    --------
    >>> r = cluster_robust_by_size([3, 3], [5, 9], [3, 1], [2, 4], [0, 1], 2)
    >>> print(r.mean, r.variance.round(4), r.n_clusters)
    [0.5  0.75] [0.0833    nan] [3 1]
    """
    sums, squares, counts, sizes = (
        np.asarray(column, dtype=float) for column in (sums, squares, counts, sizes)
    )
    mean = divided(
        np.bincount(codes, sums, minlength=n_groups),
        np.bincount(codes, counts * sizes, minlength=n_groups),
    )
    expected = sizes * mean[codes]
    residual_squares = squares - 2 * expected * sums + counts * expected**2
    rounding = 8 * counts * np.finfo(float).eps * (squares + counts * expected**2)
    residual_squares = np.where(residual_squares > rounding, residual_squares, 0.0)
    return _robust(residual_squares, counts, mean, sizes, codes, n_groups, "cr2")


def mean_of_cluster_means(sums, squares, counts, sizes, codes, n_groups):
    """Mean with equal weights of clusters, and its sampling variance.

    Parameters
    ----------
    sums, squares, counts, sizes, codes, n_groups
        As in `cluster_robust_by_size`.

    Returns
    -------
    ClusterRobust
        Mean of the cluster means, their variance divided by the number C of clusters, and C - 1
        degrees of freedom.

    Notes
    -----
    The estimand is the expected score of an item in a random cluster (Miller 2024, Adding Error
    Bars to Evals, for clusters from a population). A passage with twenty questions has the same
    weight as one with two.

    Examples
    --------
    Clusters of 1, 1, 0 and of 0.

    >>> r = mean_of_cluster_means([2, 0], [4, 0], [1, 1], [3, 1], [0, 0], 1)
    >>> print(r.mean.round(3), r.variance.round(3), r.df)
    [0.333] [0.111] [1.]
    """
    sizes = np.asarray(sizes, dtype=float)
    one = np.ones(len(sizes))
    return cluster_robust_by_size(
        np.asarray(sums) / sizes, np.asarray(squares) / sizes**2, counts, one, codes, n_groups
    )


def expected_design_effect(cluster_sizes, intraclass_correlation):
    """Expected design effect of clusters with a given intraclass correlation.

    Parameters
    ----------
    cluster_sizes : array-like of shape (n_clusters,)
        Number of items in each cluster, or one number for equal sizes.
    intraclass_correlation : float
        Correlation of two items in the same cluster.

    Returns
    -------
    float
        Ratio of the variance of the item-weighted mean to that with independent items.

    Notes
    -----
    The result is ``1 + (m - 1) r`` with the correlation r and the mean cluster size of an item,
    ``m = sum n_c^2 / sum n_c`` (Kish 1965, Survey Sampling, chapter 8).

    Examples
    --------
    >>> expected_design_effect(5, 0.25), expected_design_effect([1, 9], 0.25)
    (2.0, 2.8)
    """
    sizes = np.asarray(cluster_sizes, dtype=float)
    return float(1 + (np.sum(sizes**2) / np.sum(sizes) - 1) * intraclass_correlation)


def _robust(residual_squares, counts, mean, sizes, codes, n_groups, kind):
    """Variance and degrees of freedom; each row has `counts` clusters of one size."""

    def total(values):
        return _totals(values, codes, n_groups)

    n = total(counts * sizes)
    n_clusters = total(counts).astype(int)
    # The variance of a group with one cluster is unknown: nan, never 0.
    comparable = n_clusters > 1
    share = sizes / n[codes]
    outside = np.where(comparable[codes], 1 - share, np.nan)
    size = np.where(comparable, n, np.nan)
    variance = total(residual_squares / outside ** (2 * _LEVERAGE_POWER[kind])) / size**2
    freedom = np.where(comparable, n_clusters - 1.0, np.nan)
    if kind == "cr1":
        variance = variance * n_clusters / freedom
    if kind == "cr2":
        spread = share**2 / outside
        trace_of_square = total(counts * (share**2 - spread**2)) + total(counts * spread) ** 2
        # Two clusters of any sizes have exactly 1; rounding could give less.
        freedom = np.maximum(1 / np.where(comparable, trace_of_square, np.nan), 1)
    return ClusterRobust(mean, variance, freedom, n_clusters)


def _totals(values, codes, n_groups):
    """Sums over the clusters of each group, for each row of a two-dimensional array."""
    if values.ndim == 1:
        return np.bincount(codes, values, minlength=n_groups)
    return np.array([np.bincount(codes, row, minlength=n_groups) for row in values])
