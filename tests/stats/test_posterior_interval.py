"""Intervals and p-values of draws: quantiles, several at once, agreement about 0."""

import numpy as np
import pytest
from scipy.stats import norm
from skbench.stats.posterior import posterior_interval, posterior_p_value


@pytest.fixture
def draws():
    shifts = np.linspace(-3, 3, 25)
    return np.random.default_rng(0).standard_normal((4000, 1)) + shifts


def test_ends_are_values_that_were_drawn(draws):
    totals = np.rint(draws * 7) / 7
    low, high = posterior_interval(totals, 0.9)
    for ends in (low, high):
        np.testing.assert_allclose(np.rint(ends * 7), ends * 7, atol=1e-9)
    # Half of the draws at an end count as beyond it.
    beyond = (totals < low) + (totals == low) / 2, (totals > high) + (totals == high) / 2
    for part in beyond:
        assert np.all(part.mean(axis=0) >= 0.05) and np.all(part.mean(axis=0) < 0.12)
    # Each end stands for half a value more on its side.
    assert (high - low).mean() + 1 / 7 == pytest.approx(2 * norm.isf(0.05), abs=0.03)


def test_several_at_once_reach_as_far_as_bonferroni_does_with_normal_draws(draws):
    low, high = posterior_interval(draws, 0.95, n_comparisons=100)
    z = norm.isf(0.025 / 100)
    np.testing.assert_allclose(high - low, 2 * z, rtol=0.04)
    plain = posterior_interval(draws, 0.95)
    assert np.all(low < plain[0]) and np.all(high > plain[1])


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_p_values_and_intervals_agree_about_zero(draws, level):
    low, high = posterior_interval(draws, level)
    p = posterior_p_value(draws)
    excluded = (low > 0) | (high < 0)
    settled = np.abs(p - (1 - level)) > 2 / len(draws)  # a draw to either side
    np.testing.assert_array_equal((p < 1 - level)[settled], excluded[settled])


def test_differences_that_are_known():
    values = np.column_stack([np.zeros(50), np.full(50, 0.2), np.full(50, -0.2)])
    np.testing.assert_allclose(posterior_p_value(values), [1, 0, 0])
    np.testing.assert_allclose(posterior_interval(values, n_comparisons=3), [[0, 0.2, -0.2]] * 2)


def test_far_tails_go_on_as_normal_ones(draws):
    near, far = (posterior_p_value(draws[:, :1] * 0.1 + away)[0] for away in (0.75, 1.0))
    assert 0 < far < near < 1e-3
    assert far == pytest.approx(2 * norm.sf(6.9), rel=2)  # the sample's own spread and extreme
