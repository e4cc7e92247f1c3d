"""The caller's options for reading. None lets the reader choose and report its choice."""

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
    version: str | None = None  # column that identifies versions of one model
