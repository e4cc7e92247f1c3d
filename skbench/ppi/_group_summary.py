"""What a summary of groups is made of: rows set aside, pooled variances, features."""

import numpy as np
import pandas as pd

from skbench.ppi._data import row_moments
from skbench.stats.moderated import moderated_variance

# Weight of the pooled residual variance, in degrees of freedom. Own variances of 10
# labels go with the errors of the estimates: groups that happen to look perfect would
# not be shrunk. From 10 to 60 errors change by 4 %, coverage by .01 (benchmarks/grouped_ppi.py).
_BORROWED_FREEDOM = 20
# Unlabeled units per label behind the estimates of the summary: 4 leave them 4/5 of what
# the autorater can save, and the feature most of the rows.
_UNITS_PER_LABEL = 4
_CHANCE = 4.0  # F value of a useful autorater: one useless in 20 passes
_DF_SLACK = 1e-9  # degrees of freedom of equal clusters are whole but for rounding


def set_aside(data, rng):
    """Unlabeled rows that the feature is taken from and the summary does without.

    Whole clusters without a label, chosen at random but whatever the order of the
    rows. None under unequal selection, where only all rows together are a sample.
    """
    if data.weights is not None:
        return np.zeros(len(data.y), dtype=bool)
    units, group, has_label, content = _units(data)
    free = np.flatnonzero(~has_label)
    free = rng.permutation(free[np.lexsort([content[free], group[free]])])
    free = free[np.argsort(group[free], kind="stable")]
    n_free = np.bincount(group[free], minlength=data.n_groups)
    n_kept = _UNITS_PER_LABEL * np.bincount(group[has_label], minlength=data.n_groups)
    rank = np.arange(len(free)) - (n_free.cumsum() - n_free)[group[free]]
    aside = np.zeros(len(group), dtype=bool)
    aside[free] = rank >= np.minimum(n_kept, n_free // 2)[group[free]]
    return aside[units]


def _units(data):
    """Unit of each row; group, whether labeled, and content of each unit."""
    content = _content(data.autorater)
    if data.clusters is None:
        return slice(None), data.codes, data.labeled, content
    units = data.clusters
    n_units = int(units.max()) + 1
    group, has_label = np.zeros(n_units, dtype=int), np.zeros(n_units, dtype=bool)
    group[units] = data.codes
    has_label[units[data.labeled]] = True
    total = np.zeros(n_units, dtype=np.uint64)
    np.add.at(total, units, content)
    return units, group, has_label, total


def _content(autorater):
    """A number for each row that equal rows share."""
    if not autorater.shape[1]:
        return np.zeros(len(autorater), dtype=np.uint64)
    return pd.util.hash_pandas_object(pd.DataFrame(autorater), index=False).to_numpy()


def rows_of(data, chosen):
    """The table of some of the rows."""

    def part(column):
        return None if column is None else column[chosen]

    return data._replace(
        autorater=data.autorater[chosen],
        y=data.y[chosen],
        labeled=data.labeled[chosen],
        codes=data.codes[chosen],
        clusters=part(data.clusters),
        weights=part(data.weights),
    )


def without_useless_autorater(data):
    """The table without its autoraters, if within groups they say no more than chance.

    A weight of 1/100 costs little by itself, but makes shares of right answers into
    numbers that are no shares, and those shrink worse.
    """
    products = row_moments(data)[0].products.sum(axis=0)
    n_autoraters = data.autorater.shape[1]
    cross, total = products[:-1, -1], products[-1, -1]
    explained = cross @ np.linalg.pinv(products[:-1, :-1], hermitian=True) @ cross
    freedom = data.labeled.sum() - len(np.unique(data.codes[data.labeled])) - n_autoraters
    chance = _CHANCE * n_autoraters * (total - explained) / max(freedom, 1)
    return data if explained > chance else data._replace(autorater=data.autorater[:, :0])


def outcome(data):
    """What the direct estimates are: shares of right answers only without an autorater."""
    if data.clusters is not None:
        return "clustered"
    plain = data.weights is None and not data.autorater.shape[1]
    is_share = plain and np.isin(data.y[data.labeled], (0, 1)).all()
    return "binomial" if is_share else "continuous"


def pooled_variances(result, data):
    """Sampling variances of all groups, those of the residuals drawn to their mean."""
    n = np.maximum(result.n_labeled, 1)
    is_independent = data.clusters is None and data.weights is None
    fixed = result.unlabeled_variance if is_independent else np.zeros(len(n))
    spread = n * (result.standard_error**2 - fixed)
    freedom = np.where(np.isnan(spread), 0.0, np.minimum(result.df, n - 1))
    freedom = np.where(result.n_labeled > 0, freedom, 0.0)
    if freedom.sum() == 0:
        raise ValueError(
            "No group has two labels, so noise cannot be told from differences between groups. "
            "Label at least two rows of some groups, or merge groups."
        )
    spread = np.where(freedom > 0, spread, 0.0)
    shape = _residual_shape(result, data)
    pooled = shape * (freedom @ spread) / max(freedom @ shape, np.finfo(float).tiny)
    return moderated_variance(spread / n, n, pooled, _BORROWED_FREEDOM, freedom) + fixed


def _residual_shape(result, data):
    """Residual variance of each group, up to a factor, if only its power sets it apart."""
    if not data.autorater.shape[1] or np.isnan(result.lambda_).any():
        return np.ones(data.n_groups)
    products = row_moments(data)[0].products.sum(axis=0)
    contrast = np.column_stack([-result.lambda_, np.ones(data.n_groups)])
    return np.einsum("gi,ij,gj->g", contrast, products, contrast)


def independent_observations(result):
    """Number of observations that the standard errors of the groups rest on."""
    df = np.where(np.isnan(result.df), 0.0, np.minimum(result.df, result.n_labeled - 1))
    return np.floor(df + _DF_SLACK).astype(int) + 1


def autorater_means(data, names, numeric):
    """Mean score, or share of each category but the first, over the rows of each group."""
    n = np.bincount(data.codes, minlength=data.n_groups)
    names = names or ["autorater"]
    if len(names) != data.autorater.shape[1]:
        names = [f"autorater {j}" for j in range(data.autorater.shape[1])]
    columns = {}
    for name, column in zip(names, data.autorater.T, strict=True):
        if numeric:
            columns[f"{name} mean"] = np.bincount(data.codes, column, data.n_groups) / n
            continue
        for value in sorted(pd.unique(column), key=str)[1:]:
            columns[f"{name} = {value}"] = (
                np.bincount(data.codes, column == value, data.n_groups) / n
            )
    return pd.DataFrame(columns, index=data.labels)


def column_names(X):
    """Names of the autoraters, where the caller's table has any."""
    if hasattr(X, "columns"):
        return list(X.columns)
    return [X.name] if getattr(X, "name", None) is not None else None
