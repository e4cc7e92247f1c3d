import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.clustered_matrix import variance_and_freedom
from scipy.stats import binom

from skbench.stats.clusters.clustered import (
    cluster_robust_variance,
    clustered_standard_error,
    expected_design_effect,
)
from skbench.stats.intervals.means import t_interval

KINDS = ["cr0", "cr1", "cr2", "cr3"]
UNEQUAL = {5: [3, 5, 8, 12, 22], 10: [2, 3, 4, 5, 6, 8, 10, 12, 15, 20], 30: [*range(1, 31)]}
DOMINATED = [2, 3, 3, 4, 5, 6, 8, 12, 20, 37]
GOLD_NAMES = {"cr0": "se_CR0_miller", "cr1": "se_CR1_inspect", "cr2": "se_CR2", "cr3": "se_CR3"}


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "clustered_se.json").read_text())


def sums_of(scores, clusters):
    """Sum, size and group (0) of each cluster."""
    sizes = np.bincount(clusters)
    return np.bincount(clusters, scores), sizes, np.zeros(sizes.size, dtype=int)


def random_items(seed, sizes):
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=len(sizes))[clusters] + rng.normal(size=clusters.size), clusters


@pytest.mark.parametrize("case", ["fixed_A", "fixed_B", "fixed_A_minus_B"])
def test_gold_on_32_items(case, gold):
    scores, clusters = gold[case]["scores"], gold["fixed_clusters"]
    for kind, name in GOLD_NAMES.items():
        assert_allclose(
            clustered_standard_error(scores, clusters, kind), gold[case][name], rtol=1e-10
        )
    robust = cluster_robust_variance(*sums_of(scores, clusters), 1)
    assert_allclose(robust.mean, gold[case]["mean"], rtol=1e-10)
    assert_allclose(robust.df, gold[case]["df_BM_CR2"], rtol=1e-10)
    by_mean = cluster_robust_variance(*sums_of(scores, clusters), 1, "cluster_mean")
    assert_allclose(by_mean.mean, gold[case]["mean_unweighted_clusters"], rtol=1e-10)
    assert_allclose(np.sqrt(by_mean.variance), gold[case]["se_cluster_means"], rtol=1e-10)
    assert_array_equal(by_mean.n_clusters, 8)


@pytest.mark.parametrize("case", ["example_A", "example_B"])
def test_gold_cluster_means(case, gold):
    robust = cluster_robust_variance(
        gold[case]["cluster_means"], np.ones(4), np.zeros(4, int), 1, "cluster_mean"
    )
    assert_allclose(robust.mean, gold[case]["mean"], rtol=1e-10)
    assert_allclose(np.sqrt(robust.variance), gold[case]["se"], rtol=1e-10)
    ends = t_interval(robust.mean, np.sqrt(robust.variance), robust.df)
    assert_allclose(np.ravel(ends), gold[case]["ci_t"], rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [[1, 1], [1, 9], [3, 1, 1, 7], [2] * 6, [30, 1, 1, 1, 2]])
def test_against_matrices(kind, sizes):
    scores, clusters = random_items(len(sizes), sizes)
    robust = cluster_robust_variance(*sums_of(scores, clusters), 1, kind)
    variance, freedom = variance_and_freedom(scores, clusters, kind)
    # The reference inverts matrices with eigenvalues as small as 1 / 7.
    assert_allclose(robust.variance[0], variance, rtol=1e-10)
    assert_allclose(robust.df[0], freedom if kind == "cr2" else len(sizes) - 1, rtol=1e-10)


def test_groups_do_not_touch_each_other():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 60)
    sizes = rng.integers(1, 9, 60)
    sums = rng.normal(size=60) * sizes
    together = cluster_robust_variance(sums, sizes, codes, 12)
    for g in range(12):
        mine = codes == g
        alone = cluster_robust_variance(sums[mine], sizes[mine], np.zeros(mine.sum(), int), 1)
        assert_allclose([f[g] for f in together], np.ravel(alone), rtol=1e-12)


