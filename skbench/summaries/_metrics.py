"""`group_metrics`: turn labels and predictions into a `GroupSummary` of a metric."""

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

# (true positive labels, predicted positives) -> (rows that count, rows that count as correct).
_COUNTED = {
    "tpr": lambda true, predicted: (true, predicted),
    "fpr": lambda true, predicted: (~true, predicted),
    "precision": lambda true, predicted: (predicted, true),
    "f1": lambda true, predicted: (true | predicted, true & predicted),
}
# Moderated by 20 degrees of freedom, because errors of variances and estimates are correlated.
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
        True labels, as numbers or text.
    y_pred : array-like of shape (n_rows,)
        Predicted labels. For "auc", scores such as the predicted probability of `pos_label`.
    by : DataFrame, Series or array-like of shape (n_rows,)
        Group of each row. The columns of a frame are crossed. For example, sex and age define
        groups such as women above 45.
    metric : {"accuracy", "tpr", "fpr", "precision", "f1", "auc"}, default="accuracy"
        "tpr" is recall, the share of positive rows that are predicted positive. "fpr" is this
        share of negative rows. "precision" is the share of correct positive predictions. "auc" is
        the area under the ROC curve.
    pos_label : label, default=1
        The positive label. All others are negative. Accuracy does not use it.

    Returns
    -------
    GroupSummary
        The groups in sorted order. `n` is the number of rows that the metric uses: all rows,
        positive rows (tpr), negative rows (fpr), rows predicted positive (precision), or rows
        positive in label or prediction (f1). If `n` is 0, the metric is nan. `X` contains the
        columns of `by` as labels, so that groups borrow strength from groups with the same label.

    Raises
    ------
    ValueError
        If lengths or indexes differ; if a label or group is missing; if `pos_label` does not
        occur; if only one of `y_true` and `y_pred` is text; if labels differ only in case or
        spaces; if `y_pred` has scores but labels are needed; or if the metric is undefined in
        every group.

    Warns
    -----
    UserWarning
        If the metric is 0 / 0 in some groups. Estimators do not accept nan, so pass
        ``g.dropna()``. ``predict`` returns prior means of the other groups.

    Notes
    -----
    The values are those of scikit-learn's functions by group. Accuracy, tpr, fpr and precision
    are shares with ``outcome="binomial"``, so they have Wilson intervals, and `MixedModel` uses
    their counts. F1 and AUC are "continuous" with bounds 0 and 1. Their variances
    (`skbench.stats.classification`) are never 0. Extreme values have the smallest variances, so
    estimators that shrink moderate the variances (test_all_intervals_cover). `n_independent` of
    "auc" is the degrees of freedom of the variance plus 1. Intervals of normal models may extend
    beyond 0 or 1; ``estimate.within(0, 1)`` truncates them.

    When not to use it: for dependent rows, such as several rows per person (`summarize_items`
    accepts clusters), or for many models on the same rows, because their errors are correlated
    (`compare_models`).

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
        raise ValueError(f"{text}, so there is nothing to estimate.")
    if unknown.any():
        named = listed(labels[unknown], most=10)
        warn(f"{text}, so it is unknown in {named}.")
        numbers["sigma2"] = numbers["sigma2"].mask(unknown)
        numbers["n"] *= ~unknown
    sampling = _CONTINUOUS if metric in ("f1", "auc") else Sampling()
    X = labels.to_frame()
    # Numeric group codes are labels, not quantities.
    codes = [name for name in X if is_numeric_dtype(X[name])]
    X = X.astype(dict.fromkeys(codes, "category"))
    return GroupSummary(labels=labels, X=X, sampling=sampling, **numbers)


def _grouped(by):
    """Return the sorted groups of the rows."""
    if not hasattr(type(by), "columns"):
        by = pd.DataFrame({getattr(by, "name", None) or "group": one_column("by", by)})
    frame = as_frame(by, in_memory=True)
    refuse_lists(frame, frame.columns)
    keys = frame.to_pandas()
    refuse_missing(keys)
    return keys.apply(of_one_type).groupby(list(keys), observed=True)


def _shares(y_true, y_pred, metric, pos_label, code):
    """Return values, variances and sizes of shares."""
    _refuse_incomparable(y_true, y_pred)
    counted, right = np.ones(len(code), dtype=bool), (y_true == y_pred).to_numpy()
    if metric != "accuracy":
        positive = _are_positive(pd.concat([y_true, y_pred]), pos_label)
        counted, right = _COUNTED[metric](*positive.reshape(2, -1))
    n, k = (np.bincount(code, rows).astype(int) for rows in (counted, counted & right))
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "f1":
            return {"z": f1_score(k, n), "sigma2": f1_variance(k, n), "n": n}
        return {"z": k / n, "sigma2": sampling_variance(k, n), "n": n}


def _areas(y_true, y_pred, pos_label, code):
    """Return values, variances and sizes of areas under ROC curves."""
    score = check_column("y_pred", y_pred, y_pred.index, unit="row")
    positive, n = _are_positive(y_true, pos_label), np.bincount(code)
    z, sigma2, freedom = grouped_auc(score, positive, code, len(n))
    independent = np.floor(np.nan_to_num(freedom)).astype(int) + 1
    return {"z": z, "sigma2": sigma2, "n": n, "n_independent": independent}


def _are_positive(labels, pos_label):
    """Return which labels are positive."""
    positive = (labels == pos_label).to_numpy(dtype=bool)
    if not positive.any():
        known = [plain(label) for label in labels.unique()[:10]]
        raise Undecided(
            f"No label is pos_label={pos_label!r}. The labels are: {listed(known)}.",
            [{"pos_label": label} for label in known],
        )
    return positive


def _refuse_incomparable(y_true, y_pred):
    """Raise for labels in two spellings, text beside numbers, and scores instead of labels."""
    labels, predicted = set(y_true), y_pred.unique().tolist()
    spellings = {}
    for label in sorted(x for x in labels.union(predicted) if isinstance(x, str)):
        spellings.setdefault(" ".join(label.split()).lower(), set()).add(label)
    for similar in spellings.values():
        if len(similar) > 1 and not similar <= labels.intersection(predicted):
            raise ValueError(
                f"The labels {listed(sorted(similar), show=repr)} differ only in case or spaces. "
                "Use one spelling, or code them as numbers if they are different labels."
            )
    words = all(isinstance(label, str) for label in labels)
    unknown = [label for label in predicted if label not in labels]
    mostly = len(labels) == 2 and not words and y_pred.isin(unknown).mean() > 0.5
    for label in unknown:
        is_score = mostly or (isinstance(label, float) and label % 1 != 0)
        if is_score or isinstance(label, str) != words:
            raise ValueError(
                f"Predictions such as {label!r} cannot equal true labels such as "
                f"{plain(y_true[0])!r}. Use the same codes, or pass metric='auc' for scores."
            )
