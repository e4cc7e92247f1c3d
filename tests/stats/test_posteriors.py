import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import roots_jacobi
from scipy.stats import beta, dirichlet, kstest, norm
from scipy.stats import t as student_t

from skbench.stats.ppi.posteriors import (
    beta_rule,
    k_proportion_draws,
    mean_draws,
    proportion_draws,
)

N_DRAWS = 20_000
# Correct draws have a smaller p-value once in a hundred runs; seeds are fixed.
LEAST_P = 0.01


@pytest.mark.parametrize("n", [2, 5, 30, 31, 500])
def test_mean_draws_follow_normal_or_t(n):
    draws = mean_draws([0.4, 7.0], [0.09, 4.0], n, N_DRAWS, np.random.default_rng(n))
    law = norm if n > 30 else student_t(n - 1)
    for j, (mean, variance) in enumerate([(0.4, 0.09), (7.0, 4.0)]):
        assert kstest((draws[:, j] - mean) / np.sqrt(variance / n), law.cdf).pvalue > LEAST_P


def test_one_observation_has_no_posterior():
    assert np.isnan(mean_draws(0.5, 0.3, [1, 5], 3, np.random.default_rng(0))[:, 0]).all()


@pytest.mark.parametrize(("k", "n"), [(0, 0), (0, 10), (7, 10), (300, 300)])
def test_proportion_draws_follow_the_beta(k, n):
    draws = proportion_draws([k], [n], N_DRAWS, np.random.default_rng(k + n))
    assert kstest(draws[:, 0], beta(k + 0.5, n - k + 0.5).cdf).pvalue > LEAST_P


def test_k_proportion_draws_follow_the_dirichlet():
    counts = np.array([[3, 0, 40], [0, 0, 0]])
    draws = k_proportion_draws(counts, 200_000, np.random.default_rng(0))
    assert draws.shape == (200_000, 2, 3)
    assert_allclose(draws.sum(axis=2), 1, rtol=1e-12)
    for group in range(2):
        law = dirichlet(counts[group] + 1 / 3)
        # Standard error of a mean is below 1.2e-3 (sd at most 1/2), so 4 of them below 5e-3.
        assert_allclose(draws[:, group].mean(axis=0), law.mean(), atol=5e-3)
        assert_allclose(np.cov(draws[:, group].T), law.cov(), atol=5e-3)


def test_two_proportions_are_jeffreys_beta():
    draws = k_proportion_draws([7, 3], N_DRAWS, np.random.default_rng(1))
    assert kstest(draws[:, 0], beta(7.5, 3.5).cdf).pvalue > LEAST_P


@pytest.mark.parametrize(
    ("a", "b"), [(0.5, 0.5), (0.5, 9.5), (132.5, 7.5), (2000.5, 1320.5), (1, 1)]
)
@pytest.mark.parametrize("n_nodes", [2, 6, 20])
def test_beta_rule_against_scipy(a, b, n_nodes):
    nodes, weights = beta_rule([a], [b], n_nodes)
    x, w = roots_jacobi(n_nodes, b - 1, a - 1)
    assert_allclose(nodes[0], (1 + x) / 2, rtol=1e-9, atol=1e-12)
    # scipy's own weights lose digits where the parameters are large.
    assert_allclose(weights[0], w / w.sum(), atol=1e-9)


def test_beta_rule_is_exact_up_to_its_degree():
    nodes, weights = beta_rule([3.5], [1.5], 4)
    moments = np.cumprod([1.0] + [(3.5 + i) / (5 + i) for i in range(8)])
    found = [(weights * nodes**power).sum() for power in range(9)]
    assert_allclose(found[:8], moments[:8], rtol=1e-12)
    assert abs(found[8] / moments[8] - 1) > 1e-6
