"""`group_metrics`: labels and predictions, row by row, to a `GroupSummary` of a metric."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from skbench._checks import (
    check_named,
    check_option,
    check_same_index,
    floats,
    kind_of,
    listed,
    of_one_type,
    plain,
    refuse_dates,
)
from skbench._types import Table
from skbench.containers import GroupSummary, Sampling
from skbench.items.rows import as_frame, group_labels, refuse_missing, refuse_unhashable
from skbench.stats.intervals.binomial import sampling_variance
from skbench.stats.intervals.classification import f1_score, f1_variance, grouped_auc

# Rows that count, and which of them are right; from positives in truth and in prediction.
_COUNTED = {
    "tpr": lambda true, predicted: (true, predicted),
    "fpr": lambda true, predicted: (~true, predicted),
    "precision": lambda true, predicted: (predicted, true),
    "f1": lambda true, predicted: (true | predicted, true & predicted),
}
METRICS = ("accuracy", *_COUNTED, "auc")
_OF_SCORES = Sampling("continuous", bounds=(0, 1))


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
        positive in truth or prediction (f1). `X` holds the columns of `by`, so that crossed groups
        borrow from those they share a column with.

    Raises
    ------
    ValueError
        If lengths or indexes differ, a label or the name of a group is missing, `pos_label` does
        not occur, labels are words on one side only, `y_pred` holds scores where labels are needed,
        or the metric is undefined in every group.

    Warns
    -----
    UserWarning
        Names groups that are left out because the metric is 0 / 0 there.

    Notes
    -----
    Values are those of scikit-learn's functions, group by group. Accuracy, tpr, fpr and precision
    are shares, with ``outcome="binomial"``: Wilson intervals, and counts for `MixedModel`. F1 and
    AUC are "continuous" with bounds 0 and 1; their variances (`skbench.stats.classification`) are
    never 0, however few rows there are. `n_independent` of "auc" is the degrees of freedom of the
    variance plus 1. Means of normal models may lie beyond 0 or 1: ``estimate.within(0, 1)``.

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
    check_option("metric", metric, METRICS)
    check_same_index(y_true=y_true, y_pred=y_pred, by=by)
    code, X = _groups(by)
    rows = _rows(y_true, y_pred, len(code))
    if metric == "auc":
        numbers = _areas(rows, pos_label, code, len(X))
    else:
        _refuse_unlike(**rows)
        numbers = _shares(*_counted(rows, metric, pos_label), code, len(X), metric)
    known, labels = ~np.isnan(numbers["z"]), group_labels(X, list(X))
    if not known.any():
        raise ValueError(f"{metric} is 0 / 0 in every group: there is nothing to estimate.")
    if not known.all():
        warnings.warn(
            f"{metric} is 0 / 0 in {int((~known).sum())} of {len(X)} groups, which are left out: "
            f"{listed(labels[~known], most=10)}.",
            stacklevel=2,
        )
    labels, X = labels[known], X[known].set_axis(labels[known])
    numbers = {name: values[known] for name, values in numbers.items()}
    sampling = _OF_SCORES if metric in ("f1", "auc") else Sampling("binomial")
    return GroupSummary(labels=labels, X=X, sampling=sampling, **numbers)


def _counted(rows, metric, pos_label):
    """Which rows count, and which rows are right."""
    labels, names = pd.factorize(rows.to_numpy().T.ravel())
    true, predicted = labels.reshape(2, -1)
    if metric == "accuracy":
        return np.ones(len(rows), dtype=bool), true == predicted
    positive = _position(names, pos_label)
    return _COUNTED[metric](true == positive, predicted == positive)


def _shares(counted, right, code, n_groups, metric):
    """Values, variances and sizes of the groups."""
    n = np.bincount(code[counted], minlength=n_groups)
    k = np.bincount(code[counted & right], minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "f1":
            return {"z": f1_score(k, n), "sigma2": f1_variance(k, n), "n": n}
        return {"z": k / n, "sigma2": sampling_variance(k, n), "n": n}


def _areas(rows, pos_label, code, n_groups):
    """The same of areas under ROC curves."""
    labels, names = pd.factorize(rows["y_true"])
    positive = labels == _position(names, pos_label)
    score = floats("Predictions with metric='auc'", rows["y_pred"])
    if np.isinf(score).any():
        row = int(np.argmax(np.isinf(score)))
        raise ValueError(f"The prediction in row {row} is infinite. Leave the row out.")
    found = grouped_auc(score, positive, code, n_groups)
    return {
        "z": found.value,
        "sigma2": found.variance,
        "n": (found.n_positive + found.n_negative).astype(int),
        "n_independent": np.floor(np.nan_to_num(found.freedom)).astype(int) + 1,
    }


def _rows(y_true, y_pred, n_rows):
    """Labels and predictions as a frame, none of them missing."""
    columns = {"y_true": y_true, "y_pred": y_pred}
    columns = {name: column_or_1d(np.asarray(values)) for name, values in columns.items()}
    for name, column in columns.items():
        if len(column) != n_rows:
            raise ValueError(f"{name} has {len(column)} rows, but by has {n_rows}.")
    rows = pd.DataFrame(columns)
    refuse_unhashable(as_frame(rows), list(rows))
    refuse_missing(rows)
    for name in rows:
        refuse_dates(name, rows[name])
    return rows


def _groups(by):
    """Code of the group of each row, and the columns that name the groups, sorted."""
    if hasattr(by, "columns"):
        keys = as_frame(by, eager_only=True).to_pandas()
    else:
        name = getattr(by, "name", None)
        keys = pd.DataFrame({"group" if name is None else name: column_or_1d(np.asarray(by))})
    refuse_unhashable(as_frame(keys), list(keys))
    if keys.empty:
        raise ValueError("by has no rows or no columns: there are no groups.")
    for name in keys:
        check_named(f"by column {name!r}", keys[name])
    keys = keys.apply(of_one_type)
    code = keys.groupby(list(keys), observed=True).ngroup().to_numpy()
    first = np.unique(code, return_index=True)[1]
    return code, keys.iloc[first]


def _refuse_unlike(y_true, y_pred):
    """Refuse words beside numbers, and scores in place of labels: none would ever be right."""
    if (kind_of(y_true) == "string") != (kind_of(y_pred) == "string"):
        raise ValueError(
            f"True labels such as {plain(y_true[0])!r} and predictions such as "
            f"{plain(y_pred[0])!r} are words on one side only. Code both alike."
        )
    fractions = y_pred[y_pred % 1 != 0].unique() if y_pred.dtype.kind == "f" else []
    if len(fractions) and not np.isin(fractions, y_true).all():
        raise ValueError(
            f"Predictions such as {fractions[0]:g} are scores, not labels. Pass metric='auc', "
            "or predicted labels."
        )


def _position(names, pos_label):
    """Position of the positive label."""
    same = [np.ndim(pos_label) == 0 and name == pos_label for name in names]
    if not any(same):
        raise ValueError(
            f"pos_label={pos_label!r} is none of the labels: "
            f"{listed(names, most=10, show=repr)}. Pass pos_label={plain(names[0])!r} or another."
        )
    return same.index(True)
