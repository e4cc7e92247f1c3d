import json

import numpy as np
import pytest
from reference.normal_model import marginal_log_likelihood, maximise

from skbench.stats import shrinkage
from skbench.stats.shrinkage import fay_herriot


@pytest.fixture(scope="module")
def milk(gold_folder):
    gold = json.loads((gold_folder / "fay_herriot_milk.json").read_text())
    area = np.array(gold["area"])
    X = np.column_stack([np.ones(len(area))] + [(area == k).astype(float) for k in (2, 3, 4)])
    return np.array(gold["z"]), np.array(gold["sd"]) ** 2, X, gold["expected"]


@pytest.fixture(scope="module")
def unequal():
    rng = np.random.default_rng(0)
    sigma2 = rng.uniform(0.5, 4, 30)
    X = np.column_stack([np.ones(30), rng.normal(size=30)])
    z = X @ [1.0, -0.5] + rng.normal(0, np.sqrt(1.5 + sigma2))
    return z, sigma2, X


def test_moments_with_regression_in_sample(milk):
    z, sigma2, X, expected = milk
    A = shrinkage.prior_variance(z, sigma2, "moments", X)
    np.testing.assert_allclose(A, expected["seed_eq7_insample_OLS"]["A"], rtol=1e-10)


@pytest.mark.parametrize("method", ["ml", "reml", "adjusted-ml"])
def test_likelihood_methods_against_explicit_matrices(unequal, method):
    z, sigma2, X = unequal

    def criterion(A):
        value = marginal_log_likelihood(A, z, sigma2, X, restricted=method == "reml")
        return value + np.log(A) if method == "adjusted-ml" else value

    A = shrinkage.prior_variance(z, sigma2, method, X)
    np.testing.assert_allclose(A, maximise(criterion, 50), rtol=1e-5)  # a bounded search


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 10.0, 1e6])
@pytest.mark.parametrize("method", shrinkage.PRIOR_VARIANCE_METHODS)
def test_scale_equivariance(unequal, method, unit):
    z, sigma2, X = unequal
    A = shrinkage.prior_variance(z, sigma2, method, X)
    assert A > 0
    np.testing.assert_allclose(
        shrinkage.prior_variance(unit * z, unit**2 * sigma2, method, X), unit**2 * A, rtol=1e-8
    )


@pytest.mark.parametrize("method", shrinkage.PRIOR_VARIANCE_METHODS)
def test_consistent_for_many_groups(method):
    rng = np.random.default_rng(2)
    sigma2 = rng.uniform(0.5, 2, 20_000)
    z = rng.normal(0, np.sqrt(0.8 + sigma2))
    # Its standard error is about sqrt(2 / 20000) (A + sigma2) = .02.
    assert abs(shrinkage.prior_variance(z, sigma2, method) - 0.8) < 0.08


@pytest.mark.parametrize("method", shrinkage.PRIOR_VARIANCE_METHODS)
def test_less_spread_than_noise(method):
    z, sigma2 = np.array([0.1, -0.1, 0.05, -0.05, 0.0]), np.ones(5)
    A = shrinkage.prior_variance(z, sigma2, method, np.ones((5, 1)))
    assert A > 0 if method == "adjusted-ml" else A == 0


@pytest.mark.parametrize("method", shrinkage.PRIOR_VARIANCE_METHODS)
def test_no_noise_leaves_the_variance(method):
    z, X = np.array([0.0, 1.0, 2.0, 5.0]), np.ones((4, 1))
    A = shrinkage.prior_variance(z, np.zeros(4), method, X)
    divisor = {"moments": 4, "ml": 4, "adjusted-ml": 2}.get(method, 3)
    if divisor:  # SURE is flat where there is no noise
        np.testing.assert_allclose(A, np.sum((z - 2) ** 2) / divisor, rtol=1e-8)


def test_adjusted_likelihood_is_positive_where_nothing_varies():
    # The maximum of A (A + 1)^(-5 / 2).
    A = shrinkage.prior_variance(np.zeros(5), np.ones(5), "adjusted-ml")
    np.testing.assert_allclose(A, 2 / 3, rtol=1e-12)


