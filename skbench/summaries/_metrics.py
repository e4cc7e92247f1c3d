"""`group_metrics`: labels and predictions, row by row, to a `GroupSummary` of a metric."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_numeric_dtype

from skbench._checks import (
    check_column,
    check_same_index,
    listed,
    of_one_type,
    one_column,
    plain,
    refuse_unhashable,
)
from skbench._types import Table, checked
from skbench._undecided import Undecided
from skbench._warnings import warn
from skbench.containers import GroupSummary, Sampling
from skbench.items.rows import as_frame, refuse_lists, refuse_missing
from skbench.stats.intervals.binomial import sampling_variance
from skbench.stats.intervals.classification import f1_score, f1_variance, grouped_auc
from skbench.stats.intervals.moderated import VarianceNoise

# Rows that count, and which of them are right; from positives in truth and in prediction.
_COUNTED = {
    "tpr": lambda true, predicted: (true, predicted),
    "fpr": lambda true, predicted: (~true, predicted),
    "precision": lambda true, predicted: (predicted, true),
    "f1": lambda true, predicted: (true | predicted, true & predicted),
}
# Moderated by 20 degrees of freedom: own variances follow the errors of the estimates.
_CONTINUOUS = Sampling("continuous", variance_noise=VarianceNoise(20, 1), bounds=(0, 1))


@checked
def group_metrics(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    by: Table,
    metric: Literal["accuracy", "tpr", "fpr", "precision", "f1", "auc"] = "accuracy",
    *,
    pos_label: Any = 1,
) -> GroupSummary:
    """Summarize labels and predictions into one metric per group.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels, numbers or words.
    y_pred : array-like of shape (n_rows,)
        Predicted labels. For "auc" scores, such as the predicted probability of `pos_label`.
    by : DataFrame, Series or array-like of shape (n_rows,)
        Group of each row. The columns of a frame are crossed: sex and age make groups such as
        women above 45.
    metric : {"accuracy", "tpr", "fpr", "precision", "f1", "auc"}, default="accuracy"
        "tpr" is recall, the share of the positive rows that are predicted positive; "fpr" that of
        the negative rows; "precision" the share of positive predictions that are right; "auc" the
        area under the ROC curve.
    pos_label : label, default=1
        The label that counts as positive; all others are negative. Accuracy does not use it.

    Returns
    -------
    GroupSummary
        Groups in sorted order. `n` is the number of rows that the metric rests on: all rows, the
        positive ones (tpr), the negative ones (fpr), those predicted positive (precision) or those
        positive in truth or prediction (f1). Where it is 0, the metric is nan. `X` holds the
        columns of `by` as names (numbers become categories), so that crossed groups borrow from
        those they share a column with.

    Raises
    ------
    ValueError
        If lengths or indexes differ, a label or the name of a group is missing, `pos_label` does
        not occur, labels are words on one side only or differ from others in case or blanks alone,
        `y_pred` holds scores where labels are needed, or the metric is undefined in every group.

    Warns
    -----
    UserWarning
        Names the groups where the metric is 0 / 0. Estimators refuse nan: pass them ``g.dropna()``;
        ``predict`` gives the prior means of the other groups.

    Notes
    -----
    Values are those of scikit-learn's functions, group by group. Accuracy, tpr, fpr and precision
    are shares, with ``outcome="binomial"``: Wilson intervals, and counts for `MixedModel`. F1 and
    AUC are "continuous" with bounds 0 and 1; their variances (`skbench.stats.classification`) are
    never 0, however few rows there are. Groups with extreme values have the smallest variances, so
    estimators that borrow draw these to the pooled variance (test_all_intervals_cover).
    `n_independent` of "auc" is the degrees of freedom of the variance plus 1. Means of normal
    models may lie beyond 0 or 1: ``estimate.within(0, 1)``.

    When not to use it: for rows that depend on each other, such as several of one person
    (`summarize_items` takes clusters); for many models on the same rows, whose errors are
    correlated (`compare_models`).

    Examples
    --------
    >>> sex = ["f", "f", "f", "m", "m", "m", "x"]
    >>> y_true, y_pred = [1, 1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 1, 0, 0]
    >>> group_metrics(y_true, y_pred, sex).to_frame().round(3)
               z  sigma2  n
    group
    f      0.667   0.080  3
    m      0.667   0.080  3
    x      1.000   0.222  1
    """
    check_same_index(y_true=y_true, y_pred=y_pred, by=by)
    groups = _grouped(by)
    code, labels = groups.ngroup().to_numpy(), groups.size().index
    rows = {"y_true": y_true, "y_pred": y_pred}
    rows = pd.DataFrame({name: one_column(name, values) for name, values in rows.items()})
    for name in rows:
        refuse_unhashable(name, rows[name])
    refuse_missing(rows)
    if metric == "auc":
        numbers = _areas(**rows, pos_label=pos_label, code=code)
    else:
        numbers = _shares(**rows, metric=metric, pos_label=pos_label, code=code)
    numbers = pd.DataFrame(numbers, labels)
    unknown = numbers["z"].isna()
    text = f"{metric} is 0 / 0 in {unknown.sum()} of {len(labels)} groups"
    if unknown.all():
        raise ValueError(f"{text}: there is nothing to estimate.")
    if unknown.any():
        named = listed(labels[unknown], most=10)
        warn(f"{text}, and unknown there: {named}.")
        numbers["sigma2"] = numbers["sigma2"].mask(unknown)
        numbers["n"] *= ~unknown
    sampling = _CONTINUOUS if metric in ("f1", "auc") else Sampling()
    X = labels.to_frame()
    # Codes of groups are names: a number says nothing of how much of a thing there is.
    codes = [name for name in X if is_numeric_dtype(X[name])]
    X = X.astype(dict.fromkeys(codes, "category"))
    return GroupSummary(labels=labels, X=X, sampling=sampling, **numbers)


def _grouped(by):
    """The groups of the rows, sorted."""
    if not hasattr(type(by), "columns"):
        by = pd.DataFrame({getattr(by, "name", None) or "group": one_column("by", by)})
    frame = as_frame(by, in_memory=True)
    refuse_lists(frame, frame.columns)
    keys = frame.to_pandas()
    refuse_missing(keys)
    return keys.apply(of_one_type).groupby(list(keys), observed=True)


def _shares(y_true, y_pred, metric, pos_label, code):
    """Values, variances and sizes, from which rows count and which of them are right."""
    _refuse_unlike(y_true, y_pred)
    counted, right = np.ones(len(code), dtype=bool), (y_true == y_pred).to_numpy()
    if metric != "accuracy":
        positive = _are_positive(pd.concat([y_true, y_pred]), pos_label)
        counted, right = _COUNTED[metric](*positive.reshape(2, -1))
    n, k = (np.bincount(code, some).astype(int) for some in (counted, counted & right))
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "f1":
            return {"z": f1_score(k, n), "sigma2": f1_variance(k, n), "n": n}
        return {"z": k / n, "sigma2": sampling_variance(k, n), "n": n}


def _areas(y_true, y_pred, pos_label, code):
    """The same of areas under ROC curves."""
    score = check_column("y_pred", y_pred, y_pred.index, unit="row")
    positive, n = _are_positive(y_true, pos_label), np.bincount(code)
    z, sigma2, freedom = grouped_auc(score, positive, code, len(n))
    independent = np.floor(np.nan_to_num(freedom)).astype(int) + 1
    return {"z": z, "sigma2": sigma2, "n": n, "n_independent": independent}


def _are_positive(labels, pos_label):
    """Which of the labels are the positive one."""
    positive = (labels == pos_label).to_numpy(dtype=bool)
    if not positive.any():
        known = [plain(label) for label in labels.unique()[:10]]
        raise Undecided(
            f"Which label is positive, such as {listed(known)}? None is pos_label={pos_label!r}.",
            [{"pos_label": label} for label in known],
        )
    return positive


def _refuse_unlike(y_true, y_pred):
    """Refuse labels in two spellings, words beside numbers, and scores: none can be equal."""
    labels, predicted = set(y_true), y_pred.unique().tolist()
    spellings = {}
    for label in sorted(x for x in labels.union(predicted) if isinstance(x, str)):
        spellings.setdefault(" ".join(label.split()).lower(), set()).add(label)
    for alike in spellings.values():
        if len(alike) > 1 and not alike <= labels.intersection(predicted):
            raise ValueError(
                f"The labels {listed(sorted(alike), show=repr)} differ in case or blanks only. "
                "Spell them alike, or code them as numbers if they are different labels."
            )
    words = all(isinstance(label, str) for label in labels)
    unknown = [label for label in predicted if label not in labels]
    mostly = len(labels) == 2 and not words and y_pred.isin(unknown).mean() > 0.5
    for label in unknown:
        is_score = mostly or (isinstance(label, float) and label % 1 != 0)
        if is_score or isinstance(label, str) != words:
            raise ValueError(
                f"Predictions such as {label!r} can equal no true label, such as "
                f"{plain(y_true[0])!r}. Code both alike, or pass metric='auc' for scores."
            )
