"""Read item rows of earlier models into a matrix of items and models."""

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import plain, require_columns
from skbench._warnings import warn
from skbench.items.rows import SCORE, checked_scores, collected, opened, with_item_key


def read_earlier(past, model, topic, item, score, exclude):
    """Matrix of mean scores, its sorted items and models, and whether all scores are 0 or 1."""
    frame = opened(past)
    names = frame.collect_schema().names()
    require_columns(names, [model, item, score], "past_items")
    frame, key = with_item_key(frame, item, topic, model=model)
    keys = [model, *key]
    frame = checked_scores(frame.select([*keys, score]), keys, score)
    rows = _rows(frame.select([*keys, SCORE]))
    binary = bool(rows[SCORE].isin((0, 1)).all())
    excluded = rows[model].isin(list(exclude))
    absent = [name for name in exclude if name not in set(rows[model][excluded])]
    if absent:
        warn(
            f"exclude contains {plain(absent[0])!r}, but past_items has no such model. Its models "
            f"have names like {plain(rows[model].iloc[0])!r}."
        )
    rows = rows[~excluded] if excluded.any() else rows
    if rows.empty:
        raise ValueError("exclude contains all models of past_items. Keep at least one.")
    column, models = _numbered(rows[[model]])
    row, items = _numbered(rows[keys[1:]])
    counts = np.zeros((len(items), len(models)), np.uint16)
    # Flat positions, because np.add.at is many times faster in one dimension.
    cell = row * len(models) + column
    np.add.at(counts.ravel(), cell, np.uint16(1))
    # Single precision halves the memory and is exact for 0/1 scores.
    sums = np.zeros(counts.shape, np.float32 if binary and counts.max() == 1 else float)
    np.add.at(sums.ravel(), cell, rows[SCORE].to_numpy(dtype=sums.dtype))
    with np.errstate(invalid="ignore"):
        scores = sums / counts
    items = items.set_axis(["topic", "item"][-items.shape[1] :], axis=1)
    if "topic" not in items:
        items.insert(0, "topic", "all")
    return scores, items, pd.Index(models[model], name="model"), binary


def _rows(frame):
    """The rows in memory; from DuckDB, strings as categories, which need a tenth of the memory."""
    if isinstance(frame, nw.LazyFrame) and frame.implementation is nw.Implementation.DUCKDB:
        return frame.collect("pyarrow").to_native().to_pandas(strings_to_categorical=True)
    return collected(frame)


def _numbered(rows):
    """Number of each row among the sorted distinct rows, and these rows."""
    seen = rows.groupby(list(rows.columns), sort=False, observed=True).ngroup().to_numpy()
    distinct = pd.DataFrame({name: np.asarray(x) for name, x in rows.drop_duplicates().items()})
    # Sorted as text, so that the order is the same if a file stores ids as numbers or as text.
    distinct = distinct.sort_values(list(rows.columns), key=lambda names: names.map(str))
    return np.argsort(distinct.index)[seen], distinct.reset_index(drop=True)
