"""Use item ids to detect repeated answers and items shared by models."""

from datetime import time
from itertools import pairwise
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._warnings import warn, warn_of_memory
from skbench.items.codes import CodedRows
from skbench.items.rows import checked_scores, collected, fetched, joined

_ROWS_AT_ONCE = 2_000_000
_BYTES_OF_A_ROW = 200
_FINER = "Pass item=None for binary scores, or add a column with more values to by."


class _Counts(NamedTuple):
    answers: int  # largest number of answers to an item
    rows: int  # largest number of rows of an answer
    missing: bool  # whether an id is missing


def shared_topics(frame, slices, labels, by, score, model, key, cluster, errors):
    """Return the topic of each group if several models answered the same items, else None.

    Each slice of the rows is added to `errors`, with a flag for items shared by several models.
    """
    item = key[-1]

    def count(answer, per, columns, errors=None):
        found = []
        for rows in slices.by(columns):
            found.append(_counts(rows, answer, per, key))
            if errors is not None and not found[-1].missing:
                errors.add(rows, shared=len(by) > 1 and found[-1].answers > 1)
        return _Counts(*map(max, zip(*found, strict=True)))

    keys, rest = _keys_of_answers(by, model, key), [name for name in by if name != model]
    per = [*rest, *key] if rest else [*by, *key]
    overall = count(keys, per, rest or by, errors)
    counts = {} if len(by) < 2 else {model: overall}
    if model not in by and counts:
        others = {name: [column for column in by if column != name] for name in by}
        counts = {x: count([*by, *key], [*rest, *key], rest) for x, rest in others.items()}
    _check_answers(overall, frame, keys, by, score, key, cluster)
    sharing = [name for name, count in counts.items() if count.answers > 1]
    if not sharing:
        return None
    if len(sharing) > 1:
        sharing.sort(key=lambda name: labels.unique(name).size)
        warn(
            f"Ids in {item!r} repeat across {' and across '.join(map(repr, sharing))}, so "
            f"{sharing[0]!r} is assumed to be the model. If it is not, pass model=..."
        )
    return _topic_names(labels, by, sharing[0])


def check_single_answers(frame, by, score, model, key):
    """Raise if items repeat in a group. Warn if several models answered them."""
    keys = _keys_of_answers(by, model, key)
    counts = _counts(CodedRows(fetched(frame.select(keys))), keys, [*by, *key], key)
    _check_answers(counts, frame, keys, by, score, key, cluster=None)


def _keys_of_answers(by, model, key):
    # Several models of one group may have answered the same items.
    return [*by, *key] if model is None or model in by else [model, *by, *key]


def _check_answers(counts, frame, keys, by, score, key, cluster):
    item = key[-1]
    if counts.missing:
        checked_scores(frame, key, score)
    if counts.rows > 1 and item != cluster:
        _refuse_duplicates(frame, keys, item)
    if keys != [*by, *key] and counts.answers > 1 and cluster is None:
        warn(
            f"Items of a group have answers of up to {counts.answers} values of {keys[0]!r}. "
            "Answers to one item are dependent, so the sampling variances are too small. Add "
            f"{keys[0]!r} to by, or pass cluster={item!r}."
        )


def assumed_topics(labels, by, model, *, warns):
    """Return the topic of each group, assuming that models share items, or None for one model."""
    if model not in by or len(by) < 2:
        return None
    topics = _topic_names(labels, by, model)
    if len(np.unique(topics)) == len(topics):
        return None
    if warns:
        warn(
            "There is no item column, so models are assumed to share items, and cross-fitting "
            "keeps topics together. Pass item=... with the column of ids, or item=None to accept "
            "this."
        )
    return topics


class RowSlices:
    """Coded rows in memory. Rows of a lazy frame are fetched in slices of about 2 million."""

    def __init__(self, frame, columns, sums):
        self._frame, self._sums, self._all = frame, sums, None
        if isinstance(frame, nw.LazyFrame):
            self._frame = frame.select(*dict.fromkeys(columns))
        if isinstance(frame, nw.DataFrame) or sums.n.sum() <= _ROWS_AT_ONCE:
            self._all = CodedRows(fetched(self._frame))

    def by(self, columns):
        """Yield slices with whole levels of the finest of these columns, or all rows."""
        if self._all is not None:
            yield self._all
            return
        labels = self._sums.labels
        name = max(columns, key=lambda column: labels.unique(column).size)
        sizes = pd.Series(self._sums.n).groupby(labels.get_level_values(name)).sum()
        number = (sizes.cumsum() - 1) // _ROWS_AT_ONCE
        warn_of_memory(_BYTES_OF_A_ROW * sizes.groupby(number).sum().max(), _FINER)
        column, firsts = self._in_order(name, sizes.index[~number.duplicated()].tolist())
        read = 0
        # Half-open slices lose no row if the engine rounds their limits.
        for start, end in pairwise([None, *firsts[1:], None]):
            rows = self._frame if start is None else self._frame.filter(column >= start)
            rows = fetched(rows if end is None else rows.filter(column < end))
            read += len(rows)
            if len(rows):
                yield CodedRows(rows)
        if read != sizes.sum():
            raise ValueError(
                f"Slices by {name!r} have {read:,} rows in total, but there are {sizes.sum():,} "
                f"rows. Collect the rows first, or convert {name!r} to text."
            )

    def _in_order(self, name, levels):
        """Return a column and its levels in a type that all engines sort like the labels."""
        column, dtype = nw.col(name), self._frame.collect_schema()[name]
        if dtype.is_decimal():
            return column.cast(nw.Float64), levels
        if isinstance(levels[0], str | time) and dtype != nw.String:
            return column.cast(nw.String), list(map(str, levels))
        return column, levels


def _counts(rows, answer, per, key):
    """Return the largest numbers of answers to an item and of rows of an answer."""
    if any(map(rows.lacks, key)):
        return _Counts(1, 1, True)
    one_more = [name for name in answer if name not in per]
    *per, last = [*per, *one_more]
    return _Counts(*rows.most_answers(per, last), missing=False)


def _refuse_duplicates(frame, keys, item):
    counted = frame.group_by(keys).agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    repeated = collected(counted, keys)
    first = ", ".join(f"{key}={repeated[key].tolist()[0]!r}" for key in keys)
    raise ValueError(
        f"{len(repeated)} items occur more than once in a group (first {first} with "
        f"{repeated['rows'].iloc[0]} rows). Remove duplicate rows, or pass cluster={item!r} if "
        "items were answered several times."
    )


def _topic_names(labels, by, model):
    rest = [column for column in by if column != model]
    return np.array(joined(labels.to_frame(index=False)[rest]))
