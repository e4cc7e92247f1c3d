"""The loop of the mixed model: gold numbers, explicit matrices, a long chain, draws."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.mixed_chain import posterior_moments
from reference.mixed_dense import DenseSolution, coefficient_columns
from scipy.special import expit

from skbench.stats import mixed
from skbench.stats.clusters.item_correlation import shared_factors
from skbench.stats.mixed.covariances import FeatureKernels
from skbench.stats.shrinkage import stein

TOPIC, OWN, ALIKE, MODELS = range(4)  # the first variances; kernels follow

CASES = [
    "ordinary",
    "one broken cell",
    "shared items",
    "features",
    "shared items and features",
    "one model",
    "gaussian",
    "gaussian, shared items",
    "sparse failures",
]


def designed(model, topic, correlation=None, features=None):
    """A `Design`, and the order that it has the groups in."""
    model, topic = np.asarray(model), np.asarray(topic)
    n_models = model.max() + 1
    own_share, shared = np.ones(n_models), np.zeros((n_models, 0))
    if correlation is not None:
        own_share, shared = shared_factors(np.array(correlation))
    common, within = [np.ones((len(model), 0))], []
    if features is not None:
        features = np.array(features)
        factors = FeatureKernels(features, n_models).factors(features)
        common, within = factors[:2], factors[2:]
    parts = [np.ones((len(model), 1)), *within], common
    own, common = (np.concatenate(part, axis=1) for part in parts)
    sizes = [x.shape[1] for part in parts for x in part]
    batch = np.repeat([0, 3][: 1 + len(within)] + [1, 2][: len(parts[1])], sizes)
    order = np.lexsort((model, topic))
    rows = model[order], own[order], common[order], batch
    errors = shared[model[order]], own_share[model[order]]
    return mixed.Design(topic[order], n_models > 1, *rows, *errors), order


@pytest.mark.parametrize("name", CASES)
def test_gold(gold_folder, name):
    """Nine sets of a prototype that was run to convergence; printed to five digits."""
    case = json.loads((gold_folder / "mixed_model.json").read_text())[name]
    columns = (case.get(key) for key in ("model", "topic", "correlation", "features"))
    design, order = designed(*columns)
    if "k" in case:
        k, n = (np.array(case[key], dtype=float)[order] for key in ("k", "n"))
        likelihood, unit, center = mixed.Counts(k, n, design.own_share), 1.0, 0.0
    else:
        z, sigma2 = np.array(case["z"])[order], np.array(case["sigma2"])[order]
        center, unit = z.mean(), z.std()
        likelihood = mixed.Scores((z - center) / unit, sigma2 / unit**2, design.own_share)
    fit = mixed.fit_mixed(likelihood, design, tolerance=1e-8)
    law = mixed.group_posterior(fit, likelihood)
    if "k" in case:
        z, (value, variance) = k / n, law.accuracy()
        factor = stein.inflation(value, variance, z, value * (1 - value) / n, n)
    else:
        value, variance = center + unit * law.center(), unit**2 * law.latent_variance()
        factor = stein.inflation(value, variance, z, sigma2, 1 / sigma2)
    ends = [law.center() + factor * (law.quantile(p) - law.center()) for p in (0.025, 0.975)]
    if "k" in case:
        low, high = expit(ends)
        low, high = np.where(k == 0, 0, low), np.where(k == n, 1, high)
    else:
        low, high = center + unit * np.array(ends)
    variances = np.array([*fit.solution.variances[[TOPIC, OWN]], *fit.solution.variances[4:]])
    variances = np.append(variances, fit.solution.variances[ALIKE])
    found = {"value": value, "low": low, "high": high, "outlying": fit.outliers.group}
    assert fit.converged
    assert_allclose(variances[variances > 0], case["variances"], rtol=3e-4)
    assert_allclose(fit.outliers.share, case["share"], atol=2e-6)
    assert_allclose(factor, case["stein_factor"], atol=2e-6)
    for key, values in found.items():
        # Half a unit of the fifth digit; factors of errors were found to 1e-4.
        atol = 1e-5 if case["n_factors"] == 0 else 5e-5
        assert_allclose(values, np.array(case[key])[order], rtol=0, atol=atol, err_msg=key)


@pytest.fixture(
    scope="module",
    params=["all effects", "no features", "no shared items", "one model", "gaps"],
)
def case(request):
    """A fit, and explicit matrices of the solution it ends with."""
    rng = np.random.default_rng(3)
    topic, model = (x.ravel() for x in np.mgrid[:9, :4])
    features = rng.normal(size=(9, 2))[topic]
    correlation = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    correlation[0, 1] = correlation[1, 0] = 0.6
    if request.param == "one model":
        model, topic, correlation = np.zeros(36, int), np.arange(36), None
    if request.param == "no shared items":
        correlation = None
    if request.param == "no features":
        features = None
    if request.param == "gaps":
        kept = rng.random(36) < 0.7
        model, features = model[kept], features[kept]
        topic = np.unique(topic[kept], return_inverse=True)[1]
    design, _ = designed(model, topic, correlation, features)
    G = len(design.topic)
    sigma2 = rng.uniform(0.05, 0.5, G)
    effects = rng.normal(size=9)[design.topic % 9]
    effects = effects + coefficient_columns(design) @ rng.normal(size=len(design.batches))
    z = effects + rng.normal(0, 0.7, G) + rng.normal(0, np.sqrt(sigma2))
    likelihood = mixed.Scores(z, sigma2, design.own_share)
    fit = mixed.fit_mixed(likelihood, design, tolerance=1e-9)
    fast = fit.solution
    arguments = fast.variances, fast.weights, fast.sites, fast.noise_scale
    return fit, DenseSolution(design, *arguments)


def test_solution_against_explicit_matrices(case):
    fit, dense = case
    fast, design, variances = fit.solution, fit.solution.design, fit.solution.variances
    values = np.random.default_rng(0).normal(size=(len(design.topic), 3))
    assert_allclose(fast.solved(values)[0], dense.P @ values, rtol=1e-9, atol=1e-11)
    assert_allclose(fast.alpha, dense.alpha, rtol=1e-9, atol=1e-11)
    assert_allclose(fast.diagonal, np.diag(dense.P), rtol=1e-9)
    assert_allclose(fast.latent, dense.latent, rtol=1e-9, atol=1e-11)
    each = [v * kernel @ dense.alpha for v, kernel in zip(variances, dense.kernels, strict=True)]
    assert_allclose(fast.parts, np.transpose(each), rtol=1e-9, atol=1e-11)
    traces = [v * np.trace(dense.P @ x) for v, x in zip(variances, dense.kernels, strict=True)]
    assert_allclose(fast.traces(), traces, rtol=1e-9, atol=1e-11)


def test_cavities_leave_out_the_group_itself(case):
    fast = case[0].solution
    mean, variance = fast.cavity()
    for group in (0, len(mean) // 2):
        without = fast.sites._replace(precision=fast.sites.precision.copy())
        without.precision[group] = 1e-12
        arguments = fast.design, fast.variances, fast.weights, without, fast.noise_scale
        dense = DenseSolution(*arguments)
        whole = dense.K + dense.noise
        assert_allclose(mean[group], (whole @ dense.alpha)[group], rtol=1e-6)
        assert_allclose(variance[group], dense.noisy_variance[group], rtol=1e-6)


def test_the_loop_ends_where_the_penalized_likelihood_is_flat(case):
    fit, _ = case
    fast, variances = fit.solution, fit.solution.variances
    scale, power = np.ones(len(variances)), np.full(len(variances), 0.5)
    scale[OWN], power[4:] = 0.5, 0.25

    def density(logs):
        v = np.where(variances > 0, np.exp(logs), 0)
        twin = DenseSolution(fast.design, v, fast.weights, fast.sites, fast.noise_scale)
        return twin.log_likelihood(fast.sites.mean) - v @ (1 / scale**2) / 2 + power @ logs

    logs = np.log(np.where(variances > 0, variances, 1.0))
    assert fit.converged and variances[MODELS] == 2.5**2  # known
    for number in np.flatnonzero((variances > 0) & (np.arange(len(logs)) != MODELS)):
        step = 1e-4 * np.eye(len(logs))[number]
        assert abs(density(logs + step) - density(logs - step)) / 2e-4 < 1e-3


def test_new_groups_against_explicit_matrices(case):
    """Each fitted group once more, without its own interaction: what others say of it."""
    fit, dense = case
    design, variances = fit.solution.design, fit.solution.variances
    none = np.zeros((len(design.topic), design.batch.max()))
    rows = mixed.Rows(design.topic, design.shared, design.model, design.own, design.common)
    prior = mixed.new_groups(fit, rows, none)
    K = dense.K - variances[OWN] * dense.kernels[OWN]
    mean = K @ dense.alpha
    variance = np.diag(K - K @ dense.P @ K)
    assert_allclose(prior.mean, np.tile(mean, (24, 1)), rtol=1e-8, atol=1e-11)
    assert_allclose(prior.variance[:12], np.tile(variance + variances[OWN], (12, 1)), rtol=1e-8)
    assert_allclose(prior.variance[12:], np.tile(variance + 2.5**2, (12, 1)), rtol=1e-8)
    assert_allclose(prior.share.sum(axis=0), 1)
    known = mixed.new_groups(fit, rows._replace(topic=design.topic * 0 - 1), none)
    assert np.all(known.variance.min(axis=0) > variance)


def test_draws_have_the_posterior_covariance(case):
    fit, dense = case
    draws = np.concatenate([x for x, _ in mixed.joint_draws(fit, 20_000, np.random.default_rng(0))])
    spread = np.sqrt(np.diag(dense.latent_covariance))
    correlation = dense.latent_covariance / np.outer(spread, spread)
    # Five standard errors of a mean and of a correlation.
    assert_allclose(draws.mean(axis=0), 0, atol=5 / np.sqrt(20_000))
    assert_allclose(np.cov(draws.T), correlation, atol=5 * np.sqrt(2 / 20_000))


@pytest.mark.slow
@pytest.mark.parametrize("case_", ["ordinary", "broken cell"])
def test_posterior_against_a_long_chain(case_):
    """3 models on 8 topics, at the variances and the share that the loop ends with."""
    rng = np.random.default_rng(1)
    n = np.full((8, 3), 12)
    eta = 0.8 + 0.6 * rng.normal(size=(8, 1)) + 0.4 * rng.normal(size=(8, 3))
    k = rng.binomial(n, expit(eta))
    if case_ == "broken cell":
        k[4, 1] = 0
        k[4, [0, 2]] = 11
    topic, model = (x.ravel() for x in np.mgrid[:8, :3])
    design, _ = designed(model, topic)
    likelihood = mixed.Counts(k.ravel().astype(float), n.ravel(), design.own_share)
    fit = mixed.fit_mixed(likelihood, design, tolerance=1e-7)
    value, variance = mixed.group_posterior(fit, likelihood).accuracy()
    tau2, omega2 = fit.solution.variances[[TOPIC, OWN]]
    mean, spread, outlying = posterior_moments(k, n, tau2, omega2, fit.outliers.share, n_sweeps=600)
    # The chain is right to .003; the loop plugs in its weights of groups and topics.
    assert_allclose(value, mean.ravel(), atol=0.01)
    assert_allclose(np.sqrt(variance), spread.ravel(), rtol=0.03)
    assert_allclose(fit.outliers.group, outlying.ravel(), atol=0.01)
