"""Moments of the raw scores of repeated evaluations."""

import numpy as np
import pandas as pd

from skbench._checks import check_column, check_same_index, floats, one_column, refuse_unhashable

_PUBLISHED = 1.96  # standard errors in a published half-width


def run_moments(X, y):
    """Mean, variance and number of the raw scores for each combination of labels in `X`."""
    check_same_index(X=X, y=y)
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not isinstance(X, pd.DataFrame) or X.empty:
        raise ValueError(
            "X must be a pandas DataFrame with at least one row and columns of labels, such as "
            f"model and dataset; got {type(X).__name__} of shape {np.shape(X)}."
        )
    unnamed = X.columns[X.isna().any()]
    if len(unnamed):
        raise ValueError(
            f"Column {unnamed[0]!r} of X has missing labels. Add the labels, or remove the rows."
        )
    for name in X.columns:
        refuse_unhashable(f"Column {name!r} of X", X[name])
    lists = _score_lists(y)
    runs = X.iloc[np.repeat(np.arange(len(X)), [len(scores) for scores in lists])]
    scores = pd.Series(np.concatenate(lists), index=runs.index)
    if np.isinf(scores).any():
        at = runs.iloc[int(np.argmax(np.isinf(scores)))]
        raise ValueError(f"Scores must be finite, but {at.to_dict()} has an infinite score.")
    by = [runs[column] for column in X.columns]
    groups = scores.groupby(by if len(by) > 1 else by[0], sort=False, observed=True)
    table = groups.agg(mean="mean", variance="var", n="count", size="size")
    table["n_missing"] = table.pop("size") - table["n"]
    return table


def published_moments(X, mean, half_width, n_runs):
    """Moments from published results of the form ``mean +- 1.96 s / sqrt(n_runs)``."""
    check_same_index(X=X, y=mean, half_width=half_width, n_runs=n_runs)
    moments = run_moments(X, mean)
    if len(moments) < len(X):
        twice = X[X.duplicated()].iloc[0].to_dict()
        raise ValueError(f"{twice} has two means. Remove one, or give them different labels.")
    there = (moments["n"] > 0).to_numpy()
    n = check_column("n_runs", n_runs, X.index, minimum=2, whole=True, allow_scalar=True)
    half = floats("half_width", one_column("half_width", half_width))
    check_column("half_width", half[there], X.index[there], minimum=0)
    moments["variance"] = np.where(there, (half / _PUBLISHED) ** 2 * n, np.nan)
    moments["n"] = np.where(there, n, 0).astype(int)
    return moments


def _score_lists(y):
    """Scores of each row as an array, nan if there are none."""
    rows = y if isinstance(y, list | tuple) else np.asarray(y)
    lists = [np.atleast_1d(floats("Scores", row)) for row in rows]
    return [scores if scores.size else np.array([np.nan]) for scores in lists]
