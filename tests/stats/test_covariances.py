"""Kernels of features, as columns."""

import numpy as np
from numpy.testing import assert_allclose

from skbench.stats.mixed.covariances import FeatureKernels


def test_factors_against_kernels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4)).repeat(3, axis=0) * [1, 5, 0.1, 0]
    x = X[:, :3] / X[:, :3].std(axis=0)
    distance = np.sum((x[:, None] - x) ** 2, axis=2)
    linear = (x - x.mean(axis=0)) @ (x - x.mean(axis=0)).T / 3
    expected = [
        np.exp(-distance / np.median(distance[distance > 1e-9])),
        linear,
        linear,  # within each model
    ]
    kernels = FeatureKernels(X, 3)
    factors = kernels.factors(X)
    for F, kernel in zip(factors, expected, strict=True):
        assert_allclose(F @ F.T, kernel, atol=1e-6)
    # Of groups elsewhere the smooth factor knows what the fitted ones tell.
    new = rng.normal(size=(5, 4))
    cross = kernels.factors(new)[0] @ factors[0].T
    gap = (new[:, None, :3] / X[:, :3].std(axis=0) - x) ** 2
    bandwidth = np.median(distance[distance > 1e-9])
    assert_allclose(cross, np.exp(-gap.sum(axis=2) / bandwidth), atol=1e-5)


def test_factors_of_many_groups_are_few_and_near():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    smooth, linear, within = FeatureKernels(X, 40).factors(X)
    assert (smooth.shape[1], linear.shape[1], within.shape[1]) == (50, 2, 2)
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    distance = np.sum((x[:100, None] - x[:100]) ** 2, axis=2)
    # The median squared distance of two normal features, less than 4 as a mean: 4 log 2.
    kernel = np.exp(-distance / (4 * np.log(2)))
    assert np.abs(smooth[:100] @ smooth[:100].T - kernel).max() < 0.1


def test_missing_features_are_average():
    X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    filled = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    kernels = FeatureKernels(X, 1)
    linear, expected = (kernels.factors(table)[1] for table in (X, filled))
    assert_allclose(linear, expected, atol=1e-12)
