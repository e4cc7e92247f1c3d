"""Columns of labels and verdicts of judges as numbers."""

from numbers import Number

import numpy as np
import pandas as pd

from skbench._checks import plain, refuse_huge, refuse_unhashable, require_columns
from skbench._columns import with_winners
from skbench.items.rows import as_frame

FEWEST_LABELS = 5
_MOST_LEVELS = 10  # beyond, numbers are no levels
_LEAST_SHARED = 1 / 8  # of the range of two versions of a judge, from where they have one scale


def read(rows, human, judges, cluster, again):
    """The columns as a pandas frame, without rows that no judge judged."""
    verdicts = [*judges, *again]
    columns = [*verdicts, human, cluster]
    wanted = [name for name in dict.fromkeys(columns) if name is not None]
    frame = with_winners(as_frame(rows, in_memory=True).to_pandas(), wanted)
    require_columns(frame.columns, wanted, "rows")
    if len(set(verdicts)) < len(verdicts) or human in verdicts:
        others = f", previous and repeats {again}" if again else ""
        raise ValueError(
            f"judges must be different columns, other than {human!r}, got {judges}{others}."
        )
    table = pd.DataFrame({name: frame[name].to_list() for name in wanted})
    if cluster is not None and table[cluster].isna().any():
        raise ValueError(f"{int(table[cluster].isna().sum())} rows have no {cluster!r}.")
    return table[table[verdicts].notna().any(axis=1)]


def refuse_numbers_as_text(labels, human):
    """Refuse labels that are all numbers, but written as text."""
    if (
        all(isinstance(x, str) for x in labels)
        and np.isfinite(pd.to_numeric(labels, "coerce")).all()
    ):
        raise ValueError(
            f"{human!r} holds numbers as text, such as {labels[0]!r}. Turn it and the judges into "
            "numbers first, by astype(float)."
        )


def human(labeled, human, event):
    """Positions of the human labels among all of them (numbers: the numbers), and these."""
    if len(labeled) < FEWEST_LABELS:
        raise ValueError(
            f"{len(labeled)} rows have a label in {human!r}, and fewer than "
            f"{FEWEST_LABELS} say nothing of a judge. Have more labeled, chosen at random."
        )
    labels = sorted({plain(x) for x in labeled[human]}, key=in_order)
    refuse_numbers_as_text(labels, human)
    if len(labels) < 2:
        raise ValueError(
            f"All {len(labeled)} human labels in {human!r} are {plain(labels[0])!r}: labels "
            "that never vary do not tell whether a judge sees the difference. Label rows of the "
            "other kind."
        )
    if event is not None and event not in labels:
        raise ValueError(f"event {event!r} is none of the human labels {labels[:10]}.")
    if any(isinstance(x, str) for x in labels):
        return labeled[human].map(labels.index).to_numpy(float), labels
    return labeled[human].to_numpy(float), labels


def in_order(label):
    """Key by which labels are sorted: numbers, then words."""
    return isinstance(label, str), label


def scores(column, name, labels, event):
    """A judge's verdicts as numbers: its own, or 1 for the event; nan where there is none."""
    missing = column.isna().to_numpy()
    if event is not None:
        return np.where(missing, np.nan, (column == event).to_numpy(dtype=float))
    if any(isinstance(x, str) for x in column[~missing]):
        return np.full(len(column), np.nan)
    return floats(column)


def floats(column):
    """Numbers, nan where there is none."""
    return column.to_numpy(dtype=float, na_value=np.nan)


def verdict(column, score, labels, event, threshold, name):
    """Labels that a judge gave, as positions or numbers like those of people."""
    said = column[column.notna()]
    words = any(isinstance(x, str) for x in labels)
    strange = [x for x in said.unique() if plain(x) not in labels]
    if not strange:
        return floats(column.map(labels.index, na_action="ignore") if words else column)
    binary = labels == [0, 1] and not any(isinstance(x, str) for x in strange)
    if binary and said.between(0, 1).all():
        return _cut(score, threshold)
    if words or len(labels) <= 2 or any(isinstance(x, str) for x in strange):
        raise ValueError(
            f"{name!r} says {plain(strange[0])!r}, which no person says. Map verdicts to the "
            f"labels {labels[:10]}, or to scores from 0 to 1 where people say 0 or 1."
        )
    return floats(column)


def as_numbers(rows, names, human, threshold):
    """Labels as numbers, equal where the labels are; scores are cut at the threshold.

    They are scores where all lie from 0 to 1 and people, if any, say 0 or 1.
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
    """Labels of columns that hold words, sorted; none where all hold numbers."""
    said = {}
    for name in names:
        refuse_unhashable(repr(name), rows[name])
        said[name] = set(rows[name].dropna().unique().tolist())
    every = set().union(*said.values())
    strange = [x for x in every if not isinstance(x, str | Number)]
    if strange:
        raise ValueError(f"Verdicts are numbers or words, got {strange[0]!r}. Turn it into text.")
    are_words = {name: any(isinstance(x, str) for x in own) for name, own in said.items()}
    if not any(are_words.values()):
        return []
    words = set().union(*(said[name] for name in names if are_words[name]))
    for name in names:
        if said[name].isdisjoint(words) and said[name]:
            raise ValueError(
                f"{name!r} holds numbers, such as {min(said[name])!r}, and other columns words, "
                f"such as {max(words, key=in_order)!r}. Write the labels of all alike."
            )
    return sorted(every, key=in_order)


def check_one_scale(rows, judge, name):
    """Refuse an earlier version of a judge whose verdicts are on another scale, or are none."""
    own, other = rows[judge].dropna(), rows[name].dropna()
    if own.empty or other.empty:
        return
    if any(isinstance(x, str) for x in (own.iloc[0], other.iloc[0])):
        if set(own).isdisjoint(other) and max(own.nunique(), other.nunique()) > 1:
            raise ValueError(
                f"{judge!r} says {plain(own.iloc[0])!r} and the like, and {name!r} never: it says "
                f"{plain(other.iloc[0])!r}. Write the verdicts of both alike."
            )
        return
    a, b = (np.unique(floats(x)) for x in (own, other))
    refuse_huge(f"Numbers in {judge!r} and {name!r}", np.r_[a, b])
    if b.size == len(other) > _MOST_LEVELS and (np.diff(b) == 1).all():
        raise ValueError(
            f"{name!r} numbers the answers from {b[0]:g} to {b[-1]:g}, and holds no verdicts. Name "
            "the column of the verdicts."
        )
    if not _on_one_scale(a, b):
        raise ValueError(
            f"{judge!r} says numbers from {a[0]:g} to {a[-1]:g}, and {name!r} from {b[0]:g} to "
            f"{b[-1]:g}: they are on different scales. Rescale one of them."
        )


def _on_one_scale(a, b):
    """Whether sorted distinct numbers may be verdicts on one scale.

    So are those from 0 to 1, levels that all are levels of the other, and ranges that share a part
    of what both span.
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
