import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import ppi_loop
from scipy.stats import binom, dirichlet, norm

from skbench.stats.clusters.clustered import cluster_robust_variance
from skbench.stats.intervals.means import t_interval
from skbench.stats.intervals.moments import group_moments
from skbench.stats.ppi import (
    clustered_difference_estimate,
    difference_estimate,
    labeled_mean,
    tuned_power,
    weighted_power,
)
from skbench.stats.ppi.strata import (
    merged_strata,
    quantile_edges,
    strata_between,
    stratified_mean,
)

N_GROUPS = 6


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "ppi_mean.json").read_text())["cases"]


@pytest.fixture(scope="module")
def stratified_gold(gold_folder):
    return json.loads((gold_folder / "ppi_stratified.json").read_text())


def rows(seed, n_autoraters=1, n_rows=600, n_groups=N_GROUPS):
    """Labeled and unlabeled rows of some groups, in random order."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_groups, size=n_rows)
    signal = rng.normal(size=n_rows) + codes
    f = signal[:, None] + rng.normal(size=(n_rows, n_autoraters))
    labeled = rng.random(n_rows) < 0.3
    y = np.where(labeled, signal + 0.5 * rng.normal(size=n_rows), np.nan)
    return f, y, labeled, codes


def moments(f, y, labeled, codes, n_groups):
    both = np.column_stack([f, y])[labeled]
    return (
        group_moments(both, codes[labeled], n_groups),
        group_moments(f[~labeled], codes[~labeled], n_groups),
    )


def one_group(case):
    f = np.concatenate([case["Yhat"], case["Yhat_unlabeled"]]).astype(float)
    y = np.concatenate([case["Y"], np.full(len(case["Yhat_unlabeled"]), np.nan)])
    return moments(f[:, None], y, ~np.isnan(y), np.zeros(len(y), dtype=int), 1)


def with_divisor_n(found):
    """Variance of ppi-python from the variance with divisors n - 1 and N - 1."""
    n, N = found.n_labeled[0], found.n_unlabeled[0]
    labels = found.variance - found.unlabeled_variance
    return labels * (n - 1) / n + found.unlabeled_variance * (N - 1) / N


def ends(found, level=0.95):
    half_width = norm.ppf((1 + level) / 2) * np.sqrt(with_divisor_n(found))
    return np.concatenate([found.value - half_width, found.value + half_width])


@pytest.mark.parametrize("i", range(7))
def test_gold_means(gold, i):
    labeled, unlabeled = one_group(gold[i])
    want = gold[i]["results"]
    tuned = tuned_power(labeled, unlabeled)
    assert_allclose(tuned[0, 0], np.clip(want["lambda_tuned_unclipped"], 0, 1), rtol=1e-10)
    for name, power in {
        "lam1": [[1.0]],
        "lam0": [[0.0]],
        "lam0.5": [[0.5]],
        "tuned": tuned,
    }.items():
        found = difference_estimate(labeled, unlabeled, np.asarray(power))
        assert_allclose(ends(found), want[f"ppi_mean_ci_{name}_alpha0.05"], rtol=1e-10)
    for name, power in {"lam1": np.ones((1, 1)), "tuned": tuned}.items():
        found = difference_estimate(labeled, unlabeled, power)
        assert_allclose(found.value[0], want[f"ppi_mean_pointestimate_{name}"], rtol=1e-10)
    classical = labeled_mean(
        np.asarray(gold[i]["Y"], dtype=float),
        np.ones(len(gold[i]["Y"]), dtype=bool),
        np.zeros(len(gold[i]["Y"]), dtype=int),
        1,
    )._replace(n_unlabeled=np.array([2]))
    assert_allclose(ends(classical), want["classical_mean_ci_alpha0.05"], rtol=1e-10)


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_ppi_python(seed):
    ppi_py = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(seed)
    n, N = rng.integers(10, 200), rng.integers(20, 2000)
    f = rng.normal(size=n + N)
    y = 0.7 * f[:n] + rng.normal(size=n)
    case = {"Y": y, "Yhat": f[:n], "Yhat_unlabeled": f[n:]}
    labeled, unlabeled = one_group(case)
    found = difference_estimate(labeled, unlabeled, tuned_power(labeled, unlabeled))
    want = ppi_py.ppi_mean_ci(y, f[:n], f[n:], alpha=0.05)
    assert_allclose(ends(found), np.ravel(want), atol=1e-10)


@pytest.mark.parametrize(("name", "tuned"), [("plain", False), ("ptune", True)])
def test_gold_stratified(stratified_gold, name, tuned):
    case = stratified_gold
    scores = np.concatenate([case["Yhat"], case["Yhat_unlabeled"]])
    y = np.concatenate([case["Y"], np.full(len(case["Yhat_unlabeled"]), np.nan)])
    known = ~np.isnan(y)
    one = np.zeros(y.size, dtype=int)
    strata = strata_between(scores, quantile_edges(scores[~known], one[~known], 1, 5), one)
    assert_array_equal(strata, np.searchsorted(case["bin_edges"], scores, side="right"))
    assert_array_equal(np.bincount(strata[known]), case["n_lab"])
    labeled, unlabeled = moments(scores[:, None], y, known, strata, 5)
    power = tuned_power(labeled, unlabeled) if tuned else np.ones((5, 1))
    found = difference_estimate(labeled, unlabeled, power)
    columns = (found.value, found.variance, found.unlabeled_variance, found.df)
    total = stratified_mean(*(c[None] for c in columns), unlabeled.n[None])
    want = case["results"][name]
    assert_allclose(total.value, want["mean"], rtol=1e-10)
    assert_allclose(total.variance, want["var"], rtol=1e-10)
    # Ends from 4e6 draws are accurate to about 3e-5; the distribution is nearly normal.
    half_width = norm.ppf(0.975) * np.sqrt(total.variance)
    draws = np.array(want["ci95_mc4e6"])
    assert_allclose([total.value - half_width, total.value + half_width], draws[:, None], atol=5e-4)


@pytest.mark.parametrize("n_autoraters", [1, 3])
@pytest.mark.parametrize("bounds", [None, (-10, 20)])
def test_all_groups_as_one_by_one(n_autoraters, bounds):
    f, y, known, codes = rows(0, n_autoraters)
    labeled, unlabeled = moments(f, y, known, codes, N_GROUPS)
    power = tuned_power(labeled, unlabeled)
    found = difference_estimate(labeled, unlabeled, power, bounds)
    for g in range(N_GROUPS):
        here = codes == g
        pieces = f[here & known], y[here & known], f[here & ~known]
        want = ppi_loop.tuned_power(*pieces)
        assert_allclose(power[g], want, rtol=1e-9)
        assert_allclose(
            [found.value[g], found.variance[g]],
            ppi_loop.difference(*pieces, want, bounds),
            rtol=1e-9,
        )


def test_large_offset_costs_no_digits():
    f, y, known, codes = rows(3)
    near, far = (
        difference_estimate(*moments(f + c, y + c, known, codes, N_GROUPS), np.ones((N_GROUPS, 1)))
        for c in (0.0, 1e7)
    )
    assert_allclose(far.variance, near.variance, rtol=1e-7)  # 1e7 has 9 digits after it


def test_power_of_zero_is_the_classical_mean():
    f, y, known, codes = rows(5)
    found = difference_estimate(*moments(f, y, known, codes, N_GROUPS), np.zeros((N_GROUPS, 1)))
    classical = labeled_mean(y, known, codes, N_GROUPS)
    for g in range(N_GROUPS):
        labels = y[known & (codes == g)]
        assert_allclose(found.value[g], labels.mean())
        assert_allclose(found.variance[g], labels.var(ddof=1) / labels.size)
    assert_allclose(found.value, classical.value)
    assert_allclose(found.variance, classical.variance)
    assert_allclose(found.unlabeled_variance, 0)


def test_a_perfect_autorater_leaves_the_unlabeled_rows_only():
    f, _, known, codes = rows(6)
    y = np.where(known, f[:, 0] + 3.0, np.nan)
    found = difference_estimate(*moments(f, y, known, codes, N_GROUPS), np.ones((N_GROUPS, 1)))
    assert_array_equal(found.variance, found.unlabeled_variance)
    assert_allclose(found.rectifier, 3.0)


def test_no_other_power_is_better():
    f, y, known, codes = rows(7, 3, n_groups=1)
    labeled, unlabeled = moments(f, y, known, codes, 1)
    power = tuned_power(labeled, unlabeled)[0]
    n, N = labeled.n[0], unlabeled.n[0]
    covariance = np.cov(f[known].T, y[known], ddof=0)[:3, 3]
    spread = np.cov(f.T)

    def variance(p):
        return -2 * p @ covariance / n + p @ spread @ p * (1 / n + 1 / N)

    rng = np.random.default_rng(0)
    for step in 0.05 * rng.normal(size=(50, 3)):
        assert variance(power + step) > variance(power)


def test_two_copies_of_an_autorater_share_its_power():
    f, y, known, codes = rows(8, 1)
    once = np.column_stack([f, np.random.default_rng(0).normal(size=len(f))])
    twice = np.column_stack([f, once])
    single, double = (tuned_power(*moments(X, y, known, codes, N_GROUPS)) for X in (once, twice))
    assert_allclose(double[:, 0], double[:, 1], rtol=1e-6)
    assert_allclose(double[:, :2].sum(axis=1), single[:, 0], rtol=1e-6)


def test_pooled_power_of_equal_groups_is_that_of_one():
    f, y, known, _ = rows(9, n_groups=1)
    labeled, unlabeled = moments(f, y, known, np.zeros(len(y), dtype=int), 1)
    assert_allclose(tuned_power(labeled, unlabeled, pooled=True), tuned_power(labeled, unlabeled))
    copies = [
        group_moments(*_repeated(m, 3)) for m in ((np.column_stack([f, y])[known]), f[~known])
    ]
    pooled = tuned_power(*copies, pooled=True)
    assert np.ptp(pooled) == 0
    n = known.sum()
    # The divisor of the covariance is 3 n per group and 3 n - 2 pooled.
    assert_allclose(pooled * (3 * n - 2) / (3 * n), tuned_power(*copies), rtol=5e-3)


def _repeated(columns, times):
    return np.tile(columns, (times, 1)), np.repeat(np.arange(times), len(columns)), times


def test_what_cannot_be_known_is_nan():
    f = np.ones((7, 1))
    y = np.array([1.0, np.nan, np.nan, np.nan, 1.0, 0.0, np.nan])
    codes = np.array([0, 0, 0, 1, 2, 2, 2])
    found = difference_estimate(
        *moments(f, y, ~np.isnan(y), codes, 4), np.ones((4, 1)), bounds=(0, 1)
    )
    assert_array_equal(np.isnan(found.value), [False, True, False, True])
    assert_array_equal(np.isnan(found.variance), [True, True, False, True])
    assert_array_equal(found.power[:, 0], [1, 0, 0, 0])  # one unlabeled row has no variance
    assert_array_equal(found.n_labeled, [1, 0, 2, 0])


def test_smoothing_fades_with_labels():
    y = np.tile([1.0, 1.0, 1.0, 0.0], 2500)
    args = np.ones(10_000, dtype=bool), np.zeros(10_000, dtype=int), 1
    smoothed, plain = labeled_mean(y, *args, bounds=(0, 1)), labeled_mean(y, *args)
    assert_allclose(smoothed.variance, plain.variance, rtol=1e-3)
    few = labeled_mean(np.ones(5), np.ones(5, dtype=bool), np.zeros(5, dtype=int), 1, bounds=(0, 1))
    assert few.variance[0] > 0


def test_clusters_of_one_row_are_no_clusters():
    f, y, known, codes = rows(11, 2)
    power = tuned_power(*moments(f, y, known, codes, N_GROUPS))
    for bounds in (None, (-10, 20)):
        alone = clustered_difference_estimate(f, y, known, codes, N_GROUPS, power, bounds=bounds)
        plain = difference_estimate(*moments(f, y, known, codes, N_GROUPS), power, bounds)
        for name in plain._fields:
            assert_allclose(getattr(alone, name), getattr(plain, name), rtol=1e-9)


def test_clusters_on_one_side_add_up():
    f, y, known, codes = rows(12)
    clusters = np.unique(
        np.column_stack([codes, known, np.arange(len(y)) % 7]), axis=0, return_inverse=True
    )[1].ravel()
    found = clustered_difference_estimate(
        f, y, known, codes, N_GROUPS, np.ones((N_GROUPS, 1)), clusters
    )
    parts = []
    for values, side in ((y - f[:, 0], known), (f[:, 0], ~known)):
        sums = np.bincount(clusters[side], values[side], clusters.max() + 1)
        sizes = np.bincount(clusters[side], minlength=clusters.max() + 1)
        owner = np.zeros(sizes.size, dtype=int)
        owner[clusters] = codes
        there = sizes > 0
        parts.append(cluster_robust_variance(sums[there], sizes[there], owner[there], N_GROUPS))
    assert_allclose(found.variance, parts[0].variance + parts[1].variance, rtol=1e-10)
    assert_allclose(found.df, parts[0].df, rtol=1e-10)


def test_clusters_on_both_sides():
    f, y, known, codes = rows(13, n_groups=1)
    clusters = np.arange(len(y)) // 5
    power = np.array([[0.6]])
    found = clustered_difference_estimate(f, y, known, codes, 1, power, clusters)
    want = ppi_loop.clustered_variance(f, y, known, clusters, power[0])
    assert_allclose(found.variance[0], want, rtol=1e-10)


def test_copies_of_a_row_add_no_information():
    f, y, known, codes = rows(14, n_groups=2)
    power = np.full((2, 1), 0.7)
    once = difference_estimate(*moments(f, y, known, codes, 2), power)
    again = clustered_difference_estimate(
        *(np.repeat(column, 4, axis=0) for column in (f, y, known, codes)),
        2,
        power,
        np.repeat(np.arange(len(y)), 4),
    )
    assert_allclose(again.value, once.value)
    assert_allclose(again.variance, once.variance)
    assert_allclose(again.df, once.df)


def test_equal_weights_are_no_weights():
    f, y, known, codes = rows(15)
    labeled, unlabeled = moments(f, y, known, codes, N_GROUPS)
    plain = difference_estimate(labeled, unlabeled, tuned_power(labeled, unlabeled))
    weights = np.full(len(y), 3.0)
    power = weighted_power(f, y, known, codes, N_GROUPS, weights)
    weighted = clustered_difference_estimate(f, y, known, codes, N_GROUPS, power, weights=weights)
    assert np.all((power > 0) & (power < 1))
    assert_allclose(weighted.value, plain.value, rtol=1e-10)
    # The error as one sum over all rows is equal up to terms of order 1/n.
    assert_allclose(weighted.variance, plain.variance, rtol=0.1)


def test_weights_undo_unequal_selection():
    rng = np.random.default_rng(16)
    n_groups, n_rows = 400, 400
    codes = np.repeat(np.arange(n_groups), n_rows)
    signal = rng.normal(size=codes.size)
    f = (signal + rng.normal(size=codes.size))[:, None]
    probability = np.where(f[:, 0] > 0, 0.4, 0.1)  # hard rows are rarely labeled
    known = rng.random(codes.size) < probability
    y = np.where(known, signal + 0.5 * rng.normal(size=codes.size), np.nan)
    power = weighted_power(f, y, known, codes, n_groups, 1 / probability)
    found = clustered_difference_estimate(
        f, y, known, codes, n_groups, power, weights=1 / probability
    )
    low, high = t_interval(found.value, np.sqrt(found.variance), found.df)
    # The true mean is 0 in 400 independent groups.
    assert abs(found.value.mean()) < 4 * found.value.std() / 20
    assert np.sum((low <= 0) & (high >= 0)) >= binom.ppf(0.001, n_groups, 0.94)
    classical = labeled_mean(y, known, codes, n_groups, weights=1 / probability)
    assert found.value.std() < 0.9 * classical.value.std()
    naive = labeled_mean(y, known, codes, n_groups)
    assert naive.value.mean() > 0.3


def test_quantile_strata_are_numpys():
    rng = np.random.default_rng(17)
    codes = rng.integers(5, size=400)
    scores = np.where(codes == 2, rng.integers(3, size=400), rng.random(400))
    reference = (rng.random(400) < 0.6) & (codes != 4)
    edges = quantile_edges(scores[reference], codes[reference], 5, 4)
    strata = strata_between(scores, edges, codes)
    for g in range(4):
        here = codes == g
        want = ppi_loop.quantile_strata(scores[here], reference[here], 4)
        assert_array_equal(
            np.unique(strata[here], return_inverse=True)[1], np.unique(want, return_inverse=True)[1]
        )
    assert_array_equal(strata[codes == 4], 0)


def test_merging_follows_the_rule():
    rng = np.random.default_rng(18)
    n_labeled, n_unlabeled = rng.integers(0, 7, size=(200, 5)), rng.integers(0, 9, size=(200, 5))
    joined = merged_strata(n_labeled, n_unlabeled)
    for g in range(200):
        assert set(np.flatnonzero(joined[g])) == ppi_loop.merged(n_labeled[g], n_unlabeled[g], 3)


def test_stratified_mean_has_dirichlet_moments():
    rng = np.random.default_rng(19)
    value, variance = rng.normal(size=4), rng.random(4)
    counts = np.array([3, 10, 5, 40])
    law = dirichlet(counts + 0.25)
    total = stratified_mean(
        *(c[None] for c in (value, variance, 0 * variance, np.full(4, 9.0), counts))
    )
    p, cov = law.mean(), law.cov()
    assert_allclose(total.value, p @ value)
    assert_allclose(total.variance, value @ cov @ value + (p**2 + np.diag(cov)) @ variance)


def test_strata_without_rows_do_not_count():
    columns = [
        np.array([[0.2, np.nan, 0.8]]),
        np.array([[0.01, np.nan, 0.02]]),
        np.zeros((1, 3)),
        np.full((1, 3), 9.0),
    ]
    counts = np.array([[30, 0, 50]])
    want = stratified_mean(*(c[:, [0, 2]] for c in (*columns, counts)))
    got = stratified_mean(*columns, counts)
    for name in ("value", "variance", "df"):
        assert_allclose(getattr(got, name), getattr(want, name))
