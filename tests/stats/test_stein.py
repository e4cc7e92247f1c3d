"""Stein's estimate of the squared error: unbiased, and what is made of it."""

import numpy as np
from numpy.testing import assert_allclose

from skbench.stats.shrinkage.stein import inflation, squared_errors, weight_of_direct


def crossed_covariance(rng, n_models=4, n_topics=3000):
    """Noise correlated across models of a topic; true values with a common part per topic."""
    noise = 0.3 * (0.4 + 0.6 * np.eye(n_models))
    spread = 0.2 + 0.1 * np.eye(n_models)
    truth = rng.multivariate_normal(np.zeros(n_models), spread, n_topics)
    z = truth + rng.multivariate_normal(np.zeros(n_models), noise, n_topics)
    return noise, spread, truth, z


def test_unbiased_risk_of_a_posterior_mean():
    noise, spread, truth, z = crossed_covariance(np.random.default_rng(0))
    joint = spread @ np.linalg.inv(spread + noise)
    variance = np.broadcast_to(np.diag(joint @ noise), z.shape)
    # A Bayes rule that borrows from the topic's other models, and one with a bias that its
    # posterior variance does not know.
    for bias in (0.0, 0.4):
        value = z @ joint.T + bias
        found, error = squared_errors(value, variance, z, 0.3), (value - truth) ** 2
        # Topics are independent, and both sides use the same true values.
        gap = np.mean(found - error, axis=1)
        assert abs(gap.mean()) < 3.5 * gap.std(ddof=1) / np.sqrt(len(gap))


def test_unbiased_whatever_the_weights_of_others_are():
    noise, _, truth, z = crossed_covariance(np.random.default_rng(1))
    rule = np.random.default_rng(2).normal(size=(4, 4)) / 3
    # The covariance with the noise is what the identity needs, and nothing else.
    found = squared_errors(z @ rule.T, np.diag(rule @ noise), z, 0.3)
    gap = np.mean(found - (z @ rule.T - truth) ** 2, axis=1)
    assert abs(gap.mean()) < 3.5 * gap.std(ddof=1) / np.sqrt(len(gap))


def test_direct_estimates_have_the_error_of_their_noise():
    z, noise = np.array([0.1, 0.5, 0.9]), np.array([0.01, 0.02, 0.03])
    assert_allclose(squared_errors(z, noise, z, noise), noise)


def test_widens_for_estimates_that_are_shrunk_too_far():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=20_000)
    z = truth + 0.5 * rng.normal(size=20_000)
    value, claimed = 0.6 * z, np.full(20_000, 0.6 * 0.25)
    found = inflation(value, claimed, z, np.full(20_000, 0.25), np.ones(20_000))
    error = np.mean((value - truth) ** 2)
    assert found > 1.1
    assert_allclose(0.15 * found**2, error, rtol=0.05)


def test_weights_select_the_errors_that_count():
    z, noise, claimed = np.array([0.0, 1.0]), np.full(2, 0.01), np.full(2, 0.01)
    value = np.array([0.0, 0.84])  # the second seems off by .0256 - .01 + .02
    assert inflation(value, claimed, z, noise, np.array([1.0, 0.0])) == 1
    found = inflation(value, claimed, z, noise, np.array([0.0, 1.0]))
    assert_allclose(found, np.sqrt(3.56))
    both = inflation(value, claimed, z, noise, np.array([1.0, 3.0]))
    assert_allclose(both, np.sqrt((1 + 3 * 3.56) / 4))


def test_never_narrows_never_more_than_doubles_and_needs_an_error_to_widen():
    z, ones = np.array([0.1, 0.2, 0.3]), np.ones(3)
    assert inflation(z, np.full(3, 0.5), z, np.full(3, 0.5), ones) == 1
    assert inflation(z, np.zeros(3), z + 1, np.full(3, 0.01), ones) == 1
    assert inflation(z, np.full(3, 0.01), z + 9, np.full(3, 0.01), ones) == 2


def test_weight_of_direct_has_the_least_estimated_risk():
    rng = np.random.default_rng(3)
    truth, variance, noise = rng.normal(size=500), np.full(500, 0.01), np.full(500, 0.25)
    z = truth + 0.5 * rng.normal(size=500)
    value = 0.3 * z
    weight = weight_of_direct(value, variance, z, noise)
    grid = np.linspace(0, 1, 1001)
    distance = np.mean((value - z) ** 2)
    risks = (1 - grid) ** 2 * distance - 0.25 + 2 * ((1 - grid) * 0.01 + grid * 0.25)
    assert_allclose(weight, grid[np.argmin(risks)], atol=1e-3)
    moved = weight * z + (1 - weight) * value
    assert np.mean((moved - truth) ** 2) < np.mean((z - truth) ** 2)
    # A Bayes rule stays where it is: its errors are known, and smaller.
    assert weight_of_direct(0.8 * z, np.full(500, 0.2), z, noise) == 0


def test_zero_estimated_noise_gives_direct_estimates_no_weight():
    # All answers right: unbiased estimates of their noise are 0, whatever they are worth.
    assert weight_of_direct(np.full(9, 0.97), np.full(9, 1e-3), np.ones(9), np.zeros(9)) == 0


def test_estimates_that_are_the_direct_ones_have_nowhere_to_move():
    z, noise = np.array([0.1, 0.5, 0.9]), np.full(3, 0.02)
    assert weight_of_direct(z, noise, z, noise) == 0
    assert weight_of_direct(z, 2 * noise, z, noise) == 1
