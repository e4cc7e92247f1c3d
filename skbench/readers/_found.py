"""The result of reading: item rows, notes on decisions, and skipped lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from skbench._notes import LOST, Note
from skbench._printed import Printed


def topic_columns(named):
    """Return the topic columns of the rows: "topic", or several columns under their own names."""
    return ["topic"] if len(named) == 1 else list(named)


def item_key(items, topics):
    """Return the columns that identify an item: the topics and the id.

    A column named "topic" in the file counts even if the caller named another column.
    """
    return [name for name in (*topics, "topic_in_file", "item") if name in items]


class ItemRows(NamedTuple):
    """Item rows read from files, with notes on how they were read.

    Parameters
    ----------
    items : DataFrame
        One row per model and item, as `skbench.read_items` returns them.
    columns : dict of str to str or list of str
        Role -> column of the file.
    notes : list of str
        One note for each choice, conversion, ignored file and dropped row.
    formats : list of str
        Formats of the files.
    groups : DataFrame or None
        One row per group, if the file contains results of groups. Its columns are score (the
        mean), and either n and k or standard_error. `items` then contains the same rows.
    blank : DataFrame or None
        Rows without a score (missing, failed or refused). `items` excludes them.
    doubts : list of str
        Notes on values that may be mistakes.
    graders : dict
        Topic -> model -> set of descriptions of the judge and its prompt, as logs declare them.

    Notes
    -----
    When not to use it: `skbench.read_items` returns the rows without notes.

    Examples
    --------
    >>> ItemRows(pd.DataFrame({"score": [1.0]}), {"score": "acc"}).columns["score"]
    'acc'
    """

    items: pd.DataFrame
    columns: dict
    notes: list = []
    formats: list = []
    groups: pd.DataFrame | None = None
    blank: pd.DataFrame | None = None
    doubts: list = []
    graders: dict = {}

    @property
    def topics(self) -> list:
        """Topic columns of the rows."""
        named = self.columns.get("topic", [])
        return topic_columns([named] if isinstance(named, str) else named)

    @property
    def key(self) -> list:
        """Columns that identify an item."""
        return item_key(self.items, self.topics)

    def _printed(self):
        columns = ", ".join(map(str, self.items.columns))
        head = f"{len(self.items)} rows of items with the columns {columns}"
        return [head, *(f"- {note}" for note in self.notes)]

    __repr__, _repr_html_ = Printed.__repr__, Printed._repr_html_

    def changed(self, change: Callable[[pd.DataFrame], pd.DataFrame]) -> ItemRows:
        """Return a copy with a function applied to each table."""
        frames = {name: getattr(self, name) for name in ("items", "groups", "blank")}
        known = {name: change(frame) for name, frame in frames.items() if frame is not None}
        return self._replace(**known)


class UnfinishedRun(Note):
    """A note on a run that ended before all items were answered."""

    def __new__(cls, text):
        """Create a note on lost data."""
        return super().__new__(cls, text, LOST)


class BadLines:
    """Lines that cannot be read: raise an error by default, or skip and count them."""

    def __init__(self, skip=False):
        self.skip = skip
        self._skipped = {}

    def refuse(self, path, line, reason):
        """Raise an error or count the line. `line` is a number or a description."""
        place = f"line {line}" if isinstance(line, int) else line
        if not self.skip:
            raise ValueError(
                f"{str(path)!r}, {place}: {reason}. Correct or remove it, or pass "
                f"skip_bad_lines=True to skip it."
            )
        self._skipped.setdefault(str(path), []).append(f"{place}: {reason}")

    def reset(self):
        """Reset the counts before files are read again."""
        self._skipped = {}

    def notes(self):
        """Return one note per file, with the number of skipped lines and the first reason."""
        return [
            Note(
                f"skipped {len(reasons)} bad line{'s' * (len(reasons) > 1)} of {path!r} "
                f"({'first ' * (len(reasons) > 1)}{reasons[0]})",
                LOST,
            )
            for path, reasons in self._skipped.items()
        ]
