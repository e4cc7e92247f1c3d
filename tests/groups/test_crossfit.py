import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeavePGroupsOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
)
from walks import one_in

from skbench import (
    CrossFitKFold,
    EmpiricalBayes,
    StructuredRegression,
    SyntheticRegression,
    make_items,
    summarize_items,
)
from skbench.groups._regressors import Encoded
from skbench.groups.crossfit import as_splitter, cross_fit

X = np.random.default_rng(0).normal(size=(40, 3))
Z = X[:, 0] + 0.1 * np.arange(40)
TOPICS = np.repeat([f"t{i}" for i in range(8)], 5)


def folds_of(splitter, X=X, groups=None, y=None):
    return [test for _, test in splitter.split(X, y, groups)]


def test_every_repeat_covers_each_group_once():
    tests = folds_of(CrossFitKFold(n_splits=3, n_repeats=4, random_state=0))
    assert len(tests) == 12
    for start in range(0, 12, 3):
        assert sorted(np.concatenate(tests[start : start + 3])) == list(range(40))
    sizes = [len(test) for test in tests]
    assert max(sizes) - min(sizes) <= 1


def test_train_is_the_complement():
    for train, test in CrossFitKFold(random_state=0).split(X):
        assert sorted([*train, *test]) == list(range(40))


def test_topics_stay_whole_and_repeats_differ():
    tests = folds_of(CrossFitKFold(n_splits=2, n_repeats=8, random_state=0), groups=TOPICS)
    for test in tests:
        assert all(np.isin(np.flatnonzero(TOPICS == t), test).all() for t in set(TOPICS[test]))
        assert len(test) == 20
    assert len({tuple(sorted(test)) for test in tests}) > 8


def test_strata_are_balanced():
    frame = pd.DataFrame({"task": np.repeat(["a", "b"], [30, 10]), "x": np.arange(40.0)})
    for test in folds_of(CrossFitKFold(stratify="task", random_state=0), frame):
        assert (frame["task"].iloc[test] == "b").sum() == 5
    with pytest.raises(ValueError):
        folds_of(CrossFitKFold(stratify="subject"), frame)


def test_strata_are_balanced_in_whole_topics():
    topics = np.random.default_rng(0).permutation(np.repeat(np.arange(24), 3))
    X = pd.DataFrame({"task": np.where(topics < 8, "a", "b"), "x": np.arange(72)})
    for _, test in CrossFitKFold(random_state=0, stratify="task").split(X, groups=topics):
        assert (X["task"].iloc[test] == "a").sum() == 12
        assert len(test) == 36


def table_of_groups():
    """Models and topics with few different scores, a feature with gaps, and a kind of topic."""
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(120), 4)
    feature = np.where(rng.random(30) < 0.2, np.nan, rng.normal(size=30))
    names = {"model": model, "topic": topic, "kind": rng.integers(3, size=30)[topic]}
    X = pd.DataFrame({name: pd.Series(codes).map("{:02d}".format) for name, codes in names.items()})
    return X.assign(feature=feature[topic]), rng.binomial(8, 0.6, size=120) / 8


def with_other_names(X, seed=0):
    """Text columns with their levels renamed, in another order of the alphabet."""
    rng = np.random.default_rng(seed)
    texts = X.columns.drop("feature", errors="ignore")
    new = {
        name: pd.Series(rng.permutation(99).astype(str), map("{:02d}".format, range(99)))
        for name in texts
    }
    return X.assign(**{name: X[name].map(new[name]) for name in texts})


NOISE = 1 + np.random.default_rng(2).uniform(-6e-8, 6e-8, size=120)  # that of float32
SAME_TABLES = {
    "columns in another order": lambda X, z: (X[X.columns[::-1]], z),
    "other names": lambda X, z: (with_other_names(X), z),
    "categories": lambda X, z: (with_other_names(X).astype({"topic": "category"}), z),
    "float32": lambda X, z: (X.astype({"feature": "float32"}), z),
    "noise of float32": lambda X, z: (X.assign(feature=X["feature"] * NOISE), z),
    "rounding": lambda X, z: (X, z + 1e-16 * NOISE),
    "other units": lambda X, z: (X.assign(feature=5 - 1e6 + 1e3 * X["feature"]), 100 * z),
}


