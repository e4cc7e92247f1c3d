"""The default regressor chooses what cross-validation by xgboost itself chooses."""

import numpy as np
import pytest
import xgboost
from sklearn.model_selection import KFold

from skbench.groups._regressors import TunedXGBRegressor


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
