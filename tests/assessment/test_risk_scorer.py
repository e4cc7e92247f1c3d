import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbench import EmpiricalBayes, SyntheticRegression, unbiased_risk_score


@pytest.fixture
def groups():
    """300 groups with a linear signal, unexplained variance 0.01 and unequal noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    sigma2 = rng.uniform(0.002, 0.05, 300)
    truth = 0.2 * X["a"].to_numpy() + 0.1 * rng.normal(size=300)
    return X, truth + np.sqrt(sigma2) * rng.normal(size=300), sigma2, truth


class Known:
    """Predicts the column a times 0.2."""

    def predict(self, X):
        return 0.2 * X["a"]


def test_is_the_weighted_error_without_noise(groups):
    X, y, sigma2, _ = groups
    residuals = y - 0.2 * X["a"]
    expected = -np.sum((residuals**2 - sigma2) / sigma2) / np.sum(1 / sigma2)
    assert unbiased_risk_score(Known(), X, y, sigma2) == pytest.approx(expected)


def test_is_unbiased_for_the_weighted_risk(groups):
    X, _, sigma2, truth = groups
    rng = np.random.default_rng(1)
    scores = [
        unbiased_risk_score(Known(), X, truth + np.sqrt(sigma2) * rng.normal(size=300), sigma2)
        for _ in range(300)
    ]
    risk = np.average((truth - 0.2 * X["a"]) ** 2, weights=1 / sigma2)
    assert abs(np.mean(scores) + risk) < 4 * np.std(scores) / np.sqrt(300)


def test_noiseless_groups_weigh_as_the_best_noisy_one():
    X = pd.DataFrame({"a": [0.0, 0.0, 0.0]})
    score = unbiased_risk_score(Known(), X, [0.1, 0.2, 0.3], [0.0, 0.01, 0.02])
    assert score == pytest.approx(-(2 * 0.01 + 2 * 0.03 + 0.07) / 5)
    assert unbiased_risk_score(Known(), X, [0.1, 0.1, 0.1], 0.0) == pytest.approx(-0.01)


def test_searches_route_sigma2_to_fit_and_score(groups):
    X, y, sigma2, _ = groups
    folds = KFold(3, shuffle=True, random_state=0)
    grid = {"regressor__ridge__alpha": [0.1, 1e5]}
    estimator = SyntheticRegression(make_pipeline(StandardScaler(), Ridge()), random_state=0)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(estimator, grid, scoring=unbiased_risk_score, cv=folds)
        search.fit(X, y, sigma2=sigma2)
        scores = cross_val_score(
            search.best_estimator_,
            X,
            y,
            scoring=unbiased_risk_score,
            cv=folds,
            params={"sigma2": sigma2},
        )
    assert search.best_params_ == {"regressor__ridge__alpha": 0.1}
    assert search.best_score_ == pytest.approx(scores.mean())
    by_hand = []
    for train, test in folds.split(X):
        fitted = search.best_estimator_.fit(X.iloc[train], y[train], sigma2[train])
        by_hand.append(unbiased_risk_score(fitted, X.iloc[test], y[test], sigma2[test]))
    assert np.allclose(scores, by_hand)


def test_plain_regressors_are_scored_too(groups):
    X, y, sigma2, _ = groups
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            Ridge(), X, y, scoring=unbiased_risk_score, params={"sigma2": sigma2}
        )
    # Unexplained variance 0.01; four standard errors of 0.0017, weights count as 135 groups.
    assert 0.003 < -scores.mean() < 0.017


def test_the_winner_is_that_of_the_weighted_squared_error(groups):
    """Taking the same noise off every candidate moves none of them past another."""
    X, y, sigma2, _ = groups
    test = slice(200, None)
    fits = [Ridge(alpha).fit(X[:200], y[:200]) for alpha in (0.1, 30, 1000)]
    clean = [unbiased_risk_score(fit, X[test], y[test], sigma2[test]) for fit in fits]
    noisy = [
        -np.average((y[test] - fit.predict(X[test])) ** 2, weights=1 / sigma2[test]) for fit in fits
    ]
    assert np.allclose(np.diff(clean), np.diff(noisy))


def test_without_routing_the_error_names_sigma2(groups):
    X, y, sigma2, _ = groups
    eb = EmpiricalBayes(Ridge(), random_state=0).fit(X, y, sigma2)
    with pytest.raises(ValueError):
        unbiased_risk_score(eb, X, y)
    with pytest.raises(ValueError):
        unbiased_risk_score(eb, X, y, -np.ones(300))
