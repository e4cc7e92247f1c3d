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
)
from skbench._types import Table
from skbench.containers import GroupSummary, Sampling
from skbench.items.rows import as_frame, group_labels
from skbench.stats.intervals.binomial import sampling_variance
from skbench.stats.intervals.classification import f1_score, f1_variance, grouped_auc

# Rows that count, and which of them are right; from positives in truth and in prediction.
_COUNTED = {
    "tpr": (lambda true, predicted: true, lambda true, predicted: predicted),
    "fpr": (lambda true, predicted: ~true, lambda true, predicted: predicted),
    "precision": (lambda true, predicted: predicted, lambda true, predicted: true),
    "f1": (np.logical_or, np.logical_and),
}
METRICS = ("accuracy", *_COUNTED, "auc")
_LACKING = {
    "tpr": "positive rows",
    "fpr": "negative rows",
    "precision": "positive predictions",
    "f1": "positive rows or predictions",
    "auc": "rows of both classes",
}
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
    y_true, y_pred = _column("y_true", y_true), _column("y_pred", y_pred)
    code, X = _groups(by)
    for name, column in (("y_pred", y_pred), ("by", code)):
        if len(column) != len(y_true):
            raise ValueError(f"{name} has {len(column)} rows, but y_true has {len(y_true)}.")
    if metric == "auc":
        score = floats("y_pred", y_pred)
        _refuse(~np.isfinite(score), "y_pred")
        found = _auc(_positive(y_true, pos_label), score, code, X)
    else:
        _check_labels(y_true, y_pred)
        found = _shares(*_counts(y_true, y_pred, metric, pos_label), code, X, metric)
    return _without_undefined(*found, X, metric)


def _counts(y_true, y_pred, metric, pos_label):
    """Which rows count, and which rows are right."""
    if metric == "accuracy":
        return np.ones(len(y_true), dtype=bool), y_true == y_pred
    both = _positive(np.stack([y_true, y_pred]), pos_label)
    counted, right = (of_rows(*both) for of_rows in _COUNTED[metric])
    return counted, right


def _shares(counted, right, code, X, metric):
    """Values, variances, numbers of rows and of independent rows, and the sampling."""
    n = np.bincount(code[counted], minlength=len(X))
    k = np.bincount(code[counted & right], minlength=len(X))
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "f1":
            return f1_score(k, n), f1_variance(k, n), n, n, _OF_SCORES
        return k / n, sampling_variance(k, n), n, n, Sampling("binomial")


def _auc(positive, score, code, X):
    """The same of areas under ROC curves."""
    found = grouped_auc(score, positive, code, len(X))
    n = (found.n_positive + found.n_negative).astype(int)
    independent = np.floor(np.nan_to_num(found.freedom)).astype(int) + 1
    return found.value, found.variance, n, independent, _OF_SCORES


def _without_undefined(z, sigma2, n, n_independent, sampling, X, metric):
    """The summary of the groups in which the metric is defined; warns of others."""
    known, labels = ~np.isnan(z), group_labels(X, list(X))
    if not known.any():
        raise ValueError(f"{metric} is undefined: no group has {_LACKING[metric]}.")
    if not known.all():
        warnings.warn(
            f"{metric} is undefined in {int((~known).sum())} of {len(z)} groups, which have no "
            f"{_LACKING[metric]} and are left out: {listed(labels[~known], most=10)}.",
            stacklevel=3,
        )
    labels = labels[known]
    return GroupSummary(
        z=z[known],
        sigma2=sigma2[known],
        n=n[known],
        labels=labels,
        X=X[known].set_axis(labels),
        sampling=sampling,
        n_independent=n_independent[known],
    )


def _column(name, values):
    """Labels or scores as an array, none of them missing."""
    column = column_or_1d(values)
    _refuse(pd.isna(column), name)
    return column


def _refuse(bad, name):
    """Refuse rows without a label or score."""
    if bad.any():
        raise ValueError(
            f"{name} is missing or infinite in {int(bad.sum())} of {len(bad)} rows, the first is "
            f"row {int(np.argmax(bad))}. Fill these in, or leave the rows out."
        )


def _groups(by):
    """Code of the group of each row, and the columns that name the groups, sorted."""
    if hasattr(by, "columns"):
        keys = as_frame(by, eager_only=True).to_pandas().reset_index(drop=True)
    else:
        name = getattr(by, "name", None)
        keys = pd.DataFrame({"group" if name is None else name: column_or_1d(by)})
    if keys.empty:
        raise ValueError("by has no rows or no columns: there are no groups.")
    for name in keys:
        check_named(f"by column {name!r}", keys[name])
    keys = keys.apply(of_one_type)
    code = keys.groupby(list(keys), observed=True).ngroup().to_numpy()
    first = np.unique(code, return_index=True)[1]
    return code, keys.iloc[first].reset_index(drop=True)


def _check_labels(y_true, y_pred):
    """Refuse words beside numbers, and scores in place of labels: none would ever be right."""
    kinds = [kind_of(pd.Series(column)) for column in (y_true, y_pred)]
    if kinds.count("string") == 1:
        raise ValueError(
            f"True labels such as {plain(y_true[0])!r} and predictions such as "
            f"{plain(y_pred[0])!r} are words on one side only. Code both alike."
        )
    if y_pred.dtype.kind == "f":
        scores = y_pred[y_pred % 1 != 0]
        if len(scores) and not np.isin(scores, y_true).all():
            raise ValueError(
                f"y_pred holds scores such as {scores[0]:g}, not labels. Pass metric='auc', or "
                "labels, such as y_pred >= 0.5."
            )


def _positive(labels, pos_label):
    """Which labels are the positive one."""
    positive = np.asarray(labels == pos_label, dtype=bool)
    if not positive.any():
        names = pd.unique(labels.ravel())
        raise ValueError(
            f"pos_label={pos_label!r} is none of the labels: "
            f"{listed(names, most=10, show=repr)}. Pass pos_label={plain(names[0])!r} or another."
        )
    return np.broadcast_to(positive, labels.shape)
