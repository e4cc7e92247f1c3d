"""Bootstrap replicates compared with exact distributions and with resampling of items."""

import numpy as np
import pytest
from reference.item_bootstrap import cluster_bootstrap, item_bootstrap
from scipy.stats import binom, ks_2samp

from skbench.stats.resampling import (
    binomial_means,
    distinct_rows,
    normal_means,
    resampled_means,
    two_sided_p_value,
)

N_DRAWS = 20_000
TINY_P = 1e-4  # seeds are fixed; a wrong distribution gives p-values of 1e-20


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rows_of(scores):
    rows, counts = distinct_rows(scores)
    return rows, np.ones((len(rows), 1)), counts


def test_binomial_means_follow_the_binomial_distribution(rng):
    z, n = np.array([[0.3, 0.5], [0.9, 0.0]]), np.array([10, 4])
    draws = binomial_means(z, n, N_DRAWS, rng)
    assert draws.shape == (N_DRAWS, 2, 2)
    for index in np.ndindex(2, 2):
        size = n[index[1]]
        shares = np.bincount(np.rint(draws[(slice(None), *index)] * size).astype(int)) / N_DRAWS
        expected = binom.pmf(np.arange(size + 1), size, z[index])
        # Five standard deviations of a proportion of N_DRAWS draws.
        band = 5 * np.sqrt(expected * (1 - expected) / N_DRAWS)
        observed = np.pad(shares, (0, size + 1 - shares.size))
        assert np.all(np.abs(observed - expected) <= band)


def test_draws_of_separate_cells_are_independent(rng):
    draws = binomial_means([0.4, 0.4], 50, N_DRAWS, rng)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 5 / np.sqrt(N_DRAWS)


def test_normal_means(rng):
    z, sigma2 = np.array([0.5, 20.0]), np.array([0.01, 0.0])
    draws = normal_means(z, sigma2, N_DRAWS, rng)
    np.testing.assert_allclose(draws[:, 0].mean(), 0.5, atol=5 * 0.1 / np.sqrt(N_DRAWS))
    np.testing.assert_allclose(draws[:, 0].var(), 0.01, rtol=5 * np.sqrt(2 / N_DRAWS))
    np.testing.assert_array_equal(draws[:, 1], 20.0)


def test_distinct_rows_restore_the_table(rng):
    scores = rng.integers(0, 2, (100, 3))
    rows, counts = distinct_rows(scores)
    restored = np.repeat(rows, counts, axis=0)
    np.testing.assert_array_equal(restored, scores[np.lexsort(scores.T[::-1])])
    assert len(rows) <= 8


@pytest.mark.parametrize("n", [300, 60], ids=["multinomial", "index per item"])
def test_paired_items_against_a_loop(rng, n):
    skill = rng.normal(size=n)
    scores = np.column_stack([skill + rng.normal(size=n) > 0 for _ in range(3)]).astype(float)
    slow = item_bootstrap(scores, 3000, rng)
    fast = resampled_means(*rows_of(scores), 3000, rng)
    for contrast in np.array([[1, 0, 0], [1, -1, 0], [1, -2, 1], [0, 1, 1]]):
        assert ks_2samp(slow @ contrast, fast @ contrast).pvalue > TINY_P
    # The bootstrap covariance is that with divisor n over n; 3000 draws have an error of 3%.
    expected = np.cov(scores.T, ddof=0) / n
    np.testing.assert_allclose(np.cov(fast.T), expected, atol=0.12 * expected.max())


def test_clusters_against_a_loop(rng):
    clusters = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    shared = rng.normal(size=12)[clusters]
    scores = np.column_stack([shared + rng.normal(size=clusters.size) for _ in range(2)])
    sums = np.array([scores[clusters == c].sum(axis=0) for c in range(12)])
    sizes = np.bincount(clusters)[:, None].astype(float)
    slow = cluster_bootstrap(scores, clusters, 3000, rng)
    fast = resampled_means(sums, sizes, np.ones(12, dtype=int), 3000, rng)
    for contrast in np.array([[1, 0], [1, -1]]):
        assert ks_2samp(slow @ contrast, fast @ contrast).pvalue > TINY_P


def test_draws_of_many_items_come_in_batches(rng):
    scores = rng.normal(size=(1000, 1))
    draws = resampled_means(*rows_of(scores), 5000, rng)
    # Three batches; 5000 draws have an error of 1% in the standard deviation.
    np.testing.assert_allclose(draws.std(), scores.std() / np.sqrt(1000), rtol=0.05)
    assert len(np.unique(draws)) == 5000


def test_identical_models_and_constant_scores(rng):
    scores = np.repeat(rng.normal(size=(30, 1)), 2, axis=1)
    draws = resampled_means(*rows_of(scores), 200, rng)
    np.testing.assert_array_equal(draws[:, 0], draws[:, 1])
    draws = resampled_means(*rows_of(np.full((30, 1), 0.7)), 200, rng)
    np.testing.assert_allclose(draws, 0.7, rtol=1e-14)  # a ratio of two sums


def test_p_value_agrees_with_the_quantile_interval(rng):
    draws = rng.normal(0.21, 0.1, size=1999)
    p = two_sided_p_value(draws)
    for level, leaves_out_zero in [(1 - p - 0.003, True), (1 - p + 0.003, False)]:
        low = np.quantile(draws, (1 - level) / 2)
        assert (low > 0) == leaves_out_zero
    np.testing.assert_array_equal(two_sided_p_value(-draws), p)


def test_p_value_of_no_and_of_certain_difference():
    draws = np.column_stack([np.zeros(99), np.ones(99), np.full(99, np.nan)])
    np.testing.assert_allclose(two_sided_p_value(draws), [1, 0.02, np.nan], rtol=1e-14)
