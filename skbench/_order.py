"""An order of rows that follows from their numbers: not from names, nor from how rows come."""

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import as_array, floats, refuse_unhashable
from skbench._columns import as_pandas

_STRETCH = 8.0  # of a curve that tells sets of numbers apart by their means
_ROUNDING = 1e-12  # what sums in another order may differ by, in the range of all rows
_NOISE = 1e-6  # what features of fewer digits may differ by
_ROUNDS = 2  # a name is known by its rows, and these by their other names


def content_order(X, y=None, ties=(), groups=None):
    """Positions of the rows in an order that depends on their content only.

    A row has a place on a line by the numeric columns of `X`, in any units, and by the places
    of all rows that share a name with it: a level of a text column, or of `groups`. So other
    names, codes or orders of columns change nothing. Rows of one place go by `y`, by `ties`, by
    the places that they have where `y` counts as well, and then by names.
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
        if values is not None and rank.max(initial=0) < len(rank):  # rows of one place are left
            ranks = _ranks(_in_units(np.asarray(values, dtype=float).ravel()))
            rank = _ranks(len(rank) * rank + ranks)
    if rank.max(initial=0) < len(rank):
        with_y = _ranks(_places(y, features, codes))
        return np.lexsort([*_hashed(names), with_y, rank])
    return np.argsort(rank)


def shuffled(order):
    """The order shuffled: a regressor may tune itself by folds of neighbors, sorted by score."""
    return order[np.random.default_rng(0).permutation(len(order))]


def _places(place, features, codes):
    """Place of each row: near for rows of near numbers, the same for rows of the same."""
    varies = features.min(axis=0, initial=np.inf) < features.max(axis=0, initial=-np.inf)
    features = features[:, varies]  # constant ones tell nothing
    if features.shape[1]:
        # A column is known by its values and what they go with.
        weights = np.sin(_STRETCH * ((1 + place) @ features) / len(place))
        place = place + (features @ weights + np.square(features).sum(axis=1)) / features.shape[1]
    codes = [c for c in codes if c.any()]
    for _ in range(_ROUNDS if codes else 0):
        curve = np.sin(_STRETCH * place)
        means = [(np.bincount(c, curve) / np.bincount(c))[c] for c in codes]
        place = place + sum(np.sin(_STRETCH * mean) for mean in means)
    return place


def _in_units(values):
    """Columns from 0 to 1, constant ones at 0 and missing entries at -1."""
    scaled = values / 2  # so that no range is infinite
    missing = ~np.isfinite(scaled)
    scaled[missing] = np.nan
    low, high = np.fmin.reduce(scaled, initial=np.inf), np.fmax.reduce(scaled, initial=-np.inf)
    spread = high - low
    constant = spread <= _ROUNDING * np.fmax(np.abs(low), np.abs(high))
    scaled -= low
    scaled *= ~constant
    scaled /= np.where(constant, 1.0, spread)
    scaled[missing] = -1.0
    return scaled


def _ranks(values, noise=_ROUNDING):
    """Ranks from 1 on, the same for neighbors that differ by noise."""
    order, ranks = np.argsort(values), np.empty(len(values), dtype=int)
    ranks[order] = np.cumsum(np.diff(values[order], prepend=-np.inf) > noise)
    return ranks


def _hashed(names):
    """A number for all names of a row, whatever the order of their columns; none without names."""
    hashed = []
    for values in names:
        texts = [
            "" if missing else str(v) for v, missing in zip(values, pd.isna(values), strict=True)
        ]
        hashed.append(pd.util.hash_array(np.array(texts, dtype=object)))
    return [np.sum(hashed, axis=0, dtype=np.uint64)] if hashed else []
