import json
from math import inf, log

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.betting_loop import accepted_means
from reference.enumeration import LOW_TO_HIGH_ACCURACIES, exact_coverage, just_outside
from scipy.stats import binom

from skbench.stats.intervals import means
from skbench.stats.intervals.binomial import clopper_pearson_interval
from skbench.stats.intervals.means import (
    betting_interval,
    bounded_interval,
    normal_interval,
    pooled_mean_variance,
    t_interval,
)

SIZES = [1, 2, 5, 10]


def hits_needed(n_trials, level=0.95):
    """Fewest hits that a coverage of `level` would give, but once in 2000 times."""
    return binom.ppf(0.0005, n_trials, level)


@pytest.mark.parametrize("example", ["example_A", "example_B"])
def test_gold_intervals_of_four_cluster_means(example, gold_folder):
    gold = json.loads((gold_folder / "clustered_se.json").read_text())[example]
    t_ends = t_interval(gold["mean"], gold["se"], 3)
    assert_allclose(np.transpose(t_ends), gold["ci_t"], rtol=1e-12)
    normal_ends = normal_interval(gold["mean"], gold["se"])
    # The example rounds the quantile 1.959964 to 1.96.
    assert_allclose(np.transpose(normal_ends), gold["ci_z"], rtol=0, atol=4e-5 * gold["se"])


def test_t_interval_needs_one_degree_of_freedom():
    low, high = t_interval([0.5, 0.5, 0.5], 0.1, [0, 0.99, 1])
    assert_array_equal(np.isnan(low), [True, True, False])
    # The Cauchy quantile; quantiles of scipy before 1.17 have 10 digits.
    assert_allclose(high[2] - 0.5, 0.1 * np.tan(0.475 * np.pi), rtol=1e-9)


def test_t_interval_tends_to_normal():
    t_ends = t_interval(0.5, 0.1, [4.0, 4.5, 5.0, np.inf])
    assert np.all(np.diff(t_ends[1]) < 0)
    assert_allclose(t_ends[1][3], normal_interval(0.5, 0.1)[1], rtol=1e-14)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_t_interval_covers(n):
    scores = np.random.default_rng(n).normal(0.3, 2.0, (4000, n))
    variance = scores.var(axis=1, ddof=1) / n
    low, high = t_interval(scores.mean(axis=1), np.sqrt(variance), n - 1)
    hits = np.sum((low <= 0.3) & (0.3 <= high))
    least, most = binom.ppf([0.0005, 0.9995], 4000, 0.95)
    assert least <= hits <= most


def divergence(z, m):
    """Kullback-Leibler divergence of two coins, one number at a time."""
    if not 0 < m < 1:
        return inf
    return z * log(z / m) + (1 - z) * log((1 - z) / (1 - m))


@pytest.mark.parametrize("n", [1, 2, 5, 10, 1000, 10**7])
def test_bounded_closed_forms(n):
    low, high = bounded_interval([0.0, 1.0], n, 0.9)
    assert low[0] == 0 and high[1] == 1
    assert_allclose([1 - high[0], low[1]], 0.05 ** (1 / n), rtol=1e-14)


@pytest.mark.parametrize("z", [0.001, 0.1, 0.5, 0.77, 0.999])
@pytest.mark.parametrize("n", [1, 3, 40, 10**5])
def test_bounded_ends_solve_the_inequality(z, n):
    low, high = bounded_interval(z, n, 0.9)
    hair = 1e-12  # the divergence is a difference of near terms: digits go as 1 / n
    assert low < z < high
    assert n * divergence(z, low + hair) < log(20) < n * divergence(z, low - hair)
    assert n * divergence(z, high - hair) < log(20) < n * divergence(z, high + hair)


@pytest.mark.parametrize("n", SIZES)
def test_bounded_covers_every_accuracy(n):
    low, high = bounded_interval(np.arange(n + 1) / n, n)
    accuracies = np.concatenate([LOW_TO_HIGH_ACCURACIES, just_outside(low, high)])
    assert exact_coverage(low, high, accuracies).min() >= 0.95


