import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.ranking_slow import all_maximal_cliques, rank_set_ends

from skbench.stats.ranking import rank_sets
from skbench.stats.ranking.rank_sets import dominance, maximal_cliques


def example(seed, n_models=6, n_draws=200):
    """Estimates, errors of differences and noise with unequal, correlated errors."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_models, n_models)) + np.eye(n_models)
    covariance = root @ root.T
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    np.fill_diagonal(error, 0)
    return 6 * rng.normal(size=n_models), error, rng.normal(size=(n_draws, n_models)) @ root.T


@pytest.mark.parametrize("simultaneous", [True, False])
@pytest.mark.parametrize("stepdown", [True, False])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_lists_of_hypotheses(simultaneous, stepdown, level):
    for seed in range(8):
        x, error, noise = example(seed)
        found = dominance(x, error, noise, level, simultaneous, stepdown)
        low, high = rank_set_ends(x, error, noise, level, simultaneous, stepdown)
        assert_array_equal(1 + found.below.sum(axis=1), low)
        assert_array_equal(6 - found.above.sum(axis=1), high)


def test_stepdown_finds_more_and_marginal_too():
    counts = {}
    for simultaneous in (True, False):
        for stepdown in (True, False):
            found = [dominance(*example(s), 0.95, simultaneous, stepdown) for s in range(30)]
            counts[simultaneous, stepdown] = sum(f.above.sum() + f.below.sum() for f in found)
    assert counts[True, True] > counts[True, False]
    assert counts[False, True] > counts[False, False] > counts[True, False]


def test_stepdown_never_takes_back():
    for seed in range(10):
        x, error, noise = example(seed)
        for simultaneous in (True, False):
            once = dominance(x, error, noise, 0.95, simultaneous, stepdown=False)
            more = dominance(x, error, noise, 0.95, simultaneous, stepdown=True)
            assert np.all(once.above <= more.above) and np.all(once.below <= more.below)


def test_batches_do_not_change_the_result(monkeypatch):
    x, error, noise = example(3)
    whole = dominance(x, error, noise)
    monkeypatch.setattr(rank_sets, "_BATCH_CELLS", 50)
    assert_array_equal(dominance(x, error, noise).above, whole.above)


@pytest.mark.parametrize("simultaneous", [True, False])
def test_differences_without_error_are_decided(simultaneous):
    x, error, noise = np.array([2.0, 1.0, 2.0]), np.zeros((3, 3)), np.zeros((5, 3))
    found = dominance(x, error, noise, simultaneous=simultaneous)
    assert_array_equal(found.above, [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert_array_equal(found.below, found.above.T)


@pytest.mark.parametrize("density", [0.0, 0.3, 0.7, 1.0])
def test_cliques_against_enumeration(density):
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 8):
        upper = np.triu(rng.random((n, n)) < density, 1)
        adjacent = upper | upper.T
        found = maximal_cliques(adjacent | np.eye(n, dtype=bool))
        assert {frozenset(np.flatnonzero(row)) for row in found} == all_maximal_cliques(adjacent)
        assert len(found) == len(all_maximal_cliques(adjacent))


def test_cliques_of_overlapping_intervals_come_in_order():
    start = np.arange(60.0)
    adjacent = np.abs(start[:, None] - start) < 5
    found = maximal_cliques(adjacent)
    assert_array_equal(found.argmax(axis=1), np.arange(56))
    assert_array_equal(found.sum(axis=1), 5)
    assert len(maximal_cliques(adjacent, most=10)) == 11
