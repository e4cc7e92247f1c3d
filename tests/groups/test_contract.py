"""What every estimator promises: scikit-learn's own checks, and ours."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from xgboost import XGBRegressor

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    MixedModel,
    StructuredRegression,
    SyntheticRegression,
)

QUICK_XGB = XGBRegressor(n_estimators=20, max_depth=3)
QUICK_LGBM = LGBMRegressor(n_estimators=20, min_child_samples=2, verbose=-1)

# One without features, one without and one with an inner regressor; the others are slow tests.
CHECKED = [
    DirectEstimator(sampling_variance=1.0),
    FayHerriot(sampling_variance=1.0),
    EmpiricalBayes(make_pipeline(StandardScaler(), Ridge()), sampling_variance=1.0),
]
CHECKED_TOO = [
    SyntheticRegression(Ridge(), sampling_variance=1.0),
    SyntheticRegression(sampling_variance=1.0),
    StructuredRegression(sampling_variance=1.0),
    JamesStein(sampling_variance=1.0),
    EmpiricalBayes(sampling_variance=1.0, cv=2),
    EmpiricalBayes(Ridge(), sampling_variance=1.0),
    EmpiricalBayes(QUICK_XGB, sampling_variance=1.0, cv=2),
    EmpiricalBayes(QUICK_LGBM, sampling_variance=1.0, cv=2),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(CHECKED_TOO)
def test_scikit_learn_checks_of_the_others(estimator, check):
    check(estimator)


EVERY = {
    "direct": DirectEstimator(),
    "synthetic": SyntheticRegression(Ridge(), random_state=0),
    "structured": StructuredRegression(alphas=8, random_state=0),
    "james-stein": JamesStein(),
    "fay-herriot": FayHerriot(),
    "mixed": MixedModel(),
    "mixed-gaussian": MixedModel("gaussian"),
    "eb": EmpiricalBayes(Ridge(), random_state=0),
    "eb-length-optimal": EmpiricalBayes(Ridge(), interval="length-optimal", random_state=0),
    "eb-parametric-fold": EmpiricalBayes(
        Ridge(), interval="parametric", prior_variance="moments", random_state=0
    ),
}
every_estimator = pytest.mark.parametrize("estimator", EVERY.values(), ids=EVERY.keys())
# What `GroupEstimator` refuses it refuses for all; two read their variances in their own way.
in_their_own_way = pytest.mark.parametrize("estimator", map(EVERY.get, ("direct", "mixed", "eb")))


@pytest.fixture(scope="module")
def groups():
    """60 groups of binary items; accuracy depends on a feature and on the model."""
    rng = np.random.default_rng(5)
    n = rng.integers(5, 40, size=60)
    X = pd.DataFrame(
        {"difficulty": rng.uniform(size=60), "model": np.tile(["A", "B", "C"], 20)},
        index=pd.Index([f"group {i}" for i in range(60)], name="group"),
    )
    truth = 0.8 - 0.4 * X["difficulty"] + 0.1 * (X["model"] == "B")
    k = rng.binomial(n, truth)
    p = (k + 1) / (n + 2)
    return {"X": X, "y": k / n, "sigma2": p * (1 - p) / n, "n": n}


@every_estimator
def test_estimate_is_labelled_and_finite(estimator, groups):
    estimate = clone(estimator).fit(**groups).estimate(0.9)
    assert estimate.labels.equals(groups["X"].index)
    assert estimate.confidence_level == 0.9
    numbers = estimate.to_frame()[["value", "low", "high", "standard_error"]]
    assert np.isfinite(numbers.to_numpy()).all()
    assert (estimate.low < estimate.high).all()


@every_estimator
def test_higher_level_gives_wider_intervals(estimator, groups):
    fitted = clone(estimator).fit(**groups)
    narrow, wide = fitted.estimate(0.5), fitted.estimate(0.99)
    assert (wide.high - wide.low > narrow.high - narrow.low).all()


@every_estimator
def test_fit_predict_is_the_estimate(estimator, groups):
    value = clone(estimator).fit_predict(**groups)
    np.testing.assert_array_equal(value, clone(estimator).fit(**groups).estimate().value)


@every_estimator
def test_new_groups(estimator, groups):
    fitted = clone(estimator).fit(**groups)
    new = {"z": groups["y"][:5], "sigma2": groups["sigma2"][:5], "n": groups["n"][:5]}
    value = fitted.predict(groups["X"].iloc[:5], **new)
    interval = fitted.predict_interval(groups["X"].iloc[:5], **new)
    assert value.shape == (5,)
    assert interval.shape == (5, 2)
    assert np.isfinite(value).all()
    assert (interval[:, 0] <= value).all() or fitted.get_params().get("interval") != "robust"


@every_estimator
def test_score_is_cleared_of_noise(estimator, groups):
    fitted = clone(estimator).fit(**groups)
    X, y, sigma2 = groups["X"], groups["y"], groups["sigma2"]
    predicted = fitted.predict(X)
    error, noise = np.mean((y - predicted) ** 2), np.mean(sigma2)
    expected = 1 - (error - noise) / np.var(y)
    np.testing.assert_allclose(fitted.score(X, y, sigma2), expected)
    np.testing.assert_allclose(fitted.score(X, y), 1 - error / np.var(y))


def test_score_is_always_a_number():
    js = JamesStein().fit(np.zeros((4, 1)), [0.1, 0.2, 0.3, 0.4], sigma2=1.0)
    assert np.isfinite(js.score(np.zeros((2, 1)), [0.1, 0.2], sigma2=1.0))
    assert js.score(np.zeros((2, 1)), [0.1, 0.1], sigma2=1.0) == 1.0
    assert js.score(np.zeros((2, 1)), [0.1, 0.1]) == 0.0


def test_weights_of_the_score(groups):
    fitted = FayHerriot().fit(**groups)
    rows = np.repeat(np.arange(60), np.arange(60) % 3)
    X, y, sigma2 = (groups[name] for name in ("X", "y", "sigma2"))
    weighted = fitted.score(X, y, sigma2, sample_weight=np.arange(60) % 3)
    np.testing.assert_allclose(weighted, fitted.score(X.iloc[rows], y[rows], sigma2[rows]))
    with pytest.raises(ValueError, match="sample_weight"):
        fitted.score(X, y, sigma2, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="feature"):
        fitted.score(X[["model"]], y, sigma2)


@in_their_own_way
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        # Without n too: of counts a direct estimate knows its own variance.
        ({"sigma2": None, "n": None}, "sigma2"),
        ({"sigma2": -0.003}, "sigma2 .*'group 0' .*-0.003"),
        ({"sigma2": np.nan}, "sigma2 .*'group 0' .*nan"),
        ({"sigma2": np.inf}, "sigma2 .*'group 0' .*inf"),
        ({"sigma2": [0.1, 0.2]}, "sigma2 .*2 .*60"),
        ({"n": 0}, "n .*'group 0' .*0"),
        ({"n": 2.5}, "n .*'group 0' .*2.5"),
        ({"y": ["a"] * 60}, "y .*'group 0' .*'a'"),
        ({"y": np.full(60, np.nan)}, "y .*'group 0' .*nan"),
        ({"y": np.zeros(59)}, "y .*59 .*60"),
    ],
)
def test_refuses(estimator, changed, message, groups):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**(groups | changed))


@in_their_own_way
@pytest.mark.parametrize(
    "topics",
    [
        ["distribution", "art", None] * 20,
        np.array([1.0, 2, np.nan] * 20),
        [(1, "a"), "b", (None, "c")] * 20,
    ],
)
def test_refuses_topics_without_a_name(estimator, groups, topics):
    message = "groups .*20 of 60.*'group 2'"
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**groups, groups=topics)


@in_their_own_way
def test_new_groups_need_their_variance(estimator, groups):
    fitted = clone(estimator).fit(**groups)
    with pytest.raises(ValueError, match="sigma2"):
        fitted.predict(groups["X"], z=groups["y"])


@in_their_own_way
def test_refuses_a_frame_without_rows(estimator, groups):
    none = {name: values[:0] for name, values in groups.items()}
    fitted = clone(estimator).fit(**groups)
    for call in (
        lambda: clone(estimator).fit(**none),
        lambda: fitted.predict(none["X"]),
        lambda: fitted.predict_interval(none["X"], none["y"], none["sigma2"], none["n"]),
    ):
        with pytest.raises(ValueError, match="^X "):
            call()
