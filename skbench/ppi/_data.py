"""One table of autorater scores and human labels: how it is read and checked."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import check_same_index, refuse_dates, refuse_huge
from skbench.stats.intervals.moments import complement_moments, group_moments

_ALIKE = 1e-12  # weights that differ by rounding are the same


class PPIData(NamedTuple):
    """One checked table of rows, labeled and unlabeled.

    Attributes
    ----------
    autorater : ndarray of shape (n_rows, n_autoraters)
        Autorater scores: floats, or objects where the estimator takes categories.
    y : ndarray of shape (n_rows,)
        Human labels, nan where a row is unlabeled.
    labeled : ndarray of bool of shape (n_rows,)
        Which rows have a label.
    codes : ndarray of int of shape (n_rows,)
        Group of each row, 0 to ``n_groups - 1``.
    n_groups : int
        Number of groups.
    labels : pandas.Index of length n_groups
        Labels of the groups.
    clusters : ndarray of int of shape (n_rows,) or None
        Cluster of each row, numbered over all groups; no cluster spans two groups.
    weights : ndarray of shape (n_rows,) or None
        One over the probability that the row was chosen for labeling; only the
        entries of labeled rows are read.
    moments : tuple of two Moments or None
        What `row_moments` returns for the groups, where it is known.
    """

    autorater: np.ndarray
    y: np.ndarray
    labeled: np.ndarray
    codes: np.ndarray
    n_groups: int
    labels: pd.Index
    clusters: np.ndarray | None = None
    weights: np.ndarray | None = None
    moments: tuple | None = None

    @property
    def human(self):
        """What the classical mean reads: the arguments of `stats.ppi.labeled_mean`."""
        return self.y, self.labeled, self.codes, self.n_groups, self.clusters, self.weights


def read_ppi_data(X, y, groups=None, clusters=None, sample_weight=None, numeric=True):
    """Check one table of autorater scores and human labels.

    Parameters
    ----------
    X, y, groups, clusters, sample_weight
        As in `PPIEstimator.fit`; `groups` may have any number of levels.
    numeric : bool, default=True
        Whether autorater scores are numbers; otherwise they are kept as objects.

    Returns
    -------
    PPIData

    Raises
    ------
    ValueError
        As in `PPIEstimator.fit`.
    """
    check_same_index(X=X, y=y, groups=groups, clusters=clusters, sample_weight=sample_weight)
    autorater, names = _autorater(X, numeric)
    n_rows = len(autorater)
    y = _labels(y, n_rows)
    labeled = ~np.isnan(y)
    if not labeled.any():
        raise ValueError(
            f"None of the {n_rows} rows has a human label: y is nan throughout. An autorater "
            "cannot be corrected without labels; have some rows labeled, chosen at random."
        )
    _refuse_missing_scores(autorater, names, numeric)
    if groups is None:
        codes, index = np.zeros(n_rows, dtype=int), pd.RangeIndex(1)
    else:
        codes, index = _factorized("groups", groups, n_rows)
    if clusters is not None:
        clusters, _ = _factorized("clusters", clusters, n_rows)
        pair = clusters * np.int64(len(index)) + codes
        _, clusters, size = np.unique(pair, return_inverse=True, return_counts=True)
        # Clusters of one row each say nothing: the same numbers as without them.
        clusters = clusters if (size > 1).any() else None
    weights = None if sample_weight is None else _weights(sample_weight, labeled, codes)
    return PPIData(autorater, y, labeled, codes, len(index), index, clusters, weights)


def fitted_columns(X, data):
    """Names of the fitted autoraters, or just their number where they have no names.

    Parameters
    ----------
    X : array-like or DataFrame
        As `fit` was given it.
    data : PPIData
        What was read of it.

    Returns
    -------
    list or int
    """
    return column_names(X) or data.autorater.shape[1]


def column_names(X):
    """Names of the autoraters, where the caller's table has any."""
    if hasattr(X, "columns"):
        return list(X.columns)
    return [X.name] if getattr(X, "name", None) is not None else None


def read_autorater(X, fitted, numeric):
    """Autorater scores of rows that come after `fit`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_autoraters) or (n_rows,)
        Scores.
    fitted : list or int
        From `fitted_columns`. Names of several are compared where both have them: their
        order may differ.
    numeric : bool
        As in `read_ppi_data`.

    Returns
    -------
    ndarray of shape (n_rows, n_autoraters)

    Raises
    ------
    ValueError
        If there are other columns, or scores are missing or infinite.
    """
    autorater, names = _autorater(X, numeric)
    n_fitted = fitted if isinstance(fitted, int) else len(fitted)
    if autorater.shape[1] != n_fitted:
        raise ValueError(
            f"X has {autorater.shape[1]} autorater columns, but fit had {n_fitted}. Pass the same."
        )
    given = column_names(X)
    if n_fitted > 1 and given is not None and not isinstance(fitted, int) and given != fitted:
        raise ValueError(
            f"X has the autorater columns {given}, but fit had {fitted}. Pass the same, in this "
            "order."
        )
    _refuse_missing_scores(autorater, names, numeric)
    return autorater