@pytest.mark.parametrize("groups", ["topic", None])
@pytest.mark.parametrize("stratify", ["kind", None])
@pytest.mark.parametrize("change", SAME_TABLES)
def test_folds_follow_from_numbers(change, stratify, groups):
    X, z = table_of_groups()
    order = np.random.default_rng(1).permutation(len(X))
    other, other_z = SAME_TABLES[change](X, z)
    folds = []
    for table, y, rows in ((X, z, np.arange(len(X))), (other, other_z, order)):
        cv = CrossFitKFold(random_state=3, stratify=stratify)
        kept = None if groups is None else table[groups].to_numpy()[rows]
        folds.append([set(rows[test]) for _, test in cv.split(table.iloc[rows], y[rows], kept)])
    assert folds[0] == folds[1]


def test_scores_of_a_topic_do_not_move_it_if_features_distinguish_topics():
    X, z = table_of_groups()
    X = X.assign(feature=X["topic"].astype(float))
    other = np.where(X["topic"] == X["topic"][0], 1 - z, z)
    folds = (
        [set(test) for test in folds_of(CrossFitKFold(random_state=0), X, X["topic"], y)]
        for y in (z, other)
    )
    assert next(folds) == next(folds)


def test_neighbors_in_the_order_have_unlike_scores():
    """A regressor may tune itself by folds in the order of the rows, as LassoCV does."""
    z = np.linspace(0, 1, 1000)
    train, _ = next(CrossFitKFold(random_state=0).split(np.zeros((1000, 1)), z))
    ordered = z[train]
    assert abs(np.corrcoef(ordered[1:], ordered[:-1])[0, 1]) < 0.1


@pytest.mark.parametrize("features", one_in(2, [False, True]))
@pytest.mark.parametrize(
    ("estimator", "atol"),
    [
        (EmpiricalBayes(Ridge(), random_state=0), 1e-9),
        (EmpiricalBayes(cv=2, random_state=0), 1e-9),
        (SyntheticRegression(random_state=0), 1e-9),
        # The lasso is solved to 1e-6 of the squared length of the scores.
        (StructuredRegression(5, cv=3, random_state=0), 1e-4),
        # Trees see coded names, and take the first of two splits that are as good.
        (EmpiricalBayes("lightgbm", random_state=0), None),
        (EmpiricalBayes(RandomForestRegressor(5), random_state=0), None),
    ],
    ids=["ridge", "xgboost", "synthetic", "structured", "lightgbm", "forest"],
)
def test_other_names_move_no_estimate(estimator, atol, features):
    X, z = table_of_groups()
    X = X.fillna({"feature": 0.0}) if features else X[["model", "topic"]]
    order = np.random.default_rng(1).permutation(len(X))
    renamed = with_other_names(X).iloc[order, ::-1]
    n = np.full(len(z), 8)
    sigma2 = (8 * z + 1) * (9 - 8 * z) / 800
    second = estimator.fit(renamed, z[order], sigma2[order], n, renamed["topic"]).estimate()
    first = estimator.fit(X, z, sigma2, n, X["topic"]).estimate()
    atol = 3 * estimator.split_error_[order] if atol is None else atol
    for name in ("value", "low", "high"):
        moved = np.abs(getattr(second, name) - getattr(first, name)[order])
        assert (moved <= atol).all(), (name, moved.max())


@pytest.mark.parametrize(("interval", "n_topics"), [("robust", 2), ("robust", 3), ("fab", 6)])
def test_other_names_choose_no_penalty_where_all_are_as_good(interval, n_topics):
    """A fold of one topic, each model its own column, cannot distinguish penalties."""
    items = make_items(4, n_topics, 10, random_state=0).items
    other = items.assign(model=items["model"].map({f"model-{i}": f"n{9 - i}" for i in range(4)}))
    found = []
    for rows in (items, other.iloc[::-1]):
        groups = summarize_items(rows, by=["model", "topic"])
        ridge = EmpiricalBayes("ridge", interval=interval, random_state=0).fit(**groups.fit_args)
        frame = ridge.estimate().to_frame()[["value", "low", "high"]]
        found.append(frame.sort_index(ascending=[rows is items, True]).to_numpy())
    np.testing.assert_allclose(*found, atol=1e-12)


def test_split_error_is_the_deviation_over_seeds():
    fitted = [EmpiricalBayes(Ridge(), random_state=seed).fit(X, Z, 1.0) for seed in range(25)]
    spread = np.std([eb.estimate().value for eb in fitted], axis=0)
    error = np.sqrt(np.mean([eb.split_error_**2 for eb in fitted], axis=0))
    # A standard deviation of 25 has a relative error of .14, less in a mean over groups.
    np.testing.assert_allclose(spread.mean(), error.mean(), rtol=0.1)
    assert np.isnan(EmpiricalBayes(Ridge(), cv=2).fit(X, Z, 1.0).split_error_).all()


