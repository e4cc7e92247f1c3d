"""Systematic samples and assisted means."""

import numpy as np
import pytest

from skbench.stats.item_response.assisted import assisted_mean, combined
from skbench.stats.item_response.sampling import allocate, systematic_sample


def test_systematic_samples_have_their_probabilities():
    rng = np.random.default_rng(0)
    size = np.array([1.0, 1, 1, 2, 2, 30, 1, 4])
    taken = np.zeros(8)
    for _ in range(4000):
        chosen, p = systematic_sample(size, 4, rng)
        assert len(set(chosen)) == 4
        taken[chosen] += 1
    assert p.sum() == pytest.approx(4) and p[5] == 1
    # 4 standard errors of a share of 4000
    np.testing.assert_allclose(taken / 4000, p, atol=4 * 0.5 / np.sqrt(4000))


def test_allocation_adds_up_within_sizes():
    found = allocate(20, np.array([3, 50, 400]), np.array([3.0, 50, 400]))
    assert found.sum() == pytest.approx(20)
    assert np.all(found <= [3, 50, 400]) and np.all(found >= 2 - 1e-9)


def test_assisted_mean_is_unbiased_whatever_the_prediction():
    rng = np.random.default_rng(0)
    y, f = rng.binomial(1, 0.3, 60), rng.random(60)
    order = np.argsort(f)
    found = []
    for _ in range(3000):
        taken, p = systematic_sample(np.linspace(1, 3, 60)[order], 12, rng)
        rows = order[taken]
        group = np.zeros(12, dtype=int)
        one = np.array([f.mean()]), np.array([60])
        found.append(assisted_mean((y - f)[rows], 1 / p[taken], group, *one).value[0])
    error = np.std(found) / np.sqrt(3000)
    # The ratio of weights has a bias of the order of the variance over n.
    assert abs(np.mean(found) - y.mean()) < 4 * error + 0.005


def test_combination_trusts_the_model_until_it_is_contradicted():
    assert combined(0.5, 0.0004, 0.52, 0.0009)[2] == 0
    value, variance, share = combined(0.5, 1e-5, 0.7, 1e-4)
    assert share > 0.95 and value == pytest.approx(0.7, abs=0.01) and variance > 1e-4
    assert combined(0.5, 0.01, np.nan, np.nan)[0] == 0.5
