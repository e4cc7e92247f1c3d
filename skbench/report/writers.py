"""Tables on the terminal, in Markdown and in LaTeX."""

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from skbench._numbers import markdown_text, visible
from skbench.report import terminal

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}


def print_whole(table):
    """Print the conclusion, the columns, the notes and the next commands on stdout."""
    if table.conclusion:
        terminal.print_prose(" ".join(table.conclusion) + ("\n" if table.columns else ""))
    for line in table.head:
        terminal.print_line(line)
    if table.columns:
        print_grid(table)
    promise = [f"{table.promise}."] if table.conclusion and table.promise else []
    for sentence in [*promise, *table.notes]:
        terminal.print_prose(sentence)
    terminal.print_next(table.next_commands)


def print_grid(table):
    """Print the first rows on stdout, with fewer columns if all of them do not fit."""
    shown = table.first(terminal.setting(terminal.MOST_ROWS))
    wide = shown.nested() if table.nests and table.nests_always else shown
    terminal.print_table(as_rich(wide), as_rich(shown.narrowed()))
    more = len(table.columns[0].cells) - len(shown.columns[0].cells)
    if more:
        terminal.print_line(f"{more:,} more rows (print them with --rows all)")


def as_rich(table):
    """The columns as a table of rich, in which text may be folded."""
    rich = RichTable(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        rich.add_column(
            Text("\n".join(map(visible, column.heading.split("\n")))),
            justify="left" if column.is_left else "right",
            no_wrap=not column.is_left,
            overflow="fold",
        )
    for row in table.rows():
        rich.add_row(*(Text(visible(cell)) for cell in row))
    return rich


def as_markdown(table):
    """The table in Markdown: conclusion, columns, guarantee and notes.

    >>> from skbench.report.table import Column, Table
    >>> print(as_markdown(Table([Column("model", ["a|b"]), Column("score", [0.5], ".1f")])))
    | model | score |
    | :-- | --: |
    | a\\|b | 0.5 |
    """
    marks = [":--" if column.is_left else "--:" for column in table.columns]
    headings = [column.heading.replace("\n", " ") for column in table.columns]
    head, *rows = (list(map(markdown_text, row)) for row in (headings, *table.rows()))
    grid = "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))
    conclusion = " ".join(map(markdown_text, table.conclusion))
    promise = markdown_text(f"{table.promise}." if table.promise else "")
    return "\n\n".join(filter(None, [conclusion, grid, promise, as_list(table.notes)]))


def as_list(sentences):
    """Sentences as a list in Markdown."""
    return "\n".join(f"- {markdown_text(text.strip())}" for text in sentences if text.strip())


def as_latex(table):
    r"""The table in LaTeX (package booktabs), with its guarantee or first note as the caption.

    >>> from skbench.report.table import Column, Table
    >>> print(as_latex(Table([Column("model", ["a_b"]), Column("score", [0.5], ".1f")])))
    \begin{table}
    \caption{}
    \begin{tabular}{lr}
    \toprule
    model & score \\
    \midrule
    a\_b & 0.5 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    caption = table.promise or next(iter(table.notes), "")
    places = "".join("l" if column.is_left else "r" for column in table.columns)
    headings = [column.heading for column in table.columns]
    head, *rows = (f"{' & '.join(map(latex_text, row))} \\\\" for row in (headings, *table.rows()))
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{latex_text(caption)}}}",
            rf"\begin{{tabular}}{{{places}}}",
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
    """Text with the special characters of LaTeX escaped."""
    flat = visible(str(text).replace("\n", " "))
    return "".join(_LATEX.get(character, character) for character in flat)
