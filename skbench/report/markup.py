"""Tables of text as Markdown and LaTeX, and cells that spreadsheets take for formulas."""

import re
from typing import NamedTuple

from skbench.report.terminal import visible

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a cell starts with that is run


class Cells(NamedTuple):
    """A table for people.

    Attributes
    ----------
    headers : list of str
        Names of the columns, broken in lines where a terminal shall do so.
    rows : list of list of str
        Text of the cells.
    n_text : int
        How many of the first columns are text; the others are numbers, flush right.
    """

    headers: list
    rows: list
    n_text: int


def as_markdown(cells):
    """A table in Markdown.

    Parameters
    ----------
    cells : Cells

    Returns
    -------
    str

    Examples
    --------
    >>> print(as_markdown(Cells(["model", "score"], [["a|b", "0.5"]], 1)))
    | model | score |
    | :-- | --: |
    | a\\|b | 0.5 |
    """
    marks = [":--" if at < cells.n_text else "--:" for at in range(len(cells.headers))]
    headers = [header.replace("\n", " ") for header in cells.headers]
    told = [list(map(markdown_text, row)) for row in (headers, *cells.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (told[0], marks, *told[1:]))


def markdown_text(text):
    """Text as it stands, whatever it means in Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>|~])", r"\\\1", visible(text).replace("&", "&amp;"))


def as_latex(cells, caption):
    """A table in LaTeX, for the package booktabs.

    Parameters
    ----------
    cells : Cells
    caption : str

    Returns
    -------
    str

    Examples
    --------
    >>> print(as_latex(Cells(["model", "score"], [["a_b", "0.5"]], 1), "Scores"))
    \\begin{table}
    \\caption{Scores}
    \\begin{tabular}{lr}
    \\toprule
    model & score \\\\
    \\midrule
    a\\_b & 0.5 \\\\
    \\bottomrule
    \\end{tabular}
    \\end{table}
    """
    columns = "".join("l" if at < cells.n_text else "r" for at in range(len(cells.headers)))
    head, *rows = (
        f"{' & '.join(map(latex_text, row))} \\\\" for row in (cells.headers, *cells.rows)
    )
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{latex_text(caption)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def latex_text(text):
    """Text as it stands, whatever its characters mean in LaTeX."""
    return "".join(_LATEX.get(character, character) for character in visible(_flat(text)))


def _flat(text):
    return str(text).replace("\n", " ")


def no_formula(value):
    """Text that a spreadsheet will show and not run; anything else as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
