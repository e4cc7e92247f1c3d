import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, binomtest, pearsonr, ttest_ind, ttest_rel
from scipy.stats import t as student_t

from skbench.stats.clusters.paired import (
    mcnemar_exact,
    mcnemar_interval,
    paired_difference,
    unpaired_difference,
)


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "clustered_se.json").read_text())


def pair_of(a, b, clusters, kind="cr2"):
    sizes = np.bincount(clusters)
    codes = np.zeros(sizes.size, int)
    return paired_difference(
        np.bincount(clusters, a), np.bincount(clusters, b), sizes, codes, 1, kind
    )


def correlated(seed, n):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return common + rng.normal(size=n), 0.3 + common + rng.normal(size=n)


def test_cluster_means_of_the_published_example(gold):
    expected = gold["example_paired_A_minus_B"]
    a, b = (np.array(gold[f"example_{m}"]["cluster_means"]) for m in "AB")
    pair = pair_of(a, b, np.arange(4), "cluster_mean")
    assert_allclose(pair.difference, expected["mean"], rtol=1e-10)
    assert_allclose(np.sqrt(pair.variance), expected["se"], rtol=1e-10)
    assert_allclose(np.sqrt(pair.unpaired_variance), expected["unpaired_se"], rtol=1e-10)
    p_value = 2 * student_t.sf(abs(pair.difference) / np.sqrt(pair.variance), pair.df)
    assert_allclose(p_value, expected["p_two_sided_t3"], rtol=1e-10)


def test_gold_on_32_items(gold):
    expected = gold["fixed_paired"]
    a, b = (np.array(gold[f"fixed_{m}"]["scores"]) for m in "AB")
    clustered = pair_of(a, b, gold["fixed_clusters"], "cr1")
    assert_allclose(clustered.difference, expected["diff"], rtol=1e-10)
    assert_allclose(np.sqrt(clustered.variance), expected["se_paired_cluster_CR1"], rtol=1e-10)
    assert_allclose(
        np.sqrt(clustered.unpaired_variance), expected["se_unpaired_cluster_CR1"], rtol=1e-10
    )
    independent = pair_of(a, b, np.arange(32))
    assert_allclose(np.sqrt(independent.variance), expected["se_paired_iid"], rtol=1e-10)
    assert_allclose(np.sqrt(independent.unpaired_variance), expected["se_unpaired_iid"], rtol=1e-10)
    assert_allclose(independent.correlation, expected["corr"], rtol=1e-10)
    p_value = mcnemar_exact(expected["mcnemar_b"], expected["mcnemar_c"])
    assert_allclose(p_value, expected["mcnemar_exact_p"], rtol=1e-10)


def test_independent_items_are_the_paired_t_test():
    a, b = correlated(0, 40)
    pair = pair_of(a, b, np.arange(40))
    expected = ttest_rel(a, b)
    assert_allclose(pair.difference / np.sqrt(pair.variance), expected.statistic, rtol=1e-10)
    assert_allclose(pair.df, expected.df, rtol=1e-10)
    assert_allclose(pair.correlation, pearsonr(a, b).statistic, rtol=1e-10)


def test_unpaired_is_the_welch_test():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=12), rng.normal(1, 3, size=25)
    pair = unpaired_difference(a.mean(), b.mean(), a.var(ddof=1) / 12, b.var(ddof=1) / 25, 11, 24)
    expected = ttest_ind(a, b, equal_var=False)
    assert_allclose(pair.difference / np.sqrt(pair.variance), expected.statistic, rtol=1e-10)
    assert_allclose(pair.df, expected.df, rtol=1e-10)


def test_groups_do_not_touch_each_other():
    rng = np.random.default_rng(2)
    codes, sizes = rng.integers(0, 5, 30), rng.integers(1, 6, 30)
    a, b = rng.normal(size=(2, 30)) * sizes
    together = paired_difference(a, b, sizes, codes, 5)
    for g in range(5):
        mine = codes == g
        alone = paired_difference(a[mine], b[mine], sizes[mine], np.zeros(mine.sum(), int), 1)
        assert_allclose([field[g] for field in together], np.ravel(alone), rtol=1e-10)


