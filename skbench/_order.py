"""A canonical order of rows that depends on their numbers, not on names or input order."""

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import as_array, floats, refuse_unhashable
from skbench._columns import as_pandas

_STRETCH = 8.0  # frequency of the sine that makes means of different sets of numbers differ
_ROUNDING = 1e-12  # relative error of sums in another order
_NOISE = 1e-6  # relative differences of features stored with fewer digits
_ROUNDS = 2  # a name is identified by its rows, and these rows by their other names


def content_order(X, y=None, ties=(), groups=None):
    """Return positions that sort the rows by their content only.

    Each row gets a sort key from the numeric columns of `X`, scaled to any units, and from the
    keys of all rows with the same name: a level of a text column, or of `groups`. The order is
    therefore invariant to renaming, recoding and reordering of columns. Equal keys are sorted by
    `y`, then by `ties`, then by keys that include `y`, and then by names.
    """
    table = as_pandas(X if isinstance(X, pd.DataFrame) else pd.DataFrame(as_array(X)))
    is_number = np.array([is_numeric_dtype(dtype) for dtype in table.dtypes], dtype=bool)
    features = _in_units(table.loc[:, is_number].to_numpy(dtype=float, na_value=np.nan))
    names = [table.iloc[:, at].to_numpy(dtype=object) for at in np.flatnonzero(~is_number)]
    for values in names:
        refuse_unhashable("A column of X", values)
    names += [] if groups is None else [np.asarray(groups, dtype=object)]
    codes = [pd.factorize(values, use_na_sentinel=False)[0] for values in names]
    y = np.zeros(len(table)) if y is None else floats("y", y)
    y = _in_units(np.asarray(y, dtype=float).ravel())
    rank = _ranks(_places(0 * y, features, codes), _NOISE)
    for values in (y, *reversed(ties)):
        if values is not None and rank.max(initial=0) < len(rank):  # some keys are equal
            ranks = _ranks(_in_units(np.asarray(values, dtype=float).ravel()))
            rank = _ranks(len(rank) * rank + ranks)
    if rank.max(initial=0) < len(rank):
        with_y = _ranks(_places(y, features, codes))
        return np.lexsort([*_hashed(names), with_y, rank])
    return np.argsort(rank)


def shuffled(order):
    """Shuffle the order, because a regressor may use contiguous folds of the sorted rows."""
    return order[np.random.default_rng(0).permutation(len(order))]


def _places(place, features, codes):
    """Return the sort key of each row; similar numbers give similar keys."""
    varies = features.min(axis=0, initial=np.inf) < features.max(axis=0, initial=-np.inf)
    features = features[:, varies]
    if features.shape[1]:
        # A column is identified by its values and the keys of their rows.
        weights = np.sin(_STRETCH * ((1 + place) @ features) / len(place))
        place = place + (features @ weights + np.square(features).sum(axis=1)) / features.shape[1]
    codes = [c for c in codes if c.any()]
    for _ in range(_ROUNDS if codes else 0):
        curve = np.sin(_STRETCH * place)
        means = [(np.bincount(c, curve) / np.bincount(c))[c] for c in codes]
        place = place + sum(np.sin(_STRETCH * mean) for mean in means)
    return place


def _in_units(values):
    """Scale columns to [0, 1]; constant columns become 0 and missing entries -1."""
    scaled = values / 2  # avoids an infinite range
    missing = ~np.isfinite(scaled)
    scaled[missing] = np.nan
    low, high = np.fmin.reduce(scaled, initial=np.inf), np.fmax.reduce(scaled, initial=-np.inf)
    width = high - low
    constant = width <= _ROUNDING * np.fmax(np.abs(low), np.abs(high))
    scaled -= low
    scaled *= ~constant
    scaled /= np.where(constant, 1.0, width)
    scaled[missing] = -1.0
    return scaled


def _ranks(values, noise=_ROUNDING):
    """Return ranks from 1; values that differ by at most `noise` share a rank."""
    order, ranks = np.argsort(values), np.empty(len(values), dtype=int)
    ranks[order] = np.cumsum(np.diff(values[order], prepend=-np.inf) > noise)
    return ranks


def _hashed(names):
    """Return one hash per row of all its names in any column order; empty without names."""
    hashed = []
    for values in names:
        texts = [
            "" if missing else str(v) for v, missing in zip(values, pd.isna(values), strict=True)
        ]
        hashed.append(pd.util.hash_array(np.array(texts, dtype=object)))
    return [np.sum(hashed, axis=0, dtype=np.uint64)] if hashed else []