@pytest.mark.parametrize("kind", ["cr1", "cr2", "cluster_mean"])
def test_rows_of_scores_do_not_touch_each_other(kind):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, size=30)
    codes = np.repeat([0, 2, 3], [1, 9, 20])  # one, no and several clusters
    rows = rng.normal(size=(3, 30)) * sizes
    together = cluster_robust_variance(rows, sizes, codes, 4, kind)
    for number, row in enumerate(rows):
        alone = cluster_robust_variance(row, sizes, codes, 4, kind)
        assert_array_equal(together.mean[number], alone.mean)
        assert_array_equal(together.variance[number], alone.variance)
        assert_array_equal(together.df, alone.df)


@pytest.mark.parametrize("n_clusters", [2, 3, 10])
def test_equal_clusters(n_clusters):
    scores, clusters = random_items(n_clusters, [4] * n_clusters)
    sums = sums_of(scores, clusters)
    cluster_means = scores.reshape(-1, 4).mean(axis=1)
    expected = cluster_means.var(ddof=1) / n_clusters
    for kind in ("cr1", "cr2", "cluster_mean"):
        robust = cluster_robust_variance(*sums, 1, kind)
        assert_allclose(robust.variance[0], expected, rtol=1e-12)
        assert_allclose(robust.df[0], n_clusters - 1, rtol=1e-12)


def test_clusters_of_one_are_the_textbook_formula():
    scores = np.random.default_rng(1).normal(size=30)
    error = clustered_standard_error(scores, np.arange(30))
    assert_allclose(error, scores.std(ddof=1) / np.sqrt(30), rtol=1e-12)


def test_kinds_are_ordered():
    scores, clusters = random_items(2, [1, 2, 3, 4, 5])
    cr0, cr1, cr2, cr3 = (clustered_standard_error(scores, clusters, kind) for kind in KINDS)
    assert cr0 < cr2 < cr3 and cr0 < cr1


def test_duplicated_items_do_not_add_information():
    scores, clusters = random_items(3, [1, 4, 2, 6])
    for kind in (*KINDS, "cluster_mean"):
        once = clustered_standard_error(scores, clusters, kind)
        twice = clustered_standard_error(np.tile(scores, 2), np.tile(clusters, 2), kind)
        assert_allclose(twice, once, rtol=1e-12)


@pytest.mark.parametrize("kind", [*KINDS, "cluster_mean"])
def test_one_cluster_cannot_tell(kind):
    assert np.isnan(clustered_standard_error([0.2, 0.4, 0.9], ["a", "a", "a"], kind))
    robust = cluster_robust_variance([1.5, 1, 3, 2], [3, 4, 4, 4], [0, 2, 2, 2], 3, kind)
    assert_allclose(robust.mean, [0.5, np.nan, 0.5], rtol=1e-12)
    assert_array_equal(np.isnan(robust.variance), [True, True, False])
    assert_array_equal(np.isnan(robust.df), [True, True, False])
    assert_array_equal(robust.n_clusters, [1, 0, 3])


@pytest.mark.parametrize("big", [1, 3, 7, 49, 10**6])
def test_two_clusters_have_an_interval(big):
    robust = cluster_robust_variance([1.0, 0.3 * big], [1, big], [0, 0], 1)
    assert_allclose(
        robust.df, 1, rtol=1e-6
    )  # digits are lost with the square of the ratio of sizes
    assert np.isfinite(t_interval(robust.mean, np.sqrt(robust.variance), robust.df)).all()


