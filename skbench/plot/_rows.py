"""Which groups get a row, what they are called, and what is said about them."""

import re
from itertools import zip_longest

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench.containers import Estimate

# The two guarantees that are not a phrase by themselves.
_PHRASES = {"model": "if the model holds", "none": "no guarantee"}
OUTLYING = "unlike its peers"  # what is written beside such a group


def common_labels(estimates):
    """The labels that all estimates of a dict share."""
    if not isinstance(estimates, dict):
        raise TypeError(
            f"The estimates are of type {type(estimates).__name__}. Pass a dict of estimates by "
            'name, such as {"direct": direct}.'
        )
    if not estimates:
        raise ValueError("There are no estimates to draw. Pass at least one.")
    for name, estimate in estimates.items():
        if not isinstance(estimate, Estimate):
            raise TypeError(
                f"Estimate {name!r} is of type {type(estimate).__name__}. "
                "Pass what an estimator's estimate() returns."
            )
    (first_name, first), *others = estimates.items()
    if len(first) == 0:
        raise ValueError(f"Estimate {first_name!r} has no groups, so there is nothing to draw.")
    for name, other in others:
        if not first.labels.equals(other.labels):
            pairs = enumerate(zip_longest(first.labels, other.labels, fillvalue="nothing"))
            row, (expected, found) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
            raise ValueError(
                f"Estimate {name!r} has {found!r} in row {row}, where {first_name!r} has "
                f"{expected!r}. Give all estimates the same labels in the same order."
            )
    _check_unique(first.labels, "The labels of the estimates")
    return first.labels


def by_label(values, labels, name):
    """Numbers in the order of `labels`; nan where a Series does not know the label."""
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
            f"{name} knows none of the groups, such as {plain(labels[0])!r}; its own labels are "
            f"like {own!r}. Index it by the estimates' labels."
        )
    found = _numbers(values, name)
    return np.where(where < 0, np.nan, found[where])


def positions(labels, asked):
    """Where the labels asked for stand (all of them when `asked` is None)."""
    if asked is None:
        return np.arange(len(labels))
    asked = pd.Index(asked)
    _check_unique(asked, "The labels to draw")
    where = labels.get_indexer(asked)
    if (where < 0).any():
        raise ValueError(
            f"There is no group {plain(asked[int(np.argmax(where < 0))])!r} to draw; "
            f"the labels are like {plain(labels[0])!r}."
        )
    if not len(where):
        raise ValueError("labels is empty. Name at least one group, or leave labels out.")
    return where


def best_first(values):
    """Order from the highest value down, nan last, ties as they came."""
    return np.argsort(-values, kind="stable")


def row_names(labels):
    """One line of text per label; what a MultiIndex holds apart is joined by a dot."""
    return [
        joined(map(in_one_line, label)) if isinstance(label, tuple) else in_one_line(label)
        for label in labels
    ]


def in_one_line(label):
    """A label as text without line breaks and tabs, which would run into other rows."""
    return re.sub(r"[^\S ]+", " ", str(label))


def intervals(estimate):
    """Values and ends of the intervals, by label."""
    columns = {name: getattr(estimate, name) for name in ("value", "low", "high")}
    return pd.DataFrame(columns, index=estimate.labels)


def interval_name(name, estimate):
    """Name, level and guarantee of an estimate's intervals, as legends print them."""
    if np.all(np.isnan(estimate.low) | np.isnan(estimate.high)):
        return f"{name} (no interval)"
    return f"{name} ({100 * estimate.confidence_level:.4g}%, {in_words(estimate.guarantee)})"


def in_words(guarantee):
    """What intervals promise, as a phrase."""
    return _PHRASES.get(guarantee, guarantee)


def selection_note(n_shown, n_asked, n_groups, rule, what="groups"):
    """Which groups a picture shows, unless it shows all; a list of 0 or 1 lines."""
    if n_shown == n_groups:
        return []
    head = f"{n_shown} of {n_groups} {what} shown"
    if n_shown == n_asked:
        return [f"{head}: those asked for"]
    return [f"{head}: {rule}" + ("" if n_asked == n_groups else f", among {n_asked} asked for")]


def lacks_value(estimate):
    """Groups without an estimate; ndarray of bool of shape (n_groups,)."""
    return np.isnan(estimate.value)


def lacks_interval(estimate):
    """Groups with an estimate but no interval, unless no group has one (the legend says so)."""
    lacks = np.isnan(estimate.low) | np.isnan(estimate.high)
    return lacks & ~lacks_value(estimate) & ~lacks.all()


def gap_note(name, what, lacks):
    """How many groups lack something, if any do; a list of 0 or 1 lines."""
    return [f"{name}: no {what} for {lacks.sum()} of {lacks.size} groups"] if lacks.any() else []


def joined(words):
    """Words with a dot between them, empty ones left out."""
    return " · ".join(filter(None, words))


def _numbers(values, name):
    """Floats of a Series or an array, with the name of what holds anything else."""
    try:
        if isinstance(values, pd.Series):
            return values.to_numpy(dtype=float, na_value=np.nan)
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must hold numbers only: {error}. Pass a Series indexed by label."
        ) from error


def _check_unique(index, what):
    if index.has_duplicates:
        twice = plain(index[index.duplicated()][0])
        raise ValueError(f"{what} must be unique, but {twice!r} occurs more than once.")
