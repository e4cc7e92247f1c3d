import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, norm, ttest_1samp

from skbench.stats.cluster_summary import expected_design_effect
from skbench.stats.power import (
    detectable_effect,
    item_variance,
    power_at,
    required_n,
)


def test_miller(gold_folder):
    gold = json.loads((gold_folder / "power_miller.json").read_text())
    assert_allclose(required_n(gold["delta"], gold["omega2"]), gold["n_paired"], rtol=1e-12)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("confidence_level", [0.9, 0.95])
def test_the_three_formulas_agree(power, confidence_level):
    n = required_n(0.02, 0.3, confidence_level, power)
    assert_allclose(detectable_effect(n, 0.3, confidence_level, power), 0.02, rtol=1e-12)
    assert_allclose(power_at(-0.02, n, 0.3, confidence_level), power, rtol=1e-12)
    z = norm.isf((1 - confidence_level) / 2) + norm.ppf(power)
    assert_allclose(n, (z / 0.02) ** 2 * 0.3, rtol=1e-12)


def test_no_effect_needs_no_end_of_items():
    with np.errstate(divide="ignore"):
        assert required_n(np.float64(0), 0.3) == np.inf
    assert_allclose(power_at(0, 100, 0.3), 0.025, rtol=1e-12)


def test_variances_add_up():
    assert_allclose(item_variance(0.1, 0.2, 0.1, n_repeats=3, design_effect=2), 0.3)
    # Infinitely many answers leave the variance between items.
    assert_allclose(item_variance(0.1, 0.2, 0.2, n_repeats=10**9), 0.1, rtol=1e-6)


@pytest.mark.parametrize(
    "n_repeats, cluster_size, r", [(1, 1, 0.0), (4, 1, 0.0), (1, 5, 0.4), (3, 5, 0.4)]
)
def test_power_is_what_was_planned(n_repeats, cluster_size, r):
    """Two simulated models with normal items and noise, compared by cluster means."""
    rng = np.random.default_rng(0)
    omega2, noise_a, noise_b, effect, n_trials = 0.1, 0.2, 0.1, 0.08, 4000
    variance = item_variance(
        omega2, noise_a, noise_b, n_repeats, expected_design_effect(cluster_size, r)
    )
    n_clusters = int(np.ceil(required_n(effect, variance) / cluster_size))
    shape = (n_trials, n_clusters, cluster_size)
    difference = effect + rng.normal(0, np.sqrt(r * omega2), (n_trials, n_clusters, 1))
    difference = difference + rng.normal(0, np.sqrt((1 - r) * omega2), shape)
    for noise, sign in [(noise_a, 1), (noise_b, -1)]:
        answers = rng.normal(0, np.sqrt(noise), (*shape, n_repeats))
        difference = difference + sign * answers.mean(axis=-1)
    found = np.mean(ttest_1samp(difference.mean(axis=2), 0, axis=1).pvalue < 0.05)
    low, high = binom.ppf([0.0005, 0.9995], n_trials, 0.8) / n_trials
    # The t quantile of some 100 clusters costs a point, rounding up the clusters gives one.
    assert low - 0.015 <= found <= high + 0.015
