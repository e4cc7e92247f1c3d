"""Moderated variances: closed forms, and the scores of groups whose spread is known."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skbench.stats.intervals.moderated import borrowed_freedom, moderated_variance, pooled_variance


def freedom(scores):
    """`borrowed_freedom` of a table with a row per group."""
    away = scores - scores.mean(axis=1, keepdims=True)
    n = np.full(len(scores), scores.shape[1])
    return borrowed_freedom(n, (away**2).sum(axis=1), (away**4).sum(axis=1))


def gamma_spreads(rng, n_groups, n):
    """Normal scores whose variances have mean 1 and variance 1/2."""
    return rng.normal(size=(n_groups, n)) * np.sqrt(rng.gamma(2, 1 / 2, n_groups))[:, None]


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 6, 20])
def test_noise_over_true_variance_of_the_spreads(n):
    """Var(s^2) = 2 sigma^4 / d for normal scores: d times its mean is 2 (1 + 1/2)."""
    expected = 2 * (1 + 1 / 2) / (1 / 2)
    found = freedom(gamma_spreads(np.random.default_rng(n), 200_000, n))
    assert_allclose(found, expected, rtol=0.05)


def test_weights_make_the_squared_error_smallest():
    rng = np.random.default_rng(0)
    true = rng.gamma(2, 1 / 2, 50_000)
    scores = rng.normal(size=(50_000, 6)) * np.sqrt(true)[:, None]
    own = scores.var(axis=1, ddof=1) / 6
    n = np.full(50_000, 6)

    def error(borrowed):
        moderated = moderated_variance(own, n, pooled_variance(own, n), borrowed)
        return np.mean((6 * moderated - true) ** 2)

    best = error(freedom(scores))
    grid = [error(borrowed) for borrowed in (0, 1, 2, 3, 5, 6, 7, 9, 12, 20, 50, np.inf)]
    assert best <= min(grid) * (1 + 1e-3)


@pytest.mark.parametrize("law", ["exponential", "uniform", "t"])
def test_nonnormal_distributions_are_no_difference_between_groups(law):
    """Their sample variances differ more, or less, than those of normal scores."""
    rng = np.random.default_rng(0)
    draw = {"exponential": rng.exponential, "uniform": rng.uniform}.get(
        law, lambda size: rng.standard_t(9, size)
    )
    own_weight = 7 / (7 + freedom(draw(size=(100_000, 8))))
    assert own_weight < 0.02


def test_groups_of_any_size_count_by_what_they_tell():
    """Unbiased whatever the sizes: 300 tables of groups with 4 to 30 normal scores."""
    rng = np.random.default_rng(0)
    n = rng.integers(4, 31, 5000)
    rows = np.repeat(np.arange(5000), n)
    inverse = []
    for _ in range(20):
        spread = np.sqrt(rng.gamma(2, 1 / 2, 5000))
        scores = rng.normal(size=rows.size) * spread[rows]
        away = scores - (np.bincount(rows, scores) / n)[rows]
        inverse.append(
            1 / borrowed_freedom(n, np.bincount(rows, away**2), np.bincount(rows, away**4))
        )
    assert_allclose(np.mean(inverse), 1 / 6, rtol=0.1)


def test_few_groups_pair_by_pair():
    """Half the squared difference of two variances, less their noise, is what pairs differ by."""
    scores = np.random.default_rng(1).normal(size=(4, 6)) * np.array([[1.0], [1], [4], [9]])
    variances, noise = [], []
    for row in scores:
        k2 = row.var(ddof=1)
        m2, m4 = row.var(), np.mean((row - row.mean()) ** 4)
        k4 = 36 * (7 * m4 - 15 * m2**2) / (5 * 4 * 3)  # n^2 ((n + 1) m4 - 3 (n - 1) m2^2) / ...
        variances.append(k2)
        noise.append((12 * k2**2 + 5 * k4) / 42)
    pairs = [
        ((variances[i] - variances[j]) ** 2 - noise[i] - noise[j]) / 2
        for i, j in combinations(range(4), 2)
    ]
    assert_allclose(freedom(scores), 5 * np.mean(noise) / np.mean(pairs), rtol=1e-12)


def test_groups_of_three_scores_are_uninformative():
    rng = np.random.default_rng(0)
    assert freedom(gamma_spreads(rng, 1000, 3)) == np.inf
    larger = gamma_spreads(rng, 1000, 5)
    away = larger - larger.mean(axis=1, keepdims=True)
    n, squares, fourth = np.full(1000, 5), (away**2).sum(axis=1), (away**4).sum(axis=1)
    small = np.full(10, 3), np.full(10, 100.0), np.full(10, 9e4)
    with_small = [np.concatenate(pair) for pair in zip((n, squares, fourth), small, strict=True)]
    assert borrowed_freedom(*with_small) == borrowed_freedom(n, squares, fourth)


def test_one_group_or_no_spread_borrow_all():
    assert freedom(np.array([[1.0, 2.0, 4.0, 8.0]])) == np.inf
    assert freedom(np.ones((5, 6))) == np.inf


def test_spreads_that_are_certain_are_kept():
    """Two scores, far apart: no noise in the variance, and groups that differ."""
    scores = np.tile([-1.0, 1.0], (4, 200)) * np.array([1, 2, 3, 4])[:, None]
    assert freedom(scores) < 0.01
    assert_allclose(moderated_variance([1.0, 4.0], [10, 10], 2.5, 0.0), [1, 4])


def test_all_borrowed_is_pooled():
    sigma2, n = np.array([0.1, 0.5, 0.2]), np.array([4, 2, 1])
    pooled = pooled_variance(sigma2, n)
    assert_allclose(pooled, (3 * 0.4 + 1 * 1.0) / 4)
    assert_allclose(moderated_variance(sigma2, n, pooled, np.inf), pooled / n)


def test_one_score_has_only_the_pooled_variance():
    assert_allclose(moderated_variance([0.9], [1], 0.3, 4.0), 0.3)
    assert_allclose(pooled_variance([0.2, 0.4], [1, 1]), 0.3)
