import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.enumeration import LOW_TO_HIGH_ACCURACIES, exact_coverage, just_outside
from scipy.stats import beta, binom, norm

from skbench.stats.intervals.binomial import (
    agresti_coull_interval,
    clopper_pearson_interval,
    jeffreys_interval,
    sampling_variance,
    unbiased_variance,
    wald_interval,
    wilson_interval,
    wilson_interval_of_mean,
)

INTERVALS = {
    "wald": wald_interval,
    "wilson": wilson_interval,
    "clopper": clopper_pearson_interval,
    "jeffreys": jeffreys_interval,
    "agresti_coull": agresti_coull_interval,
}
SIZES = [1, 2, 5, 10, 50]


@pytest.mark.parametrize("name", INTERVALS)
def test_gold(name, gold_folder):
    rows = json.loads((gold_folder / "binomial_intervals.json").read_text())
    ends = INTERVALS[name]([r["k"] for r in rows], [r["n"] for r in rows])
    # Printed to 16 digits; iterated beta quantiles agree to about 1e-12.
    assert_allclose(np.transpose(ends), [r[name] for r in rows], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("n", SIZES)
def test_right_and_wrong_mirror_each_other(name, n):
    k = np.arange(n + 1)
    low, high = INTERVALS[name](k, n, 0.9)
    mirrored_low, mirrored_high = INTERVALS[name](n - k, n, 0.9)
    assert_allclose(low, 1 - mirrored_high, rtol=0, atol=1e-14)  # rounding of 1 - x
    assert_allclose(high, 1 - mirrored_low, rtol=0, atol=1e-14)
    assert np.all((low >= 0) & (low <= k / n) & (k / n <= high) & (high <= 1)) or name == "jeffreys"


@pytest.mark.parametrize("name", INTERVALS)
def test_broadcasts_and_is_wider_at_higher_levels(name):
    low, high = INTERVALS[name](np.array([[3], [4]]), [10, 20, 30], 0.8)
    assert low.shape == high.shape == (2, 3)
    wider_low, wider_high = INTERVALS[name](np.array([[3], [4]]), [10, 20, 30], 0.99)
    assert np.all(wider_low < low) and np.all(wider_high > high)


def test_wilson_interval_of_one_proportion_is_wilsons():
    k, n = np.arange(8), 7
    z = k / n
    found = wilson_interval_of_mean(z, z * (1 - z) / (n - 1), n)
    assert_allclose(found, wilson_interval(k, n), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("n_parts", "n", "p", "low", "high"),
    [
        (4, 20, 0.9, 0.95, 0.97),
        (10, 10, 0.95, 0.95, 0.97),
        (57, 10, 0.9, 0.95, 0.97),
        (10, 10, 0.5, 0.94, 0.96),
        (4, 20, 0.95, 0.93, 0.95),
    ],
)
def test_wilson_interval_of_a_mean_covers(n_parts, n, p, low, high):
    n_sets = 20_000
    z = np.random.default_rng(0).binomial(n, p, (n_sets, n_parts)) / n
    variance = np.sum(z * (1 - z) / (n - 1), axis=1) / n_parts**2
    ends = wilson_interval_of_mean(z.mean(axis=1), variance, n_parts * n)
    covered = np.sum((ends[0] <= p) & (p <= ends[1]))
    # Documented to 2 digits.
    assert binom.ppf(0.0005, n_sets, low) <= covered <= binom.ppf(0.9995, n_sets, high)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_wilson_ends_solve_the_score_equation(n, level):
    k = np.arange(1, n + 1)
    low, _ = wilson_interval(k, n, level)
    score = (k / n - low) / np.sqrt(low * (1 - low) / n)
    assert_allclose(score, norm.ppf((1 + level) / 2), rtol=1e-10)  # the root cancels digits


def test_wilson_reaches_the_bounds_at_every_level():
    for level in np.random.default_rng(0).uniform(0.01, 0.9999, 2000):
        low, high = wilson_interval([0, 7], 7, level)
        assert low[0] == 0 and high[1] == 1


@pytest.mark.parametrize(
    ("n", "mean", "worst"),
    [
        (1, 0.957, 0.794),
        (2, 0.957, 0.820),
        (5, 0.955, 0.831),
        (10, 0.954, 0.835),
        (50, 0.952, 0.838),
    ],
)
def test_wilson_covers_on_average(n, mean, worst):
    low, high = wilson_interval(np.arange(n + 1), n)
    every = (np.arange(5000) + 0.5) / 5000
    # Documented to 3 digits.
    assert_allclose(exact_coverage(low, high, every).mean(), mean, rtol=0, atol=6e-4)
    assert_allclose(exact_coverage(low, high, just_outside(low, high)).min(), worst, atol=6e-4)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_clopper_pearson_covers_every_accuracy(n, level):
    low, high = clopper_pearson_interval(np.arange(n + 1), n, level)
    accuracies = np.concatenate([LOW_TO_HIGH_ACCURACIES, just_outside(low, high)])
    # A hair outside an end changes the coverage by about n times the hair.
    assert exact_coverage(low, high, accuracies).min() >= level - n * 1e-8


@pytest.mark.parametrize("n", SIZES)
def test_clopper_pearson_ends_solve_the_tail_equations(n):
    k = np.arange(n + 1)
    low, high = clopper_pearson_interval(k, n, 0.9)
    assert low[0] == 0 and high[n] == 1
    assert_allclose(binom.sf(k[1:] - 1, n, low[1:]), 0.05, rtol=1e-10)  # beta quantiles
    assert_allclose(binom.cdf(k[:-1], n, high[:-1]), 0.05, rtol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_jeffreys_holds_the_posterior_probability(n):
    k = np.arange(n + 1)
    low, high = jeffreys_interval(k, n, 0.9)
    posterior = beta(k + 0.5, n - k + 0.5)
    assert_allclose(posterior.cdf(low), 0.05, rtol=1e-10)  # beta quantiles
    assert_allclose(posterior.sf(high), 0.05, rtol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_jeffreys_covers_on_average(n):
    low, high = jeffreys_interval(np.arange(n + 1), n)
    # Accuracies spread as the prior: there the average coverage is the level exactly.
    accuracies = beta(0.5, 0.5).ppf((np.arange(4000) + 0.5) / 4000)
    # 4000 points: at each of 2 (n + 1) jumps the mean is off by up to 1 / 8000 of its height.
    assert_allclose(exact_coverage(low, high, accuracies).mean(), 0.95, rtol=0, atol=1e-3)


@pytest.mark.parametrize("n", SIZES)
def test_agresti_coull_contains_wilson(n):
    low, high = agresti_coull_interval(np.arange(n + 1), n)
    wilson_low, wilson_high = wilson_interval(np.arange(n + 1), n)
    assert np.all(low <= wilson_low + 1e-15) and np.all(high >= wilson_high - 1e-15)


def test_wald_loses_sight_of_the_ends():
    low, high = wald_interval(np.arange(6), 5)
    assert low[0] == high[0] == 0 and low[5] == high[5] == 1
    # p = .01: every count but 0 gives an interval that contains it only if it starts at 0.
    assert exact_coverage(low, high, np.array([0.01]))[0] < 0.06


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("smoothed", 8 / 12 * 4 / 12 / 10),
        ("plug-in", 0.7 * 0.3 / 10),
        ("agresti", 9 / 14 * 5 / 14 / 10),
        ("pooled", 0.55 * 0.45 / 10),
        ("model", 0.9 * 0.1 / 10),
    ],
)
def test_sampling_variance_by_hand(method, expected):
    variance = sampling_variance([7, 15], [10, 30], method, prior_mean=[0.9, 0.2])
    assert_allclose(variance[0], expected, rtol=1e-14)


def test_smoothed_variance_is_never_zero(edge_groups):
    n = edge_groups["n"]
    assert_allclose(sampling_variance(edge_groups["y"] * n, n), edge_groups["sigma2"], rtol=1e-13)
    assert np.all(sampling_variance([0, 1, 10], [1, 1, 10]) > 0)
    assert_allclose(sampling_variance([0, 1, 10], [1, 1, 10], "plug-in"), 0, atol=0)


def test_model_variance_takes_any_prediction():
    variance = sampling_variance([1, 1, 1], 9, "model", prior_mean=[-0.3, 0.0, 1.2])
    assert_allclose(variance, 0.05 * 0.95 / 9, rtol=1e-14)  # the edge is 1 / 20


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("p", [0.01, 0.4, 0.99])
def test_unbiased_variance_is_unbiased(n, p):
    k = np.arange(n + 1)
    expected = np.sum(binom.pmf(k, n, p) * unbiased_variance(k, np.full(n + 1, n)))
    np.testing.assert_allclose(expected, p * (1 - p) / n, rtol=1e-9)


def test_unbiased_variance_of_one_trial_is_unknown():
    assert np.isnan(unbiased_variance([0, 1], [1, 1])).all()


PEERS = dict(zip(INTERVALS, ["normal", "wilson", "beta", "jeffreys", "agresti_coull"], strict=True))


@pytest.mark.peers
@pytest.mark.parametrize(("ours", "theirs"), PEERS.items())
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_binomial_intervals_are_those_of_statsmodels(ours, theirs, level):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    rng = np.random.default_rng(0)
    n = rng.integers(1, 500, 200)
    k = rng.integers(1, n + 1) - rng.integers(0, 2, 200)
    low, high = INTERVALS[ours](k, n, level)
    expected = [
        proportion.proportion_confint(a, b, 1 - level, theirs) for a, b in zip(k, n, strict=True)
    ]
    assert_allclose(np.column_stack([low, high]), expected, rtol=1e-10, atol=1e-12)
