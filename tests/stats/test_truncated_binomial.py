"""Exact sequential tests of a proportion: against other computations, and over all paths."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, nbinom
from skbench.stats.binomial import clopper_pearson_interval
from skbench.stats.truncated_binomial import (
    chances,
    least_trials,
    stopped_interval,
    stopping_points,
)

from skbench.stats import truncated_binomial

DESIGNS = [
    (20, 0.8, 0.95, "above"),
    (40, 0.8, 0.95, "below"),
    (60, 0.9, 0.99, "above"),
    (160, 0.02, 0.9, "below"),
    (100, 0.8, 0.95, "above"),
    (100, 0.95, 0.95, "below"),
    (6, 0.5, 0.9375, "above"),  # alpha / 2 is the chance of five successes
    (6, 0.5, 0.9375, "below"),
    (1, 0.3, 0.1, "above"),
]
designs = pytest.mark.parametrize(("n_max", "reference", "level", "aim"), DESIGNS)


def intervals(points, reference, level):
    ends = [stopped_interval(points, reference, at, level) for at in range(len(points[0]))]
    return np.transpose(ends)


@designs
def test_verdicts_follow_from_the_intervals_and_cover(n_max, reference, level, aim):
    """At every point, and at every proportion: just beside the ends, coverage is lowest."""
    points = stopping_points(n_max, reference, level, aim)
    chance, goal = points[2], (1 - level) / 2
    low, high = intervals(points, reference, level)
    assert np.array_equal(low >= reference, chance[::-1].cumsum()[::-1] < goal)
    assert np.array_equal(high < reference, chance.cumsum() < goal)
    assert (np.diff([low, high]) >= 0).all() and low[0] == 0 and high[-1] == 1
    # What the test aims at, or that it cannot come, is known at the end, and no earlier.
    shown = low >= reference if aim == "above" else high < reference
    assert shown.any() and not shown.all()
    order = shown if aim == "above" else ~shown
    assert (np.diff(order.astype(int)) >= 0).all()
    beside = np.ravel([low - 1e-9, low + 1e-9, high - 1e-9, high + 1e-9])
    for p in [*np.linspace(0.01, 0.99, 99), *beside[(beside > 0) & (beside < 1)]]:
        at_p = chances(points, reference, p)
        assert_allclose(at_p.sum(), 1)
        assert at_p @ ((low <= p) & (p <= high)) >= level
        if p < reference:
            assert at_p @ (low >= reference) < goal
        else:
            assert at_p @ (high < reference) < goal


@pytest.mark.parametrize("aim", ["above", "below"])
def test_points_by_writing_out_all_paths(aim):
    """A path stops at its first point, and its chance goes there."""
    points = stopping_points(12, 0.6, 0.8, aim)
    found = dict.fromkeys(zip(*(x.tolist() for x in points[:2]), strict=True), 0.0)
    for path in product([0, 1], repeat=12):
        sums = zip(range(1, 13), np.cumsum(path).tolist(), strict=True)
        found[next(point for point in sums if point in found)] += 0.6 ** sum(path) * 0.4 ** (
            12 - sum(path)
        )
    assert_allclose(list(found.values()), points[2], rtol=1e-12)
    n, k, chance = points
    early = (k < k.max()) & (n - k < (n - k).max())  # not since the aim is out of reach, or met
    assert early.sum() == {"above": 2, "below": 4}[aim]
    spent = np.where(k > 0.6 * n, chance[::-1].cumsum()[::-1], chance.cumsum())
    assert (spent < 0.1 * (n / 12) ** 2)[early].all()


def test_at_one_number_of_trials_it_is_clopper_pearson():
    k = np.arange(21)
    points = np.full(21, 20), k, binom.pmf(k, 20, 0.3)
    assert_allclose(intervals(points, 0.3, 0.95), clopper_pearson_interval(k, 20), atol=1e-11)


def test_at_the_third_failure_it_is_exact_for_the_negative_binomial():
    """Trials up to the third failure, or the 400th: ends where those tails are alpha / 2."""
    n = np.arange(3, 400)
    chance = nbinom.pmf(n - 3, 3, 0.4)
    rest = np.arange(3)[::-1]  # failures in 400 trials
    points = (
        np.append(n, [400, 400, 400]),
        np.append(n - 3, 400 - rest),
        np.append(chance, binom.pmf(rest, 400, 0.4)),
    )
    for at in (1, 8, 30):
        low, high = stopped_interval(points, 0.6, at, 0.9)
        assert_allclose(nbinom.sf(n[at] - 4, 3, 1 - low), 0.05, rtol=1e-7)
        assert_allclose(nbinom.cdf(n[at] - 3, 3, 1 - high), 0.05, rtol=1e-7)


@pytest.mark.parametrize(("aim", "reference"), [("above", 0.8), ("below", 0.5), ("below", 0.03)])
def test_least_trials(aim, reference):
    """The fewest with which a plan can show anything; with one less, none."""
    least = least_trials(reference, 0.9375, aim)
    base = reference if aim == "above" else 1 - reference
    assert base**least < 1 / 32 <= base ** (least - 1)
    points = stopping_points(least, reference, 0.9375, aim)
    low, high = intervals(points, reference, 0.9375)
    assert (low[-1] >= reference) if aim == "above" else (high[0] < reference)


def test_above_and_below_mirror_each_other():
    n, k, chance = stopping_points(50, 0.75, 0.9, "above")
    other = stopping_points(50, 0.25, 0.9, "below")
    assert np.array_equal([n, n - k], np.array(other[:2])[:, ::-1])
    assert_allclose(chance, other[2][::-1])


def test_spending_is_a_good_compromise(monkeypatch):
    """With the square, nearly the power of a fixed number of trials, in far fewer of them."""
    found = {}
    for power in (1, 2, 3, 1e6):  # the last: nothing is spent before the end
        monkeypatch.setattr(truncated_binomial, "SPENDING", power)
        points = stopping_points(100, 0.8)
        shown = points[2][::-1].cumsum()[::-1] < 0.025
        at_09, at_1 = (chances(points, 0.8, p) for p in (0.9, 1 - 1e-9))
        found[power] = round(100 * at_09 @ shown), round(at_09 @ points[0]), round(at_1 @ points[0])
    assert found == {1: (70, 65, 24), 2: (75, 70, 28), 3: (76, 72, 32), 1e6: (77, 93, 89)}