@pytest.mark.parametrize("n", [*SIZES, 200])
def test_bounded_lies_between_clopper_pearson_and_hoeffding(n):
    k = np.arange(n + 1)
    low, high = bounded_interval(k / n, n)
    exact_low, exact_high = clopper_pearson_interval(k, n)
    assert np.all(low <= exact_low) and np.all(exact_high <= high)
    reach = np.sqrt(log(2 / 0.05) / (2 * n))
    assert np.all(low >= k / n - reach) and np.all(high <= k / n + reach)


def test_bounded_follows_the_bounds():
    low, high = bounded_interval([0.2, 0.9], [4, 50])
    stretched = bounded_interval([-0.2, 2.6], [4, 50], low=-1.0, high=3.0)
    assert_allclose(stretched, [4 * low - 1, 4 * high - 1], rtol=1e-13)


def test_bounded_takes_a_mean_rounded_past_the_bound():
    low, high = bounded_interval(1 + 2e-16, 10)
    assert high == 1 and low == bounded_interval(1.0, 10)[0]


SKEWED = {
    "beta(.05, .5)": (lambda rng, shape: rng.beta(0.05, 0.5, shape), 1 / 11),
    "beta(.5, .05)": (lambda rng, shape: rng.beta(0.5, 0.05, shape), 10 / 11),
    "mostly zero": (lambda rng, shape: rng.random(shape) * (rng.random(shape) < 0.1), 0.05),
    "one in a hundred": (lambda rng, shape: (rng.random(shape) < 0.01).astype(float), 0.01),
    "all but one": (lambda rng, shape: (rng.random(shape) < 0.99).astype(float), 0.99),
}


def betting_rows(scores, **options):
    """Betting intervals of a table with one row per group."""
    n_groups, n = scores.shape
    return betting_interval(scores.ravel(), np.repeat(np.arange(n_groups), n), n_groups, **options)


@pytest.mark.parametrize("law", SKEWED)
@pytest.mark.parametrize("n", [1, 2, 5, 10, 30])
def test_bounded_score_intervals_cover_skewed_scores(law, n):
    sample, truth = SKEWED[law]
    scores = sample(np.random.default_rng(n), (1000, n))
    for low, high in (betting_rows(scores), bounded_interval(scores.mean(axis=1), n)):
        assert np.sum((low <= truth) & (truth <= high)) >= hits_needed(1000)


@pytest.mark.parametrize("level", [0.5, 0.8])
def test_betting_covers_at_low_levels(level):
    # At .95 few intervals miss; here a wrong goal or a peeking bet would show.
    scores = np.random.default_rng(0).beta(0.5, 1.5, (2000, 30))
    low, high = betting_rows(scores, confidence_level=level)
    assert np.sum((low <= 0.25) & (0.25 <= high)) >= hits_needed(2000, level)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_betting_against_the_loop(level):
    rng = np.random.default_rng(3)
    grid = (np.arange(400) + 0.5) / 400
    samples = [rng.beta(a, b, n) for a, b in [(0.1, 0.7), (4, 2)] for n in (1, 2, 7, 40)]
    samples += [np.zeros(12), np.ones(3), rng.integers(0, 2, 25).astype(float)]
    codes = np.repeat(np.arange(len(samples)), [s.size for s in samples])
    low, high = betting_interval(np.concatenate(samples), codes, len(samples), level)
    for g, scores in enumerate(samples):
        expected = accepted_means(scores.tolist(), grid, level, means._TRUNCATION)
        assert_array_equal(grid[(low[g] <= grid) & (grid <= high[g])], expected)


@pytest.mark.parametrize("law", ["beta(.05, .5)", "beta(.5, .05)", "mostly zero"])
def test_betting_is_shorter_on_skewed_scores(law, monkeypatch):
    rng = np.random.default_rng(5)
    for n, share_of_half in [(10, 0.85), (30, 0.9)]:
        scores = SKEWED[law][0](rng, (400, n))
        low, high = betting_rows(scores)
        bound_low, bound_high = bounded_interval(scores.mean(axis=1), n)
        assert np.mean(high - low) < np.mean(bound_high - bound_low)
        with monkeypatch.context() as patch:
            patch.setattr(means, "_TRUNCATION", 0.5)
            half_low, half_high = betting_rows(scores)
        assert np.mean(high - low) < share_of_half * np.mean(half_high - half_low)


