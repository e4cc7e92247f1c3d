"""Representation of results as text and in notebooks, with tables of at most 80 columns."""

from html import escape
from itertools import groupby
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pandas as pd

NUMBERS = ("value", "low", "high", "standard_error")
_WORDS = ("method", "guarantee")
_ROWS_SHOWN = 6


class EstimateTable(pd.DataFrame):
    """A DataFrame that prints method and guarantee below its numbers if it is too wide."""

    @property
    def _constructor(self):
        return EstimateTable

    def __repr__(self):
        width = pd.get_option("display.width") or 80
        rows = {"max_rows": pd.get_option("display.max_rows"), "min_rows": 10}
        words = _words(self)
        if not words or max(map(len, self.to_string(**rows).splitlines())) <= width:
            return super().__repr__()
        numbers = self.drop(columns=list(words))
        numbers = numbers.to_string(**rows, float_format=_rounded, line_width=width)
        below = "; ".join(f"{name}: {text}" for name, text in words.items())
        return f"{numbers}\n{fill(below, width)}"


def _words(frame):
    """Return the distinct texts of method and guarantee; empty if these columns were changed."""
    names = [name for name in _WORDS if name in frame.columns] if frame.columns.is_unique else []
    found = {name: frame[name].unique() for name in names}
    isword = [isinstance(word, str) for words in found.values() for word in words]
    return {name: ", ".join(words) for name, words in found.items()} if all(isword) else {}


class PrintedTable(NamedTuple):
    """A table to print, with the number of significant digits and of rows (None for all)."""

    frame: pd.DataFrame
    digits: int = 4
    most: int | None = 20

    def printed(self, to):
        form = f".{self.digits}g"
        return to(self.frame, max_rows=self.most, float_format=lambda x: format(x, form))


def first_rows(frame):
    """Return the first rows of a table and a line that counts the others."""
    more = len(frame) - _ROWS_SHOWN
    return [PrintedTable(frame.head(_ROWS_SHOWN)), *([f"... and {more} more"] if more > 0 else [])]


class Printed:
    """Base of results; `_printed` lists the sentences and tables of their representation."""

    def __repr__(self):
        return "\n".join(
            part if isinstance(part, str) else part.printed(pd.DataFrame.to_string)
            for part in self._printed()
        )

    def _repr_html_(self):
        """Return escaped HTML without math typesetting, in the colors of the page."""
        lines = []
        with pd.option_context("display.max_colwidth", None):
            for kind, parts in groupby(self._printed(), type):
                if kind is PrintedTable:
                    lines += [part.printed(_to_html) for part in parts]
                else:
                    lines.append(f"<p>{'<br>'.join(map(escape, parts))}</p>")
        return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(lines)}</div>'


def _to_html(frame, **options):
    return pd.DataFrame.to_html(frame, border=0, **options)


def records(frame):
    """Return rows as dictionaries for JSON; missing or non-finite values are None."""
    return [
        {name: known_or_none(value) for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


def known_or_none(value):
    value = value.item() if isinstance(value, np.generic) else value
    unknown = value is None or (isinstance(value, float) and not np.isfinite(value))
    return None if unknown else value


def _rounded(x):
    return f"{x:.4g}"
