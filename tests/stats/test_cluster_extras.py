import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.wild_bootstrap_items import wild_p_value
from scipy.stats import binom

from skbench.stats.clusters.cluster_summary import cluster_cost, expected_design_effect
from skbench.stats.clusters.clustered import cluster_robust_variance, clustered_standard_error
from skbench.stats.clusters.wild_cluster import wild_cluster_interval, wild_cluster_p_value
from skbench.stats.intervals.means import t_interval

CASES = ["fixed_A", "fixed_B", "fixed_A_minus_B"]
WEBB = [-np.sqrt(1.5), -1, -np.sqrt(0.5), np.sqrt(0.5), 1, np.sqrt(1.5)]
UNEQUAL = {5: [3, 5, 8, 12, 22], 10: [2, 3, 4, 5, 6, 8, 10, 12, 15, 20], 30: [*range(1, 31)]}
DOMINATED = [2, 3, 3, 4, 5, 6, 8, 12, 20, 37]


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "clustered_se.json").read_text())


def sums_of(scores, clusters):
    return np.bincount(clusters, scores), np.bincount(clusters)


def cost_of(scores, clusters, kind="cr2"):
    """Cost of the clusters of one group of items."""
    scores = np.asarray(scores, dtype=float)
    sums, sizes = sums_of(scores, clusters)
    squares = np.bincount(clusters, scores**2)
    return cluster_cost(sums, squares, sizes, np.zeros(sizes.size, int), 1, kind)


def random_items(seed, sizes):
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=len(sizes))[clusters] + rng.normal(size=clusters.size), clusters


@pytest.mark.parametrize("case", CASES)
def test_cost_of_gold(case, gold):
    cost = cost_of(gold[case]["scores"], gold["fixed_clusters"], "cr1")
    assert_allclose(cost.intraclass_correlation, gold[case]["icc_anova"], rtol=1e-10)
    assert_allclose(cost.design_effect, gold[case]["deff_CR1"], rtol=1e-10)
    assert_allclose(cost.effective_n, gold[case]["n_eff"], rtol=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_jackknife_is_cr3_around_another_centre(case, gold):
    sums, sizes = sums_of(gold[case]["scores"], gold["fixed_clusters"])
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    jackknife = np.sqrt((7 / 8) * np.sum((left_out - left_out.mean()) ** 2))
    assert_allclose(jackknife, gold[case]["se_jackknife_cluster"], rtol=1e-10)
    around_mean = np.sqrt(np.sum((left_out - sums.sum() / 32) ** 2))
    cr3 = clustered_standard_error(gold[case]["scores"], gold["fixed_clusters"], "cr3")
    assert_allclose(around_mean, cr3, rtol=1e-10)


def test_cost_of_groups_is_that_of_each():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 7, 50)
    items = [rng.normal(rng.normal(), 1, rng.integers(1, 6)) for _ in codes]
    sums, squares, sizes = (
        np.array([f(x) for x in items]) for f in (np.sum, lambda x: np.sum(x**2), np.size)
    )
    together = cluster_cost(sums, squares, sizes, codes, 7)
    for g in range(7):
        mine = [x for x, code in zip(items, codes, strict=True) if code == g]
        alone = cost_of(np.concatenate(mine), np.repeat(np.arange(len(mine)), list(map(len, mine))))
        assert_allclose([field[g] for field in together], np.ravel(alone), rtol=1e-10)


def test_cost_does_not_change_with_shift_and_scale():
    scores, clusters = random_items(1, [2, 5, 1, 4])
    moved = cost_of(1e3 + 7 * scores, clusters)
    # Squares of 1e6 leave eight digits of the residuals'.
    assert_allclose(np.ravel(moved), np.ravel(cost_of(scores, clusters)), rtol=1e-7)


def test_cost_at_the_edges():
    same = cost_of([1, 1, 0, 0], [0, 0, 1, 1])
    assert_allclose(same.intraclass_correlation, 1)
    assert_allclose(same.effective_n, 4 / 3)  # 1/4, of two clusters, against 1/12, of four items
    single = cost_of([0.1, 0.9, 0.4], [0, 1, 2])
    assert np.isnan(single.intraclass_correlation).all()  # no two items share a cluster
    assert_allclose(single.design_effect, 1)
    for scores, clusters in [([0.1, 0.9], [0, 0]), ([0.3, 0.3, 0.3], [0, 0, 1])]:
        assert np.isnan(np.ravel(cost_of(scores, clusters))).all()


