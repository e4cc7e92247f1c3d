"""scikit-learn conventions of the estimators of judged rows."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbench import (
    ChainRulePPI,
    ClassicalMean,
    GroupedPPI,
    PPIMean,
    RoganGladen,
    StratifiedPPI,
)
from skbench.assessment import LabeledKFold

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ESTIMATORS = [
    ClassicalMean(),
    PPIMean(),
    StratifiedPPI(),
    ChainRulePPI(),
    RoganGladen(),
    GroupedPPI(),
]


OLD = sklearn.__version__.startswith("1.7")


def expected_failed_checks(estimator):
    """scikit-learn checks that an estimator fails, with the reason."""
    weights = "weights are one over the probability of a label, not numbers of equal rows"
    expected = {
        "check_sample_weight_equivalence_on_dense_data": weights,
        "check_fit1d": "the scores of one autorater may be a plain column",
    }
    if isinstance(estimator, StratifiedPPI | ChainRulePPI | RoganGladen):
        refused = "labels must have equal probability; unequal weights are refused"
        expected["check_sample_weights_not_overwritten"] = refused
    if isinstance(estimator, ChainRulePPI | RoganGladen) and OLD:
        own = "scikit-learn 1.7 subtracts a mean from whole numbers in place, in the check itself"
        expected["check_positive_only_tag_during_fit"] = own
    if isinstance(estimator, RoganGladen):
        expected.pop("check_fit1d")
    if isinstance(estimator, GroupedPPI):
        alone = "one label cannot separate noise from differences between groups"
        expected["check_fit2d_1sample"] = alone
    return expected


@parametrize_with_checks(ESTIMATORS[1::2], expected_failed_checks=expected_failed_checks)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS[::2], expected_failed_checks=expected_failed_checks)
def test_checks_of_scikit_learn_of_the_others(estimator, check):
    check(estimator)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    judge = np.where(rng.random(600) < 0.9, truth, 1 - truth)
    human = np.where(np.arange(600) % 4 == 0, truth, np.nan)
    frame = pd.DataFrame({"judge": judge, "human": human, "topic": np.arange(600) % 3})
    return frame.assign(weight=1.0 + frame["topic"])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_columns_are_remembered(estimator, table):
    fitted = clone(estimator).fit(table[["judge"]], table["human"])
    assert fitted.n_features_in_ == 1
    assert list(fitted.feature_names_in_) == ["judge"]
    fitted.predict(table[["judge"]])
    with pytest.raises(ValueError):
        fitted.predict(table[["judge"]].rename(columns={"judge": "other"}))
    fitted = clone(estimator).fit(table["judge"], table["human"])
    assert not hasattr(fitted, "feature_names_in_")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_score_is_r2_on_labeled_rows(estimator, table):
    fitted = clone(estimator).fit(table[["judge"]], table["human"])
    known = table["human"].notna()
    predicted = fitted.predict(table[["judge"]])[known]
    for weight in (None, table["weight"]):
        want = r2_score(
            table["human"][known],
            predicted,
            sample_weight=None if weight is None else weight[known],
        )
        found = fitted.score(table[["judge"]], table["human"], sample_weight=weight)
        assert_allclose(found, want)
    assert np.isnan(fitted.score(table[["judge"]][3:6], table["human"][3:6]))
    for wrong in (-table["weight"], ["a"] * len(table), [1.0, 2.0]):
        with pytest.raises(ValueError, match="sample_weight"):
            fitted.score(table[["judge"]], table["human"], sample_weight=wrong)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (ClassicalMean(), {"interval": ["t", "wilson"]}),
        (PPIMean(), {"power_tuning": [True, False]}),
        (StratifiedPPI(), {"n_strata": [1, 2, 5]}),
        (ChainRulePPI(), {"prior": ["auto", "jeffreys"]}),
        (RoganGladen(), {"positive": [0, 1]}),
        (GroupedPPI(), {"power": ["shared", "per group"]}),
    ],
    ids=lambda x: type(x).__name__,
)
def test_searched_over_a_grid(estimator, grid, table):
    search = GridSearchCV(estimator, grid, cv=LabeledKFold(3))
    search.fit(table[["judge"]], table["human"])
    assert search.best_params_.keys() == grid.keys()
    if not isinstance(estimator, ClassicalMean):
        assert search.best_score_ > 0.5


def test_metadata_is_routed(table):
    X, y = table[["judge"]], table["human"]
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = GridSearchCV(PPIMean(), {"interval": ["t"]}, cv=LabeledKFold(3))
        weighted.fit(X, y, sample_weight=table["weight"], cluster=table.index // 4)
        by_group = GridSearchCV(GroupedPPI(), {"power": ["shared"]}, cv=LabeledKFold(3))
        by_group.fit(X, y, by=table["topic"])
    direct = PPIMean(interval="t")
    direct.fit(X, y, sample_weight=table["weight"], cluster=table.index // 4)
    assert weighted.best_estimator_.standard_error_ == direct.standard_error_
    assert list(by_group.best_estimator_.labels_) == [0, 1, 2]
    with pytest.raises(ValueError):
        by_group.best_estimator_.predict(X)
