"""One worst case more: METHODS' table, and what follows from the formula."""

import numpy as np
import pytest
from scipy.stats import t as student_t
from skbench.stats.worst_case import end_variances, worst_case_interval

SETS = 4000


def rare_losses(rng, shape, share):
    lost = -rng.uniform(0.5, 1, shape)
    return np.where(rng.random(shape) < share, lost, rng.normal(0, 0.01, shape)), -0.75 * share


def right_or_wrong(rng, shape, gained, lost):
    u = rng.random(shape)
    return np.where(u < gained, 1.0, np.where(u > 1 - lost, -1.0, 0.0)), gained - lost


def normal(rng, shape, spread):
    return rng.normal(0, spread, shape), 0.0


def near_the_top(rng, shape):
    kept = np.clip(rng.normal(0.97, 0.01, shape), 0, 1)
    return np.where(rng.random(shape) < 0.05, 0.0, kept), 0.95 * 0.97


# Differences lie from -1 to 1, scores from 0 to 1; share of low ends above the truth, and widths.
TABLE = [
    (rare_losses, (0.03,), 20, 0.0, 0.23),
    (rare_losses, (0.03,), 60, 0.0, 0.09),
    (rare_losses, (0.03,), 200, 0.042, 0.041),
    (rare_losses, (0.01,), 200, 0.0, None),
    (right_or_wrong, (0.02, 0.05), 60, 0.022, 0.147),
    (right_or_wrong, (0.02, 0.05), 200, 0.033, 0.075),
    (right_or_wrong, (0.1, 0.1), 20, 0.007, 0.45),
    (right_or_wrong, (0.1, 0.1), 60, 0.021, 0.236),
    (right_or_wrong, (0.1, 0.1), 200, 0.026, 0.125),
    (normal, (0.3,), 20, 0.004, 0.34),
    (normal, (0.3,), 60, 0.015, 0.167),
    (normal, (0.1,), 60, None, 0.084),
    (near_the_top, (), 20, 0.0, None),
    (near_the_top, (), 60, 0.049, None),
    (near_the_top, (), 200, 0.057, None),
]


@pytest.mark.parametrize(("scores", "settings", "n", "missed", "width"), TABLE)
def test_low_ends_and_widths_of_the_table(scores, settings, n, missed, width):
    x, truth = scores(np.random.default_rng(n), (SETS, n), *settings)
    low_bound = 0.0 if scores is near_the_top else -1.0
    mean, variance = x.mean(axis=1), x.var(axis=1, ddof=1) / n
    low, high = worst_case_interval(mean, variance, n, n - 1, low=low_bound, high=1.0)
    if missed is not None:
        assert np.mean(low > truth) == pytest.approx(missed, abs=0.012)
    if width is not None:
        assert np.mean(high - low) == pytest.approx(width, abs=0.008)


def test_end_variances_are_those_of_the_sample_with_one_more_score():
    x = np.random.default_rng(0).uniform(0, 1, 17)
    found = end_variances(x.mean(), x.var(ddof=1) / 17, 17, 0.0, 1.0)
    for bound, variance in zip((0.0, 1.0), found, strict=True):
        squares = np.sum((np.append(x, bound) - x.mean()) ** 2)
        # Around the mean of all 18, as a variance is.
        squares -= 18 * (np.append(x, bound).mean() - x.mean()) ** 2
        assert variance == pytest.approx(squares / 18 / 16, rel=1e-12)


def test_without_bounds_it_is_the_t_interval():
    low, high = worst_case_interval(0.5, 0.01, 12, 11, 0.9, -np.inf, np.inf)
    reach = student_t.ppf(0.95, 11) * 0.1
    assert (low, high) == (pytest.approx(0.5 - reach), pytest.approx(0.5 + reach))


def test_one_score_has_no_variance():
    assert np.isnan(worst_case_interval(0.5, np.nan, 1, 0)).all()
