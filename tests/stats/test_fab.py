import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.fab_grid import accepted_hull
from scipy.stats import betabinom, binom, norm

from skbench.stats.intervals.binomial import clopper_pearson_interval
from skbench.stats.shrinkage.fab import beta_prior, fab_binomial_interval, fab_normal_interval

PRIORS = [(1, 1), (14, 6), (0.3, 5), (200, 30), (2000, 700)]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_ends_against_enumeration(n, prior):
    k = np.arange(0, n + 1, max(1, n // 5))
    low, high = fab_binomial_interval(k, n, *prior)
    expected = np.array([accepted_hull(count, n, *prior) for count in k])
    # The grid's step is 2.5e-4; its first and last points stand for 0 and 1.
    assert_allclose(np.column_stack([low, high]), expected, atol=3e-4)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n", [1, 3, 10, 50])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_exact_at_every_truth(n, prior, level):
    counts = np.arange(n + 1)
    low, high = fab_binomial_interval(counts, n, *prior, level)
    # Coverage jumps at the ends of intervals: look just beside them, and in between.
    ends = np.concatenate([low, high])
    p = np.clip(np.concatenate([ends - 1e-9, ends + 1e-9, np.linspace(0, 1, 301)]), 0, 1)
    covers = (low <= p[:, None]) & (p[:, None] <= high)
    coverage = np.sum(binom.pmf(counts, n, p[:, None]) * covers, axis=1)
    assert coverage.min() >= level - 1e-7  # moving an end by 1e-9 moves coverage by n times that


@pytest.mark.parametrize("n", [10, 50])
def test_shorter_than_clopper_pearson_where_the_prior_is_right(n):
    counts = np.arange(n + 1)
    weight = betabinom.pmf(counts, n, 60, 20)
    low, high = fab_binomial_interval(counts, n, 60, 20)
    exact = clopper_pearson_interval(counts, n)
    assert weight @ (high - low) < 0.9 * (weight @ (exact[1] - exact[0]))


def test_mirror_image():
    counts = np.arange(11)
    low, high = fab_binomial_interval(counts, 10, 14, 6)
    mirrored = fab_binomial_interval(10 - counts, 10, 6, 14)
    assert_allclose(low, 1 - mirrored[1], atol=1e-12)
    assert_allclose(high, 1 - mirrored[0], atol=1e-12)


def test_holds_the_direct_estimate():
    k = np.repeat(np.arange(21), 3)
    low, high = fab_binomial_interval(k, 20, np.tile([1, 30, 2], 21), np.tile([1, 10, 90], 21))
    assert np.all((low <= k / 20) & (k / 20 <= high))


def test_only_counts_near_an_end_count(monkeypatch):
    from skbench.stats.shrinkage import fab

    rng = np.random.default_rng(0)
    n = np.repeat([40, 300, 3000], [200, 100, 40])
    k, mean, size = rng.binomial(n, rng.uniform(0, 1, n.size)), rng.beta(0.5, 0.5, n.size), 10.0
    size **= rng.uniform(-1, 7, n.size)
    arguments = k, n, *np.maximum([mean * size, (1 - mean) * size], 1e-6)
    found = [fab_binomial_interval(*arguments, level) for level in (0.5, 0.95)]
    monkeypatch.setattr(fab, "_WINDOW", 40_000)
    every = [fab_binomial_interval(*arguments, level) for level in (0.5, 0.95)]
    assert_allclose(found, every, rtol=1e-12)


@pytest.mark.parametrize("n", [1e7, 1e9, 1e12])
def test_many_trials_are_normal(n):
    k, alpha, beta = n * np.array([0.3, 0.3, 0.9]), np.array([1, 300, 2]), np.array([1, 700, 4])
    error = np.sqrt(k / n * (1 - k / n) / n)
    mean = alpha / (alpha + beta)
    prior = mean, mean * (1 - mean) / (alpha + beta + 1)
    # Skewness of 1e-3 at 1e7.
    ends = np.array(fab_binomial_interval(k, n, alpha, beta)) - k / n
    assert_allclose(ends, np.array(fab_normal_interval(k / n, error, *prior)) - k / n, rtol=2e-3)


def test_many_groups_are_independent_of_each_other(monkeypatch):
    from skbench.stats.shrinkage import fab

    rng = np.random.default_rng(0)
    n = rng.integers(1, 60, 50)
    arguments = rng.binomial(n, 0.7), n, rng.uniform(1, 9, 50), rng.uniform(1, 9, 50)
    together = fab_binomial_interval(*arguments)
    monkeypatch.setattr(fab, "_CHUNK", 40)
    assert_allclose(fab_binomial_interval(*arguments), together, rtol=1e-12)


def test_beta_prior_has_the_moments():
    alpha, beta = beta_prior([0.2, 0.9], [0.01, 0.002])
    size = alpha + beta
    assert_allclose(alpha / size, [0.2, 0.9])
    assert_allclose(alpha * beta / (size**2 * (size + 1)), [0.01, 0.002])
    for parameters in (beta_prior(0.5, 0.0), beta_prior(0.5, 9.0), beta_prior(0.0, 0.01)):
        assert np.all(np.isfinite(parameters))
        assert np.all(np.array(parameters) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("theta", [-3.0, 0.0, 0.7, 6.0])
@pytest.mark.parametrize("prior_variance", [0.05, 1.0, 30.0])
def test_normal_coverage_is_exact(theta, prior_variance):
    # z is covered if it lies between two bounds: its probability is an integral over z.
    z = theta + np.linspace(-6, 6, 4001)
    low, high = fab_normal_interval(z, 1.0, 0.0, prior_variance, 0.9)
    inside = (low <= theta) & (theta <= high)
    coverage = np.sum(norm.pdf(z - theta) * inside) * (z[1] - z[0])
    assert_allclose(coverage, 0.9, atol=1e-3)  # two ends, each within half a step of .003


def test_normal_limits():
    low, high = fab_normal_interval(0.3, 2.0, -1.0, np.inf)
    assert_allclose([low, high], 0.3 + np.array([-2, 2]) * norm.ppf(0.975))
    # A certain prior: from the prior mean to the one-sided end.
    low, high = fab_normal_interval(3.0, 1.0, 0.0, 0.0)
    assert_allclose([low, high], [0.0, 3.0 + norm.ppf(0.95)], atol=1e-6)


def test_normal_with_few_degrees_of_freedom():
    rng = np.random.default_rng(1)
    for theta in (0.0, 3.0):
        z = theta + rng.normal(size=4000)
        error = np.sqrt(rng.chisquare(4, 4000) / 4)
        low, high = fab_normal_interval(z, error, 0.0, 0.5, df=4, sigma2=1.0)
        hits = np.sum((low <= theta) & (theta <= high))
        assert binom.ppf(1e-4, 4000, 0.95) <= hits <= binom.ppf(1 - 1e-4, 4000, 0.95)
