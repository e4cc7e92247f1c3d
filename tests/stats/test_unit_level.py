"""The unit-level model: against brute force, closed forms, symmetries."""

import numpy as np
import pytest
from reference import unit_level_slow as slow
from scipy.special import expit
from scipy.stats import norm

from skbench.stats.item_response import unit_level as unit
from skbench.stats.item_response import unit_prediction as prediction


def prior(mean, precision, n_topics=2, noise=np.nan, scale=1.0):
    mean, precision = (np.asarray(x, dtype=float) for x in (mean, precision))
    return unit.Prior(mean, precision, n_topics, scale, noise)


@pytest.fixture
def answers():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(12), rng.normal(size=12)])
    topic = np.repeat([0, 1], 6)
    y = rng.binomial(1, expit(X @ [0.2, 1.0] + np.array([1.0, -1.0])[topic])).astype(float)
    return y, X, topic


@pytest.mark.slow
def test_posterior_against_importance_sampling(answers):
    y, X, topic = answers
    given = prior([0.2, 1.0], [0.5, 1.0])
    fit = unit.unit_level_logit(y, X, topic, np.ones(12), given)
    beta, eta, w = slow.posterior(y, X, topic, given, 1_000_000, np.random.default_rng(1))
    mean, variance = prediction.latent(fit, X, topic, np.ones(12))
    std = np.sqrt(w @ (eta - w @ eta) ** 2)
    # Five standard errors of importance sampling, and what normal factors lose.
    band = 5 * np.sqrt(np.sum(w**2)) + 0.03
    assert band < 0.05
    np.testing.assert_allclose(fit.coefficients, w @ beta, atol=band * std.min())
    np.testing.assert_allclose(mean, w @ eta, atol=band * std.min())
    np.testing.assert_allclose(np.sqrt(variance), std, rtol=band)
    chance = prediction.item_scores(fit, X, topic, np.ones(12))
    np.testing.assert_allclose(chance, w @ expit(eta), atol=band * np.std(expit(eta), axis=0).min())


def test_draws_have_the_moments_of_the_fit(answers):
    y, X, topic = answers
    fit = unit.unit_level_logit(y, X, topic, np.ones(12), prior([0.2, 1.0], [0.5, 1.0]))
    rng = np.random.default_rng(2)
    effects = prediction.drawn_effects(fit, rng.standard_normal((40_000, 4)))
    eta = effects[0] @ X.T + effects[1][:, topic]
    mean, variance = prediction.latent(fit, X, topic, np.ones(12))
    error = np.sqrt(variance / 40_000)
    np.testing.assert_allclose(eta.mean(axis=0), mean, atol=4.5 * error.max())
    np.testing.assert_allclose(eta.var(axis=0), variance, rtol=4.5 * np.sqrt(2 / 40_000))
    uniforms = rng.random((12, 40_000))
    scores = prediction.drawn_answers(effects, X, topic, uniforms)
    assert set(np.unique(scores)) == {0, 1}
    chance = prediction.item_scores(fit, X, topic, np.ones(12))
    np.testing.assert_allclose(scores.mean(axis=1), chance, atol=4.5 * np.sqrt(0.25 / 40_000))


@pytest.mark.parametrize("level", [-20.0, -9.0, -6.0, -2.0, 0.0, 4.0, 7.0, 9.0, 12.0, 17.0])
@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_sums_of_many_answers_are_those_of_single_ones(level, spread):
    """Chances of every total by the exact recursion, given the effects."""
    X = np.column_stack([np.ones(250), np.random.default_rng(0).normal(0, spread, 250)])
    exact = np.ones(1)
    for p in expit(X @ [level, 1.0] + 0.3):
        exact = np.convolve(exact, [1 - p, p])
    n = 2000
    effects = np.tile([level, 1.0], (n, 1)), np.tile([0.0, 0.3, 0.0], (n, 1))
    normals = np.tile(norm.ppf((np.arange(n) + 0.5) / n)[:, None], 3)
    sums = prediction.drawn_sums(effects, X, np.ones(250, int), normals)
    assert not sums[:, [0, 2]].any()
    found = np.bincount(sums[:, 1].astype(int), minlength=251) / n
    apart = np.abs(np.cumsum(found) - np.cumsum(exact))
    assert apart.max() < (0.01 if abs(level) < 6 else 0.002)


def test_expectations_of_sums_are_the_sums_of_expectations():
    rng = np.random.default_rng(0)
    X, topic = rng.normal(size=(30, 3)), rng.integers(3, size=30)
    effects = rng.normal(size=(7, 3)), rng.normal(size=(7, 4))
    every = effects[0] @ X.T + effects[1][:, topic]
    expected = np.stack([every[:, topic == t].sum(axis=1) for t in range(4)], axis=1)
    np.testing.assert_allclose(prediction.drawn_expectations(effects, X, topic), expected)


