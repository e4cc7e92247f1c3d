"""How containers look: as text, in notebooks, and their tables at 80 columns."""

from html import escape
from textwrap import fill

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


def shown(frame):
    """The first rows of a table, rounded, and how many more there are."""
    text = frame.head(_ROWS_SHOWN).to_string(float_format=_rounded)
    return "\n".join([text, *_more(frame)])


def shown_as_html(head, frame):
    """The same for notebooks: escaped, and without colors, which light and dark pages have."""
    table = frame.head(_ROWS_SHOWN).to_html(float_format=_rounded, border=0)
    lines = [f"<p>{escape(head)}</p>", table, *(f"<p>{line}</p>" for line in _more(frame))]
    return f"<div>{''.join(lines)}</div>"


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


def _more(frame):
    more = len(frame) - _ROWS_SHOWN
    return [f"... and {more} more"] if more > 0 else []
