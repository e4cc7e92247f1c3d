"""How much clusters cost: intraclass correlation, design effect, effective sample size."""

from typing import NamedTuple

import numpy as np

from skbench.stats.clusters.clustered import cluster_robust_variance
from skbench.stats.intervals.moments import divided


class ClusterCost(NamedTuple):
    """What the clusters of each group do to the precision of its mean.

    Attributes
    ----------
    intraclass_correlation : ndarray of shape (n_groups,)
        Correlation of two items of one cluster; nan where there are fewer than two clusters, no
        cluster of two, or no spread.
    design_effect : ndarray of shape (n_groups,)
        Variance of the mean over that of as many independent items.
    effective_n : ndarray of shape (n_groups,)
        Number of independent items that would tell as much.
    """

    intraclass_correlation: np.ndarray
    design_effect: np.ndarray
    effective_n: np.ndarray


def cluster_cost(cluster_sums, cluster_squares, cluster_sizes, codes, n_groups, kind="cr2"):
    """Intraclass correlation, design effect and effective sample size of groups of clusters.

    Parameters
    ----------
    cluster_sums : array-like of shape (n_all_clusters,)
        Sum of the scores of each cluster.
    cluster_squares : array-like of shape (n_all_clusters,)
        Sum of their squares.
    cluster_sizes : array-like of shape (n_all_clusters,)
        Number of its items, at least 1.
    codes : array-like of int of shape (n_all_clusters,)
        Group of each cluster, 0 to ``n_groups - 1``.
    n_groups : int
        Number of groups.
    kind : {"cr0", "cr1", "cr2", "cr3"}, default="cr2"
        Cluster-robust variance, as in `skbench.stats.clustered.cluster_robust_variance`.

    Returns
    -------
    ClusterCost
        nan where the items of a group cannot tell.

    Notes
    -----
    The intraclass correlation is that of the analysis of variance, ``(B - W) / (B + (m - 1) W)``,
    with the mean squares between and within clusters and ``m = (n - sum n_c^2 / n) / (C - 1)``
    [1]_; it may be negative, as it often is for differences of two models. The design effect is the
    cluster-robust variance over ``s^2 / n``, and the effective size is n over it.

    References
    ----------
    .. [1] Donner and Koval (1980). The estimation of intraclass correlation in the analysis of
       family data. Biometrics 36, 19-25.

    Examples
    --------
    >>> cost = cluster_cost([4, 0, 2], [4, 0, 2], [4, 4, 4], [0, 0, 0], 1)
    >>> print(*(field.round(3) for field in cost))
    [0.667] [3.667] [3.273]
    """
    sums, squares, sizes = (
        np.asarray(values, dtype=float) for values in (cluster_sums, cluster_squares, cluster_sizes)
    )
    codes = np.asarray(codes)

    def total(values):
        return np.bincount(codes, values, minlength=n_groups)

    robust = cluster_robust_variance(sums, sizes, codes, n_groups, kind)
    n, n_clusters = total(sizes), robust.n_clusters
    center = robust.mean[codes]
    deviations = sums - sizes * center
    around_mean = _without_rounding(
        total(squares - 2 * center * sums + sizes * center**2), total(squares)
    )
    between = total(deviations**2 / sizes)
    within = _without_rounding(around_mean - between, total(squares))
    mean_square_between = divided(between, n_clusters - 1.0)
    mean_square_within = divided(within, n - n_clusters)
    typical_size = divided(n - divided(total(sizes**2), n), n_clusters - 1.0)
    correlation = divided(
        mean_square_between - mean_square_within,
        mean_square_between + (typical_size - 1) * mean_square_within,
    )
    design_effect = divided(robust.variance, divided(divided(around_mean, n - 1), n))
    with np.errstate(divide="ignore"):
        return ClusterCost(correlation, design_effect, n / design_effect)


def expected_design_effect(cluster_sizes, intraclass_correlation):
    """Design effect of clusters of given sizes whose items are equally correlated.

    Parameters
    ----------
    cluster_sizes : array-like of shape (n_clusters,)
        Number of items in each cluster; one number for clusters of one size.
    intraclass_correlation : float
        Correlation of two items of one cluster.

    Returns
    -------
    float
        Variance of the item-weighted mean over that of independent items.

    Notes
    -----
    ``1 + (m - 1) r`` with ``m = sum n_c^2 / sum n_c``, the size of the cluster of an average item:
    the formula of [1]_, chapter 8, for unequal sizes. Unequal sizes cost more than equal ones of
    the same mean.

    References
    ----------
    .. [1] Kish (1965). Survey Sampling. Wiley.

    Examples
    --------
    >>> expected_design_effect(5, 0.25), expected_design_effect([1, 9], 0.25)
    (2.0, 2.8)
    """
    sizes = np.asarray(cluster_sizes, dtype=float)
    return float(1 + (np.sum(sizes**2) / np.sum(sizes) - 1) * intraclass_correlation)


def _without_rounding(values, scale):
    """Sums of squares with what is rounding alone set to 0."""
    return np.where(values > 8 * np.finfo(float).eps * scale, values, 0.0)
