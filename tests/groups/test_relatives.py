"""James-Stein, Fay-Herriot, synthetic and structured regression."""

import json
import warnings
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    MixedModel,
    Sampling,
    StructuredRegression,
    SyntheticRegression,
)

METHODS = get_args(get_type_hints(FayHerriot.__init__)["method"])


def simulated(n_groups, seed=0, equal=False, spread=0.08):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_groups, 2))
    sigma2 = np.full(n_groups, 0.01) if equal else rng.uniform(0.002, 0.03, n_groups)
    truth = 0.3 + X @ [0.4, 0.0] + rng.normal(0, spread, n_groups)
    return X, truth + np.sqrt(sigma2) * rng.normal(size=n_groups), sigma2, truth


def inside_band(hits, level=0.95):
    low, high = binom.ppf([0.0005, 0.9995], hits.size, level) / hits.size
    return low <= hits.mean() <= high


def covered(estimate, truth):
    return (estimate.low <= truth) & (truth <= estimate.high)


def test_james_stein_on_baseball(gold_folder):
    gold = json.loads((gold_folder / "efron_morris_baseball.json").read_text())
    z = np.array(gold["hits"]) / gold["n"]
    js = JamesStein(sampling_variance=gold["untransformed"]["sigma2"]).fit(np.zeros((18, 1)), z)
    np.testing.assert_allclose(js.estimate().value, gold["untransformed"]["js"], rtol=1e-12)
    truth = np.array(gold["truth"])
    assert covered(js.estimate(), truth).mean() > 0.9


