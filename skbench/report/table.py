"""A table for people: what commands fill, and writers print."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Column(NamedTuple):
    """A column: text as it stands, or numbers in a format or as a function writes them."""

    heading: str
    cells: Sequence
    form: str | Callable | None = None
    align: str | None = None  # "left", "right"; None: numbers right, text left
    narrow: bool = True  # whether narrow terminals show it

    @property
    def is_left(self):
        """Whether cells are flush left, and may be folded."""
        return self.align == "left" or (self.align is None and self.form is None)

    def texts(self):
        """The cells as they are printed."""
        if self.form is None:
            return [str(cell) for cell in self.cells]
        write = self.form if callable(self.form) else lambda cell: number(cell, self.form)
        return [write(cell) for cell in self.cells]


class Table(NamedTuple):
    """Columns, lines before them, what their intervals promise, and sentences after them."""

    columns: Sequence[Column]
    head: Sequence[str] = ()
    promise: str = ""
    notes: Sequence[str] = ()
    nests: str = ""  # a column that narrow terminals show as headings over the first
    nests_always: bool = False  # and wide ones, too

    def rows(self):
        """The text of all cells, row by row."""
        return list(zip(*(column.texts() for column in self.columns), strict=True))

    def first(self, n):
        """The same with the first n rows; None takes all."""
        columns = [column._replace(cells=list(column.cells)[:n]) for column in self.columns]
        return self._replace(columns=columns)

    def narrowed(self):
        """The same without what narrow terminals do not show."""
        table = self.nested() if self.nests else self
        return table._replace(columns=[column for column in table.columns if column.narrow])

    def nested(self):
        """The same with the cells of the column `nests` as headings over those of the first."""
        (outer,) = (column for column in self.columns if column.heading == self.nests)
        inner, *others = (column for column in self.columns if column is not outer)
        above = outer.texts()
        starts = [i == 0 or above[i] != above[i - 1] for i in range(len(above))]

        def spread(cells, headings):
            for cell, heading, starts_here in zip(cells, headings, starts, strict=True):
                yield from [heading, cell] if starts_here else [cell]

        names = list(spread([f"  {name}" for name in inner.texts()], above))
        columns = [Column(f"{outer.heading}, {inner.heading}", names)]
        for column in others:
            cells = list(spread(column.texts(), [""] * len(above)))
            align = "left" if column.is_left else "right"
            columns.append(column._replace(cells=cells, form=None, align=align))
        return self._replace(columns=columns, nests="")


def number(value, form):
    """A number in this format; what is not known is said, what is not there is blank."""
    if value is None:
        return ""
    if math.isnan(value):
        return "unknown"
    return f"{value:{_without_minus_zero(form)}}" if math.isfinite(value) else "infinite"


def _without_minus_zero(form):
    """The format with the z that prints what is rounded to zero as 0.000, and never -0.000."""
    if form[-1:] not in "eEfFgG%" or "z" in form:
        return form
    sign = form[:1] if form[:1] in "+- " else ""
    return f"{sign}z{form.removeprefix(sign)}"


def p_value(p):
    """A p-value with four digits."""
    return "<.0001" if p < 1e-4 else number(p, ".4f")


def decimals_for(values):
    """Digits after the point that show scores of this size to three figures.

    >>> decimals_for([0.25, 1.0]), decimals_for([3.0, 100.0]), decimals_for([0.012])
    (3, 1, 4)
    """
    import numpy as np

    values = np.abs(np.asarray(values, dtype=float))
    largest = np.max(values, initial=0, where=np.isfinite(values))
    if largest == 0:
        return 3
    # 1 and 100 are printed like the scores below them.
    magnitude = int(np.ceil(np.log10(largest) - 1e-9))
    return int(np.clip(3 - magnitude, 1, 8))


def score_form(values):
    """The format in which scores of this size are printed."""
    return f"z.{decimals_for(values)}f"
