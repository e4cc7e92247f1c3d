"""Tables and figures of papers next to the results of skbench, one module per paper.

All quoted numbers come from ``quoted.csv`` in this folder.
"""

import argparse
import csv
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
GOLD = ROOT / "tests" / "gold"
QUOTED = Path(__file__).with_name("quoted.csv")
HEADS = ("", "paper", "here", "difference", "why")
# A hyphen between two digits, as in 2023-07, is not a sign.
_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d[\d,]*\d|\d)?\.?\d+(?:e[-+]?\d+)?(?![\d.]*\w)")
_SPREAD = re.compile(r"\(\s*[\d.]+\s*\)")


def data_folder():
    """Return the folder of the public data: $SKBENCH_DATA, or ../shared/data."""
    folder = Path(os.environ.get("SKBENCH_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}")
    return folder


def from_one(text):
    """Parse a whole number of at least 1 from an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


class Quotation(str):
    """A cell quoted from a paper; use `quoted` to create it."""


NOT_PRINTED = Quotation("-")


@cache
def quotations():
    """Return every quoted cell by paper, place, row and column."""
    with QUOTED.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells = {(r["paper"], r["place"], r["row"], r["column"]): r["value"] for r in rows}
    if len(cells) < len(rows):
        raise ValueError(f"{QUOTED.name} quotes a cell twice.")
    return cells


def quoted(paper, place, row, *columns, form=None):
    """Return the quoted cells of one row, joined by `form` or by commas."""
    cells = [quotations()[paper, place, row, column] for column in columns]
    return Quotation(form.format(*cells) if form else ", ".join(cells))


@dataclass(frozen=True)
class Row:
    """One printed figure, the figure from skbench, and the reason for the difference.

    By default the difference compares the numbers of both texts one by one. It ignores single
    numbers in parentheses, because they are standard errors or deviations.
    """

    what: str
    paper: Quotation
    here: str
    why: str = ""
    difference: str | None = None

    def __post_init__(self):
        if not isinstance(self.paper, Quotation):
            raise TypeError(
                f"{self.what}: {self.paper!r} is not quoted. Use quoted(...) or NOT_PRINTED."
            )

    @property
    def cells(self):
        """The cells of the row, in the order of `HEADS`."""
        apart = _difference(self.paper, self.here) if self.difference is None else self.difference
        return self.what, self.paper, self.here, apart, self.why


class Table(NamedTuple):
    """Rows of a table or figure of a paper; `why` gives the reason if a row lacks data."""

    title: str
    rows: list


def _difference(paper, here):
    """Return here minus paper for each number, or nothing if the texts do not match."""
    old, new = (_NUMBER.findall(_SPREAD.sub("", text)) for text in (paper, here))
    if not old or len(old) != len(new):
        return ""
    return ", ".join(map(_minus, new, old))


def _minus(new, old):
    digits = max(len(text.partition(".")[2]) for text in (new, old))
    new, old = (float(text.replace(",", "").replace("−", "-")) for text in (new, old))
    text = f"{new - old:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def figure(value, digits=2, error=None):
    """Format a number with its standard error in parentheses."""
    text = f"{value:.{digits}f}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return text if error is None else f"{text} ({error:.{digits}f})"


def printed(table):
    """Return the table as text."""
    rows = [HEADS, *(row.cells for row in table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    return "\n".join([table.title, *lines, ""])


def as_rst(table):
    """Return the table as reStructuredText."""
    lines = [
        f"**{_escaped(table.title)}**",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 30 14 18 12 26",
        "",
    ]
    for row in [HEADS, *(row.cells for row in table.rows)]:
        lines += [
            f"   {'* -' if i == 0 else '  -'} {_escaped(cell)}".rstrip()
            for i, cell in enumerate(row)
        ]
    return "\n".join([*lines, "", ""])


def _escaped(text):
    """Escape markup, except in ``code``."""
    if text == "-":
        return r"\-"  # by itself it is an empty list
    parts = re.split(r"(``.*?``)", text)
    return "".join(
        part if part.startswith("``") else re.sub(r"([\\|*_`])", r"\\\1", part) for part in parts
    )
