"""Item rows of earlier models, in any dataframe, to a matrix of items x models."""

import warnings
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import plain, require_columns
from skbench.summaries._rows import SCORE, checked_scores, collected, opened

_ROWS = 8192
_LARGEST_TABLE = 20_000_000  # of places by topic and id


class Past(NamedTuple):
    """Scores of items by models.

    scores : ndarray of shape (n_items, n_models), float32, nan where there is none
    items : DataFrame with the columns topic and item, in sorted order
    models : Index of their names, in sorted order
    binary : whether every single score is 0 or 1
    """

    scores: np.ndarray
    items: pd.DataFrame
    models: pd.Index
    binary: bool


def read_past(past, model, topic, item, score, exclude):
    """Item rows as a matrix, repeated runs averaged."""
    frame = opened(past)
    names = frame.collect_schema().names()
    require_columns(names, [model, item, score], "past")
    topic = topic if topic in names else None
    keys = [model, *([topic] if topic else []), item]
    frame = checked_scores(frame.select([*keys, score]), keys, score)
    models = collected(frame.select(model).unique(), [model])
    items = collected(frame.select(keys[1:]).unique(), keys[1:])
    kept = ~models[model].isin(list(exclude)).to_numpy()
    absent = [name for name in exclude if name not in set(models[model])]
    if absent:
        warnings.warn(
            f"exclude names {absent[0]!r}, which is no model of the past. Its names are like "
            f"{plain(models[model].iloc[0])!r}.",
            stacklevel=4,
        )
    if not kept.any():
        raise ValueError("past has no model left: all of them are excluded.")
    indexes = [pd.Index(models[model]), *(pd.Index(items[name].unique()) for name in keys[1:])]
    # Items are pairs of topic and id: one number each, and where it stands.
    pairs = [
        index.get_indexer(items[name]) for index, name in zip(indexes[1:], keys[1:], strict=True)
    ]
    place = _places(_paired(pairs, indexes), indexes)
    sums = np.zeros((len(items), len(models)), dtype=np.float32)
    counts = np.zeros(sums.shape, dtype=np.uint16)
    binary = True
    for codes, value in _batches(frame, keys, indexes):
        binary = binary and bool(np.all((value == 0) | (value == 1)))
        # Flat positions: numpy adds to those of one dimension many times faster.
        at = place(_paired(codes[1:], indexes)) * len(models) + codes[0]
        np.add.at(sums.ravel(), at, value.astype(np.float32))
        np.add.at(counts.ravel(), at, np.uint16(1))
    for start in range(0, len(sums), _ROWS):
        rows = slice(start, start + _ROWS)
        sums[rows][counts[rows] == 0] = np.nan
        sums[rows] /= np.maximum(counts[rows], 1)
    del counts
    sums = sums if kept.all() else sums[:, kept]
    answered = np.isfinite(sums).any(axis=1)
    sums = sums if answered.all() else sums[answered]
    items = pd.DataFrame(
        {"topic": items[topic] if topic else "all", "item": items[item]}, columns=["topic", "item"]
    )
    return Past(
        sums,
        items[answered].reset_index(drop=True),
        pd.Index(models[model][kept], name="model"),
        binary,
    )


def _paired(codes, indexes):
    """One number per item, from the codes of topic and id."""
    if len(codes) == 1:
        return codes[0]
    return codes[0].astype(np.int64) * len(indexes[2]) + codes[1]


def _places(pairs, indexes):
    """Function from numbers of items to where they stand among `pairs`."""
    most = np.prod([len(index) for index in indexes[1:]], dtype=float)
    if most <= _LARGEST_TABLE:
        table = np.zeros(int(most), dtype=np.int64)
        table[pairs] = np.arange(len(pairs))
        return table.__getitem__
    order = np.argsort(pairs)
    return lambda numbers: order[np.searchsorted(pairs, numbers, sorter=order)]


def _batches(frame, keys, indexes):
    """Codes of model, topic and item, and scores: at once or, from DuckDB, by the million."""
    frame = frame.select([*keys, SCORE])
    if not (isinstance(frame, nw.LazyFrame) and frame.implementation is nw.Implementation.DUCKDB):
        rows = collected(frame)
        found = [pd.factorize(rows[name]) for name in keys]
        codes = [
            index.get_indexer(names)[c] for index, (c, names) in zip(indexes, found, strict=True)
        ]
        yield codes, rows[SCORE].to_numpy(dtype=float)
        return
    relation = frame.to_native()
    # The older name until DuckDB 1.4, deprecated after it.
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
    for batch in getattr(relation, name)(1_000_000):
        codes = []
        for index, key in zip(indexes, keys, strict=True):
            column = batch.column(key).dictionary_encode()
            there = index.get_indexer(column.dictionary.to_pandas())
            codes.append(there[column.indices.to_numpy()])
        yield codes, batch.column(SCORE).to_numpy(zero_copy_only=False)
