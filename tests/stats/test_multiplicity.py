import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from skbench.stats.ranking.multiplicity import bonferroni_level, holm


def test_bonferroni_of_three_comparisons():
    assert_allclose(bonferroni_level(0.95, 3), 0.9833, rtol=0, atol=5e-5)  # printed to 4 digits
    assert bonferroni_level(0.9, 1) == pytest.approx(0.9)


def rejected_one_by_one(p_values, alpha):
    """Holm's rule as he states it: from the smallest on, stop at the first failure."""
    rejected = set()
    for step, i in enumerate(np.argsort(p_values)):
        if p_values[i] > alpha / (len(p_values) - step):
            break
        rejected.add(int(i))
    return rejected


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_holm_rejects_what_his_rule_rejects(alpha):
    rng = np.random.default_rng(0)
    for p_values in rng.random((200, 6)) ** 3:
        assert set(np.flatnonzero(holm(p_values) <= alpha)) == rejected_one_by_one(p_values, alpha)


def test_holm_lies_between_raw_and_bonferroni():
    p_values = np.random.default_rng(1).random((50, 5)) ** 2
    adjusted = holm(p_values)
    assert np.all((p_values <= adjusted) & (adjusted <= np.minimum(1, 5 * p_values)))
    assert_allclose(adjusted.min(axis=1), np.minimum(1, 5 * p_values.min(axis=1)))
    assert_array_equal(holm(p_values[3]), adjusted[3])


def test_holm_keeps_its_level_when_nothing_differs():
    p_values = np.random.default_rng(2).random((4000, 8))
    false = np.mean(holm(p_values).min(axis=1) <= 0.05)
    assert false <= binom.ppf(0.9995, 4000, 0.05) / 4000