@pytest.mark.parametrize("center", ["mean", 0.5])
@pytest.mark.parametrize("n_groups", [10, 100])
def test_james_stein_intervals_cover(center, n_groups):
    hits, widths = [], []
    for seed in range(4000 // n_groups):
        rng = np.random.default_rng(seed)
        truth = 0.5 + rng.normal(0, 0.1, n_groups)
        z = truth + 0.1 * rng.normal(size=n_groups)
        js = JamesStein(center).fit(np.zeros((n_groups, 1)), z, 0.01)
        hits.append(covered(js.estimate(), truth))
        widths.append(js.estimate().high - js.estimate().low)
    hits = np.concatenate(hits)
    assert hits.mean() >= binom.ppf(0.0005, hits.size, 0.95) / hits.size
    assert np.mean(widths) < 2 * norm.ppf(0.975) * 0.1


@pytest.mark.parametrize("spread", [1.0, 0.1])
@pytest.mark.parametrize("center", ["mean", 0.5])
def test_james_stein_standard_errors_are_those_of_morris(center, spread):
    away = spread * np.array([-0.4, -0.1, 0.0, 0.1, 0.4])
    js = JamesStein(center).fit(np.zeros((5, 1)), 0.5 + away, 0.02)
    degrees, own_mean = (2, 4 / 5) if center == "mean" else (3, 1)
    shrunk = min(degrees / np.sum(away**2 / 0.02), degrees / (degrees + 2))
    variance = 0.02 * (1 - own_mean * shrunk) + 2 * shrunk**2 * away**2 / degrees
    np.testing.assert_allclose(js.estimate().standard_error ** 2, variance)


def test_james_stein_counts_a_group_without_noise_as_the_least_noisy():
    X, z = np.zeros((6, 1)), np.array([0.1, 0.4, 0.5, 0.6, 0.9, 0.3])
    sigma2 = np.array([0.0, 0.01, 0.02, 0.02, 0.03, 0.02])
    found = JamesStein().fit(X, z, sigma2)
    expected = JamesStein().fit(X, z, np.maximum(sigma2, 0.01))
    assert found.center_ == expected.center_
    assert found.shrinkage_factor_ == expected.shrinkage_factor_


def test_james_stein_new_groups():
    js = JamesStein().fit(np.zeros((5, 1)), [0.1, 0.4, 0.5, 0.6, 0.9], sigma2=0.02)
    np.testing.assert_allclose(js.predict(np.zeros((2, 1))), 0.5)
    assert np.isnan(js.predict_interval(np.zeros((2, 1)))).all()
    moved = js.predict(np.zeros((1, 1)), z=[0.9], sigma2=0.02)
    np.testing.assert_allclose(moved, js.estimate().value[-1])


def test_james_stein_warns_if_it_cannot_shrink():
    with pytest.warns(UserWarning, match="4 groups, got 3"):
        js = JamesStein().fit(np.zeros((3, 1)), [0.1, 0.5, 0.9], 0.01)
    np.testing.assert_allclose(js.estimate().value, [0.1, 0.5, 0.9])
    for center in ("median", np.nan, None):
        with pytest.raises(ValueError):
            JamesStein(center).fit(np.zeros((5, 1)), np.arange(5.0), 1.0)


@pytest.mark.parametrize("estimator", [JamesStein(), FayHerriot()])
@pytest.mark.parametrize("sigma2", [0.0, 1e-33])  # the variance of .9, .9, .9 is not 0
def test_without_noise_there_is_nothing_to_remove(estimator, sigma2):
    with pytest.raises(ValueError):
        estimator.fit(np.zeros((5, 1)), np.arange(5.0), sigma2)


@pytest.fixture(scope="module")
def milk(gold_folder):
    gold = json.loads((gold_folder / "fay_herriot_milk.json").read_text())
    X = pd.DataFrame({"area": [f"area {k}" for k in gold["area"]]})
    return X, np.array(gold["z"]), np.array(gold["sd"]) ** 2, gold["expected"]


@pytest.mark.parametrize(
    ("name", "method"),
    [("REML", "reml"), ("ML", "ml"), ("FH", "fay-herriot"), ("PR", "prasad-rao")],
)
def test_fay_herriot_on_milk_with_text_areas(milk, name, method):
    X, z, sigma2, expected = milk
    fh = FayHerriot(method).fit(X, z, sigma2)
    np.testing.assert_allclose(fh.prior_variance_, expected[name]["A"], rtol=1e-10)
    beta = [fh.intercept_, *fh.coef_]
    np.testing.assert_allclose(beta, expected[name]["beta"], rtol=1e-9)
    estimate = fh.estimate()
    np.testing.assert_allclose(estimate.value, expected[name]["eblup"], rtol=1e-10)
    np.testing.assert_allclose(estimate.standard_error**2, expected[name]["mse"], rtol=1e-10)
    np.testing.assert_allclose(
        fh.predict_interval(X, z=z, sigma2=sigma2), np.c_[estimate.low, estimate.high]
    )


def fay_herriot_hits(method, spread):
    simulations = (simulated(200, seed, spread=spread) for seed in range(20))
    return np.concatenate(
        [
            covered(FayHerriot(method).fit(X, z, sigma2).estimate(), truth)
            for X, z, sigma2, truth in simulations
        ]
    )


@pytest.mark.parametrize("method", METHODS)
def test_fay_herriot_intervals_cover(method):
    assert inside_band(fay_herriot_hits(method, spread=0.2))


def test_fay_herriot_intervals_fall_short_where_noise_dominates():
    """What the docstring warns of: A is a sixth of the mean sampling variance."""
    assert 0.85 < fay_herriot_hits("reml", spread=0.05).mean() < 0.93
    assert fay_herriot_hits("adjusted-ml", spread=0.05).mean() > 0.9


def test_fay_herriot_covers_new_groups_without_items():
    shares = []
    for seed in range(100):
        X, z, sigma2, truth = simulated(400, seed, spread=0.2)
        fh = FayHerriot().fit(X[:200], z[:200], sigma2[:200])
        low, high = fh.predict_interval(X[200:]).T
        shares.append(np.mean((low <= truth[200:]) & (truth[200:] <= high)))
    # Groups of one data set share the error of A: the band is over data sets.
    assert abs(np.mean(shares) - 0.95) < 4 * np.std(shares) / np.sqrt(100)


@pytest.mark.parametrize(
    ("estimator", "n_groups"),
    [
        (DirectEstimator("normal"), 12),
        (FayHerriot(), 12),
        (StructuredRegression(alphas=8), 12),
        (JamesStein(), 3),
        (EmpiricalBayes("ridge", random_state=0), 2),
        (EmpiricalBayes("ridge", random_state=0), 3),
        (EmpiricalBayes("ridge", interval="fab", random_state=0), 12),
        (MixedModel(), 1),
    ],
)
def test_warns_once_of_groups_without_noise(estimator, n_groups):
    z = np.linspace(0.3, 0.9, n_groups)
    sigma2 = np.where(np.arange(n_groups) == 0, 0.0, 0.01)
    X = np.sin(np.arange(2.0 * n_groups)).reshape(n_groups, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = estimator.fit(X, z, sigma2).estimate()
    assert sum("sigma2 = 0" in str(w.message) for w in caught) == 1
    assert not [w for w in caught if issubclass(w.category, RuntimeWarning)]
    ends = [estimate.low[0], estimate.value[0], estimate.high[0]]
    np.testing.assert_allclose(ends, z[0], rtol=1e-12)


def test_fay_herriot_with_collinear_columns():
    X, z, sigma2, _ = simulated(40)
    twice = np.column_stack([X, X[:, 0] * 2 + 1, np.full(40, 7.0)])
    with pytest.warns(UserWarning, match="1 of 4 .*collinear"):
        doubled = FayHerriot().fit(twice, z, sigma2)
    single = FayHerriot().fit(X, z, sigma2)
    np.testing.assert_allclose(doubled.estimate().low, single.estimate().low)
    np.testing.assert_allclose(doubled.predict(twice[:3]), single.predict(X[:3]))


def test_fay_herriot_without_features_is_a_common_mean():
    _, z, sigma2, _ = simulated(40)
    names = pd.DataFrame({"topic": [f"t{i}" for i in range(40)]})
    fh = FayHerriot().fit(names, 40 * z, 1600 * sigma2)
    expected = FayHerriot().fit(np.ones((40, 1)), 40 * z, 1600 * sigma2)
    np.testing.assert_allclose(fh.estimate().low, expected.estimate().low)
    np.testing.assert_allclose(fh.predict(names), fh.intercept_)


def test_fay_herriot_needs_more_groups_than_columns():
    X, z, sigma2, _ = simulated(3)
    with pytest.raises(ValueError):
        FayHerriot().fit(X, z, sigma2)


def test_fay_herriot_warns_of_zero_prior_variance():
    X = np.arange(6.0)[:, None]
    with pytest.warns(UserWarning, match="'reml'.* 0"):
        fh = FayHerriot().fit(X, [0.5, 0.51, 0.49, 0.5, 0.52, 0.48], 1.0)
    assert (fh.estimate().high - fh.estimate().low > 0.1).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 6)}), "'when'"),
        (pd.DataFrame({"a": [1.0, np.nan, 3, 4, 5, 6]}), "'a'"),
    ],
)
def test_fay_herriot_refuses_columns(X, message):
    with pytest.raises(ValueError, match=message):
        FayHerriot().fit(X, np.arange(6.0), 1.0)


