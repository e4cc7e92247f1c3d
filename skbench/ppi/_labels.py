"""Read human labels and verdicts of judges as numbers."""

from numbers import Number

import numpy as np
import pandas as pd

from skbench._checks import plain, refuse_huge, refuse_unhashable, require_columns
from skbench._columns import with_winners
from skbench.items.rows import as_frame

FEWEST_LABELS = 5
_MOST_LEVELS = 10  # with more values, numbers are not levels of a scale
_LEAST_SHARED = 1 / 8  # least overlap of the ranges of two versions on one scale


def read(rows, human, judges, cluster, again):
    """Read the columns as a pandas frame, without rows that have no verdict."""
    verdicts = [*judges, *again]
    columns = [*verdicts, human, cluster]
    wanted = [name for name in dict.fromkeys(columns) if name is not None]
    frame = with_winners(as_frame(rows, in_memory=True).to_pandas(), wanted)
    require_columns(frame.columns, wanted, "rows")
    if len(set(verdicts)) < len(verdicts) or human in verdicts:
        others = f" with previous= and repeats= {again}" if again else ""
        raise ValueError(
            f"judges= must be different columns, and none may be the human column {human!r}, got "
            f"{judges}{others}."
        )
    table = pd.DataFrame({name: frame[name].to_list() for name in wanted})
    if cluster is not None and table[cluster].isna().any():
        raise ValueError(
            f"Column {cluster!r} has {int(table[cluster].isna().sum())} missing values, but every "
            "row needs a cluster."
        )
    return table[table[verdicts].notna().any(axis=1)]


def refuse_numbers_as_text(labels, human):
    """Raise an error for numbers that are stored as text."""
    if (
        all(isinstance(x, str) for x in labels)
        and np.isfinite(pd.to_numeric(labels, "coerce")).all()
    ):
        raise ValueError(
            f"Column {human!r} contains numbers as text, such as {labels[0]!r}. Convert it and the "
            "judges to numbers, for example by astype(float)."
        )


def human(labeled, human, event):
    """Human labels as numbers (words by their position), and the sorted distinct labels."""
    if len(labeled) < FEWEST_LABELS:
        raise ValueError(
            f"Column {human!r} has {len(labeled)} labels, but at least {FEWEST_LABELS} are needed. "
            "Label a random sample of rows."
        )
    labels = sorted({plain(x) for x in labeled[human]}, key=in_order)
    refuse_numbers_as_text(labels, human)
    if len(labels) < 2:
        raise ValueError(
            f"All {len(labeled)} human labels in {human!r} are {plain(labels[0])!r}, so agreement "
            "is undefined. Add labeled rows of the other kind."
        )
    if event is not None and event not in labels:
        raise ValueError(f"No human label equals event={event!r}. The labels are {labels[:10]}.")
    if any(isinstance(x, str) for x in labels):
        return labeled[human].map(labels.index).to_numpy(float), labels
    return labeled[human].to_numpy(float), labels


def in_order(label):
    """Sort key of labels: numbers first, then words."""
    return isinstance(label, str), label


def scores(column, name, labels, event):
    """Verdicts as numbers, or indicators of the event; nan where missing."""
    missing = column.isna().to_numpy()
    if event is not None:
        return np.where(missing, np.nan, (column == event).to_numpy(dtype=float))
    if any(isinstance(x, str) for x in column[~missing]):
        return np.full(len(column), np.nan)
    return floats(column)


def floats(column):
    return column.to_numpy(dtype=float, na_value=np.nan)


def verdict(column, score, labels, event, threshold, name):
    """Verdicts as numbers or positions, coded like the human labels."""
    verdicts = column[column.notna()]
    words = any(isinstance(x, str) for x in labels)
    new = [x for x in verdicts.unique() if plain(x) not in labels]
    if not new:
        return floats(column.map(labels.index, na_action="ignore") if words else column)
    binary = labels == [0, 1] and not any(isinstance(x, str) for x in new)
    if binary and verdicts.between(0, 1).all():
        return _cut(score, threshold)
    if words or len(labels) <= 2 or any(isinstance(x, str) for x in new):
        raise ValueError(
            f"Column {name!r} contains the verdict {plain(new[0])!r}, which is not a human label. "
            f"Use the labels {labels[:10]}, or scores from 0 to 1 if the labels are 0 and 1."
        )
    return floats(column)