def test_betting_is_narrow_for_a_small_variance():
    scores = np.random.default_rng(6).beta(20, 20, (200, 100))
    low, high = betting_rows(scores)
    bound_low, bound_high = bounded_interval(scores.mean(axis=1), 100)
    assert np.mean(high - low) < np.mean(bound_high - bound_low) / 3


def test_betting_groups_do_not_touch_each_other(monkeypatch):
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 40, 500)
    scores = rng.beta(0.3, 1, 500)
    together = betting_interval(scores, codes, 40)
    alone = [
        betting_interval(scores[codes == g], np.zeros(sum(codes == g), int), 1) for g in range(40)
    ]
    assert_array_equal(np.transpose(together), np.array(alone)[:, :, 0])
    monkeypatch.setattr(means, "_BATCH_CELLS", 30)
    assert_array_equal(betting_interval(scores, codes, 40), together)


def test_betting_mirrors_and_stretches():
    scores = np.random.default_rng(8).beta(0.3, 1, (20, 15))
    low, high = betting_rows(scores)
    mirrored_low, mirrored_high = betting_rows(1 - scores)
    assert_allclose([1 - mirrored_high, 1 - mirrored_low], [low, high], rtol=0, atol=1e-12)  # 1 - x
    stretched = betting_rows(4 * scores - 1, low=-1.0, high=3.0)
    assert_allclose(stretched, [4 * low - 1, 4 * high - 1], rtol=0, atol=1e-12)


def test_betting_without_scores_gives_the_bounds():
    low, high = betting_interval([0.5, 0.7], [1, 1], 3, low=-2.0, high=5.0)
    assert_array_equal([low[[0, 2]], high[[0, 2]]], [[-2, -2], [5, 5]])


def test_betting_shuffles_sorted_scores():
    scores = np.sort(np.random.default_rng(9).beta(0.5, 1.5, (2000, 30)), axis=1)
    low, high = betting_rows(scores, confidence_level=0.8, rng=np.random.default_rng(10))
    assert np.sum((low <= 0.25) & (0.25 <= high)) >= hits_needed(2000, 0.8)
    again = betting_rows(scores, confidence_level=0.8, rng=np.random.default_rng(10))
    assert_array_equal(again, [low, high])
    given_low, given_high = betting_rows(scores, confidence_level=0.8)
    assert np.sum((given_low <= 0.25) & (0.25 <= given_high)) < hits_needed(2000, 0.8)


def sums_of(groups):
    return (
        [sum(g) for g in groups],
        [sum(x * x for x in g) for g in groups],
        [len(g) for g in groups],
    )


@pytest.mark.parametrize("score", [0.1, 1 / 3, 1e-9, 12345.678, 0.0])
def test_equal_scores_have_no_variance(score):
    # Their sums of squares differ from the square of the sum in the last digits.
    for n in (2, 3, 7, 1000):
        assert np.isnan(pooled_mean_variance(*sums_of([[score] * n]))[0])


def test_pooled_variance_fills_in():
    groups = [[0.0, 2.0], [1.0, 2.0, 3.0], [7.0], [0.1, 0.1, 0.1]]
    pooled = (2 + 2 + 0) / (1 + 2 + 2)
    expected = [2 / 2, 1 / 3, pooled, pooled / 3]
    assert_allclose(pooled_mean_variance(*sums_of(groups)), expected, rtol=1e-12)


def test_pooled_variance_where_nothing_can_be_pooled():
    assert_array_equal(pooled_mean_variance(*sums_of([[0.2], [0.4]])), [np.nan, np.nan])
    assert_array_equal(pooled_mean_variance(*sums_of([[0.2] * 3, [0.4]])), [np.nan, np.nan])