@pytest.mark.parametrize("new", ["area 9", np.nan])
def test_fay_herriot_refuses_levels_it_was_not_fitted_on(milk, new):
    X, z, sigma2, _ = milk
    fh = FayHerriot().fit(X, z, sigma2)
    X = pd.DataFrame({"area": ["area 2", new]})
    with pytest.raises(ValueError):
        fh.predict(X)
    with pytest.raises(ValueError):
        fh.predict_interval(X, [0.5, 0.6], [0.1, 0.1])


def test_synthetic_is_the_regression_on_all_groups():
    X, z, sigma2, _ = simulated(50)
    sr = SyntheticRegression(LinearRegression(), random_state=0).fit(X, z, sigma2)
    expected = LinearRegression().fit(X, z).predict(X)
    np.testing.assert_allclose(sr.estimate().value, expected)
    np.testing.assert_allclose(sr.predict(X, z=z, sigma2=sigma2), expected)


def test_synthetic_intervals_cover_if_the_model_is_right():
    X, z, sigma2, truth = simulated(3000)
    estimate = SyntheticRegression(LinearRegression(), random_state=0).fit(X, z, sigma2).estimate()
    assert inside_band(covered(estimate, truth))
    assert estimate.guarantee == "model"


def test_structured_keeps_what_matters_and_weighs_by_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    sigma2 = np.where(np.arange(200) < 100, 1e-4, 0.5)
    z = 2 * X[:, 0] + np.sqrt(sigma2) * rng.normal(size=200)
    own = StructuredRegression(random_state=0).fit(X, z, sigma2)
    coefficients = own.regressor_[-1].coef_ / own.regressor_[-2].scale_
    np.testing.assert_allclose(coefficients[0], 2, atol=0.05)
    assert np.abs(coefficients[1:]).max() < 0.02


