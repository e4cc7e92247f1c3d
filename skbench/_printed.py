"""How results look: as text, in notebooks, and their tables at 80 columns."""

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
    """A DataFrame that, printed, gives its numbers the room, and so do parts of it."""

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
        told = "; ".join(f"{name}: {text}" for name, text in words.items())
        return f"{numbers}\n{fill(told, width)}"


def _words(frame):
    """What columns of words say, once each; changed columns, or several of a name, say nothing."""
    names = [name for name in _WORDS if name in frame.columns] if frame.columns.is_unique else []
    found = {name: frame[name].unique() for name in names}
    isword = [isinstance(word, str) for words in found.values() for word in words]
    return {name: ", ".join(words) for name, words in found.items()} if all(isword) else {}


class PrintedTable(NamedTuple):
    """A table to print: significant digits, and how many rows at most (None: all)."""

    frame: pd.DataFrame
    digits: int = 4
    most: int | None = 20

    def printed(self, to):
        form = f".{self.digits}g"
        return to(self.frame, max_rows=self.most, float_format=lambda x: format(x, form))


def first_rows(frame):
    """The first rows of a table, and how many more there are."""
    more = len(frame) - _ROWS_SHOWN
    return [PrintedTable(frame.head(_ROWS_SHOWN)), *([f"... and {more} more"] if more > 0 else [])]


class Printed:
    """A result that is printed as what `_printed` lists: sentences and `PrintedTable`s."""

    def __repr__(self):
        return "\n".join(
            part if isinstance(part, str) else part.printed(pd.DataFrame.to_string)
            for part in self._printed()
        )

    def _repr_html_(self):
        """Escaped, never typeset as math, and in the colors of the page, light or dark."""
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
    """Rows of a table as dictionaries for JSON: what is not known, or not finite, is None."""
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