def test_normal_errors_against_the_dense_posterior():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    y = rng.normal(size=20)
    given = prior([0.0, 1.0, 0.0], [0.1, 1.0, 4.0], noise=0.5, n_topics=1)
    fit = unit.unit_level_normal(y, X, np.zeros(20, int), np.ones(20), given)
    precision = np.diag(given.precision) + X.T @ X / fit.noise
    mean = np.linalg.solve(precision, given.precision * given.mean + X.T @ y / fit.noise)
    # The one topic has an effect of standard deviation 1e-4.
    np.testing.assert_allclose(fit.coefficients, mean, atol=1e-5)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(precision), atol=1e-5)
    # The noise: residual squares over what they have beyond the coefficients, and four more.
    freedom = 20 - np.trace(X @ np.linalg.solve(precision, X.T)) / fit.noise
    noise = (np.sum((y - X @ mean) ** 2) + 4 * 0.5) / (freedom + 4)
    assert fit.noise == pytest.approx(noise, rel=5e-3)
    left = np.arange(20) > 0  # predicted without its own score
    precision -= np.outer(X[0], X[0]) / fit.noise
    right = given.precision * given.mean + X[left].T @ y[left] / fit.noise
    assert fit.held_out[0] == pytest.approx(X[0] @ np.linalg.solve(precision, right), abs=1e-5)


def test_the_variance_of_components_is_a_penalized_maximum():
    """Of the evidence of normal scores with known noise, on a fine grid."""
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(300), rng.normal(size=(300, 12))])
    y = X @ np.r_[0.0, rng.normal(0, 0.4, 12)] + rng.normal(size=300)
    given = prior([0.0], [0.1], n_topics=1, noise=1.0)
    fit = unit.unit_level_normal(y, X, np.zeros(300, int), np.ones(300), given)

    def goal(variance):
        covariance = X @ np.diag(np.r_[10.0, np.full(12, variance)]) @ X.T
        covariance += fit.noise * np.eye(300)
        log_evidence = -0.5 * (
            np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)
        )
        return log_evidence + 0.5 * np.log(variance) - variance / 2

    grid = np.geomspace(0.02, 1, 200)
    best = grid[np.argmax([goal(v) for v in grid])]
    # The posterior given that variance is the fit's.
    precision = np.diag(np.r_[0.1, np.full(12, 1 / best)]) + X.T @ X / fit.noise
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(precision), atol=2e-5)


def test_right_and_wrong_change_places(answers):
    y, X, topic = answers
    given = prior([0, 0], [0.5, 1.0])
    fits = [unit.unit_level_logit(a, X, topic, np.ones(12), given) for a in (y, 1 - y)]
    np.testing.assert_allclose(fits[0].coefficients, -fits[1].coefficients, atol=1e-4)
    np.testing.assert_allclose(fits[0].held_out, 1 - fits[1].held_out, atol=1e-4)


def test_a_topic_without_answers_scatters_as_the_others_do(answers):
    y, X, topic = answers
    given = prior([0, 1], [0.5, 1], n_topics=3)
    fit = unit.unit_level_logit(y, X, topic, np.ones(12), given)
    _, variance = prediction.latent(fit, np.zeros((1, 2)), np.array([2]), np.ones(1))
    _, _, w = slow.posterior(y, X, topic, given, 100_000, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    # The same draws once more, for the effect of the third topic.
    rng.normal(size=(100_000, 2))
    stds, weights = np.geomspace(0.03, 2.5, 12), np.geomspace(0.004, 4.5, 12)
    chance = stds * np.exp(-(stds**2) / 2)
    std = rng.choice(stds, p=chance / chance.sum(), size=(100_000, 1))[:, 0]
    share = weights**2 * np.exp(-2 * weights)
    expected = (w @ std**2) * np.sum(share / weights) / share.sum()
    assert variance[0] == pytest.approx(expected, rel=0.1)


def test_a_broken_topic_is_believed_and_moves_no_other():
    """Nineteen topics at .85, one at .1: 10 items each."""
    topic = np.repeat(np.arange(20), 10)
    y = np.tile(np.repeat([1.0, 0.0, 1.0, 0.0], [9, 1, 8, 2]), 10)
    y[topic == 0] = np.r_[1, np.zeros(9)]
    X = np.ones((200, 1))
    fit = unit.unit_level_logit(y, X, topic, np.ones(200), prior([0.0], [0.1], n_topics=20))
    chance = prediction.item_scores(fit, X, topic, np.ones(200))
    assert chance[0] < 0.3
    assert np.all(np.abs(chance[10:] - 0.85) < 0.06)


@pytest.mark.parametrize("seed", [52, 122, 223, 541])
def test_topics_of_one_item_do_not_swing(seed):
    """Effects of topics that a single item shows; nan before they had a largest size."""
    rng = np.random.default_rng(seed)
    n, n_topics = int(rng.integers(30, 120)), int(rng.integers(5, 60))
    topic, easiness = rng.integers(0, n_topics, n), rng.normal(0, 2, n)
    effect = rng.standard_t(3, n_topics) * rng.choice([0.3, 1.5])
    components = rng.normal(size=(n, 4))
    X = np.column_stack([np.ones(n), easiness, effect[topic], components])
    eta = rng.normal() + 1.5 * easiness + effect[topic] + components @ rng.normal(0, 0.7, 4)
    y = (rng.random(n) < expit(eta)).astype(float)
    given = prior([0, 1, 1], [0.25, 1, 1], n_topics)
    fit = unit.unit_level_logit(y, X, topic, np.ones(n), given)
    assert np.isfinite(fit.coefficients).all()
    # Held-out probabilities distinguish correct and incorrect answers.
    assert fit.held_out[y == 1].mean() > fit.held_out[y == 0].mean() + 0.2