def test_swapping_the_models_changes_the_sign_alone():
    a, b = correlated(3, 20)
    clusters = np.repeat(np.arange(5), 4)
    there, back = pair_of(a, b, clusters), pair_of(b, a, clusters)
    assert_allclose(there.difference, -back.difference, rtol=1e-12)
    assert_allclose(np.ravel(there)[1:], np.ravel(back)[1:], rtol=1e-12)


def test_a_model_that_never_varies_has_no_correlation():
    pair = pair_of(np.ones(6), np.array([0, 1, 1, 0, 1, 1.0]), np.arange(6))
    assert np.isnan(pair.correlation)
    assert_allclose(pair.variance, pair.unpaired_variance, rtol=1e-12)
    assert np.isnan(pair_of([0.1, 0.2], [0.3, 0.1], [0, 0]).variance)
    assert np.isnan(unpaired_difference([0.5], [0.4], [0.0], [0.0], [3], [3]).df)


@pytest.mark.parametrize("only_a, only_b", [(0, 1), (0, 6), (3, 3), (5, 10), (200, 150)])
def test_mcnemar_is_a_binomial_test(only_a, only_b):
    expected = binomtest(only_a, only_a + only_b).pvalue
    assert_allclose(mcnemar_exact(only_a, only_b), expected, rtol=1e-10)
    assert mcnemar_exact(only_a, only_b) == mcnemar_exact(only_b, only_a)


@pytest.mark.peers
def test_mcnemar_is_that_of_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for b, c in [(4, 9), (0, 3), (17, 17)]:
        expected = tables.mcnemar([[8, b], [c, 5]], exact=True).pvalue
        assert_allclose(mcnemar_exact(b, c), expected, rtol=1e-12)


def test_mcnemar_holds_its_level():
    # Exactly, for every number of disagreements between equally good models.
    for n in range(1, 60):
        k = np.arange(n + 1)
        for level in (0.01, 0.05, 0.2):
            assert binom.pmf(k, n, 0.5) @ (mcnemar_exact(k, n - k) <= level) <= level


def test_mcnemar_interval_agrees_with_the_exact_test():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 40, (2, 20_000))
    n = a + b + rng.integers(0, 500, a.size) + 1
    for level in (0.95, 0.999, 1 - 1e-5):
        low, high = mcnemar_interval(a, b, n, level)
        assert_array_equal((low > 0) | (high < 0), mcnemar_exact(a, b) < 1 - level)
        assert np.all((low <= (a - b) / n) & ((a - b) / n <= high) & (low < high))
        assert_allclose(low, -mcnemar_interval(b, a, n, level)[1], rtol=1e-12)


def test_mcnemar_interval_is_tangos():
    # Without any disagreement there is a closed form.
    low, high = mcnemar_interval(0, 0, 100)
    z2 = 1.959963984540054**2
    assert_allclose([low, high], [-z2 / (100 + z2), z2 / (100 + z2)], rtol=1e-8)
    # Each end is where the score test stops rejecting, by its own formula.
    a, b, n = 14.0, 5.0, 60.0
    for end in mcnemar_interval(a, b, n):
        middle = -a - b + (2 * n - a + b) * end
        q = (np.sqrt(middle**2 + 8 * n * b * end * (1 - end)) - middle) / (4 * n)
        score = (a - b - n * end) / np.sqrt(n * (2 * q + end * (1 - end)))
        assert min(abs(abs(score) - np.sqrt(z2)), abs(end)) < 1e-6


def test_mcnemar_interval_covers():
    rng = np.random.default_rng(1)
    for first, second, n in [(0.02, 0.01, 200), (0.1, 0.05, 50), (0.3, 0.1, 30), (0.5, 0.0, 20)]:
        drawn = rng.multinomial(n, [first, second, 1 - first - second], 5000)
        low, high = mcnemar_interval(drawn[:, 0], drawn[:, 1], n)
        covered = np.mean((low <= first - second) & (first - second <= high))
        assert covered >= 0.93
