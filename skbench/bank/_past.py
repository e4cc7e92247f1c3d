"""Item rows of earlier models, in any dataframe, to a matrix of items x models."""

import warnings

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import of_one_type, plain, require_columns
from skbench.items.rows import SCORE, checked_scores, collected, opened

_ROWS = 8192
_RADIX = 2**31  # more than there are ids


def read_past(past, model, topic, item, score, exclude):
    """Mean scores (items, models), sorted items and models, and whether all are 0 or 1."""
    frame = opened(past)
    names = frame.collect_schema().names()
    require_columns(names, [model, item, score], "past_items")
    topic = topic if topic in names else None
    keys = [model, *([topic] if topic else []), item]
    frame = checked_scores(frame.select([*keys, score]), keys, score)
    names = [_Names() for _ in keys]
    numbers, grid, binary = _Names(), _Grid(), True
    for columns, value in _batches(frame, keys):
        binary = binary and bool(np.all((value == 0) | (value == 1)))
        codes = [known.codes(found)[c] for known, (c, found) in zip(names, columns, strict=True)]
        # Items are pairs of topic and id: one number each.
        number = codes[-1] if topic is None else codes[1] * _RADIX + codes[-1]
        grid.add(numbers.codes(number), codes[0], value)
    models = names[0].index
    absent = [name for name in exclude if name not in models]
    if absent:
        warnings.warn(
            f"exclude names {plain(absent[0])!r}, which is no model of the past. Its names are "
            f"like {plain(models[0])!r}.",
            stacklevel=4,
        )
    columns = _sorted(pd.DataFrame({"model": models}))
    columns = columns[~columns["model"].isin(list(exclude))]
    if columns.empty:
        raise ValueError("past has no model left: all of them are excluded.")
    of_topic, of_item = np.divmod(numbers.index.to_numpy(), _RADIX)
    items = pd.DataFrame(
        {"topic": names[1].index[of_topic] if topic else "all", "item": names[-1].index[of_item]}
    )
    items = _sorted(items)
    scores = grid.means(items.index, columns.index)
    answered = np.isfinite(scores).any(axis=1)
    items = items[answered].reset_index(drop=True)
    scores = scores if answered.all() else scores[answered]
    return scores, items, pd.Index(columns["model"], name="model"), binary


class _Names:
    """Names in the order in which they are first seen, with a code each."""

    def __init__(self):
        self.index = pd.Index([])

    def codes(self, found):
        """Codes of names, new ones appended."""
        codes = self.index.get_indexer(found)
        new = codes < 0
        if new.any():
            more = pd.Index(found[new]).unique()
            self.index = self.index.append(more) if len(self.index) else more
            codes = self.index.get_indexer(found)
        return codes


class _Grid:
    """Sums and counts by item and model, which grow as items and models are seen."""

    def __init__(self):
        self.sums, self.counts = np.zeros((0, 0), np.float32), np.zeros((0, 0), np.uint16)

    def add(self, row, column, value):
        """Add scores to their cells."""
        if not len(value):
            return
        self._reach(int(row.max()) + 1, int(column.max()) + 1)
        # Flat positions: numpy adds to those of one dimension many times faster.
        at = row * self.sums.shape[1] + column
        np.add.at(self.sums.ravel(), at, value.astype(np.float32))
        np.add.at(self.counts.ravel(), at, np.uint16(1))

    def _reach(self, *shape):
        """Grow to at least this shape."""
        old = self.sums.shape
        if all(n <= most for n, most in zip(shape, old, strict=True)):
            return
        new = [most if n <= most else 2 * n for n, most in zip(shape, old, strict=True)]
        for name in ("sums", "counts"):
            part = getattr(self, name)
            larger = np.zeros(new, part.dtype)
            larger[: old[0], : old[1]] = part
            setattr(self, name, larger)

    def means(self, rows, columns):
        """Mean scores of some rows and columns, block by block."""
        means = np.empty((len(rows), len(columns)), np.float32)
        for start in range(0, len(rows), _ROWS):
            at = np.ix_(rows[start : start + _ROWS], columns)
            with np.errstate(invalid="ignore"):
                means[start : start + _ROWS] = self.sums[at] / self.counts[at]
        return means


def _sorted(table):
    """The table sorted by all its columns."""
    return table.sort_values(list(table.columns), key=of_one_type)


def _batches(frame, keys):
    """Codes and names of the keys, and scores; from DuckDB, a million rows at a time."""
    frame = frame.select([*keys, SCORE])
    if not (isinstance(frame, nw.LazyFrame) and frame.implementation is nw.Implementation.DUCKDB):
        rows = collected(frame)
        yield [pd.factorize(rows[name]) for name in keys], rows[SCORE].to_numpy(dtype=float)
        return
    relation = frame.to_native()
    # The older name until DuckDB 1.4, deprecated after it.
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
    for batch in getattr(relation, name)(1_000_000):
        columns = []
        for key in keys:
            column = batch.column(key).dictionary_encode()
            columns.append((column.indices.to_numpy(), column.dictionary.to_pandas()))
        yield columns, batch.column(SCORE).to_numpy(zero_copy_only=False)
