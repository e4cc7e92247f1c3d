import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, binomtest

from skbench.stats.clusters.clustered import cluster_robust_variance
from skbench.stats.clusters.paired import mcnemar_exact, mcnemar_interval, unpaired_difference


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "clustered_se.json").read_text())


def test_gold_on_32_items(gold):
    expected = gold["fixed_paired"]
    a, b = (np.array(gold[f"fixed_{m}"]["scores"]) for m in "AB")
    clusters = gold["fixed_clusters"]
    sums, sizes = [np.bincount(clusters, x) for x in (a, b, a - b)], np.bincount(clusters)
    own_a, own_b, paired = cluster_robust_variance(
        sums, sizes, np.zeros(sizes.size, int), 1, "cr1"
    ).variance[:, 0]
    assert_allclose(np.sqrt(paired), expected["se_paired_cluster_CR1"], rtol=1e-10)
    assert_allclose(np.sqrt(own_a + own_b), expected["se_unpaired_cluster_CR1"], rtol=1e-10)


def test_without_any_variance_degrees_of_freedom_are_unknown():
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
    # Exact for every number of disagreements between equally accurate models.
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
    # At each end the score test statistic equals its critical value.
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
