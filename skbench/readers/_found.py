"""What reading found: item rows, what was decided on the way, and lines that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from skbench._notes import LOST, Note
from skbench._printed import Printed


def topic_columns(named):
    """Columns of rows that hold the topic: one of a file has this name, several keep their own."""
    return ["topic"] if len(named) == 1 else list(named)


def item_key(items, topics):
    """Columns that name an item, whether or not its id repeats: topics, and the id.

    A column called "topic" counts, as in Python, though the caller named another.
    """
    return [name for name in (*topics, "topic_in_file", "item") if name in items]


class ItemRows(NamedTuple):
    """Item rows of files, and how they were read.

    Parameters
    ----------
    items : DataFrame
        One row per (model, item), as from `skbench.read_items`.
    columns : dict of str to str or list of str
        Which column of the file plays which role.
    notes : list of str
        Everything that was guessed, chosen, converted, ignored or dropped.
    formats : list of str
        Formats of the files.
    groups : DataFrame or None
        One row per group, where the file holds results of groups: score (the mean), and n
        and k, or standard_error. `items` are then these rows.
    blank : DataFrame or None
        Rows without a score (blank, failed or refused), which `items` leaves out.
    doubts : list of str
        Notes on what may have been misread.
    graders : dict
        Topic -> model -> set of what logs declare of the judge of its scores, and of its prompt.

    Notes
    -----
    When not to use it: for the rows alone, which `skbench.read_items` returns.

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
        """Columns of the rows that hold the topic."""
        named = self.columns.get("topic", [])
        return topic_columns([named] if isinstance(named, str) else named)

    @property
    def key(self) -> list:
        """Columns of the rows that name an item."""
        return item_key(self.items, self.topics)

    def _printed(self):
        columns = ", ".join(map(str, self.items.columns))
        head = f"{len(self.items)} rows of items with the columns {columns}"
        return [head, *(f"- {note}" for note in self.notes)]

    __repr__, _repr_html_ = Printed.__repr__, Printed._repr_html_

    def changed(self, change: Callable[[pd.DataFrame], pd.DataFrame]) -> ItemRows:
        """The same with what a function makes of each of its tables."""
        frames = {name: getattr(self, name) for name in ("items", "groups", "blank")}
        known = {name: change(frame) for name, frame in frames.items() if frame is not None}
        return self._replace(**known)


class BadLines:
    """Lines that cannot be read: refused by default, or skipped and counted."""

    def __init__(self, skip=False):
        self.skip = skip
        self._skipped = {}

    def refuse(self, path, line, reason):
        """Raise or count; `line` is a number or a place."""
        place = f"line {line}" if isinstance(line, int) else line
        if not self.skip:
            raise ValueError(
                f"{str(path)!r}, {place}: {reason}. Mend or remove it, or pass "
                f"skip_bad_lines=True to go on without it."
            )
        self._skipped.setdefault(str(path), []).append(f"{place}: {reason}")

    def forget(self):
        """Forget what was skipped, before files are read again."""
        self._skipped = {}

    def notes(self):
        """One sentence per file, with the number of skipped lines and the first of them."""
        return [
            Note(
                f"{path!r}: skipped {len(reasons)} bad line{'s' * (len(reasons) > 1)} "
                f"({'first ' * (len(reasons) > 1)}{reasons[0]})",
                LOST,
            )
            for path, reasons in self._skipped.items()
        ]
