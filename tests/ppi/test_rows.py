"""`predict`: calibrated scores whose mean over the fitted rows is the estimate."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import expit, logit
from skbench.stats.calibration import shares_with_mean
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import skbench.ppi
from skbench import (
    ChainRulePPI,
    ClassicalMean,
    GroupedPPI,
    MonteCarloPPI,
    PPIMean,
    RoganGladen,
    StratifiedPPI,
)
from skbench.ppi import Mean

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N_LABELED = 80


def rows(kind, seed=0, n=400):
    """Scores and human labels; the first rows are labeled."""
    rng = np.random.default_rng(seed)
    true = rng.random(n)
    judge = np.clip(true + 0.2 * rng.standard_normal(n), 0, 1)
    human = {
        "graded": true,
        "binary": (true > 0.4) * 1.0,
        "verdicts": (true > 0.4) * 1.0,
        "duels": np.digitize(true, [0.3, 0.5]) - 1.0,
    }[kind]
    if kind in ("verdicts", "duels"):
        judge = np.digitize(judge, [0.3, 0.5]) if kind == "duels" else (judge > 0.5) * 1
    return judge, np.where(np.arange(n) < N_LABELED, human, np.nan)


CASES = [
    (ClassicalMean(), "graded"),
    (ClassicalMean(), "binary"),
    (PPIMean(), "graded"),
    (PPIMean(power_tuning=False), "binary"),
    (StratifiedPPI(), "graded"),
    (StratifiedPPI(power_tuning=True), "binary"),
    (StratifiedPPI("tree"), "graded"),
    (StratifiedPPI(RandomForestRegressor(10, random_state=0)), "graded"),
    (StratifiedPPI(LogisticRegression()), "binary"),
    (StratifiedPPI(KMeans(4, random_state=0)), "binary"),
    (StratifiedPPI(lambda X: np.round(4 * X[:, 0])), "graded"),
    (ChainRulePPI(), "verdicts"),
    (ChainRulePPI(), "binary"),
    (ChainRulePPI("draws", n_draws=100, random_state=0), "verdicts"),
    (ChainRulePPI(verdicts="side by side"), "duels"),
    (RoganGladen(), "verdicts"),
]


def names(case):
    return case if isinstance(case, str) else type(case).__name__


def test_every_estimator_is_among_the_cases():
    classes = {getattr(skbench.ppi, name) for name in skbench.ppi.__all__}
    found = {c for c in classes if hasattr(c, "labels_needed")}
    assert found == {type(estimator) for estimator, _ in CASES}


@pytest.mark.parametrize(("estimator", "kind"), CASES, ids=names)
def test_the_mean_over_the_fitted_rows_is_the_estimate(estimator, kind):
    judge, human = rows(kind)
    fitted = estimator.fit(judge, human)
    scores = fitted.predict(judge)
    assert scores.shape == judge.shape
    assert abs(scores.mean() - fitted.estimate_) < 1e-12
    assert abs(scores.mean() - fitted.estimate().value[0]) < 1e-12
    # A prediction depends only on the judge's score, not on the label of the row.
    order = np.random.default_rng(1).permutation(len(judge))
    assert_array_equal(fitted.predict(judge[order]), scores[order])


@pytest.mark.parametrize(("estimator", "kind"), CASES, ids=names)
def test_one_group_of_many_is_predicted_as_alone(estimator, kind):
    """`GroupedPPI` calibrates within groups; groups without labels have no scores."""
    parts = [rows(kind, seed) for seed in (0, 1)]
    judge = np.concatenate([*(p[0] for p in parts), parts[0][0][:5]])
    human = np.concatenate([*(p[1] for p in parts), np.full(5, np.nan)])
    groups = np.repeat(["b", "c", "a"], [400, 400, 5])
    grouped = GroupedPPI(estimator, power="per group", random_state=0).fit(judge, human, groups)
    scores = grouped.predict(judge, groups)
    for number, name in ((1, "b"), (2, "c")):
        assert abs(scores[groups == name].mean() - grouped.estimate_[number]) < 1e-12
    assert np.isnan(scores[groups == "a"]).all()
    # Trees, clusters, bins and draws use all groups together.
    if isinstance(estimator, (ClassicalMean, PPIMean)):
        alone = estimator.fit(*parts[1]).predict(parts[1][0])
        assert_allclose(scores[groups == "c"], alone, rtol=0, atol=1e-12)
    with pytest.raises(ValueError):
        grouped.predict(judge[:1], ["d"])


def test_the_mean_of_many_rows():
    judge, human = rows("binary", n=1_000_000)
    fitted = PPIMean().fit(judge + 1, human)
    assert abs(fitted.predict(judge + 1).mean() - fitted.estimate_) < 1e-12


@pytest.mark.parametrize("how", ["cluster", "sample_weight"])
def test_dependent_rows(how):
    judge, human = rows("graded")
    rng = np.random.default_rng(2)
    given = rng.integers(0, 60, 400) if how == "cluster" else rng.uniform(1, 3, 400)
    fitted = PPIMean().fit(judge, human, **{how: given})
    assert abs(fitted.predict(judge).mean() - fitted.estimate_) < 1e-12


def test_lines_by_hand():
    """Predictions are lambda f + constant, also for two judges and new rows."""
    judge, human = rows("graded")
    X = pd.DataFrame({"first": judge, "second": judge**2})
    fitted = PPIMean().fit(X, human)
    line = X.to_numpy() @ fitted.lambda_
    new = pd.DataFrame({"first": [0.2, 7.0], "second": [0.5, -1.0]})
    expected = new.to_numpy() @ fitted.lambda_ + fitted.estimate_ - line.mean()
    assert_allclose(fitted.predict(new), expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError):
        fitted.predict(new[["second", "first"]])
    with pytest.raises(ValueError):
        fitted.predict(new["first"])
    with pytest.raises(ValueError):
        fitted.predict([[0.1, 0.2], [np.nan, 0.3]])


def test_strata_by_hand():
    """Without tuning predictions are f plus the rectifier of the stratum plus one constant."""
    judge, human = rows("graded")
    fitted = StratifiedPPI().fit(judge, human)
    labeled = ~np.isnan(human)
    missed = np.array(
        [np.mean((human - judge)[labeled & (fitted.strata_ == s)]) for s in range(1, 6)]
    )
    raw = judge + missed[fitted.strata_ - 1]
    assert_allclose(fitted.predict(judge), raw + fitted.estimate_ - raw.mean(), rtol=0, atol=1e-12)
    # A stratum without fitted rows has the mean rectifier.
    fitted = StratifiedPPI(lambda X: (10 * X[:, 0]).astype(int) // 4).fit(judge, human)
    shift = fitted.predict([0.9])[0] - fitted.predict([0.8])[0]
    assert shift == pytest.approx(0.1)
    moved = fitted.estimate_ - np.mean(judge + _own(judge, human, fitted))
    assert fitted.predict([9.0])[0] == pytest.approx(9.0 + fitted.rectifier_ + moved, abs=1e-12)


def _own(judge, human, fitted):
    labeled = ~np.isnan(human)
    missed = {
        s: np.mean((human - judge)[labeled & (fitted.strata_ == s)])
        for s in np.unique(fitted.strata_)
    }
    return np.array([missed[s] for s in fitted.strata_])


def test_verdicts_have_probabilities():
    """Chain rule: (k + 1/2) / (n + 1) per verdict with one shift on the logit scale."""
    judge, human = rows("verdicts")
    fitted = ChainRulePPI().fit(judge, human)
    labeled = ~np.isnan(human)
    given = np.array(
        [
            (human[labeled & (judge == v)].sum() + 0.5) / ((labeled & (judge == v)).sum() + 1)
            for v in (0, 1)
        ]
    )
    share = np.bincount(judge) / len(judge)
    c = brentq(lambda c: share @ expit(logit(given) + c) - fitted.estimate_, -5, 5, xtol=1e-15)
    assert_allclose(fitted.predict([0, 1]), expit(logit(given) + c), rtol=0, atol=1e-12)
    with pytest.raises(ValueError):
        fitted.predict([1, 2])
    several = ChainRulePPI().fit(np.column_stack([judge, 1 - judge]), human)
    assert_allclose(several.predict([[0, 1], [1, 0]]), fitted.predict([0, 1]), rtol=0, atol=1e-12)


def test_predictive_values_by_bayes():
    """If the rate of verdicts agrees with the estimate, the constant is 0."""
    judge = np.repeat([1, 0, 1, 0, 1, 0], [45, 5, 10, 40, 600, 400])
    human = np.repeat([1, 0, np.nan], [50, 50, 1000])
    fitted = RoganGladen().fit(judge, human)
    s, f, p = 45.5 / 51, 10.5 / 51, fitted.estimate_
    bayes = np.array(
        [p * (1 - s) / (p * (1 - s) + (1 - p) * (1 - f)), p * s / (p * s + (1 - p) * f)]
    )
    scores = fitted.predict([0, 1])
    assert np.ptp(logit(scores) - logit(bayes)) < 1e-9
    assert_allclose(scores, bayes, atol=0.02)  # the labeled rows are not a random sample
    never = RoganGladen().fit(
        np.repeat([1, 0, 0], [2, 98, 900]), np.repeat([1, 0, np.nan], [2, 98, 900])
    )
    assert never.estimate_ == 0
    assert_array_equal(never.predict([0, 1]), [0, 0])


def test_probabilities_stay_inside():
    shares, mean = np.array([[0.999, 0.001], [0.6, 0.4]]), np.array([0.9999, np.nan])
    moved = shares_with_mean(shares, np.array([[1, 1], [1, 1]]), mean)
    assert (moved[0] > 0).all() and (moved[0] < 1).all()
    assert abs(moved[0].mean() - 0.9999) < 1e-12
    assert np.isnan(moved[1]).all()


def test_confidence_levels():
    judge, human = rows("graded")
    X = pd.DataFrame({"judge": judge})
    for found in (
        PPIMean().fit(judge, human),
        GroupedPPI().fit(judge, human),
        MonteCarloPPI({"m": Mean("y")}, lambda m: m, random_state=0).fit(X, human),
    ):
        own, narrow = found.estimate(), found.estimate(0.5)
        assert own.confidence_level == 0.95 and narrow.confidence_level == 0.5
        assert own.high[0] > narrow.high[0]
        assert found.labels_.equals(own.labels)
    ppi = PPIMean().fit(judge, human)
    assert ppi.labels_needed(0.1, 0.5) < ppi.labels_needed(0.1, 0.95) == ppi.labels_needed(0.1)
