import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, false_discovery_control
from scipy.stats import t as student_t

from skbench.stats.ranking.multiplicity import (
    bonferroni_level,
    false_coverage_level,
    holm,
    simultaneous_level,
)


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


def test_intervals_exclude_what_the_false_discovery_rate_lets_one_reject():
    for p_values in np.random.default_rng(3).random((20, 7)) ** 3:
        level = false_coverage_level([np.nan, *p_values], 0.8)
        rejected = false_discovery_control(p_values) <= 0.2
        assert_array_equal(p_values <= 1 - level, rejected)
    assert false_coverage_level([np.nan], 0.8) == pytest.approx(0.8)


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9, 1.0])
def test_max_t_lies_between_one_interval_and_bonferroni(shared):
    n, rng = 6, np.random.default_rng(4)
    correlation = shared + (1 - shared) * np.eye(n)
    level = simultaneous_level(correlation, 30, 0.95)
    assert 0.95 - 0.004 <= level <= bonferroni_level(0.95, n)
    assert simultaneous_level(correlation, 10, 0.95) == bonferroni_level(0.95, n)
    noise = rng.multivariate_normal(np.zeros(n), correlation, 20_000, method="eigh")
    t = np.abs(noise).max(axis=1) / np.sqrt(rng.chisquare(30, 20_000) / 30)
    covered = np.mean(t <= student_t.ppf((1 + level) / 2, 30))
    assert abs(covered - 0.95) < 0.006 or shared == 0  # two runs of 20,000 draws
