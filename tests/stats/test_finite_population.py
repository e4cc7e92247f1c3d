"""Means over all items: classical and Bayesian closed forms."""

import numpy as np
import pytest
from scipy.stats import beta, betabinom, norm

from skbench.stats.intervals.finite_population import finite_population_mean

N = np.array([10.0, 20, 35])
SIZE = np.array([40.0, 21, 70])


def test_direct_estimates_get_the_classical_correction():
    # Cochran (1977), theorem 2.2: variance S^2 / n (1 - n / size).
    z, variance = np.array([0.2, 0.5, 0.8]), np.array([0.1, 0.3, 0.2])
    error = np.sqrt(variance / N)
    half = norm.ppf(0.95) * error
    mean = finite_population_mean(z, N, SIZE, z, z - half, z + half, error, variance, 0.9)
    corrected = np.sqrt(variance / N * (1 - N / SIZE))
    np.testing.assert_allclose(mean.value, z)
    np.testing.assert_allclose(mean.standard_error, corrected)
    np.testing.assert_allclose(mean.high - z, norm.ppf(0.95) * corrected)
    np.testing.assert_allclose(z - mean.low, norm.ppf(0.95) * corrected)


@pytest.mark.parametrize("k", [0, 3, 10])
@pytest.mark.parametrize("size", [10, 11, 40])
def test_posterior_of_a_beta_prior(k, size):
    # Right answers among the items not seen are beta-binomial, exactly.
    n, posterior = 10, beta(2 + k, 3 + 10 - k)
    rest = betabinom(size - n, 2 + k, 3 + n - k)
    p, variance = posterior.stats()
    item_variance = p * (1 - p) - variance  # posterior mean of p (1 - p)
    arrays = (np.array([x]) for x in (k / n, n, size, p, p, p, np.sqrt(variance), item_variance))
    mean = finite_population_mean(*arrays)
    assert mean.value.item() == pytest.approx((k + rest.mean()) / size)
    assert mean.standard_error.item() == pytest.approx(rest.std() / size, abs=1e-12)


def test_what_was_seen_whole_is_known():
    ones = np.ones(2)
    mean = finite_population_mean(
        0.3 * ones, 8 * ones, 8 * ones, 0.5 * ones, np.array([0.1, np.nan]), 0.9 * ones, ones, ones
    )
    for part in (mean.value, mean.low, mean.high):
        np.testing.assert_allclose(part, 0.3)
    np.testing.assert_array_equal(mean.standard_error, 0)


def test_endless_supply_changes_nothing():
    value, low, high, error = (np.array([x]) for x in (0.5, 0.3, 0.8, 0.1))
    mean = finite_population_mean(
        np.array([0.2]), np.array([10]), np.array([1e12]), value, low, high, error, np.array([0.2])
    )
    np.testing.assert_allclose(np.hstack(mean), [0.5, 0.3, 0.8, 0.1], atol=1e-6)


def test_each_side_keeps_its_share():
    mean = finite_population_mean(*(np.array([x]) for x in (0.5, 10, 30, 0.5, 0.4, 0.8, 0.1, 0.0)))
    np.testing.assert_allclose(np.hstack(mean), [0.5, 0.5 - 0.2 / 3, 0.7, 0.2 / 3])


def test_intervals_end_where_all_others_have_the_same_score():
    arrays = [np.full(2, x) for x in (0.3, 10.0, 20.0, 0.5, -5.0, 5.0, 0.1, 0.1)]
    arrays[2] = np.array([20.0, 10.0])
    mean = finite_population_mean(*arrays, bounds=(0, 2))
    np.testing.assert_allclose(mean.low, [0.15, 0.3])
    np.testing.assert_allclose(mean.high, [1.15, 0.3])
