"""Frontiers of score and cost: intervals of skewed means, and who dominates whom."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, skew
from scipy.stats import t as student_t

from skbench.stats import frontier
from skbench.stats.intervals.means import t_interval


def ends_of(x, confidence_level=0.95):
    n = len(x)
    influence = (x - x.mean(axis=0)) / np.sqrt(n * (n - 1))
    variance = np.sum(influence**2, axis=0)
    df = np.full(variance.shape, n - 1)
    return frontier.skewed_ends(x.mean(axis=0), variance, influence, df, confidence_level)


def slow_end(x, side):
    """An end by solving Hall's equation, with the farthest value of that side once more."""
    n, mean = len(x), x.mean()
    farthest = x.max() if side > 0 else x.min()
    more = np.append(x, farthest)
    error = np.sqrt(more.var() / (n - 1))
    r = np.sum((more - mean) ** 3) / np.sum((more - mean) ** 2) ** 1.5
    reach = student_t.ppf(0.975, n - 1)

    def misfit(mu):
        t = (mean - mu) / error
        return t + r * t**2 / 3 + r**2 * t**3 / 27 + r / 6 + side * reach

    return brentq(misfit, mean - 1e3 * error, mean + 1e3 * error, xtol=1e-13)


@pytest.mark.parametrize("x", [[1.0, 1, 2, 2, 3, 15], [-4.0, 1, 1, 2, 2], [1.0, 2, 3, 4]])
def test_skewed_ends_solve_the_equation_of_hall(x):
    x = np.array(x)
    low, high = ends_of(x[:, None])
    # Where the cubic is flat brentq finds its root to some 1e-5.
    np.testing.assert_allclose([low[0], high[0]], [slow_end(x, -1), slow_end(x, 1)], rtol=1e-4)
    mirrored = ends_of(-x[:, None])
    np.testing.assert_allclose([-mirrored.high, -mirrored.low], [low, high])
    assert (high - x.mean() > x.mean() - low) == (skew(x) > 1e-9)


def test_skewed_ends_miss_less_often_than_t():
    """Of lognormal costs on 50 items, by their log standard deviation: the docstring's figures."""
    rng, n_trials = np.random.default_rng(0), 3000
    for sigma, ours, by_t in ((0.5, 0.022, 0.048), (1.0, 0.037, 0.097), (1.5, 0.067, 0.18)):
        x = rng.lognormal(-(sigma**2) / 2, sigma, (50, n_trials))
        high = t_interval(x.mean(axis=0), x.std(axis=0, ddof=1) / np.sqrt(50), 49)[1]
        for ends, share in ((ends_of(x).high, ours), (high, by_t)):
            low, most = binom.ppf([0.0005, 0.9995], n_trials, share)
            assert low <= np.sum(ends < 1) <= most


def test_known_and_unknown_means():
    influence = np.array([[0.0, 0.1], [0.0, -0.1]])
    low, high = frontier.skewed_ends([3.0, 3.0], [0.0, np.nan], influence, [np.inf, 1])
    assert (low[0], high[0]) == (3, 3) and np.isnan([low[1], high[1]]).all()


def test_observed_frontier_by_hand_and_by_force():
    rng = np.random.default_rng(1)
    score, cost = rng.integers(0, 5, (2, 40)).astype(float)
    score[0] = cost[1] = np.nan
    found = frontier.observed_frontier(score, cost)
    for j, (s, c) in enumerate(zip(score, cost, strict=True)):
        beaten = any(
            t >= s and d <= c and (t, d) != (s, c) for t, d in zip(score, cost, strict=True)
        )
        assert found[j] == (np.isfinite(s + c) and not beaten)


def test_dominance_needs_both():
    """Pairs by their own intervals; equal list prices count, equal means of costs do not."""
    rng = np.random.default_rng(2)
    cost = rng.lognormal(0, 1, (60, 4)) * [1, 1, 3, 3]
    cost[:, 3] = 3.0
    cost = np.column_stack([cost, cost[:, 3]])
    influence = (cost - cost.mean(axis=0)) / np.sqrt(60 * 59)
    variance = np.sum((influence[:, :, None] - influence[:, None]) ** 2, axis=0)
    df, better = np.full((5, 5), 59.0), np.triu(np.ones((5, 5), dtype=bool), k=1)
    found = frontier.dominance(better, cost.mean(axis=0), variance, influence, df, 0.95)
    for j, k in np.ndindex(found.shape):
        high = ends_of(cost[:, [j]] - cost[:, [k]]).high[0]
        equal = (j, k) == (3, 4)
        assert found[j, k] == (better[j, k] and (high < 0 or equal))
    assert found[0, 2] and found[3, 4] and not found[0, 1] and not found[:, 0].any()