def test_intraclass_correlation_finds_the_truth():
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(4000), rng.integers(1, 9, 4000))
    scores = rng.normal(0, np.sqrt(0.3), 4000)[clusters] + rng.normal(
        0, np.sqrt(0.7), clusters.size
    )
    cost = cost_of(scores, clusters)
    # Standard error of the correlation, by the formula for clusters of 5 items: .01.
    assert cost.intraclass_correlation[0] == pytest.approx(0.3, abs=0.03)
    expected = expected_design_effect(np.bincount(clusters), 0.3)
    # A variance from 4000 clusters has a standard error of 2.5 %.
    assert cost.design_effect[0] == pytest.approx(expected, rel=0.08)


def test_expected_design_effect_is_the_variance_of_correlated_items():
    sizes, r = [1, 4, 2], 0.4
    blocks = np.repeat(np.arange(3), sizes)
    correlation = np.where(blocks[:, None] == blocks, r, 0.0)
    np.fill_diagonal(correlation, 1)
    assert_allclose(expected_design_effect(sizes, r), correlation.sum() / 7, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_wild_bootstrap_of_gold(case, gold):
    sums, sizes = sums_of(gold[case]["scores"], gold["fixed_clusters"])
    p_value = wild_cluster_p_value(sums, sizes, 0.5, weights="rademacher")
    assert p_value == gold[case]["wcb_p_H0_half"]


@pytest.mark.parametrize("weights, values", [("rademacher", [-1, 1]), ("webb", WEBB)])
@pytest.mark.parametrize("null", [0.0, 0.4, -1.3])
def test_wild_bootstrap_item_by_item(weights, values, null):
    scores, clusters = random_items(4, [2, 1, 5, 3])
    p_value = wild_cluster_p_value(*sums_of(scores, clusters), null, weights=weights)
    assert p_value == wild_p_value(scores, clusters, null, values)


def test_wild_interval_holds_the_means_not_rejected():
    sums, sizes = sums_of(*random_items(5, [2, 4, 3, 6, 5, 3, 8, 2]))
    low, high = wild_cluster_interval(sums, sizes, weights="rademacher")
    for null, rejected in [(low - 1e-6, 1), (low + 1e-6, 0), (high - 1e-6, 0), (high + 1e-6, 1)]:
        assert (wild_cluster_p_value(sums, sizes, null, weights="rademacher") <= 0.05) == rejected


def test_wild_bootstrap_draws_at_random_where_there_are_many():
    sums, sizes = sums_of(*random_items(6, UNEQUAL[10]))
    every = wild_cluster_p_value(sums, sizes, 0.3, weights="rademacher")  # 1024 weightings
    some = wild_cluster_p_value(
        sums, sizes, 0.3, weights="rademacher", n_draws=1000, rng=np.random.default_rng(0)
    )
    least, most = binom.ppf([0.0005, 0.9995], 1000, every) / 1000
    assert least <= some <= most
    again = wild_cluster_p_value(
        sums, sizes, 0.3, weights="rademacher", n_draws=1000, rng=np.random.default_rng(0)
    )
    assert some == again


def test_wild_bootstrap_asks_for_a_generator():
    with pytest.raises(ValueError, match="6\\^12 weightings are too many.*Pass rng="):
        wild_cluster_interval(np.arange(12), np.full(12, 12))


def test_wild_interval_moves_with_the_scores():
    sums, sizes = sums_of(*random_items(7, UNEQUAL[5]))
    low, high = wild_cluster_interval(sums, sizes)
    moved = wild_cluster_interval(3 * sums + 10 * sizes, sizes)
    assert_allclose(moved, [3 * low + 10, 3 * high + 10], rtol=1e-9)


def test_wild_bootstrap_at_the_edges():
    # Both signs of two clusters of 2^5 reach the data however far the null: p >= 1/16.
    sums, sizes = sums_of(*random_items(8, UNEQUAL[5]))
    assert wild_cluster_interval(sums, sizes, weights="rademacher") == (-np.inf, np.inf)
    assert np.isnan(wild_cluster_interval([2.0], [4])).all()
    assert np.isnan(wild_cluster_p_value([2.0, 1.0, 3.0], [4, 2, 6], 0.1))
    with pytest.raises(ValueError, match="weights must be one of .* got 'mammen'"):
        wild_cluster_p_value([1, 0], [1, 1], weights="mammen")


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(5))
def test_cr1_is_that_of_statsmodels(seed):
    sm = pytest.importorskip("statsmodels.api")
    scores, clusters = random_items(seed, UNEQUAL[10])
    fit = sm.OLS(scores, np.ones(scores.size)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": True}
    )
    # Its correction C / (C - 1) (n - 1) / (n - k) is that of CR1: k = 1.
    assert_allclose(clustered_standard_error(scores, clusters, "cr1"), fit.bse[0], rtol=1e-12)


