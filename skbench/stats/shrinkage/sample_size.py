"""The sample size ratio of an estimator, from unbiased estimates of its squared errors."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t


def jackknife_mean(values, clusters):
    """Means over groups and their jackknife covariance, leaving out dependent groups together.

    Parameters
    ----------
    values : ndarray of shape (n_groups, n_columns)
        One column per quantity.
    clusters : ndarray of int of shape (n_groups,)
        Codes 0, 1, ... of the independent units: topics if models share items, else groups.

    Returns
    -------
    mean : ndarray of shape (n_columns,)
    covariance : ndarray of shape (n_columns, n_columns)
        Delete-one-cluster jackknife; nan with a single cluster.

    Examples
    --------
    >>> mean, covariance = jackknife_mean(np.array([[1.0], [2.0], [3.0]]), np.arange(3))
    >>> mean, covariance.round(4)
    (array([2.]), array([[0.3333]]))
    """
    without, n_clusters = _without_each(np.column_stack([np.ones(len(values)), values]), clusters)
    if n_clusters < 2:
        return values.mean(axis=0), np.full((values.shape[1],) * 2, np.nan)
    means = without[:, 1:] / without[:, :1]
    centered = means - means.mean(axis=0)
    return values.mean(axis=0), (n_clusters - 1) / n_clusters * centered.T @ centered


class SampleSizeRatio(NamedTuple):
    """How many times the items the direct estimator would need, with an interval.

    It prints as a sentence. An end is inf if an error of 0 is within the interval.

    Examples
    --------
    >>> from skbench.stats.shrinkage.sample_size import SampleSizeRatio
    >>> print(SampleSizeRatio(2.0, 1.5, 3.1))
    as good as 2 times the items (1.5 to 3.1)
    """

    value: float
    low: float
    high: float

    def __str__(self):
        if np.isnan(self.value):
            return "sample size ratio unknown"
        low, high = f"{self.low:.2g}", f"{self.high:.2g}"
        span = f"{low} or more" if np.isinf(self.high) else f"{low} to {high}"
        return f"as good as {self.value:.2g} times the items ({span})"


def sample_size_ratio(losses, sigma2, clusters, confidence_level=0.95):
    """Return how many times the items the direct estimator would need for the same precision.

    Parameters
    ----------
    losses : ndarray of shape (n_groups,)
        Unbiased estimates of the squared error of an estimator.
    sigma2 : ndarray of shape (n_groups,)
        Unbiased sampling variances: the squared error of the direct estimator.
    clusters : ndarray of int of shape (n_groups,)
        As in `jackknife_mean`.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    SampleSizeRatio
        NamedTuple value, low, high: ``sum(sigma2) / sum(losses)``. An end is inf if the data do not
        rule out an error of 0. All three are nan with fewer than two clusters, without noise, or
        if a loss is nan.

    Notes
    -----
    The error of the direct estimator is proportional to 1 / n. The interval inverts that of
    ``sum(losses) / sum(sigma2)``, by delete-one-cluster jackknife and Student's t.

    Examples
    --------
    >>> sigma2 = np.full(6, 0.02)
    >>> losses = np.array([0.008, 0.012, 0.010, 0.009, 0.011, 0.010])
    >>> ratio = sample_size_ratio(losses, sigma2, np.arange(6))
    >>> print(f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
    2.00 (1.74 to 2.35)
    """
    unknown = SampleSizeRatio(np.nan, np.nan, np.nan)
    without, n_clusters = _without_each(np.column_stack([losses, sigma2]), clusters)
    if n_clusters < 2 or np.any(without[:, 1] <= 0) or np.isnan(losses).any():
        return unknown
    left = losses.sum() / sigma2.sum()
    shares = without[:, 0] / without[:, 1]
    error = np.sqrt((n_clusters - 1) * np.mean((shares - shares.mean()) ** 2))
    half_width = student_t.ppf((1 + confidence_level) / 2, n_clusters - 1) * error
    return SampleSizeRatio(
        *(1 / share if share > 0 else np.inf for share in (left, left + half_width)),
        1 / (left - half_width) if left > half_width else np.inf,
    )


def ratio_with_more_items(ratio, share):
    """Extrapolate a sample size ratio from a share of the items to all items.

    Parameters
    ----------
    ratio : SampleSizeRatio
        Ratio measured on part of the items.
    share : float
        Share of the items, in (0, 1].

    Returns
    -------
    SampleSizeRatio
        ``1 + share (ratio - 1)`` for each number above 1; other numbers stay the same.

    Notes
    -----
    With known prior moments, the ratio is ``1 + sigma2 / A``, so the excess over 1 is inversely
    proportional to the number of items. On average, the result is slightly too small
    (test_ratio_carried_over).

    Examples
    --------
    >>> ratio_with_more_items(SampleSizeRatio(2.0, 0.9, 3.0), 0.9)
    SampleSizeRatio(value=1.9, low=0.9, high=2.8)
    """
    return SampleSizeRatio(*(1 + share * (end - 1) if end > 1 else end for end in ratio))


def _without_each(columns, clusters):
    """Column sums without each cluster in turn, and the number of clusters."""
    n_clusters = int(clusters.max()) + 1
    sums = np.zeros((n_clusters, columns.shape[1]))
    np.add.at(sums, clusters, columns)
    return columns.sum(axis=0) - sums, n_clusters
