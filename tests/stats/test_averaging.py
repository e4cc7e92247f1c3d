import numpy as np
from numpy.testing import assert_allclose

from skbench.stats.averaging import interval_inflation, mean_standard_errors


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
    inflation = interval_inflation(values, errors, z.ravel(), 0.3, weights)
    claimed = np.mean(mean_standard_errors(values, errors, weights) ** 2)
    # Standard error of the left side over 3,000 topics: 1 %.
    assert_allclose(inflation**2 * claimed, np.mean((biased - truth) ** 2), rtol=0.05)


def test_widens_for_estimates_that_are_shrunk_too_far():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=2000)
    z = truth + 0.5 * rng.normal(size=2000)
    shrunk = np.full((1, 2000), 0.1)
    inflation = interval_inflation(0.04 * z[None], shrunk, z, np.full(2000, 0.25))
    error = np.mean((0.04 * z - truth) ** 2)
    assert_allclose(0.1 * inflation, np.sqrt(error), rtol=0.05)


def test_never_narrows_and_needs_an_error_to_widen():
    z = np.array([0.1, 0.2, 0.3])
    values = np.tile(z, (2, 1))
    assert interval_inflation(values, np.full((2, 3), 0.5), z, np.full(3, 0.5)) == 1
    assert interval_inflation(values, np.zeros((2, 3)), z + 1, np.full(3, 0.01)) == 1


def test_standard_errors_by_hand():
    values, errors = np.array([[1.0], [5.0]]), np.array([[4.0], [0.0]])
    # The mean is 2: distances 1 and 3.
    expected = 0.75 * np.sqrt(16 + 1) + 0.25 * 3
    assert_allclose(mean_standard_errors(values, errors, [3, 1]), [expected])
    assert_allclose(mean_standard_errors(values[:1], errors[:1]), [4.0])
