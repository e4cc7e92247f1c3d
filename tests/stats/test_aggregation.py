"""Closed-form variances against simulation and brute force; weights and normalization."""

import numpy as np
import pytest

from skbench.stats.clusters.clustered import cluster_robust_variance
from skbench.stats.scales.aggregation import (
    category_weights,
    covariance_of_means,
    difference_variance,
    normalized,
    simplex_grid,
    weighted_variance,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_weighted_variance_is_that_of_correlated_normals(rng):
    root = rng.normal(size=(4, 4))
    covariance = root @ root.T
    w = np.array([0.4, 0.3, 0.2, 0.1])
    expected = sum(w[j] ** 2 * covariance[j, j] for j in range(4))
    expected += 2 * sum(w[j] * w[k] * covariance[j, k] for k in range(4) for j in range(k))
    np.testing.assert_allclose(weighted_variance(w, covariance), expected, rtol=1e-13)
    draws = rng.standard_normal((100_000, 4)) @ root.T
    # The relative standard error of a variance from 1e5 draws is sqrt(2 / 1e5) = 0.45%.
    np.testing.assert_allclose(expected, np.var(draws @ w), rtol=0.02)


@pytest.mark.parametrize("k", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.5, 1.0])
def test_difference_variance_reduces_as_printed(k, rho):
    """Appendix A.2: the standard deviation falls by sqrt((k + 1 - 2 rho sqrt k) / (k + 1))."""
    factor = (k + 1 - 2 * rho * np.sqrt(k)) / (k + 1)
    expected = (0.3 + k * 0.3) * factor
    np.testing.assert_allclose(
        difference_variance(0.3, k * 0.3, rho), expected, rtol=1e-13, atol=1e-15
    )


def test_no_difference_of_a_model_from_itself_has_a_negative_variance():
    variance = np.random.default_rng(0).uniform(size=1000)
    assert np.all(difference_variance(variance, variance, 1.0) >= 0)


def test_covariance_counts_rows_as_often_as_they_occur(rng):
    rows, counts = rng.normal(size=(4, 2)), np.array([5, 1, 2, 7])
    items = np.repeat(rows, counts, axis=0)
    np.testing.assert_allclose(
        covariance_of_means(rows, np.ones((4, 1)), counts), np.cov(items.T) / 15, rtol=1e-12
    )


def test_covariance_of_clusters_has_cr1_on_its_diagonal(rng):
    sizes = rng.integers(1, 9, (12, 1))
    sums = rng.normal(size=(12, 2)) * sizes
    covariance = covariance_of_means(sums, sizes, np.ones(12, dtype=int))
    for model in range(2):
        cr1 = cluster_robust_variance(
            sums[:, model], sizes[:, 0], np.zeros(12, dtype=int), 1, kind="cr1"
        )
        np.testing.assert_allclose(covariance[model, model], cr1.variance[0], rtol=1e-12)
    gain = cluster_robust_variance(
        sums[:, 0] - sums[:, 1], sizes[:, 0], np.zeros(12, dtype=int), 1, kind="cr1"
    )
    paired = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    np.testing.assert_allclose(paired, gain.variance[0], rtol=1e-12)


def test_covariance_of_one_item_is_unknown():
    assert np.isnan(covariance_of_means(np.ones((1, 2)), np.ones((1, 1)), np.array([1]))).all()


def test_normalized_scores(rng):
    scores, low, high = rng.uniform(size=(5, 3)), np.array([0.1, 0, 0.5]), np.array([1, 0.5, 1])
    back = low + normalized(scores, low, high) * (high - low)
    np.testing.assert_allclose(back, scores, rtol=1e-13)
    np.testing.assert_array_equal(normalized([low, high], low, high), [[0, 0, 0], [1, 1, 1]])


def test_category_weights_share_equally():
    codes = np.array([0, 1, 0, 2, 0])
    w = category_weights(codes, [[0.6, 0.3, 0.1], [0, 0, 1]])
    np.testing.assert_allclose(w, [[0.2, 0.3, 0.2, 0.1, 0.2], [0, 0, 0, 1, 0]], rtol=1e-14)


@pytest.mark.parametrize("resolution", [1, 2, 7, 200])
def test_simplex_grid_holds_every_weighting_once(resolution):
    grid = simplex_grid(resolution)
    assert grid.shape == ((resolution + 1) * (resolution + 2) // 2, 3)
    np.testing.assert_allclose(grid.sum(axis=1), 1, rtol=1e-15)
    steps = np.rint(grid * resolution).astype(int)
    np.testing.assert_allclose(steps, grid * resolution, atol=1e-12)
    assert len(np.unique(steps, axis=0)) == len(grid)
    position = steps[:, 0] * (resolution + 1) - steps[:, 0] * (steps[:, 0] - 1) // 2 + steps[:, 1]
    np.testing.assert_array_equal(
        position, np.arange(len(grid))
    )  # SimplexDisplay relies on this order
