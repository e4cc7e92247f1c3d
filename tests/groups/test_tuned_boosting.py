"""The default regressor chooses what cross-validation by xgboost itself chooses."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from skbench import CrossFitKFold
from skbench.groups._regressors import TunedXGBRegressor, prepared_regressor
from skbench.groups.crossfit import dealt, tuned_once


@pytest.mark.parametrize("n_groups", [4, 25, 300])
@pytest.mark.parametrize("signal", [0.0, 0.5])
def test_chooses_as_xgboost_cv(n_groups, signal):
    rng = np.random.default_rng(n_groups)
    X = rng.normal(size=(n_groups, 5))
    y = signal * X[:, 0] + 0.2 * rng.normal(size=n_groups)
    weight = rng.uniform(0.5, 2, n_groups)
    fitted = TunedXGBRegressor(random_state=3).fit(X, y, weight)

    folds = list(KFold(2, shuffle=True, random_state=3).split(X))
    best = {}
    for depth in (2, 3, 4):
        settings = {"max_depth": depth, "eta": 0.1, "nthread": 1, "seed": 3}
        data = xgboost.DMatrix(X, y, weight=weight)
        history = xgboost.cv(settings, data, 200, folds=folds, early_stopping_rounds=10)
        errors = history["test-rmse-mean"]
        best[depth, int(errors.argmin()) + 1] = errors.min()
    assert (fitted.max_depth_, fitted.n_estimators_) == min(best, key=best.get)


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-10, 2.0**10])
def test_units_do_not_matter(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = 0.5 * X[:, 0] + 0.2 * rng.normal(size=80)
    expected = TunedXGBRegressor(random_state=0).fit(X, y).predict(X)
    found = TunedXGBRegressor(random_state=0).fit(X, unit * y).predict(X)
    np.testing.assert_allclose(found, unit * expected, rtol=1e-5)


def test_constant_scores_have_no_unit():
    X, y = np.arange(20.0)[:, None], np.full(20, 0.1)
    np.testing.assert_allclose(TunedXGBRegressor().fit(X, y).predict(X), 0.1, rtol=1e-6)


@pytest.mark.parametrize("text", [False, True])
def test_tuned_once_for_all_folds(text):
    """By brute force over the folds of the first split, with topics whole."""
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(40), 3)
    X = pd.DataFrame({"x": rng.normal(size=40)[topic], "kind": topic % 3})
    y = np.sin(2 * X["x"].to_numpy()) + 0.3 * rng.normal(size=120)
    columns = pd.get_dummies(X["kind"]).assign(x=X["x"]) if text else X
    X["kind"] = X["kind"].map({0: "a", 1: "b", 2: "c"}) if text else X["kind"]
    splitter = CrossFitKFold(n_repeats=3, random_state=0)
    regressor = prepared_regressor("xgboost", X, topic, 5)
    tuned = tuned_once(dealt(regressor, X, y, splitter, topic), y).regressor
    chosen = (tuned[-1] if text else tuned).chosen
    errors = {}
    for depth in (2, 3, 4):
        settings = {"max_depth": depth, "eta": 0.1, "nthread": 1, "seed": 5}
        histories = []
        for train, test in list(splitter.split(X, y, topic))[:2]:
            parts = [
                xgboost.DMatrix(columns.to_numpy(dtype=float)[rows], y[rows])
                for rows in (train, test)
            ]
            result = {}
            xgboost.train(
                settings,
                parts[0],
                60,
                evals=[(parts[1], "t")],
                evals_result=result,
                verbose_eval=False,
            )
            histories.append(result["t"]["rmse"])
        history = np.mean(histories, axis=0)
        errors[depth, int(history.argmin()) + 1] = history.min()
    assert chosen == min(errors, key=errors.get)
    assert clone(tuned).fit(X, y).predict(X).shape == (120,)


def test_other_regressors_are_not_tuned():
    ridge = Ridge()
    X, z = np.zeros((4, 1)), np.zeros(4)
    assert tuned_once(dealt(ridge, X, z, CrossFitKFold(), None), z).regressor is ridge


def test_what_was_chosen_is_kept():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    fitted = TunedXGBRegressor(chosen=(1, 3)).fit(X, y)
    assert (fitted.max_depth_, fitted.n_estimators_) == (1, 3)
    assert len(np.unique(fitted.predict(X))) <= 2**3
