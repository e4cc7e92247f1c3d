"""A table for people, which commands fill and `writers` print."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from skbench._numbers import number


class Column(NamedTuple):
    """A column of text, or of numbers with a format or a function that writes them."""

    heading: str
    cells: Sequence
    form: str | Callable | None = None
    align: str | None = None  # "left", "right"; None: numbers right, text left
    narrow: bool = True  # whether it is shown if the table is too wide

    @property
    def is_left(self):
        """Whether cells are flush left and may be folded."""
        return self.align == "left" or (self.align is None and self.form is None)

    def texts(self):
        """The printed cells."""
        if self.form is None:
            return [str(cell) for cell in self.cells]
        write = self.form if callable(self.form) else lambda cell: number(cell, self.form)
        return [write(cell) for cell in self.cells]


class Table(NamedTuple):
    """Columns with the sentences before and after them, and commands to run next."""

    columns: Sequence[Column]
    head: Sequence[str] = ()  # lines before the columns
    promise: str = ""  # the method and the guarantee of the intervals
    notes: Sequence[str] = ()  # sentences after the columns
    nests: str = ""  # a column that becomes headings over the first if the table is too wide
    nests_always: bool = False  # whether it does so in any case
    conclusion: Sequence[str] = ()  # sentences before everything else
    next_commands: Sequence[str] = ()

    def rows(self):
        """The text of all cells, row by row."""
        return list(zip(*(column.texts() for column in self.columns), strict=True))

    def first(self, n):
        """The table with the first n rows; None takes all."""
        columns = [column._replace(cells=list(column.cells)[:n]) for column in self.columns]
        return self._replace(columns=columns)

    def narrowed(self):
        """The table with the columns for narrow terminals."""
        table = self.nested() if self.nests else self
        return table._replace(columns=[column for column in table.columns if column.narrow])

    def width(self):
        """Columns of a terminal that the table takes, with a gap after each column."""
        table = self.nested() if self.nests else self
        return sum(
            2 + max(map(len, [*column.heading.split("\n"), *column.texts()]))
            for column in table.columns
        )

    def nested(self):
        """The table with the cells of column `nests` as headings over those of the first."""
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


def p_value(p):
    """A p-value with four digits."""
    return "<0.0001" if p < 1e-4 else number(p, ".4f")