def test_reml_without_regression_is_ml(unequal):
    z, sigma2, _ = unequal
    assert shrinkage.prior_variance(z, sigma2, "reml") == shrinkage.prior_variance(z, sigma2, "ml")


def test_limits_of_the_posterior_mean():
    z, f, sigma2 = np.array([0.9, 0.1]), np.array([0.5, 0.5]), np.array([0.01, 0.0])
    np.testing.assert_allclose(shrinkage.posterior_mean(z, f, sigma2, 0.0), [0.5, 0.1])
    np.testing.assert_allclose(shrinkage.posterior_mean(z, f, sigma2, 1e12), z)


def test_mse_of_adjusted_likelihood_in_closed_form():
    """Equal variances and a common mean; the bias of A is that of Li and Lahiri (2010)."""
    A, sigma2, n = 1.0, 0.5, 50
    v, shrunk = A + sigma2, sigma2 / (A + sigma2)
    g1, g2, g3 = A * sigma2 / v, shrunk**2 * v / n, shrunk**2 * (2 * v**2 / n) / v
    bias = (2 / A - 1 / v) * v**2 / n
    arguments = np.full(n, sigma2), np.ones((n, 1))
    found = fay_herriot.fay_herriot_mse(*arguments, A, "adjusted-ml", *arguments)
    np.testing.assert_allclose(found, g1 + g2 + 2 * g3 - bias * shrunk**2, rtol=1e-12)


@pytest.mark.slow
def test_mse_of_the_eblup_is_nearly_unbiased():
    rng = np.random.default_rng(3)
    sigma2, X = np.repeat([0.5, 1.0, 2.0], 10), np.ones((30, 1))
    w, precision = 1 / (1 + sigma2), 1 / (1 + sigma2)
    known = w * sigma2 + (1 - w) ** 2 / precision.sum()  # of the BLUP, which knows A = 1
    added, estimates = [], []
    for _ in range(200):
        z = rng.normal(0, np.sqrt(1 + sigma2))
        mean = np.average(z, weights=precision)
        fit = fay_herriot.fay_herriot(z, sigma2, X, "reml")
        # What estimating A adds to the error has no correlation with that of the BLUP.
        added.append((fit.value - mean - w * (z - mean)) ** 2)
        estimates.append(fit.mse)
    by_size = np.stack([estimates, known + added]).reshape(2, 200, 3, 10).mean(axis=(1, 3))
    np.testing.assert_allclose(by_size[0] / by_size[1], 1, atol=0.05)


@pytest.fixture(scope="module")
def baseball(gold_folder):
    return json.loads((gold_folder / "efron_morris_baseball.json").read_text())


def test_james_stein_on_transformed_baseball(baseball):
    p, n, gold = np.array(baseball["hits"]) / baseball["n"], baseball["n"], baseball["arcsine"]
    x = np.sqrt(n) * np.arcsin(2 * p - 1)  # variance 1; Efron and Morris (1975)
    fit = shrinkage.james_stein(x, np.ones(18))
    np.testing.assert_allclose(fit.center, gold["grand_mean"], rtol=1e-12)
    np.testing.assert_allclose(fit.shrinkage_factor, gold["shrink"], rtol=1e-12)
    value = fit.center + fit.shrinkage_factor * (x - fit.center)
    np.testing.assert_allclose(value, gold["js_x"], rtol=1e-12)


def test_james_stein_positive_part_and_few_groups():
    assert shrinkage.james_stein(np.full(5, 0.5), np.full(5, 0.1)).shrinkage_factor == 0
    assert shrinkage.james_stein(np.array([0.1, 0.9, 0.5]), np.full(3, 0.1)).shrinkage_factor == 1
    fixed = shrinkage.james_stein(np.array([2.0, -2.0, 2.0]), np.ones(3), center=0.0)
    np.testing.assert_allclose(fixed.shrinkage_factor, 1 - 1 / 12)
