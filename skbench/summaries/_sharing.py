"""Item ids: no answer twice, and whether models answered the same items."""

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
_FINER = "Pass item=None for scores of 0 and 1, or put a column of more values into by."


class _Counts(NamedTuple):
    answers: int  # most answers that one item got
    rows: int  # most rows that one answer has
    missing: bool  # whether an id is missing


def shared_topics(frame, slices, labels, by, score, model, key, cluster, errors):
    """Topic of each group where several models answered the same items, else None.

    `errors` get each slice of the rows, and whether several models answered its items.
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
            f"Ids in {item!r} repeat across {' and across '.join(map(repr, sharing))}; taking "
            f"{sharing[0]!r} as what answered the same items. Pass model=... to say otherwise."
        )
    return _topic_names(labels, by, sharing[0])


def check_single_answers(frame, by, score, model, key):
    """Refuse items that repeat in a group; warn where several models answered them."""
    keys = _keys_of_answers(by, model, key)
    counts = _counts(CodedRows(fetched(frame.select(keys))), keys, [*by, *key], key)
    _check_answers(counts, frame, keys, by, score, key, cluster=None)


def _keys_of_answers(by, model, key):
    # A model that defines no group may have answered what another one answered.
    return [*by, *key] if model is None or model in by else [model, *by, *key]


def _check_answers(counts, frame, keys, by, score, key, cluster):
    item = key[-1]
    if counts.missing:
        checked_scores(frame, key, score)
    if counts.rows > 1 and item != cluster:
        _refuse_duplicates(frame, keys, item)
    if keys != [*by, *key] and counts.answers > 1 and cluster is None:
        warn(
            f"Items of a group were answered by up to {counts.answers} values of {keys[0]!r}, and "
            "answers to one item hang together: taken as independent, they make sampling variances "
            f"too small. Put {keys[0]!r} into by, or pass cluster={item!r}."
        )


def assumed_topics(labels, by, model, *, told):
    """Topic of each group, taking it that models share items; None for one model."""
    if model not in by or len(by) < 2:
        return None
    topics = _topic_names(labels, by, model)
    if len(np.unique(topics)) == len(topics):
        return None
    if told:
        warn(
            "There is no column of item ids, so whether models answered the same items is not "
            "known: folds keep topics together in case they did. Pass item=... to settle it, or "
            "item=None to leave it at that."
        )
    return topics


class RowSlices:
    """Rows in memory by their codes: of a lazy frame some two million after the other."""

    def __init__(self, frame, columns, sums):
        self._frame, self._sums, self._all = frame, sums, None
        if isinstance(frame, nw.LazyFrame):
            self._frame = frame.select(*dict.fromkeys(columns))
        if isinstance(frame, nw.DataFrame) or sums.n.sum() <= _ROWS_AT_ONCE:
            self._all = CodedRows(fetched(self._frame))

    def by(self, columns):
        """All rows, or whole levels of the finest of these columns, one slice after the other."""
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
        # No row falls between slices where the engine rounds what they start with.
        for start, end in pairwise([None, *firsts[1:], None]):
            rows = self._frame if start is None else self._frame.filter(column >= start)
            rows = fetched(rows if end is None else rows.filter(column < end))
            read += len(rows)
            if len(rows):
                yield CodedRows(rows)
        if read != sizes.sum():
            raise ValueError(
                f"Slices of the rows by {name!r} hold {read:,} rows, but there are "
                f"{sizes.sum():,}. Collect the rows first, or turn {name!r} into text."
            )

    def _in_order(self, name, levels):
        """A column and levels of it as what every engine puts in the order of the labels."""
        column, dtype = nw.col(name), self._frame.collect_schema()[name]
        if dtype.is_decimal():
            return column.cast(nw.Float64), levels
        if isinstance(levels[0], str | time) and dtype != nw.String:
            return column.cast(nw.String), list(map(str, levels))
        return column, levels


def _counts(rows, answer, per, key):
    """Rows of each answer, and answers of each item: the largest of both."""
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
        f"{len(repeated)} items occur more than once in a group; the first is {first} with "
        f"{repeated['rows'].iloc[0]} rows. Remove double rows, or, if an item was answered "
        f"several times, pass cluster={item!r}."
    )


def _topic_names(labels, by, model):
    rest = [column for column in by if column != model]
    return np.array(joined(labels.to_frame(index=False)[rest]))
