import numpy as np
from numpy.testing import assert_allclose

from skbench.stats.shrinkage.averaging import (
    interval_inflation,
    mean_standard_errors,
    weight_of_direct,
)


def crossed_covariance(rng, n_models=4, n_topics=3000):
    """Noise correlated across models of a topic; truths with a common part per topic."""
    noise = 0.3 * (0.4 + 0.6 * np.eye(n_models))
    spread = 0.2 + 0.1 * np.eye(n_models)
    truth = rng.multivariate_normal(np.zeros(n_models), spread, n_topics)
    z = truth + rng.multivariate_normal(np.zeros(n_models), noise, n_topics)
    return noise, spread, truth, z


def test_unbiased_risk_of_the_mean():
    # Two Bayes rules, one that knows the topic's other models and one that does not.
    noise, spread, truth, z = crossed_covariance(np.random.default_rng(0))
    joint = spread @ np.linalg.inv(spread + noise)
    alone = np.diag(np.diag(spread) / np.diag(spread + noise))
    covariance = [joint @ noise, alone @ noise]
    weights = [3, 1]
    value = (3 * z @ joint.T + z @ alone.T) / 4
    errors = np.array([np.broadcast_to(np.sqrt(np.diag(c)), z.shape).ravel() for c in covariance])
    # A bias that the standard errors know nothing of.
    biased = value + 0.4
    values = np.array([(z @ rule.T + 0.4).ravel() for rule in (joint, alone)])
    inflation, _ = interval_inflation(values, errors, z.ravel(), 0.3, weights)
    claimed = np.mean(mean_standard_errors(values, errors, weights) ** 2)
    # Standard error of the left side over 3,000 topics: 1 %.
    assert_allclose(inflation**2 * claimed, np.mean((biased - truth) ** 2), rtol=0.05)


def test_widens_for_estimates_that_are_shrunk_too_far():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=2000)
    z = truth + 0.5 * rng.normal(size=2000)
    shrunk = np.full((1, 2000), 0.1)
    inflation, _ = interval_inflation(0.04 * z[None], shrunk, z, np.full(2000, 0.25))
    error = np.mean((0.04 * z - truth) ** 2)
    assert_allclose(0.1 * inflation, np.sqrt(error), rtol=0.05)


def test_never_narrows_and_needs_an_error_to_widen():
    z = np.array([0.1, 0.2, 0.3])
    values = np.tile(z, (2, 1))
    assert interval_inflation(values, np.full((2, 3), 0.5), z, np.full(3, 0.5))[0] == 1
    assert interval_inflation(values, np.zeros((2, 3)), z + 1, np.full(3, 0.01))[0] == 1


def test_standard_errors_by_hand():
    values, errors = np.array([[1.0], [5.0]]), np.array([[4.0], [0.0]])
    # The mean is 2: distances 1 and 3.
    expected = 0.75 * np.sqrt(16 + 1) + 0.25 * 3
    assert_allclose(mean_standard_errors(values, errors, [3, 1]), [expected])
    assert_allclose(mean_standard_errors(values[:1], errors[:1]), [4.0])


def test_one_far_group_is_widened_alone():
    rng = np.random.default_rng(2)
    z = 0.5 * rng.normal(size=200)
    errors, noise = np.full((1, 200), 0.3), np.full(200, 0.25)
    # Shrunk as noise of .25 and a spread of .14 ask for.
    before, factors = interval_inflation(0.36 * z[None], errors, z, noise)
    assert_allclose(factors, before)
    far, away = z.copy(), 0.36 * z
    far[0] = 10.0
    common, factors = interval_inflation(away[None], errors, far, noise)
    assert_allclose(common, before, atol=0.02)
    assert_allclose(factors[1:], common)
    error = (10 - away[0]) ** 2 - 0.25 + 2 * 0.09
    assert_allclose(factors[0], np.sqrt(error) / 0.3)


def test_weight_of_direct_has_the_least_estimated_risk():
    rng = np.random.default_rng(3)
    truth, errors, noise = rng.normal(size=500), np.full((1, 500), 0.1), np.full(500, 0.25)
    z = truth + 0.5 * rng.normal(size=500)
    value = 0.3 * z
    weight = weight_of_direct(value, errors, z, noise)
    grid = np.linspace(0, 1, 1001)
    distance = np.mean((value - z) ** 2)
    risks = (1 - grid) ** 2 * distance - 0.25 + 2 * ((1 - grid) * 0.01 + grid * 0.25)
    assert_allclose(weight, grid[np.argmin(risks)], atol=1e-3)
    moved = weight * z + (1 - weight) * value
    assert np.mean((moved - truth) ** 2) < np.mean((z - truth) ** 2)
    # A Bayes rule stays where it is: its errors are known, and smaller.
    assert weight_of_direct(0.8 * z, np.full((1, 500), np.sqrt(0.2)), z, noise) == 0
