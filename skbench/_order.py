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
    place = _ranks(_places(np.zeros(len(table)), features, codes), _NOISE)
    if len(place) and place.max() == len(place):  # each row has one of its own
        return np.argsort(place)
    numbers = [_in_units(np.asarray(v, dtype=float).ravel()) for v in (*ties, y) if v is not None]
    keys = [*map(_ranks, numbers), place]
    order = np.lexsort(keys)
    if np.any(np.all([np.diff(key[order]) == 0 for key in keys], axis=0)):
        with_y = _ranks(_places(numbers[-1], features, codes))
        order = np.lexsort([*_hashed(names), with_y, *keys])
    return order


def shuffled(order):
    """The order shuffled: a regressor may tune itself by folds of neighbors, sorted by score."""
    return order[np.random.default_rng(0).permutation(len(order))]


def _places(place, features, codes):
    """Place of each row: near for rows of near numbers, the same for rows of the same."""
    features = features[:, (features != features[:1]).any(axis=0)]  # constant ones tell nothing
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
    known = np.where(np.isfinite(values), values, np.nan) / 2  # so that no range is infinite
    low, high = np.fmin.reduce(known, initial=np.inf), np.fmax.reduce(known, initial=-np.inf)
    spread = high - low
    constant = spread <= _ROUNDING * np.fmax(np.abs(low), np.abs(high))
    scaled = np.where(constant, 0.0, known - low) / np.where(constant, 1.0, spread)
    return np.where(np.isnan(known), -1.0, scaled)


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
