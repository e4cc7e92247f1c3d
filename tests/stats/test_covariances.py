"""Factors of features that are alike, and of errors on shared items."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skbench.stats.clusters.item_correlation import shared_factors
from skbench.stats.mixed.covariances import FeatureKernels


def test_factors_against_kernels():
    rng = np.random.default_rng(0)
    model, X = np.arange(60) % 3, rng.normal(size=(20, 4)).repeat(3, axis=0) * [1, 5, 0.1, 0]
    x = X[:, :3] / X[:, :3].std(axis=0)
    distance = np.sum((x[:, None] - x) ** 2, axis=2)
    linear = (x - x.mean(axis=0)) @ (x - x.mean(axis=0)).T / 3
    expected = [
        np.exp(-distance / np.median(distance[distance > 1e-9])),
        linear,
        np.where(np.equal.outer(model, model), linear, 0),
    ]
    kernels = FeatureKernels(X, 3)
    factors = kernels.factors(X, model)
    for F, kernel in zip(factors, expected, strict=True):
        assert_allclose(F @ F.T, kernel, atol=1e-6)
    # Of groups elsewhere the smooth factor knows what the fitted ones tell.
    new = rng.normal(size=(5, 4))
    cross = kernels.factors(new, model[:5])[0] @ factors[0].T
    gap = (new[:, None, :3] / X[:, :3].std(axis=0) - x) ** 2
    bandwidth = np.median(distance[distance > 1e-9])
    assert_allclose(cross, np.exp(-gap.sum(axis=2) / bandwidth), atol=1e-5)


def test_factors_of_many_groups_are_few_and_near():
    rng = np.random.default_rng(0)
    X, model = rng.normal(size=(2000, 2)), np.arange(2000) % 40
    smooth, linear, within = FeatureKernels(X, 40).factors(X, model)
    assert (smooth.shape[1], linear.shape[1], within.shape[1]) == (50, 2, 80)
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    distance = np.sum((x[:100, None] - x[:100]) ** 2, axis=2)
    # The median squared distance of two normal features, less than 4 as a mean: 4 log 2.
    kernel = np.exp(-distance / (4 * np.log(2)))
    assert np.abs(smooth[:100] @ smooth[:100].T - kernel).max() < 0.1


def test_missing_features_are_average():
    X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    filled = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    kernels = FeatureKernels(X, 1)
    linear, expected = (kernels.factors(table, np.zeros(3, dtype=int))[1] for table in (X, filled))
    assert_allclose(linear, expected, atol=1e-12)


@pytest.mark.parametrize("common", [0.1, 0.3, 0.8, 0.95, 1.0])
def test_factors_of_shared_items_are_a_common_correlation(common):
    own, factors = shared_factors(np.full((4, 4), common) + (1 - common) * np.eye(4))
    # Iterations stop where no share moves by 1e-4; every model keeps an error of its own.
    assert_allclose(own, max(1 - common, 0.1), atol=2e-3)
    assert_allclose(np.sum(factors**2, axis=1) + own, 1, atol=2e-3)
    assert_allclose(factors @ factors.T, np.full((4, 4), min(common, 0.9)), atol=2e-3)


def test_families_of_models_are_factors_of_their_own():
    rng = np.random.default_rng(0)
    loadings = np.kron(np.eye(2), np.ones((6, 1))) * rng.uniform(0.5, 0.9, size=(12, 1))
    correlation = loadings @ loadings.T
    np.fill_diagonal(correlation, 1)
    own, factors = shared_factors(correlation)
    assert factors.shape == (12, 2)
    assert_allclose(own, 1 - np.sum(loadings**2, axis=1), atol=2e-3)
    assert_allclose(factors @ factors.T, loadings @ loadings.T, atol=2e-3)
