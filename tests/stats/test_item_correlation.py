"""Correlation of the errors of models on shared items, and its factors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skbench.stats.clusters.item_correlation import item_correlation, shared_factors


def test_item_correlation_against_corrcoef():
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(3), 400)
    scores = rng.normal(size=(1200, 1)) + rng.normal(size=(1200, 3)) * [0.5, 1.0, 2.0]
    scores = scores + topic[:, None]
    centered = scores - np.array([scores[topic == t].mean(axis=0) for t in range(3)])[topic]
    # With 1200 items chance explains little of the variance, so shrinkage is weak.
    raw = np.corrcoef(centered.T)
    assert_allclose(item_correlation(scores, topic), raw, rtol=0, atol=0.01)


def test_item_correlation_is_drawn_to_its_mean_as_far_as_chance_explains():
    """Weight of Schafer and Strimmer for one topic of complete scores."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(60, 1)) + rng.normal(size=(60, 4)) * [0.3, 1.0, 3.0, 3.0]
    raw = np.corrcoef(scores.T)
    pairs = raw[np.triu_indices(4, 1)]
    weight = np.sum((1 - pairs**2) ** 2 / 60) / np.sum((pairs - pairs.mean()) ** 2)
    assert 0.05 < weight < 0.5
    expected = (1 - weight) * raw + weight * pairs.mean()
    np.fill_diagonal(expected, 1)
    assert_allclose(item_correlation(scores, np.zeros(60, dtype=int)), expected)


def test_pairs_of_models_without_items_in_common_get_the_mean():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(200, 1)) + rng.normal(size=(200, 3))
    scores[2:100, 0] = np.nan
    scores[100:, 1] = np.nan
    found = item_correlation(scores, np.zeros(200, dtype=int))
    assert_allclose(found[0, 1], (found[0, 2] + found[1, 2]) / 2, atol=0.02)


def test_item_correlation_is_one_where_pairs_contradict_each_other():
    """Each pair has separate items; 1 and 2 agree, 2 and 3 agree, 1 and 3 disagree."""
    rng = np.random.default_rng(4)
    scores = np.full((300, 3), np.nan)
    for part, (first, second, sign) in enumerate([(0, 1, 1), (1, 2, 1), (0, 2, -1)]):
        rows = slice(100 * part, 100 * (part + 1))
        scores[rows, first] = rng.normal(size=100)
        scores[rows, second] = sign * scores[rows, first]
    matrix = item_correlation(scores, np.repeat([0, 1, 2], 100))
    assert_allclose(np.diag(matrix), 1)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    assert_allclose(matrix[[0, 1, 0], [1, 2, 2]], [0.5, 0.5, -0.5])


def test_item_correlation_of_few_items_is_usable():
    scores = np.random.default_rng(0).integers(0, 2, size=(12, 40)).astype(float)
    scores[:, 0] = 1.0
    scores[:6, 1] = np.nan
    matrix = item_correlation(scores, np.repeat([0, 1], 6))
    assert_allclose(np.diag(matrix), 1, rtol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    # Raw correlations of twelve items reach .9 by chance.
    assert np.abs(matrix - np.eye(40)).max() < 0.4


@pytest.mark.parametrize("common", [0.1, 0.3, 0.8, 0.95, 1.0])
def test_factors_of_shared_items_are_a_common_correlation(common):
    own, factors = shared_factors(np.full((4, 4), common) + (1 - common) * np.eye(4))
    # Iterations stop if no share changes by 1e-4; every model keeps an independent error.
    assert_allclose(own, max(1 - common, 0.1), atol=2e-3)
    assert_allclose(np.sum(factors**2, axis=1) + own, 1, atol=2e-3)
    assert_allclose(factors @ factors.T, np.full((4, 4), min(common, 0.9)), atol=2e-3)


def test_families_of_models_are_factors_of_their_own():
    rng = np.random.default_rng(0)
    loadings = np.kron(np.eye(2), np.ones((6, 1))) * rng.uniform(0.5, 0.9, size=(12, 1))
    correlation = loadings @ loadings.T
    np.fill_diagonal(correlation, 1)
    own, factors = shared_factors(correlation)
    assert factors.shape == (12, 2)
    assert_allclose(own, 1 - np.sum(loadings**2, axis=1), atol=2e-3)
    assert_allclose(factors @ factors.T, loadings @ loadings.T, atol=2e-3)