@pytest.mark.parametrize(
    "estimator", [EmpiricalBayes, SyntheticRegression], ids=lambda e: e.__name__
)
def test_ties_of_content_are_broken_by_variance_and_size(estimator):
    X, z = np.repeat([[0.0], [1.0]], 12, axis=0), np.tile([0.5, 0.25, 1.0], 8)
    n = np.tile([4, 4, 8, 8], 6)
    sigma2 = np.tile([0.01, 0.01, 0.01, 0.04, 0.04, 0.04], 4)
    order = np.random.default_rng(0).permutation(24)
    first = estimator(Ridge(), random_state=0).fit(X, z, sigma2, n).estimate().value
    second = estimator(Ridge(), random_state=0).fit(X[order], z[order], sigma2[order], n[order])
    np.testing.assert_allclose(second.estimate().value, first[order], rtol=1e-12)


def test_too_few_topics():
    with pytest.raises(ValueError, match="2 .*topics.*n_samples"):
        folds_of(CrossFitKFold(), groups=np.zeros(40))
    with pytest.raises(ValueError):
        folds_of(CrossFitKFold(n_splits=50))


def test_topics_without_a_name_are_refused():
    with pytest.raises(ValueError):
        next(
            CrossFitKFold().split(
                np.zeros((4, 1)), groups=["distribution", "art", np.nan, "distribution"]
            )
        )


def test_what_cv_stands_for():
    assert as_splitter(None, 0).get_n_splits() == 16
    assert as_splitter(3, 0).get_n_splits() == 3
    assert as_splitter(KFold(4), 0).get_n_splits() == 4


class Memory(RegressorMixin, BaseEstimator):
    """Predicts 1 for rows it was trained on, else 0."""

    def fit(self, X, y):
        self.seen_ = {tuple(row) for row in X}
        return self

    def predict(self, X):
        return np.array([float(tuple(row) in self.seen_) for row in X])


@pytest.mark.parametrize(
    "splitter",
    [
        CrossFitKFold(n_repeats=3, random_state=0),
        KFold(5),
        RepeatedKFold(n_splits=4, n_repeats=2),
        LeavePGroupsOut(2),
    ],
)
@pytest.mark.filterwarnings("ignore:The regressor")
def test_no_group_is_predicted_by_a_regressor_that_saw_it(splitter):
    prior_means, _ = cross_fit(Encoded.once(Memory(), X), Z, None, splitter, TOPICS)
    assert prior_means.sum() == 0


def test_against_a_loop():
    splitter = GroupKFold(4)
    prior_means, folds = cross_fit(Encoded.once(LinearRegression(), X), Z, None, splitter, TOPICS)
    for number, (train, test) in enumerate(splitter.split(X, Z, TOPICS)):
        expected = LinearRegression().fit(X[train], Z[train]).predict(X[test])
        np.testing.assert_allclose(prior_means[0, test], expected)
        assert (folds[0, test] == number).all()


def test_pairs_of_topics_left_out_are_averaged():
    cv = LeavePGroupsOut(2)
    eb = EmpiricalBayes(LinearRegression(), cv=cv, prior_variance="moments")
    eb.fit(X, Z, 0.1, groups=TOPICS)
    total = np.zeros(len(Z))
    for train, test in cv.split(X, Z, TOPICS):
        f = LinearRegression().fit(X[train], Z[train]).predict(X[test])
        A = max(0, np.mean((Z[test] - f) ** 2 - 0.1))
        total[test] += f + A / (A + 0.1) * (Z[test] - f)
    np.testing.assert_allclose(eb.estimate().value, total / 7)  # of seven pairs each


@pytest.mark.parametrize(
    "splitter",
    [
        ShuffleSplit(4, random_state=0),
        PredefinedSplit([0] * 20 + [-1] * 20),
        PredefinedSplit([0] * 20 + [1] * 19 + [-1]),
        [(np.arange(20, 40), np.repeat(np.arange(20), 2)), (np.arange(20), np.arange(20, 40))],
        [(np.arange(40), np.arange(20)), (np.arange(40), np.arange(20, 40))],
    ],
)
def test_refuses_splitters_that_leave_groups_out_or_fit_on_them(splitter):
    with pytest.raises(ValueError):
        cross_fit(Encoded.once(LinearRegression(), X), Z, None, as_splitter(splitter, 0), None)


def test_folds_of_one_group_are_no_constant_predictions():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_fit(Encoded.once(Ridge(), X), Z, None, KFold(len(Z)), None)


def test_warns_of_constant_predictions():
    constant = DummyRegressor(strategy="constant", constant=1.0)
    with pytest.warns(UserWarning, match="regressor"):
        cross_fit(Encoded.once(constant, X), Z, None, KFold(2), None)
