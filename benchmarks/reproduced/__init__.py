"""The papers' tables and figures, one module each: what is printed, and what comes out here."""

import os
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
GOLD = ROOT / "tests" / "gold"


def data_folder():
    """Where the public data are: $SKBENCH_DATA, or ../shared/data."""
    return Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))


class Row(NamedTuple):
    """One figure of a paper, what comes out here, and why they differ."""

    what: str
    paper: str
    here: str
    why: str = ""


class Table(NamedTuple):
    """Rows of a table or figure of a paper; a row without data says so in `why`."""

    title: str
    rows: list


def figure(value, digits=2, error=None):
    """A number without the 0 before its point, with its standard error."""
    text = f"{value:.{digits}f}"
    text = text.removeprefix("0") if text.startswith("0.") else text.replace("-0.", "-.")
    return text if error is None else f"{text} ({figure(error, digits)})"


def printed(table):
    """The table as text."""
    heads = Row("", "paper", "here", "why they differ")
    widths = [max(len(row[i]) for row in [heads, *table.rows]) for i in range(3)]
    lines = [
        "  ".join(
            [*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row.why]
        ).rstrip()
        for row in [heads, *table.rows]
    ]
    return "\n".join([table.title, *lines, ""])


def as_rst(table):
    """The table as reStructuredText."""
    lines = [
        f"**{table.title}**",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 34 14 20 32",
    ]
    lines.append("")
    for row in [Row("", "paper", "here", "why they differ"), *table.rows]:
        cells = [cell.replace("|", "\\|").replace("*", "\\*") for cell in row]
        lines += [
            f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(cells)
        ]
    return "\n".join([*lines, "", ""])
