import json
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, nct, norm, ttest_1samp
from scipy.stats import t as student_t

from skbench.comparison import minimum_detectable_effect, required_items
from skbench.stats.clusters.clustered import cluster_robust_variance, expected_design_effect
from skbench.stats.clusters.paired import mcnemar_exact
from skbench.stats.ranking.power import (
    detectable_effect,
    item_variance,
    power_mcnemar,
    power_t,
    required_n,
    required_n_mcnemar,
    required_n_t,
)


def test_miller(gold_folder):
    gold = json.loads((gold_folder / "power_miller.json").read_text())
    assert_allclose(required_n(gold["delta"], gold["omega2"]), gold["n_paired"], rtol=1e-12)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("confidence_level", [0.9, 0.95])
def test_the_three_formulas_agree(power, confidence_level):
    n = required_n(0.02, 0.3, confidence_level, power)
    assert_allclose(detectable_effect(n, 0.3, confidence_level, power), 0.02, rtol=1e-12)
    z = norm.isf((1 - confidence_level) / 2) + norm.ppf(power)
    assert_allclose(n, (z / 0.02) ** 2 * 0.3, rtol=1e-12)


def test_no_effect_needs_no_end_of_items():
    with np.errstate(divide="ignore"):
        assert required_n(np.float64(0), 0.3) == np.inf


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
        # The mean of the repeated answers.
        difference = difference + sign * rng.normal(0, np.sqrt(noise / n_repeats), shape)
    found = np.mean(ttest_1samp(difference.mean(axis=2), 0, axis=1).pvalue < 0.05)
    low, high = binom.ppf([0.0005, 0.9995], n_trials, 0.8) / n_trials
    # The t quantile of some 100 clusters costs a point, rounding up the clusters gives one.
    assert low - 0.015 <= found <= high + 0.015


def test_t_power_is_the_noncentral_t():
    for n, size in [(9, 1), (40, 4), (1000, 1)]:
        df = n / size - 1
        critical = student_t.ppf(0.975, df)
        expected = nct.sf(critical, df, 0.3 / np.sqrt(0.8 / n))
        assert_allclose(power_t(0.3, n, 0.8, 0.95, size), expected, rtol=1e-8)
    effects = np.array([0.05, 0.3, 1.0, 50.0])
    n = required_n_t(effects, 0.8, cluster_size=3)
    assert_allclose(power_t(effects[:3], n[:3], 0.8, 0.95, 3), 0.8, rtol=1e-6)
    assert n[3] == 6  # two clusters at least
    assert required_n_t(0.0, 1.0) == np.inf


@pytest.mark.parametrize("confidence_level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("size", [1, 4, 10])
def test_every_t_plan_is_the_first_that_has_the_power(size, confidence_level):
    """.80 to .86, but where one item less is too few: with a handful of clusters power leaps."""
    effects = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 100)
    for effect in effects:
        n = required_items(effect, omega2=1.0, cluster_size=size, confidence_level=confidence_level)
        at, before = (power_t(effect, m, 1.0, confidence_level, size) for m in (n, n - 1))
        assert at >= 0.8 - 1e-9 and (before < 0.8 or n == 2 * size)
        assert at <= 0.86 or n < 8 * size


def test_tiny_effects_take_as_many_items_as_by_the_normal_formula():
    for effect in 10.0 ** -np.arange(4, 13):
        np.testing.assert_allclose(
            required_n_t(effect, 0.25), required_n(effect, 0.25), rtol=1e3 * effect
        )


@pytest.mark.parametrize("n", [6, 10, 50, 150, 1000])
@pytest.mark.parametrize("test", ["t", "mcnemar"])
def test_every_effect_that_is_detectable_has_a_plan(test, n):
    found = 0
    for confidence_level, power in product((0.9, 0.95, 0.99), (0.5, 0.9, 0.99)):
        goal = {"omega2": 0.25, "confidence_level": confidence_level, "power": power, "test": test}
        try:
            effect = minimum_detectable_effect(n, **goal)
        except ValueError as error:
            assert test == "mcnemar" and n <= 10 and str(error)
            continue
        found += 1
        assert required_items(effect * (1 + 1e-9), **goal) <= n
    assert found or n == 6


