import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skbench.stats.clusters.clustered import (
    cluster_robust_variance,
    clustered_standard_error,
    expected_design_effect,
)
from skbench.stats.intervals.means import t_interval

CASES = ["fixed_A", "fixed_B", "fixed_A_minus_B"]
UNEQUAL = {5: [3, 5, 8, 12, 22], 10: [2, 3, 4, 5, 6, 8, 10, 12, 15, 20], 30: [*range(1, 31)]}
DOMINATED = [2, 3, 3, 4, 5, 6, 8, 12, 20, 37]


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "clustered_se.json").read_text())


def sums_of(scores, clusters):
    return np.bincount(clusters, scores), np.bincount(clusters)


def random_items(seed, sizes):
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=len(sizes))[clusters] + rng.normal(size=clusters.size), clusters


@pytest.mark.parametrize("case", CASES)
def test_jackknife_is_cr3_around_another_centre(case, gold):
    sums, sizes = sums_of(gold[case]["scores"], gold["fixed_clusters"])
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
