"""Selection and names of the rows of a plot, and notes about them."""

import re
from itertools import zip_longest

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench.containers import Estimate

# Guarantees that need another wording in a legend.
_PHRASES = {"model": "if the model holds", "none": "no guarantee"}
OUTLYING = "outlying"  # remark beside an outlying group


def common_labels(estimates):
    """Labels of all estimates of a dict, after checking that they agree."""
    if not isinstance(estimates, dict):
        raise TypeError(
            f"The estimates are of type {type(estimates).__name__}. Pass a dict of estimates by "
            'name, such as {"direct": direct}.'
        )
    if not estimates:
        raise ValueError("The dict of estimates is empty. Pass at least one estimate.")
    for name, estimate in estimates.items():
        if not isinstance(estimate, Estimate):
            raise TypeError(
                f"Estimate {name!r} is of type {type(estimate).__name__}. "
                "Pass the result of estimate()."
            )
    (first_name, first), *others = estimates.items()
    if len(first) == 0:
        raise ValueError(f"Estimate {first_name!r} has no groups. Pass at least one group.")
    for name, other in others:
        if not first.labels.equals(other.labels):
            pairs = enumerate(zip_longest(first.labels, other.labels, fillvalue="nothing"))
            row, (expected, found) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
            raise ValueError(
                f"Estimate {name!r} has label {found!r} in row {row}, but {first_name!r} has "
                f"{expected!r}. All estimates must have the same labels in the same order."
            )
    _check_unique(first.labels, "The labels of the estimates")
    return first.labels


def by_label(values, labels, name):
    """Numbers in the order of `labels`; nan if a Series lacks the label."""
    if not isinstance(values, pd.Series):
        values = _numbers(values, name)
        if values.shape != (len(labels),):
            raise ValueError(
                f"{name} has shape {values.shape}, but there are {len(labels)} groups. "
                "Pass a Series indexed by label."
            )
        return values
    _check_unique(values.index, f"The index of {name}")
    where = values.index.get_indexer(labels)
    if (where < 0).all():
        own = plain(values.index[0]) if len(values) else "nothing"
        raise ValueError(
            f"{name} has none of the groups, such as {plain(labels[0])!r}; its labels are like "
            f"{own!r}. Index it by the labels of the estimates."
        )
    found = _numbers(values, name)
    return np.where(where < 0, np.nan, found[where])


def positions(labels, asked):
    """Positions of the requested labels (all if `asked` is None)."""
    if asked is None:
        return np.arange(len(labels))
    asked = pd.Index(asked)
    _check_unique(asked, "The labels to draw")
    where = labels.get_indexer(asked)
    if (where < 0).any():
        raise ValueError(
            f"labels contains {plain(asked[int(np.argmax(where < 0))])!r}, but there is no such "
            f"group. The groups have labels like {plain(labels[0])!r}."
        )
    if not len(where):
        raise ValueError("labels is empty. Pass at least one group, or omit labels.")
    return where


def best_first(values):
    """Order by decreasing value, with nan last and ties in their original order."""
    return np.argsort(-values, kind="stable")


def row_names(labels):
    """One line of text per label; the levels of a MultiIndex are joined by a dot."""
    return [
        joined(map(in_one_line, label)) if isinstance(label, tuple) else in_one_line(label)
        for label in labels
    ]


def in_one_line(label):
    """A label as text without line breaks and tabs."""
    return re.sub(r"[^\S ]+", " ", str(label))


def intervals(estimate):
    """Values and limits of the intervals, by label."""
    columns = {name: getattr(estimate, name) for name in ("value", "low", "high")}
    return pd.DataFrame(columns, index=estimate.labels)


def interval_name(name, estimate):
    """Legend text of an estimate: its name, and the level and guarantee of its intervals."""
    if np.all(np.isnan(estimate.low) | np.isnan(estimate.high)):
        return f"{name} (no interval)"
    level = f"{100 * estimate.confidence_level:.4g}% interval"
    return f"{name} ({level}, {in_words(estimate.guarantee)})"


def in_words(guarantee):
    """Guarantee of the intervals, as a phrase."""
    return _PHRASES.get(guarantee, guarantee)


def selection_note(n_shown, n_asked, n_groups, rule, what="groups"):
    """Note on the groups that are drawn, as a list of 0 (all groups) or 1 lines."""
    if n_shown == n_groups:
        return []
    head = f"{n_shown} of {n_groups} {what} shown"
    if n_shown == n_asked:
        return [f"{head}, as requested"]
    return [f"{head}: {rule}" + ("" if n_asked == n_groups else f", of {n_asked} requested")]


def lacks_value(estimate):
    """Whether each group lacks an estimate; ndarray of bool of shape (n_groups,)."""
    return np.isnan(estimate.value)


def lacks_interval(estimate):
    """Whether each group has an estimate but no interval; False if no group has an interval."""
    lacks = np.isnan(estimate.low) | np.isnan(estimate.high)
    return lacks & ~lacks_value(estimate) & ~lacks.all()


def gap_note(name, what, lacks):
    """Note on how many groups lack something, as a list of 0 or 1 lines."""
    return [f"{name}: no {what} for {lacks.sum()} of {lacks.size} groups"] if lacks.any() else []


def joined(words):
    """Nonempty words, joined by a dot."""
    return " · ".join(filter(None, words))


def _numbers(values, name):
    """Floats of a Series or an array."""
    try:
        if isinstance(values, pd.Series):
            return values.to_numpy(dtype=float, na_value=np.nan)
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must contain numbers only: {error}. Pass a Series indexed by label."
        ) from error


def _check_unique(index, what):
    if index.has_duplicates:
        twice = plain(index[index.duplicated()][0])
        raise ValueError(f"{what} must be unique, but {twice!r} occurs more than once.")