def simulated(sizes, n_trials, rng):
    """Cluster sums of unequal clusters of 0/1 items correlated by .3, truth 1/2."""
    a = 0.5 * (1 / 0.3 - 1)
    chance = rng.beta(a, a, (n_trials, len(sizes)))
    return rng.binomial(sizes, chance).astype(float)


@pytest.mark.parametrize("n_clusters", [5, 10, 30])
def test_unequal_clusters_cover(n_clusters):
    n_trials, sizes = 20_000, np.array(UNEQUAL[n_clusters])
    sums = simulated(sizes, n_trials, np.random.default_rng(n_clusters))
    codes = np.repeat(np.arange(n_trials), n_clusters)
    shares = {}
    for kind in ("cr0", "cr1", "cr2", "cr3"):
        r = cluster_robust_variance(sums.ravel(), np.tile(sizes, n_trials), codes, n_trials, kind)
        df = r.df if kind == "cr2" else np.full(n_trials, 1e9)  # the others as published: normal
        shares[kind] = covered(r.mean, np.sqrt(r.variance), df)
    mean = sums.sum(axis=1) / sizes.sum()
    independent = np.sqrt(mean * (1 - mean) / (sizes.sum() - 1))
    shares["items independent"] = covered(mean, independent, np.full(n_trials, 1e9))
    print(f"{n_clusters} unequal clusters, nominal .95:", end=" ")
    print(", ".join(f"{name} {share:.3f}" for name, share in shares.items()))
    assert shares["cr2"] >= 0.93
    assert shares["items independent"] < shares["cr0"] < shares["cr1"] < shares["cr2"]


def test_one_large_cluster_costs_coverage():
    """The degrees of freedom suppose independent items: too many where one cluster dominates."""
    sizes = np.array(DOMINATED)
    sums = simulated(sizes, 20_000, np.random.default_rng(10))
    codes = np.repeat(np.arange(20_000), 10)
    r = cluster_robust_variance(sums.ravel(), np.tile(sizes, 20_000), codes, 20_000)
    share = covered(r.mean, np.sqrt(r.variance), r.df)
    print(f"10 clusters, one with 37 of 100 items: CR2 covers {share:.4f}")
    assert 0.915 <= share <= 0.935


def covered(mean, standard_error, df):
    low, high = t_interval(mean, standard_error, df)
    return np.mean((low <= 0.5) & (0.5 <= high))


@pytest.mark.parametrize("n_clusters", [5, 10])
def test_wild_bootstrap_holds_its_level(n_clusters):
    rng = np.random.default_rng(n_clusters)
    sizes = np.array(UNEQUAL[n_clusters])
    sums = simulated(sizes, 2000, rng)
    p = np.array([wild_cluster_p_value(s, sizes, 0.5, n_draws=999, rng=rng) for s in sums])
    rejected = np.mean(p[np.isfinite(p)] <= 0.05)
    print(f"{n_clusters} unequal clusters: wild bootstrap covers {1 - rejected:.3f}")
    assert rejected <= 0.07
