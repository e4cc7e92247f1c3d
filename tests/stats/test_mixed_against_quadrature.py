"""The crossed logit model against nested quadrature, which approximates nothing."""

import numpy as np
import pytest
from reference.crossed_logit_slow import (
    ExactCrossedLogit,
    exact_integrated_means,
    exact_variances,
    penalized_quasi_likelihood,
)
from scipy.special import expit

from skbench.stats.mixed import _crossed as mixed
from skbench.stats.mixed import _fit as fitting
from skbench.stats.mixed._moments import Cavity, binomial_moments
from skbench.stats.mixed._peers import components

MODEL_VARIANCE = 2.5**2


def counts(n, seed, n_topics=6, n_models=3, tau=0.8, omega=0.5):
    """Right answers of 3 models on 6 topics, as tables of (topic, model)."""
    rng = np.random.default_rng(seed)
    eta = rng.normal(0.5, 0.7, n_models) + rng.normal(0, tau, (n_topics, 1))
    p = expit(eta + rng.normal(0, omega, (n_topics, n_models)))
    return rng.binomial(n, p).astype(float), np.full(p.shape, float(n))


def rows(table):
    topic, model = np.divmod(np.arange(table.size), table.shape[1])
    return table.ravel(), model, topic


def fitted_at(k, n, variances):
    """Fit with known variances, and the posterior moments of the accuracies."""
    _, model, topic = rows(k)
    arranged = mixed._arranged(model, topic, None, (), 1 / MODEL_VARIANCE)
    likelihood = fitting.Binomial(k, n)
    start = fitting.BlockFit(None, *likelihood.start, None, None)
    problem = likelihood, arranged.structure
    fit = fitting.fits_at(*problem, np.array([variances]), start)
    ordinary = Cavity(*(x if x is None else x.ravel() for x in components(problem[1], fit)[0]))
    moments = binomial_moments(k.ravel(), n.ravel(), ordinary)
    return problem, fit, moments.score.reshape(k.shape), moments.score_variance.reshape(k.shape)


@pytest.mark.parametrize("n", [2, 5])
def test_moments_against_quadrature(n):
    k, sizes = counts(n, seed=1)
    mean, variance = ExactCrossedLogit(k, sizes, 0.64, 0.25, MODEL_VARIANCE, 11).moments()
    _, _, score, score_variance = fitted_at(k, sizes, (0.64, 0.25))
    # The size of what expectation propagation leaves, measured over ten sets by
    # test_approximation_errors; a tenth of what is asked for (.002 and 10 %) at n = 5.
    np.testing.assert_allclose(score, mean, rtol=0, atol={2: 1e-3, 5: 2e-4}[n])
    np.testing.assert_allclose(score_variance, variance, rtol={2: 0.07, 5: 0.02}[n])


def test_evidence_against_quadrature():
    k, sizes = counts(5, seed=2)
    exact, approximate = [], []
    for variances in [(0.64, 0.25), (0.1, 0.1), (2.0, 0.5)]:
        model = ExactCrossedLogit(k, sizes, *variances, MODEL_VARIANCE, 11)
        exact.append(model.log_likelihood())
        problem, fit, _, _ = fitted_at(k, sizes, variances)
        approximate.append(fitting.log_evidence(problem[0], fit)[0])
    # No constant is left out; differences, which matter, are off by less than .002.
    np.testing.assert_allclose(approximate, exact, rtol=0, atol=0.01)
    np.testing.assert_allclose(np.diff(approximate), np.diff(exact), rtol=0, atol=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 5])
def test_variances_against_quadrature(seed):
    k, sizes = counts(10, seed, omega=0.9)
    _, model, topic = rows(k)
    arranged = mixed._arranged(model, topic, None, (), 1 / MODEL_VARIANCE)
    likelihood = fitting.Binomial(k, sizes)
    fit = fitting.fit_blocks(likelihood, arranged.structure, arranged.prior_std, arranged.start)
    exact = exact_variances(k, sizes, MODEL_VARIANCE, arranged.prior_std)
    assert exact.min() > 0.05
    np.testing.assert_allclose(fit.variances, exact, rtol=0.1)


@pytest.mark.slow
def test_integrated_means_against_quadrature():
    k, sizes = counts(5, seed=4)
    _, model, topic = rows(k)
    fit = mixed.crossed_logit(k.ravel(), sizes.ravel(), model, topic, unlike_share=0)
    stds = np.geomspace(0.01, 4, 14)
    exact = exact_integrated_means(k, sizes, MODEL_VARIANCE, (1.0, 0.5), stds)
    np.testing.assert_allclose(fit.score.reshape(k.shape), exact, rtol=0, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5, 10])
def test_approximation_errors(n):
    ours, quasi = [], []
    for seed in range(10):
        k, sizes = counts(n, seed)
        mean, variance = ExactCrossedLogit(k, sizes, 0.64, 0.25, MODEL_VARIANCE, 11).moments()
        _, _, score, score_variance = fitted_at(k, sizes, (0.64, 0.25))
        working = penalized_quasi_likelihood(k, sizes, 0.64, 0.25, MODEL_VARIANCE)
        pql, pql_variance = mixed.logistic_moments(*working)
        ours.append([abs(score - mean).max(), abs(score_variance / variance - 1).max()])
        quasi.append([abs(pql - mean).max(), abs(pql_variance / variance - 1).max()])
    ours, quasi = np.max(ours, axis=0), np.max(quasi, axis=0)
    print(f"n = {n}: errors of mean and variance: ours {ours}, quasi-likelihood {quasi}")
    assert ours[0] < 0.002
    assert ours[1] < 0.1
    assert quasi[0] > 3 * ours[0]