def test_no_penalty_leaves_the_direct_estimates():
    rng = np.random.default_rng(0)
    labels = pd.MultiIndex.from_product([list("ABCD"), range(30)], names=["model", "topic"])
    X = labels.to_frame().astype({"topic": str}).assign(feature=rng.normal(size=120))
    z, sigma2 = rng.random(120), rng.uniform(0.001, 0.02, 120)
    lasso = StructuredRegression(alphas=[1e-9], random_state=0).fit(X, z, sigma2)
    assert np.abs(lasso.estimate().value - z).max() < 1e-6
    assert np.abs(lasso.predict(X, z=z, sigma2=sigma2) - z).max() < 1e-6
    # All of it leaves the precision-weighted mean.
    mean = StructuredRegression(alphas=[1.0], random_state=0).fit(X, z, sigma2).estimate().value
    np.testing.assert_allclose(mean, np.average(z, weights=1 / sigma2), rtol=1e-9)


def test_structured_keeps_what_is_known_exactly():
    rng = np.random.default_rng(0)
    X, sigma2 = np.linspace(0, 1, 12)[:, None], np.r_[0.0, np.ones(11)]
    z = np.r_[1.8, rng.normal(size=11)]
    lasso = StructuredRegression(random_state=0).fit(X, z, sigma2)
    np.testing.assert_allclose(lasso.estimate().value[0], 1.8)
    np.testing.assert_allclose(lasso.predict(X, z=z, sigma2=sigma2), lasso.estimate().value)


@pytest.mark.parametrize("output", ["pandas", pytest.param("polars", marks=pytest.mark.slow)])
@pytest.mark.parametrize("cv", [None, pytest.param(3, marks=pytest.mark.slow)])
def test_structured_takes_any_output_and_leaves_the_global_generator(output, cv):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"model": list("AB") * 15, "x": rng.normal(size=30)})
    z = rng.random(30)
    lasso = StructuredRegression(10, cv, random_state=0)
    expected = lasso.fit(X, z, sigma2=0.01).estimate().value
    before = np.random.get_state()[1:3]  # noqa: NPY002
    with sklearn.config_context(transform_output=output):
        np.testing.assert_array_equal(lasso.fit(X, z, sigma2=0.01).estimate().value, expected)
        np.testing.assert_array_equal(lasso.predict(X), clone(lasso).fit(X, z, 0.01).predict(X))
    after = np.random.get_state()[1:3]  # noqa: NPY002
    assert before[1] == after[1] and (before[0] == after[0]).all()


def test_ends_of_an_estimate_that_is_cut_keep_their_distance():
    """Both ends beyond 1 would otherwise be 1."""
    X = np.arange(12.0)[:, None]
    g = {"sigma2": np.full(12, 1e-4), "n": np.full(12, 400), "sampling": Sampling("binomial")}
    z = np.rint(400 * np.linspace(0.6, 0.99, 12)) / 400
    fitted = SyntheticRegression(LinearRegression()).fit(X, z, **g)
    assert fitted.predict([[20.0]])[0] == 1
    low, high = fitted.predict_interval([[20.0]])[0]
    inside = fitted.predict_interval([[5.0]])[0]
    assert high == 1 and 1 - low == pytest.approx(np.diff(inside)[0] / 2)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_structured_minimizes_the_loss_of_the_paper(share):
    """Equation (3), by scikit-learn's lasso on a column for every intercept."""
    rng = np.random.default_rng(1)
    n_groups = 60
    X = pd.DataFrame({"model": np.tile(list("ABC"), 20), "x": rng.normal(size=n_groups)})
    sigma2 = rng.uniform(0.001, 0.02, n_groups)
    z = 0.5 + 0.1 * X["x"].to_numpy() + 0.1 * rng.standard_t(2, n_groups)
    lasso = StructuredRegression(alphas=[share], random_state=0).fit(X, z, sigma2)
    columns = np.column_stack([pd.get_dummies(X["model"]), X["x"] / X["x"].std(ddof=0)])
    every = np.column_stack([columns, np.eye(n_groups)]).astype(float)
    slow = Lasso(lasso.penalty_ / np.sum(1 / sigma2), tol=1e-12, max_iter=100_000)
    expected = slow.fit(every, z, sample_weight=1 / sigma2).predict(every)
    np.testing.assert_allclose(lasso.estimate().value, expected, atol=2e-5)