def test_every_mcnemar_plan_is_the_first_that_has_the_power():
    for m in (0.02, 0.1, 0.3, 0.7, 1.0):
        for effect in m * np.array([0.1, 0.2, 0.5, 0.9, 1.0]):
            n = required_items(effect, omega2=m - effect**2, test="mcnemar")
            at, before = (power_mcnemar(effect, k, m) for k in (n, n - 1))
            assert before < 0.8 <= at
            assert at <= 0.86 or n < 30


def test_mcnemar_power_by_every_table():
    """All tables of 12 items, counted one by one."""
    n, effect, m = 12, 0.35, 0.5
    first, second = (m + effect) / 2, (m - effect) / 2
    total = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            if a > b and mcnemar_exact(a, b) < 0.05:
                ways = binom.pmf(a, n, first) * binom.pmf(b, n - a, second / (1 - first))
                total += ways
    assert_allclose(power_mcnemar(effect, n, m), total, rtol=1e-8)


def test_mcnemar_formula():
    for m in (0.05, 0.2, 0.4):
        for ratio in (0.2, 0.35, 0.5):
            n = required_items(m * ratio, omega2=m - (m * ratio) ** 2, test="mcnemar")
            assert_allclose(required_n_mcnemar(m * ratio, m), n, rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("disagreement", [0.03, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("ratio", [0.15, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("confidence_level", [0.95, 0.99])
def test_power_of_the_printed_mcnemar(disagreement, ratio, confidence_level):
    effect = disagreement * ratio
    omega2 = disagreement - effect**2
    n = required_items(effect, omega2=omega2, test="mcnemar", confidence_level=confidence_level)
    shares = [(disagreement + effect) / 2, (disagreement - effect) / 2, 1 - disagreement]
    a, b, _ = np.random.default_rng(0).multinomial(n, shares, 20_000).T
    found = np.mean((mcnemar_exact(a, b) < 1 - confidence_level) & (a > b))
    print(f"McNemar, {disagreement}, {effect:.4f}: {n} items, power {found:.3f}")
    assert 0.77 <= found <= 0.86


@pytest.mark.slow
@pytest.mark.parametrize("cluster_size, r", [(1, 0.0), (4, 0.3), (10, 0.1)])
@pytest.mark.parametrize("ratio", [0.1, 0.25, 0.5])
@pytest.mark.parametrize("binary", [False, True])
def test_power_of_the_printed_t_test(cluster_size, r, ratio, binary):
    """Differences of -1, 0, 1 or normal ones, in clusters, tested as compare_models does."""
    rng = np.random.default_rng(1)
    deff = expected_design_effect(cluster_size, r)
    n = required_items(ratio, omega2=1.0, design_effect=deff, cluster_size=cluster_size)
    n_clusters = -(-n // cluster_size)
    shape = (4000, n_clusters, cluster_size)
    latent = rng.normal(0, np.sqrt(r), (4000, n_clusters, 1))
    latent = latent + rng.normal(0, np.sqrt(1 - r), shape)
    difference = latent + ratio
    if binary and cluster_size == 1:
        # Three values with mean `ratio` and variance 1, as of scores 0, 1/2, 1 doubled.
        second = 1 + ratio**2
        scale = 1.5
        up, down = (second / scale**2 + ratio / scale) / 2, (second / scale**2 - ratio / scale) / 2
        difference = scale * rng.choice([1, -1, 0], shape, p=[up, down, 1 - up - down])
    sums = difference.sum(axis=2)
    codes = np.zeros(n_clusters, dtype=int)
    robust = cluster_robust_variance(sums, np.full(n_clusters, cluster_size), codes, 1)
    statistic = robust.mean[:, 0] / np.sqrt(robust.variance[:, 0])
    found = np.mean(statistic > student_t.ppf(0.975, robust.df[0]))
    print(f"t, clusters of {cluster_size}, effect {ratio}: {n} items, power {found:.3f}")
    assert 0.77 <= found <= 0.86
