"""Item ids: no answer twice, and whether models answered the same items."""

from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._warnings import warn
from skbench.items.rows import any_null, checked_scores, collected, deferred, joined

_ROWS, _ANSWERS, _MISSING = "_skbench_rows", "_skbench_answers", "_skbench_missing"


# A group_by item by item needs about 60 bytes a row; DuckDB is given 200 MB.
_ROWS_AT_ONCE = 3_000_000


class _Counts(NamedTuple):
    answers: int  # most answers that one item got
    rows: int  # most rows that one answer has
    missing: bool  # whether an id is missing


def shared_topics(frame, rows, sums, by, score, model, key, cluster, *, in_slices):
    """Topic of each group where several models answered the same items, else None.

    `rows` are those of the frame in memory, by their codes; None where they are too many.
    """
    item = key[-1]
    frame = deferred(frame)
    candidates = [] if len(by) < 2 else [model] if model in by else by
    most = _ROWS_AT_ONCE if in_slices else None

    def count(answer, per, columns):
        if rows is None:
            return _counts(_slices(frame, sums, columns, most), answer, per, key)
        return _counts_in_memory(rows, answer, per, key)

    counts = {}
    for name in candidates:
        rest = [column for column in by if column != name]
        counts[name] = count([*by, *key], [*rest, *key], rest)
    keys = _keys_of_answers(by, model, key)
    if counts and keys == [*by, *key]:
        overall = next(iter(counts.values()))
    else:
        overall = count(keys, [*by, *key], by)
    _check_answers(overall, frame, keys, by, score, key, cluster)
    sharing = [name for name, count in counts.items() if count.answers > 1]
    if not sharing:
        return None
    if len(sharing) > 1:
        sharing.sort(key=lambda name: sums.labels.unique(name).size)
        warn(
            f"Ids in {item!r} repeat across {' and across '.join(map(repr, sharing))}; taking "
            f"{sharing[0]!r} as what answered the same items. Pass model=... to say otherwise."
        )
    return _topic_names(sums.labels, by, sharing[0])


def check_single_answers(frame, by, score, model, key):
    """Refuse items that repeat in a group; warn where several models answered them."""
    frame, keys = deferred(frame), _keys_of_answers(by, model, key)
    counts = _counts([frame], keys, [*by, *key], key)
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


def _slices(frame, sums, columns, most_rows):
    """The rows, or some levels of one of the columns after the other."""
    if most_rows is None or sums.n.sum() <= most_rows:
        return [frame]
    name = max(columns, key=lambda column: sums.labels.unique(column).size)
    sizes = pd.Series(sums.n).groupby(sums.labels.get_level_values(name)).sum()
    number = (sizes.cumsum() - 1) // most_rows
    return [
        frame.filter(nw.col(name).is_in(part.index.tolist())) for _, part in sizes.groupby(number)
    ]


def _counts(frames, answer, per, key):
    """Rows of each answer, and answers of each item: the largest of both."""
    largest = []
    for frame in frames:
        answers = frame.group_by(answer).agg(nw.len().alias(_ROWS))
        answers = answers.with_columns(any_null(key).cast(nw.Int8).alias(_MISSING))
        # Distinct first, then counted: items may have several rows (repeated answers).
        counts = answers.group_by(per).agg(
            nw.len().alias(_ANSWERS), nw.col(_ROWS).max(), nw.col(_MISSING).max()
        )
        largest.append(collected(counts.select(nw.col(_ANSWERS, _ROWS, _MISSING).max())))
    most = pd.concat(largest).max()
    return _Counts(most[_ANSWERS], most[_ROWS], bool(most[_MISSING]))


def _counts_in_memory(rows, answer, per, key):
    """`_counts` of rows in memory."""
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
