import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm

from skbench.stats.ranking.multiplicity import bonferroni_level, holm, overlap_level


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


def test_overlap_level_of_equal_errors():
    # Value of Goldstein and Healy (1995), who print 83.4 %
    assert_allclose(overlap_level(), 0.834223727104296, rtol=1e-14)


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0])
def test_touching_intervals_are_just_significant(ratio):
    errors = np.array([1.0, ratio])
    reach = norm.ppf((1 + overlap_level(0.95, ratio)) / 2) * errors.sum()
    assert_allclose(2 * norm.sf(reach / np.hypot(*errors)), 0.05, rtol=1e-10)
    assert_allclose(overlap_level(0.95, ratio), overlap_level(0.95, 1 / ratio), rtol=1e-12)


def test_overlap_level_of_a_known_value_is_the_level_itself():
    assert_allclose(overlap_level(0.9, [0.0, 1e12]), 0.9, rtol=1e-10)