def as_numbers(rows, names, human, threshold):
    """Labels of all columns as numbers with the same coding.

    Numbers from 0 to 1 are scores if the human labels, if any, are 0 and 1. They are cut at the
    threshold.
    """
    names = [*names, *([] if human is None else [human])]
    words = words_of(rows, names)
    if words:
        place = {x: i for i, x in enumerate(words)}
        return {name: floats(rows[name].map(place, na_action="ignore")) for name in names}
    numbers = {name: floats(rows[name]) for name in names}
    for name, x in numbers.items():
        refuse_huge(f"Numbers in {name!r}", x)
    are_labels = human is None or rows[human].dropna().isin((0, 1)).all()
    if are_labels and all(not ((x < 0) | (x > 1)).any() for x in numbers.values()):
        return {name: _cut(x, threshold) for name, x in numbers.items()}
    return numbers


def words_of(rows, names):
    """Sorted labels of columns that contain words; an empty list if all contain numbers."""
    values = {}
    for name in names:
        refuse_unhashable(f"Column {name!r}", rows[name])
        values[name] = set(rows[name].dropna().unique().tolist())
    every = set().union(*values.values())
    other = [x for x in every if not isinstance(x, str | Number)]
    if other:
        raise ValueError(
            f"Verdicts must be numbers or words, got {other[0]!r}. Convert it to text."
        )
    are_words = {name: any(isinstance(x, str) for x in own) for name, own in values.items()}
    if not any(are_words.values()):
        return []
    words = set().union(*(values[name] for name in names if are_words[name]))
    for name in names:
        if values[name].isdisjoint(words) and values[name]:
            raise ValueError(
                f"Column {name!r} contains numbers such as {min(values[name])!r}, but other "
                f"columns contain words such as {max(words, key=in_order)!r}. Use words in all "
                "columns."
            )
    return sorted(every, key=in_order)


def check_one_scale(rows, judge, name):
    """Raise an error if the earlier version has another scale, or its column has no verdicts."""
    own, other = rows[judge].dropna(), rows[name].dropna()
    if own.empty or other.empty:
        return
    if any(isinstance(x, str) for x in (own.iloc[0], other.iloc[0])):
        if set(own).isdisjoint(other) and max(own.nunique(), other.nunique()) > 1:
            raise ValueError(
                f"Columns {judge!r} and {name!r} have no verdict in common, such as "
                f"{plain(own.iloc[0])!r} and {plain(other.iloc[0])!r}. Use the same verdicts "
                "in both columns."
            )
        return
    a, b = (np.unique(floats(x)) for x in (own, other))
    refuse_huge(f"Numbers in {judge!r} and {name!r}", np.r_[a, b])
    if b.size == len(other) > _MOST_LEVELS and (np.diff(b) == 1).all():
        raise ValueError(
            f"Column {name!r} contains consecutive numbers from {b[0]:g} to {b[-1]:g} instead of "
            "verdicts. Pass the column of the verdicts."
        )
    if not _on_one_scale(a, b):
        raise ValueError(
            f"Column {judge!r} has numbers from {a[0]:g} to {a[-1]:g}, but {name!r} from {b[0]:g} "
            f"to {b[-1]:g}. Convert both to the same scale."
        )


def _on_one_scale(a, b):
    """Whether sorted distinct numbers of two columns may be verdicts on one scale.

    This holds if both are in 0 to 1, if the levels of one are among those of the other, or if their
    ranges overlap enough.
    """
    in_unit = [x[0] >= 0 and x[-1] <= 1 for x in (a, b)]
    if all(in_unit):
        return True
    small, large = sorted((a, b), key=len)
    if (
        large.size <= _MOST_LEVELS
        and np.isin(small, large).all()
        and (small.size == 1 or not any(in_unit))
    ):
        return True
    shared = min(a[-1], b[-1]) - max(a[0], b[0])
    return shared > _LEAST_SHARED * (max(a[-1], b[-1]) - min(a[0], b[0]))


def _cut(score, threshold):
    return np.where(np.isnan(score), np.nan, score >= threshold)
