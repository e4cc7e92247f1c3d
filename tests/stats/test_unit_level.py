"""The unit-level model: against brute force, closed forms, symmetries."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from skbench.stats.item_response import unit_level as unit
from skbench.stats.item_response import unit_prediction as prediction

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import unit_level_slow as slow


def prior(mean, precision, topic_std, noise=np.nan, n_topics=2):
    topic_std = np.atleast_1d(topic_std).astype(float)
    k = len(topic_std)
    zeros = np.zeros(n_topics)
    return unit.Prior(
        np.asarray(mean, dtype=float),
        np.tile(np.asarray(precision, dtype=float), (k, 1)),
        zeros,
        zeros,
        topic_std,
        np.full(k, noise),
        np.zeros(k),
    )


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
    given = prior([0.2, 1.0], [0.5, 1.0], 0.7)
    fit = unit.unit_level_logit(y, X, topic, np.ones(12), given)
    rng = np.random.default_rng(1)
    beta, eta, w, _ = slow.posterior(y, X, topic, given.mean, [0.5, 1.0], 0.7, 400_000, rng)
    mean, variance = prediction.latent(fit, X, topic, np.ones(12))
    # Five standard errors of importance sampling, in posterior standard deviations.
    band = 5 * np.sqrt(np.sum(w**2))
    assert band < 0.02
    std = np.sqrt(w @ (eta - w @ eta) ** 2)
    np.testing.assert_allclose(fit.coefficients[0], w @ beta, atol=band * std.min())
    np.testing.assert_allclose(mean[0], w @ eta, atol=band * std.min())
    np.testing.assert_allclose(np.sqrt(variance[0]), std, rtol=band)
    chance = prediction.item_scores(fit, X, topic, np.ones(12))
    np.testing.assert_allclose(chance, w @ expit(eta), atol=band * np.std(expit(eta), axis=0).min())


def test_moments_of_sums_against_importance_sampling(answers):
    y, X, topic = answers
    given = prior([0.2, 1.0], [0.5, 1.0], 0.7)
    fit = unit.unit_level_logit(y, X, topic, np.ones(12), given)
    rng = np.random.default_rng(2)
    _, eta, w, _ = slow.posterior(y, X, topic, given.mean, [0.5, 1.0], 0.7, 400_000, rng)
    future = rng.random(eta.shape) < expit(eta)
    member = np.array([[1.0, 0.0], [1.0, 1.0]])
    sums = prediction.item_sums(fit, X, topic, np.ones(12), np.ones(12))
    mean, covariance = prediction.sum_moments(fit, sums, member)
    by_topic = np.stack([future[:, topic == t].sum(axis=1) for t in (0, 1)], axis=1) @ member.T
    away = by_topic - w @ by_topic
    exact = (w * away.T) @ away
    band = 5 * np.sqrt(np.sum(w**2))
    np.testing.assert_allclose(mean, w @ by_topic, atol=band * np.sqrt(exact[0, 0]))
    np.testing.assert_allclose(covariance, exact, rtol=2 * band)  # a variance: twice the std's


def test_evidence_weighs_the_grid_as_importance_sampling_does(answers):
    y, X, topic = answers
    stds = [0.2, 2.0]
    fit = unit.unit_level_logit(y, X, topic, np.ones(12), prior([0.2, 1.0], [0.5, 1.0], stds))
    rng = np.random.default_rng(3)
    logs = [slow.posterior(y, X, topic, [0.2, 1.0], [0.5, 1.0], s, 400_000, rng)[3] for s in stds]
    assert np.log(fit.weights[1] / fit.weights[0]) == pytest.approx(logs[1] - logs[0], abs=0.05)


def test_normal_errors_against_the_dense_posterior():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    topic, y = np.arange(20) % 4, rng.normal(size=20)
    given = prior([0.0, 1.0, 0.0], [0.1, 1.0, 4.0], 0.0, noise=0.5, n_topics=4)
    fit = unit.unit_level_normal(y, X, topic, np.ones(20), given)
    precision = np.diag(given.precision[0]) + X.T @ X / 0.5
    mean = np.linalg.solve(precision, given.precision[0] * given.mean + X.T @ y / 0.5)
    np.testing.assert_allclose(fit.coefficients[0], mean, atol=1e-6)
    np.testing.assert_allclose(fit.covariance[0], np.linalg.inv(precision), atol=1e-6)
    left = np.arange(20) > 0  # predicted without its own score
    precision -= np.outer(X[0], X[0]) / 0.5
    right = given.precision[0] * given.mean + X[left].T @ y[left] / 0.5
    assert fit.held_out[0] == pytest.approx(X[0] @ np.linalg.solve(precision, right), abs=1e-5)


def test_right_and_wrong_change_places(answers):
    y, X, topic = answers
    fits = [
        unit.unit_level_logit(a, s * X, topic, np.ones(12), prior([0, 0], [0.5, 1.0], 0.7))
        for a, s in ((y, 1), (1 - y, 1))
    ]
    np.testing.assert_allclose(fits[0].coefficients, -fits[1].coefficients, atol=1e-4)
    np.testing.assert_allclose(fits[0].held_out, 1 - fits[1].held_out, atol=1e-4)


def test_a_topic_without_answers_keeps_its_prior(answers):
    y, X, topic = answers
    fit = unit.unit_level_logit(y, X, topic, np.ones(12), prior([0, 1], [0.5, 1], 0.7, n_topics=3))
    _, variance = prediction.latent(fit, np.zeros((1, 2)), np.array([2]), np.ones(1))
    mixture = 0.93 * 0.7**2 + 0.06 * 2.1**2 + 0.01 * 2.5**2
    assert variance[0, 0] == pytest.approx(mixture, rel=1e-6)


def test_a_broken_topic_is_believed_and_moves_no_other():
    """Nineteen topics at .85, one at .1: 10 items each."""
    topic = np.repeat(np.arange(20), 10)
    y = np.tile(np.repeat([1.0, 0.0, 1.0, 0.0], [9, 1, 8, 2]), 10)
    y[topic == 0] = np.r_[1, np.zeros(9)]
    X = np.ones((200, 1))
    given = prior([0.0], [0.1], [0.15, 0.3, 0.6, 1.2], n_topics=20)
    fit = unit.unit_level_logit(y, X, topic, np.ones(200), given)
    chance = prediction.item_scores(fit, X, topic, np.ones(200))
    assert chance[0] < 0.3
    np.testing.assert_allclose(chance[10:], 0.85, atol=0.05)  # half a step of 10 answers