def covered(sizes, n_groups=3000):
    """Number of t intervals that contain the mean 0 of items correlated within clusters."""
    rng = np.random.default_rng(len(sizes))
    sizes = np.tile(sizes, n_groups)
    effects = rng.normal(size=sizes.size) + rng.normal(size=sizes.size) / np.sqrt(sizes)
    codes = np.repeat(np.arange(n_groups), sizes.size // n_groups)
    robust = cluster_robust_variance(effects * sizes, sizes, codes, n_groups)
    low, high = t_interval(robust.mean, np.sqrt(robust.variance), robust.df)
    return np.sum((low <= 0) & (0 <= high))


@pytest.mark.parametrize("n_clusters", [2, 5, 30])
def test_equal_clusters_cover(n_clusters):
    # Equal clusters of normal scores: the t interval is exact.
    least, most = binom.ppf([0.0005, 0.9995], 3000, 0.95)
    assert least <= covered([4] * n_clusters) <= most


@pytest.mark.parametrize(
    "clusters, message",
    [
        ([1, 1, 2], "4 .*3\\b"),
        ([1, 1, np.nan, 2], "1 .*4 .*row 2"),
        (["a", None, "b", None], "2 .*4 .*row 1"),
    ],
)
def test_scores_without_a_cluster_are_refused(clusters, message):
    with pytest.raises(ValueError, match=message):
        clustered_standard_error([1, 0, 1, 1], clusters)


@pytest.mark.parametrize("case", ["fixed_A", "fixed_B", "fixed_A_minus_B"])
def test_jackknife_is_cr3_around_another_centre(case, gold):
    sums, sizes, _ = sums_of(gold[case]["scores"], gold["fixed_clusters"])
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    jackknife = np.sqrt((7 / 8) * np.sum((left_out - left_out.mean()) ** 2))
    assert_allclose(jackknife, gold[case]["se_jackknife_cluster"], rtol=1e-10)
    around_mean = np.sqrt(np.sum((left_out - sums.sum() / 32) ** 2))
    cr3 = clustered_standard_error(gold[case]["scores"], gold["fixed_clusters"], "cr3")
    assert_allclose(around_mean, cr3, rtol=1e-10)


def test_expected_design_effect_is_the_variance_of_correlated_items():
    sizes, r = [1, 4, 2], 0.4
    blocks = np.repeat(np.arange(3), sizes)
    correlation = np.where(blocks[:, None] == blocks, r, 0.0)
    np.fill_diagonal(correlation, 1)
    assert_allclose(expected_design_effect(sizes, r), correlation.sum() / 7, rtol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(5))
def test_cr1_is_that_of_statsmodels(seed):
    sm = pytest.importorskip("statsmodels.api")
    scores, clusters = random_items(seed, UNEQUAL[10])
    fit = sm.OLS(scores, np.ones(scores.size)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": True}
    )
    # With k = 1 the correction C / (C - 1) (n - 1) / (n - k) is that of CR1.
    assert_allclose(clustered_standard_error(scores, clusters, "cr1"), fit.bse[0], rtol=1e-12)


def simulated(sizes, n_trials, rng):
    """Cluster sums of unequal clusters of 0/1 items with correlation .3 and mean 1/2."""
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
        df = (
            r.df if kind == "cr2" else np.full(n_trials, 1e9)
        )  # the other kinds have normal intervals as published
        shares[kind] = share_covered(r.mean, np.sqrt(r.variance), df)
    mean = sums.sum(axis=1) / sizes.sum()
    independent = np.sqrt(mean * (1 - mean) / (sizes.sum() - 1))
    shares["items independent"] = share_covered(mean, independent, np.full(n_trials, 1e9))
    print(f"{n_clusters} unequal clusters, nominal .95:", end=" ")
    print(", ".join(f"{name} {share:.3f}" for name, share in shares.items()))
    assert shares["cr2"] >= 0.93
    assert shares["items independent"] < shares["cr0"] < shares["cr1"] < shares["cr2"]


def test_one_large_cluster_costs_coverage():
    """Degrees of freedom assume independent items and are too large if one cluster dominates."""
    sizes = np.array(DOMINATED)
    sums = simulated(sizes, 20_000, np.random.default_rng(10))
    codes = np.repeat(np.arange(20_000), 10)
    r = cluster_robust_variance(sums.ravel(), np.tile(sizes, 20_000), codes, 20_000)
    share = share_covered(r.mean, np.sqrt(r.variance), r.df)
    print(f"10 clusters, one with 37 of 100 items: CR2 covers {share:.4f}")
    assert 0.915 <= share <= 0.935


def share_covered(mean, standard_error, df):
    low, high = t_interval(mean, standard_error, df)
    return np.mean((low <= 0.5) & (0.5 <= high))
