"""The default regressor chooses what cross-validation by xgboost itself chooses."""

import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.model_selection import KFold

from skbench import SyntheticRegression


def default_regressor(random_state):
    X, z = np.arange(8.0)[:, None], np.linspace(0, 1, 8)
    regressor = SyntheticRegression().fit(X, z, sigma2=0.01).regressor_
    return clone(regressor).set_params(random_state=random_state)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [4, 25, 300])
@pytest.mark.parametrize("signal", [0.0, 0.5])
def test_chooses_as_xgboost_cv(n_groups, signal):
    rng = np.random.default_rng(n_groups)
    X = rng.normal(size=(n_groups, 5))
    y = signal * X[:, 0] + 0.2 * rng.normal(size=n_groups)
    weight = rng.uniform(0.5, 2, n_groups)
    fitted = default_regressor(3).fit(X, y, weight)

    folds = list(KFold(2, shuffle=True, random_state=3).split(X))
    best = {}
    for depth in (2, 3, 4):
        settings = {"max_depth": depth, "eta": 0.1, "nthread": 1, "seed": 3}
        data = xgboost.DMatrix(X[:, fitted._order], y, weight=weight)  # ties go to the first
        history = xgboost.cv(settings, data, 200, folds=folds, early_stopping_rounds=10)
        errors = history["test-rmse-mean"]
        best[depth, int(errors.argmin()) + 1] = errors.min()
    assert (fitted.max_depth_, fitted.n_estimators_) == min(best, key=best.get)


def test_units_do_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = 0.5 * X[:, 0] + 0.2 * rng.normal(size=80)
    expected = default_regressor(0).fit(X, y).predict(X)
    for unit in (2.0**-30, 2.0**-10, 2.0**10):
        found = default_regressor(0).fit(X, unit * y).predict(X)
        np.testing.assert_allclose(found, unit * expected, rtol=1e-5)


def test_constant_scores_have_no_unit():
    X, y = np.arange(20.0)[:, None], np.full(20, 0.1)
    np.testing.assert_allclose(default_regressor(0).fit(X, y).predict(X), 0.1, rtol=1e-6)
