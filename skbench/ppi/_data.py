"""Read and check the scores of judges and the human labels."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, column_or_1d

from skbench._checks import check_named, floats, one_column, refuse_huge, refuse_unhashable
from skbench.stats.intervals.moments import Moments, complement_moments, group_moments

_SCORES = "Scores of the judge (for verdicts that are words use ChainRulePPI)"
_EQUAL = 1e-12  # weights that differ only by rounding are equal


class PPIData(NamedTuple):
    """One checked table of rows; unlabeled rows have `y` nan and their `weights` are ignored."""

    autorater: np.ndarray  # (n_rows, n_autoraters), floats or objects
    y: np.ndarray
    labeled: np.ndarray
    codes: np.ndarray  # group of each row
    n_groups: int
    labels: pd.Index  # of the groups
    cluster: np.ndarray | None = None  # numbered over all groups, each in one group
    weights: np.ndarray | None = None
    moments: tuple[Moments, Moments] | None = None  # `row_moments`, if already computed

    @property
    def human(self):
        """The arguments of `stats.ppi.labeled_mean`."""
        return self.y, self.labeled, self.codes, self.n_groups, self.cluster, self.weights


def ppi_data(autorater, y, by=None, cluster=None, sample_weight=None):
    """Check the arguments of fit; `autorater` comes from `autorater_scores`."""
    n_rows = len(autorater)
    y = _labels(y)
    labeled = ~np.isnan(y)
    if not labeled.any():
        raise ValueError(
            f"None of the {n_rows} rows has a human label in y, so the judge cannot be corrected. "
            "Label a random sample of rows."
        )
    codes, index = np.zeros(n_rows, dtype=int), pd.RangeIndex(1)
    if by is not None:
        codes, index = _factorized("by", by)
    if cluster is not None:
        cluster, _ = _factorized("cluster", cluster)
        pair = cluster * np.int64(len(index)) + codes
        _, cluster, size = np.unique(pair, return_inverse=True, return_counts=True)
        # Clusters of one row each are independent rows.
        cluster = cluster if (size > 1).any() else None
    weights = None if sample_weight is None else _weights(sample_weight, labeled, codes)
    return PPIData(autorater, y, labeled, codes, len(index), index, cluster, weights)


def score_table(X, numeric=True, column=True):
    """Scores as a frame or a two-dimensional array; `column` allows a one-dimensional column."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.Series):
        X = X.to_frame()
    if isinstance(X, pd.DataFrame) and X.shape[0] and X.shape[1]:
        return X
    if not issparse(X):
        # numpy would turn numbers among words into words, such as inf into 'inf'.
        mixed = not (numeric or isinstance(X, np.ndarray))
        X = np.asarray(X, dtype=object if mixed else None)
        X = X[:, None] if column and X.ndim == 1 else X
    return check_array(X, dtype=None, ensure_all_finite=False, input_name="X")


def autorater_scores(table, numeric=True):
    """Scores of a `score_table` without missing values: floats if `numeric`, else objects."""
    is_frame = isinstance(table, pd.DataFrame)
    names = table.columns if is_frame else range(table.shape[1])
    if not numeric:
        scores = np.asarray(table, dtype=object)
        for name, column in zip(names, scores.T, strict=True):
            refuse_unhashable(f"The judge's column {name!r}", column)
            has_whole = pd.api.types.infer_dtype(column) not in ("string", "floating")
            whole = [value for value in column if isinstance(value, int)] if has_whole else []
            refuse_huge(_SCORES, np.array(whole, dtype=object))
    elif is_frame and not table.dtypes.isin([float]).all():
        columns = [floats(_SCORES, table.iloc[:, at]) for at in range(len(names))]
        scores = np.column_stack(columns)
    else:
        scores = floats(_SCORES, table)
    _refuse_missing_scores(scores, names, numeric)
    return scores


def column_names(X):
    """Names of the judges, or None if the table has no names."""
    if hasattr(X, "columns"):
        return list(X.columns)
    return [X.name] if getattr(X, "name", None) is not None else None


def row_moments(data, codes=None, n_groups=None):
    """Moments of scores and labels in labeled rows, and of scores in unlabeled rows."""
    if codes is None and n_groups is None and data.moments is not None:
        return data.moments
    codes = data.codes if codes is None else codes
    n_groups = data.n_groups if n_groups is None else n_groups
    labeled = np.flatnonzero(data.labeled)
    both = np.column_stack([data.autorater[labeled], data.y[labeled]])
    return (
        group_moments(both, codes[labeled], n_groups),
        complement_moments(data.autorater, labeled, codes, n_groups),
    )


def label_column(y, name):
    """Labels of any type as one column."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = y if hasattr(y, "dtype") or hasattr(y, "columns") else np.asarray(y, dtype=object)
    if len(y.shape) != 1:
        y = column_or_1d(np.asarray(y), warn=True)
    if y.dtype == object:
        refuse_unhashable("y", y)
    return y.astype(y.dtype.newbyteorder("="), copy=False) if isinstance(y, np.ndarray) else y


def _refuse_missing_scores(scores, names, numeric):
    if numeric and np.isfinite(scores).all():
        refuse_huge("Scores of the judge", scores)
        return
    bad = pd.isna(scores)
    known = np.where(bad, 0, scores)
    bad |= np.isinf(known) if numeric else np.isin(known, (np.inf, -np.inf))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{int(bad.sum())} scores of the judge are missing (NaN) or infinite, the first in row "
            f"{row}, column {names[column]!r}. Score or drop these rows, or encode an abstention "
            "as a separate value."
        )


def _labels(y):
    labels = floats("y", y)
    if np.isinf(labels).any():
        row = int(np.argmax(np.isinf(labels)))
        raise ValueError(
            f"y must be finite, or nan in rows without a label, but row {row} has {labels[row]}."
        )
    refuse_huge("Labels", labels)
    return labels


def _factorized(name, column):
    """Codes of a column's values, and the sorted values."""
    names = check_named(name, column)
    values = pd.Index(column if isinstance(column, pd.Series | pd.Index) else names)
    if not values.is_monotonic_increasing:
        codes, levels = values.factorize(sort=True)
        return codes.astype(int, copy=False), levels
    # Factorizing sorted rows would take longer than the estimate itself.
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    sizes = np.diff(np.append(starts, len(values)))
    return np.repeat(np.arange(len(starts)), sizes), values[starts]


def _weights(sample_weight, labeled, codes):
    """Weights of rows; None if they are equal within each group."""
    weights = floats("sample_weight", one_column("sample_weight", sample_weight))
    refuse_huge("Weights", weights)
    bad = labeled & ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight must be finite and above zero in labeled rows, but row {row} has "
            f"{weights[row]}. Pass the inverse of the probability of being selected for labeling."
        )
    own = pd.Series(weights[labeled]).groupby(codes[labeled])
    equal = np.all(own.max() <= own.min() * (1 + _EQUAL))
    return None if equal else weights


def is_binary(data, bounds):
    """Whether labels are 0 and 1 and rows are independent and not weighted."""
    independent = data.cluster is None and data.weights is None
    labels = data.y[data.labeled]
    return independent and bounds == (0, 1) and bool(np.isin(labels, (0, 1)).all())