@pytest.mark.slow
def test_risk_of_structured_regression_is_unbiased():
    """Over draws of the noise, at a fixed penalty."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    sigma2 = rng.uniform(0.5, 2, 80)
    truth = X[:, 0] + np.where(rng.random(80) < 0.2, 3 * rng.normal(size=80), 0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weight = 1 / sigma2 / np.mean(1 / sigma2)
    gaps = []
    for _ in range(100):
        z = truth + np.sqrt(sigma2) * rng.normal(size=80)
        residual = weight * (z - np.average(z, weights=weight))
        largest = max(np.abs(X.T @ residual).max(), np.abs(residual).max())
        lasso = StructuredRegression(alphas=[1.5 / largest], random_state=0).fit(X, z, sigma2)
        risk, value = lasso.risk_, lasso.estimate().value
        gaps.append(risk - np.mean((value - truth) ** 2))
    assert abs(np.mean(gaps)) < 3.5 * np.std(gaps) / np.sqrt(100)
    assert np.std(gaps) < 0.4


def test_structured_intercepts_stay_with_groups_unlike_their_like():
    X, z, sigma2, truth = simulated(200)
    truth[7] += 2
    z[7] += 2
    estimate = StructuredRegression(random_state=0).fit(X, z, sigma2).estimate()
    plain = SyntheticRegression(LinearRegression(), random_state=0).fit(X, z, sigma2)
    assert abs(estimate.value[7] - truth[7]) < 0.7 < abs(plain.estimate().value[7] - truth[7])


def test_structured_as_published_chooses_the_penalty_on_held_out_groups():
    """Brute force: each penalty fitted by scikit-learn with a column for every intercept."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    sigma2 = rng.uniform(0.001, 0.02, 40)
    z = 0.5 + 0.1 * X[:, 0] + 0.1 * rng.standard_t(2, 40)
    published = StructuredRegression.as_published().set_params(alphas=[0.5, 0.1, 0.02])
    published.fit(X, z, sigma2)
    chosen = []
    for share in (0.5, 0.1, 0.02):
        lasso = StructuredRegression(alphas=[share]).fit(X, z, sigma2)
        chosen.append((lasso.penalty_, lasso.estimate().value))
    penalties = np.array([penalty for penalty, _ in chosen])
    best = int(np.argmin(np.abs(penalties - published.penalty_)))
    np.testing.assert_allclose(published.penalty_, penalties[best])
    np.testing.assert_allclose(published.estimate().value, chosen[best][1], atol=1e-6)
    assert np.isnan(published.risk_)


def test_structured_gives_models_and_topics_intercepts():
    rng = np.random.default_rng(1)
    labels = pd.MultiIndex.from_product([list("ABCD"), range(15)], names=["model", "topic"])
    X = labels.to_frame().astype({"topic": str})
    level = pd.factorize(X["model"])[0] * 0.2
    z = 0.1 + level + 0.02 * rng.normal(size=60)
    lasso = StructuredRegression(random_state=0).fit(X, z, 0.0004)
    np.testing.assert_allclose(lasso.estimate().value, 0.1 + level, atol=0.03)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_structured_needs_two_groups_in_each_half(n_groups):
    X, z, sigma2, _ = simulated(n_groups)
    with pytest.raises(ValueError):
        StructuredRegression().fit(X, z, sigma2)


def test_structured_fits_one_large_and_one_small_topic():
    X, z, sigma2, _ = simulated(20)
    topics = np.repeat(["large", "small"], [18, 2])
    assert np.isfinite(StructuredRegression().fit(X, z, sigma2, groups=topics).estimate().low).all()


def test_one_group():
    for estimator in (SyntheticRegression(Ridge()), FayHerriot()):
        with pytest.raises(ValueError):
            estimator.fit([[1.0]], [0.5], 0.01)
    assert DirectEstimator().fit([[1.0]], [0.5], 0.01).estimate().value.tolist() == [0.5]
