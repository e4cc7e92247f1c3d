"""Noise of repeated verdicts: analysis of variance, symmetry, limits, coverage."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, f_oneway

from skbench.stats.resampling.repeats import repeat_noise


def by_hand(rows):
    """Variances within and between by the analysis of unweighted means."""
    rows = [[v for v in row if np.isfinite(v)] for row in rows]
    means = [sum(row) / len(row) for row in rows]
    squares = sum((v - m) ** 2 for row, m in zip(rows, means, strict=True) for v in row)
    within = squares / sum(len(row) - 1 for row in rows)
    center = sum(means) / len(means)
    spread = sum((m - center) ** 2 for m in means) / (len(means) - 1)
    return within, spread - within * sum(1 / len(row) for row in rows) / len(rows)


@pytest.mark.parametrize("gaps", [0, 0.3])
def test_components_are_those_of_the_analysis_of_variance(gaps):
    rng = np.random.default_rng(0)
    y = rng.normal(5, 1, (40, 1)) + rng.normal(0, 0.7, (40, 4))
    y[rng.random(y.shape) < gaps] = np.nan
    y = y[np.isfinite(y).any(axis=1)]
    found = repeat_noise(y, np.arange(len(y)))
    within, between = by_hand(y)
    assert_allclose([found.within, found.between], [within, between])
    assert_allclose(found.share, within / (between + within))
    if not gaps:
        f = f_oneway(*y).statistic
        assert_allclose(1 - found.share, (f - 1) / (f + 3))  # intraclass correlation
    moved = repeat_noise(1e6 - 10 * y[::-1, ::-1], np.arange(len(y)))
    assert_allclose(moved[2:], found[2:], rtol=1e-6)


def test_copies_in_clusters_add_no_information():
    rng = np.random.default_rng(1)
    y = rng.normal(0, 1, (30, 1)) + rng.normal(0, 1, (30, 3))
    alone, copies = repeat_noise(y, np.arange(30)), np.repeat(y, 4, axis=0)
    found = repeat_noise(copies, np.repeat(np.arange(30), 4))
    assert_allclose(found.within, alone.within)
    # Noise of copies does not average out in their mean, so the rest is between clusters.
    assert_allclose(found.between + found.within / 3, 4 * (alone.between + alone.within / 3))


def test_limits():
    same = np.repeat([[1.0], [0.0], [1.0], [1.0]] * 5, 2, axis=1)
    found = repeat_noise(same, np.arange(20))
    assert found.within == found.share == found.low == 0 < found.high < 0.6
    everything = repeat_noise(np.ones((5, 2)), np.arange(5))
    assert everything.within == 0 and np.isnan(everything.share)
    only_noise = repeat_noise([[0, 1], [1, 0], [0, 1], [0, 0.9]], np.arange(4))
    assert only_noise.between == 0 and only_noise.share == only_noise.high == 1
    two = repeat_noise([[0, 1], [1, 1]], [0, 1])
    assert np.isnan([two.low, two.high]).all() and 0 < two.share <= 1
    one = repeat_noise([[0, 1], [1, 1], [0, 0]], [0, 0, 0])
    assert one.within == 1 / 6 and np.isnan(one[1:]).all()


def guessed_at(rng, n, share):
    """Answers with constant verdicts except for a guessed share, and the true share of noise."""
    p = np.where(rng.random(n) < share, 0.5, (rng.random(n) < 0.6) * 1.0)
    mean = 0.6 - 0.1 * share
    return p, share / 4 / (mean * (1 - mean))


def misses(rng, n, k, share, n_sets):
    count = 0
    for _ in range(n_sets):
        p, truth = guessed_at(rng, n, share)
        y = (rng.random((n, k)) < p[:, None]) * 1.0
        y[1:, 1:][rng.random((n - 1, k - 1)) < 0.1] = np.nan
        found = repeat_noise(y, np.arange(n))
        count += not found.low <= truth <= found.high
    return count


def test_the_share_is_covered_where_changes_are_rare():
    assert misses(np.random.default_rng(2), 60, 2, 0.05, 200) <= binom.ppf(0.999, 200, 0.07)


def test_no_observed_constant_answer_does_not_exclude_one():
    y = np.array([[1, 1]] * 42 + [[1, 0]] * 8)
    found = repeat_noise(y, np.arange(50))
    assert found.share == found.high == 1 and found.low < 0.6
    other = repeat_noise(1 - y, np.arange(50))
    assert_allclose(other, found)
    # One cluster of equal verdicts could change the variance between more than one answer.
    together = repeat_noise(np.repeat(y, 2, axis=0), np.repeat(np.arange(50), 2))
    assert together.low <= found.low + 1e-12


def rare(a, b, top, rng, n, k):
    """Grades from 0 to `top`, mostly the largest, and the share of noise."""
    p, within = rng.beta(a, b, n), top * a * b / (a + b) / (a + b + 1)
    y = rng.binomial(top, p[:, None], (n, k))
    return y, np.arange(n), within / (within + top * within / (a + b))


def failing(rate, sizes, rng, n, k):
    """Answers that are 95% correct; some clusters of these sizes fail completely."""
    sizes, p = np.resize(sizes, n), np.where(rng.random(n) < rate, 0, 0.95)
    y = rng.random((sizes.sum(), k)) < np.repeat(p, sizes)[:, None]
    within, between = 0.95 * 0.05 * (1 - rate), 0.95**2 * rate * (1 - rate)
    between *= np.sum(sizes**2) / sizes.sum()
    return y, np.repeat(np.arange(n), sizes), within / (within + between)


def covered(world, n, k, n_sets):
    rng, hits = np.random.default_rng(0), []
    for _ in range(n_sets):
        y, codes, truth = world(rng, n, k)
        if np.ptp(1.0 * y) > 0:
            found = repeat_noise(y, codes)
            hits.append(found.low <= truth <= found.high)
    return np.mean(hits)


def test_a_share_of_rare_verdicts_is_covered():
    assert covered(partial(rare, 9, 1, 1), 30, 2, 150) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(5, 2), (20, 2), (30, 4), (100, 2), (200, 3), (500, 2)])
def test_rare_verdicts_are_covered(n, k):
    worlds = [partial(rare, *x) for x in ((9, 1, 1), (4, 0.5, 1), (9, 0.5, 1), (4, 0.5, 4))]
    worlds += [partial(failing, *x) for x in ((0.03, 1), (0.05, 5), (0.02, 3), (0.05, [1, 2, 20]))]
    found = {str(world): covered(world, n, k, 200) for world in worlds}
    assert min(found.values()) >= 0.93 - 0.018, found  # one binomial standard error


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("k", [2, 4])
def test_the_share_of_noise_is_covered(n, k):
    rng = np.random.default_rng([n, k])
    for share in (0.02, 0.1, 0.3):
        assert misses(rng, n, k, share, 400) / 400 <= 0.07 + 0.013  # one binomial standard error
    for ratio in (0.2, 1, 5):
        hits = []
        for _ in range(400):
            y = rng.normal(0, 1, (n, 1)) + rng.normal(0, np.sqrt(ratio), (n, k))
            found = repeat_noise(y, np.arange(n))
            hits.append(found.low <= ratio / (1 + ratio) <= found.high)
        assert np.mean(hits) >= 0.93 - 0.013
    if n < 200:
        hits = [found_in_clusters(rng, n, k) for _ in range(400)]
        assert np.mean(hits) >= 0.93 - 0.013


def found_in_clusters(rng, n_clusters, k):
    """Clusters of five answers: between is 5 times the cluster variance plus that of answers."""
    base = np.repeat(rng.normal(0, 1, n_clusters), 5) + rng.normal(0, 1, 5 * n_clusters)
    y = base[:, None] + rng.normal(0, 2, (base.size, k))
    found = repeat_noise(y, np.repeat(np.arange(n_clusters), 5))
    return found.low <= 4 / (5 + 1 + 4) <= found.high