def row_moments(data, codes=None, n_groups=None):
    """Moments of autoraters and label on labeled, and of autoraters on unlabeled rows.

    Parameters
    ----------
    data : PPIData
    codes : ndarray of int of shape (n_rows,), default=None
        Cells to compute them in; None takes the groups.
    n_groups : int, default=None
        Number of cells.

    Returns
    -------
    labeled, unlabeled : skbench.stats.moments.Moments
    """
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


def _autorater(X, numeric):
    """Scores as a two-dimensional array, and the names of the columns for errors."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.Series):
        X = X.to_frame()
    names = list(X.columns) if isinstance(X, pd.DataFrame) else None
    # Of words and numbers together numpy would make words: inf would be 'inf'.
    mixed = not (numeric or isinstance(X, pd.DataFrame | np.ndarray))
    scores = np.asarray(X, dtype=object if mixed else None)
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise ValueError(
            f"X has shape {scores.shape}: pass one row per item and one column per autorater."
        )
    names = list(range(scores.shape[1])) if names is None else names
    if not numeric:
        return scores.astype(object), names
    try:
        return np.asarray(scores, dtype=float), names
    except (TypeError, ValueError):
        raise ValueError(
            "Autorater scores must be numbers here. For verdicts in words use ChainRulePPI, or "
            "code them as numbers."
        ) from None


def _refuse_missing_scores(autorater, names, numeric):
    if numeric and np.isfinite(autorater).all():
        refuse_huge("Autorater scores", autorater)
        return
    missing = pd.isna(autorater)
    infinite = np.isinf(autorater) if numeric else np.isin(autorater, (np.inf, -np.inf))
    for bad, word in ((missing, "missing"), (infinite, "infinite")):
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"{int(bad.sum())} autorater scores are {word}, the first in row {row}, column "
                f"{names[column]!r}. Have those rows scored, leave them out, or code an "
                "abstention as a value of its own."
            )


def as_column(y):
    """Labels as one column, where they came as a table with a single one."""
    shape = np.shape(y)
    if len(shape) == 1:
        return y
    if len(shape) == 2 and shape[1] == 1:
        return y.iloc[:, 0] if isinstance(y, pd.DataFrame) else np.ravel(y)
    raise ValueError(f"y has shape {shape}: pass one human label per row, in one column.")


def _labels(y, n_rows):
    y = as_column(y)
    refuse_dates("y", y)
    try:
        is_plain = isinstance(y, np.ndarray) and y.dtype == float  # two copies fewer
        labels = y if is_plain else pd.Series(y).to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(
            "y must be numeric, nan where a row is unlabeled: code the human labels as numbers, "
            "such as 1 and 0."
        ) from None
    if labels.shape != (n_rows,):
        raise ValueError(f"y has {labels.size} entries, but X has {n_rows} rows.")
    if np.isinf(labels).any():
        row = int(np.argmax(np.isinf(labels)))
        raise ValueError(
            f"y must be finite, or nan where a row is unlabeled, but row {row} has {labels[row]}."
        )
    refuse_huge("Labels", labels)
    return labels


def _factorized(name, column, n_rows):
    """Codes of a column's values, and the values in order."""
    values = pd.Index(column)
    if len(values) != n_rows:
        raise ValueError(f"{name} has {len(values)} entries, but X has {n_rows} rows.")
    if values.hasnans:
        row = int(np.argmax(values.isna()))
        raise ValueError(f"{name} is missing in row {row}: name every one.")
    if not values.is_monotonic_increasing:
        codes, levels = values.factorize(sort=True)
        return codes.astype(int, copy=False), levels
    # Sorted rows need no table of values, which costs more than the estimate itself.
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    sizes = np.diff(np.append(starts, n_rows))
    return np.repeat(np.arange(len(starts)), sizes), values[starts]


def _weights(sample_weight, labeled, codes):
    """Weights of rows; None where those of a group are alike, which is to have none."""
    weights = np.asarray(sample_weight, dtype=float)
    if weights.shape != labeled.shape:
        raise ValueError(
            f"sample_weight has {weights.size} entries, but X has {labeled.size} rows."
        )
    bad = labeled & ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight must be positive and finite on labeled rows, but row {row} has "
            f"{weights[row]}. It is one over the probability of being chosen for labeling."
        )
    own = pd.Series(weights[labeled]).groupby(codes[labeled])
    alike = np.all(own.max() <= own.min() * (1 + _ALIKE))
    return None if alike else weights


def is_binary(data, bounds):
    """Whether labels are 0 and 1, of independent rows chosen with equal probability.

    Differences of two such are from -1 to 1, which `bounds` say, though none may be -1 here.
    """
    independent = data.clusters is None and data.weights is None
    labels = data.y[data.labeled]
    return independent and bounds == (0, 1) and bool(np.isin(labels, (0, 1)).all())
