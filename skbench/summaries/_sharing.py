"""Item ids: no answer twice, and whether models answered the same items."""

import warnings
from typing import NamedTuple

import narwhals as nw
import numpy as np

from skbench.summaries._rows import checked_scores, collected

_ROWS, _ANSWERS, _MISSING = "_skbench_rows", "_skbench_answers", "_skbench_missing"


class _Counts(NamedTuple):
    answers: int  # most answers that one item got
    rows: int  # most rows that one answer has
    missing: bool  # whether an id is missing


def shared_topics(frame, labels, by, score, model, item, *, repeats):
    """Topic of each group where several models answered the same items, else None.

    Parameters
    ----------
    frame : narwhals frame
        Item rows.
    labels : pandas.Index or MultiIndex of length n_groups
        Labels of the groups.
    by : list of str
        Columns that define the groups.
    score : str
        Column of scores.
    model : str or None
        Column that names the model, if there is one.
    item : str
        Column of item ids.
    repeats : bool
        Whether an item may occur several times in a group.

    Returns
    -------
    ndarray of shape (n_groups,) or None

    Raises
    ------
    ValueError
        If ids are missing, or repeat where they may not.

    Warns
    -----
    UserWarning
        If ids repeat across more than one column of `by`.
    """
    candidates = [] if len(by) < 2 else [model] if model in by else by
    counts = {}
    for name in candidates:
        rest = [column for column in by if column != name]
        counts[name] = _counts(frame, [*by, item], [*rest, item], item)
    keys = [*by, item]
    answers = list(counts.values())
    if model is not None and model not in by:
        # A model that defines no group may have answered what another one answered.
        keys = [model, *by, item]
        answers = []
    overall = answers[0] if answers else _counts(frame, keys, keys, item)
    if overall.missing:
        checked_scores(frame, [item], score)
    if overall.rows > 1 and not repeats:
        _refuse_duplicates(frame, keys, item)
    sharing = [name for name, count in counts.items() if count.answers > 1]
    if not sharing:
        return None
    if len(sharing) > 1:
        sharing.sort(key=lambda name: labels.unique(name).size)
        warnings.warn(
            f"Ids in {item!r} repeat across {' and across '.join(map(repr, sharing))}; taking "
            f"{sharing[0]!r} as what answered the same items. Pass model=... to say otherwise.",
            stacklevel=3,
        )
    return _topic_names(labels, by, sharing[0])


def assumed_topics(labels, by, model, *, warn):
    """Topic of each group, taking it that models share items; None for one model."""
    if model not in by or len(by) < 2:
        return None
    topics = _topic_names(labels, by, model)
    if len(np.unique(topics)) == len(topics):
        return None
    if warn:
        warnings.warn(
            "There is no column of item ids, so whether models answered the same items is not "
            "known: folds keep topics together in case they did. Pass item=... to settle it, or "
            "item=None to leave it at that.",
            stacklevel=3,
        )
    return topics


def _counts(frame, answer, per, item):
    """Rows of each answer, and answers of each item: the largest of both, in one pass."""
    answers = frame.group_by(answer).agg(nw.len().alias(_ROWS))
    answers = answers.with_columns(nw.col(item).is_null().cast(nw.Int8).alias(_MISSING))
    # Distinct first, then counted: items may have several rows (repeated answers).
    counts = answers.group_by(per).agg(
        nw.len().alias(_ANSWERS), nw.col(_ROWS).max(), nw.col(_MISSING).max()
    )
    most = collected(counts.select(nw.col(_ANSWERS, _ROWS, _MISSING).max())).iloc[0]
    return _Counts(most[_ANSWERS], most[_ROWS], bool(most[_MISSING]))


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
    parts = [labels.get_level_values(column).astype(str) for column in rest]
    return np.array([" / ".join(words) for words in zip(*parts, strict=True)])
