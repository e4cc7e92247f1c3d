import numpy as np
import pandas as pd
import pytest
from reference.shrink_estimators import FixedShrinkage
from sklearn.linear_model import LinearRegression

from skbench import (
    EmpiricalBayes,
    GroupSummary,
    SyntheticRegression,
    estimated_risk,
    leave_out_covariates,
    make_items,
)

BY = ["model", "topic"]


def linear_groups(seed=0, n_groups=300):
    """Counts of 10 whose accuracy is 0.5 + 0.15 a; b and c say nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n_groups, 3)), columns=["a", "b", "c"])
    mu = 0.5 + 0.15 * X["a"].to_numpy()
    k = rng.binomial(10, mu)
    p = (k + 1) / 12
    return GroupSummary(k / 10, p * (1 - p) / 10, np.full(n_groups, 10), X.index, X)


@pytest.mark.slow
def test_worth_of_a_feature_is_the_variance_it_explains():
    worth = leave_out_covariates(
        SyntheticRegression(LinearRegression()), linear_groups(), random_state=0
    )
    table = worth.to_frame()
    assert table.index.tolist() == ["all features", "without a", "without b", "without c"]
    # Var(0.15 a) = 0.15^2 / 3; the fit itself costs next to nothing with 300 groups.
    difference, error = table.loc["without a", ["difference", "difference_standard_error"]]
    assert abs(difference - 0.15**2 / 3) < 4 * error and error < 0.0025
    for name in ("without b", "without c"):
        difference, error = table.loc[name, ["difference", "difference_standard_error"]]
        assert abs(difference) < 4 * error and error < 0.0005


@pytest.mark.slow
def test_groups_own_items_make_up_for_features():
    g = linear_groups()
    options = {"covariates": {"signal": "a"}, "random_state": 0, "n_splits": 5}
    alone = leave_out_covariates(SyntheticRegression(LinearRegression()), g, **options)
    shrunk = leave_out_covariates(EmpiricalBayes(LinearRegression()), g, **options)
    losses = [found.to_frame().loc["without signal", "difference"] for found in (alone, shrunk)]
    assert 0 < losses[1] < losses[0]


def test_all_features_are_the_estimator_itself():
    g = linear_groups(n_groups=40)
    estimator = SyntheticRegression(LinearRegression())
    found = leave_out_covariates(estimator, g, covariates={"none": []}, n_splits=3, random_state=3)
    whole = estimated_risk({"all": estimator}, g, n_splits=3, random_state=3)
    for name in ("all features", "without none"):
        assert np.array_equal(found.losses[name], whole.losses["all"])
    assert found.difference("without none", "all features") == (0, 0)


def test_leaving_out_everything_leaves_a_mean():
    g = linear_groups(n_groups=40)
    found = leave_out_covariates(
        SyntheticRegression(LinearRegression()), g, covariates={"all": ["a", "b", "c"]}, n_splits=3
    )
    assert np.isfinite(found.risk["without all"])


def test_groups_of_columns_of_items():
    data = make_items(3, 12, 6, random_state=0)
    found = leave_out_covariates(
        FixedShrinkage(),
        data.items,
        BY,
        covariates={"intercepts": BY, "feature": "feature"},
        features=data.features,
        n_splits=2,
        random_state=0,
    )
    assert found.reference == "all features"
    assert found.risk.nunique() == 1  # fixed shrinkage looks at no feature


def test_unknown_columns_are_named():
    with pytest.raises(ValueError):
        leave_out_covariates(FixedShrinkage(), linear_groups(), covariates={"text": ["a", "lsa"]})
