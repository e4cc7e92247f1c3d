"""What callers want of files; None lets the reader choose, and report it."""

from typing import Any, NamedTuple


class Options(NamedTuple):
    """Columns or fields that play a role, as in `skbench.read_items`."""

    model: Any = None
    topic: Any = None
    item: str | None = None
    score: str | None = None
    cluster: str | None = None
    models: Any = None
    filter: str | None = None
    skip_bad_lines: bool = False
    version: str | None = None  # column that tells versions of one model apart
