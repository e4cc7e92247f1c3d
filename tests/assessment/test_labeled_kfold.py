import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score

from skbench.assessment import LabeledKFold
from skbench.datasets import make_judged_items


@pytest.fixture
def rows():
    """90 rows in 3 groups with 11, 4 and 2 labels."""
    items = make_judged_items(3, [50, 30, 10], [11, 4, 2], random_state=0).items
    return items[["autorater"]], items["human"], items["group"]


def labels_by_fold(splitter, X, y, groups=None):
    """Labeled rows of every test fold, by group."""
    counts = []
    for _, test in splitter.split(X, y, groups):
        labeled = pd.Series(y).iloc[test].notna().to_numpy()
        where = np.zeros(len(X)) if groups is None else np.asarray(groups)
        counts.append(pd.Series(where[test][labeled]).value_counts())
    return pd.concat(counts, axis=1).fillna(0)


def test_every_row_is_tested_once_and_every_fold_is_labeled(rows):
    X, y, _ = rows
    tested = []
    for train, test in LabeledKFold(random_state=0).split(X, y):
        assert sorted([*train, *test]) == list(range(90))
        assert y.iloc[train].notna().any() and y.iloc[test].notna().any()
        tested.extend(test)
    assert sorted(tested) == list(range(90))


@pytest.mark.parametrize("n_splits", [2, 5, 17])
def test_folds_are_balanced(rows, n_splits):
    X, y, groups = rows
    splitter = LabeledKFold(n_splits, random_state=1)
    for by in (None, groups):
        counts = labels_by_fold(splitter, X, y, by)
        assert (counts.sum() >= 1).all()
        assert np.ptp(counts.sum()) <= 1
        assert (np.ptp(counts.to_numpy(), axis=1) <= 1).all()
    sizes = [len(test) for _, test in splitter.split(X, y, groups)]
    assert np.ptp(sizes) <= 1


def test_seed_reproduces_and_matters(rows):
    X, y, _ = rows

    def folds(seed):
        return [tuple(test) for _, test in LabeledKFold(random_state=seed).split(X, y)]

    assert folds(1) == folds(1)
    assert folds(1) != folds(2)


def test_labels_may_be_text_and_tables_of_any_kind():
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({"judge": ["y", "n", "u", "y"], "length": [1, 2, 3, 4]})
    y = np.array(["win", None, "tie", None], object)
    for _, test in LabeledKFold(2, random_state=0).split(X, y):
        assert len(test) == 2 and sum(y[test] != None) == 1  # noqa: E711


class MeanOfLabels(BaseEstimator):
    """Learns nothing but how many labels it saw; its score is how many it is scored on."""

    def fit(self, X, y):
        self.n_labeled_ = np.sum(~np.isnan(y))
        return self

    def score(self, X, y):
        return np.sum(~np.isnan(y))


def test_scikit_learn_takes_it_as_cv(rows):
    X, y, _ = rows
    scores = cross_val_score(MeanOfLabels(), X, y, cv=LabeledKFold(4, random_state=0))
    assert sorted(scores) == [4, 4, 4, 5]
    assert LabeledKFold(4).get_n_splits() == 4


@pytest.mark.parametrize(
    ("splitter", "y", "groups"),
    [
        (LabeledKFold(5), [1, 0, np.nan], None),
        (LabeledKFold(2), [np.nan] * 3, None),
        (LabeledKFold(2), [1, 0], None),
        (LabeledKFold(2), None, None),
        (LabeledKFold(2), [1, 0, 1], ["a"]),
    ],
)
def test_refuses(splitter, y, groups):
    with pytest.raises(ValueError):
        list(splitter.split(np.zeros((3, 1)), y, groups))
