"""Whether models answered the same items, which decides how folds are cut."""

import warnings

import narwhals as nw
import numpy as np


def shared_topics(frame, labels, by, model, item):
    """Topic of each group where several models answered the same items, else None.

    Parameters
    ----------
    frame : narwhals frame
        Item rows.
    labels : pandas.Index or MultiIndex of length n_groups
        Labels of the groups.
    by : list of str
        Columns that define the groups.
    model : str
        Column that names the model, if it is one of `by`.
    item : str or None
        Column of item ids, if there is one.

    Returns
    -------
    ndarray of shape (n_groups,) or None

    Warns
    -----
    UserWarning
        If item ids are missing, or repeat across more than one column of `by`.
    """
    if len(by) < 2:
        return None
    if item is None:
        return _assumed_topics(labels, by, model)
    candidates = [model] if model in by else by
    sharing = [name for name in candidates if _repeats_items(frame, by, name, item)]
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


def _repeats_items(frame, by, name, item):
    """Whether an item of one topic was answered by two levels of the named column."""
    rest = [column for column in by if column != name]
    # Distinct first, then counted: items may have several rows (repeated answers).
    pairs = frame.group_by([*rest, name, item]).agg(nw.len().alias("rows"))
    counts = pairs.group_by([*rest, item]).agg(nw.len().alias("answers"))
    most = counts.select(nw.col("answers").max())
    if isinstance(most, nw.LazyFrame):
        most = most.collect()
    return most.item() > 1


def _assumed_topics(labels, by, model):
    if model not in by:
        return None
    topics = _topic_names(labels, by, model)
    if len(np.unique(topics)) == len(topics):
        return None
    warnings.warn(
        "There is no column of item ids, so whether models answered the same items is not known: "
        "folds keep topics together in case they did. Pass item=... to settle it.",
        stacklevel=4,
    )
    return topics


def _topic_names(labels, by, model):
    rest = [column for column in by if column != model]
    parts = [labels.get_level_values(column).astype(str) for column in rest]
    return np.array([" / ".join(words) for words in zip(*parts, strict=True)])
