"""Warnings of estimates that seem worse than the direct ones: seldom, and then true."""

import warnings

import numpy as np
import pytest
from skbench.stats.binomial import sampling_variance

from skbench import EmpiricalBayes


def warned(rng, p, n):
    """Whether EmpiricalBayes warns of its risk, and its true squared error over direct's."""
    k = rng.binomial(n, p)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = k / n, sampling_variance(k, n), np.full(len(p), n)
        e = EmpiricalBayes(random_state=0).fit(np.zeros((len(p), 1)), *data)
        value = e.estimate().value
    said = any("squared error" in str(w.message) for w in caught)
    return said, np.sum((value - p) ** 2) / np.sum((k / n - p) ** 2)


@pytest.mark.parametrize("level", [0.02, 0.97])
def test_seldom_near_the_ends_where_shrinking_helps(level):
    rng = np.random.default_rng(0)
    found = [warned(rng, np.clip(rng.normal(level, 0.01, 40), 0, 1), 20) for _ in range(10)]
    said, ratio = np.array(found, dtype=float).T
    assert np.median(ratio) < 0.7
    assert said.mean() <= 0.2


def test_said_where_a_few_groups_are_far_off():
    rng = np.random.default_rng(1)
    p = np.full(200, 0.995)
    p[::10] = 0.3
    said, ratio = np.array([warned(rng, p, 50) for _ in range(10)], dtype=float).T
    assert said.any() and np.mean(ratio[said > 0] > 1) > 0.5
