"""A report as text on the terminal and as JSON."""

import json

import click
import numpy as np

from skbench import __version__
from skbench.report import tables
from skbench.report.headline import headline
from skbench.report.markup import Cells
from skbench.report.terminal import ascii_only, print_line, print_prose, print_table
from skbench.report.unlike import unlike_in_words

JSON_VERSION = 1
_BAR_WIDTH = 30
_MARKS = "├─●┤"
_ASCII_MARKS = "|-o|"


def as_json(findings, about, verdicts):
    """The report as a JSON document whose keys do not change within a version.

    Parameters
    ----------
    findings : Findings
        What to tell.
    about : dict
        read, notes, score, command.
    verdicts : list of Verdict
        Thresholds.

    Returns
    -------
    str
        What is not known, or not finite, is null.
    """
    e, board = findings.estimate, findings.board
    document = {
        "format": "skbench-report",
        "format_version": JSON_VERSION,
        "version": __version__,
        **about,
        "headline": headline(findings),
        "size": findings.size,
        "confidence_level": e.confidence_level,
        "groups": {
            "method": e.method,
            "guarantee": e.guarantee,
            "features": list(findings.features),
            "rows": tables.records(findings.groups),
        },
        "past": None if findings.worth is None else findings.worth.for_json(),
        "models": {
            "method": board.estimate.method,
            "guarantee": board.estimate.guarantee,
            "may_be_best": [str(name) for name in board.rank_sets.best()],
            "remarks": list(board.remarks),
            "rows": tables.records(findings.models()),
        },
        "pairs": {
            "method": None if findings.comparison is None else findings.comparison.estimate.method,
            "test": None if findings.comparison is None else findings.comparison.test,
            "rows": tables.records(findings.pairs()),
        },
        "warnings": list(findings.warnings),
        "thresholds": [verdict._asdict() for verdict in verdicts],
    }
    return json.dumps(document, indent=1, default=tables.plain_value, allow_nan=False)


def print_report(findings, about, rows):
    """Print the report on stdout.

    Parameters
    ----------
    findings : Findings
        What to tell.
    about : dict
        read and score are printed.
    rows : int
        Most groups, and most pairs, to print.
    """
    print_line(about["read"])
    click.echo()
    print_prose(" ".join(headline(findings)))
    told = unlike_in_words(findings.groups)
    if told:
        _heading("Unlike their peers")
        for line in told:
            print_prose(line)
    _print_ranking(findings)
    _print_pairs(findings, rows)
    _print_groups(findings, rows)
    if findings.warnings:
        _heading("Beware")
        for warning in findings.warnings:
            print_prose(f"- {warning}")


def _heading(text):
    click.echo(f"\n{text}\n{'-' * len(text)}")


def _print_groups(findings, rows):
    e = findings.estimate
    _heading("Topics and models" if findings.size["topics"] else "Models")
    print_prose(f"{e.method}: {tables.promise(e)}")
    if findings.worth is not None:
        print_prose(findings.worth.sentence)
    table = findings.groups.head(rows)
    if len(table):
        print_table(_group_table(table, findings.groups))
    left = len(findings.groups) - len(table)
    if left:
        print_prose(f"{left} more groups are not printed: --rows {len(findings.groups)} or --html.")


def _group_table(table, everything):
    """Topics as headings over their models, with bars on one axis."""
    decimals = tables.decimals_for(everything["direct"])
    axis = everything[["low", "direct", "estimate"]].min().min(), everything["high"].max()
    ends = f"{axis[0]:.{decimals}f}", f"{axis[1]:.{decimals}f}"
    ruler = ends[0] + ends[1].rjust(_BAR_WIDTH - len(ends[0]))
    headers = ["", "n", "direct", "estimate", "low", "high", ruler]
    marks = _ASCII_MARKS if ascii_only() else _MARKS
    topics = table["topic"] if table["topic"].notna().any() else [None] * len(table)
    previous = None
    rows = []
    for topic, row in zip(topics, table.itertuples(), strict=True):
        if topic != previous:
            rows.append([topic, *[""] * (len(headers) - 1)])
            previous = topic
        numbers = (row.direct, row.estimate, row.low, row.high)
        rows.append(
            [
                f"  {row.model}",
                f"{row.n:g}",
                *(tables.rounded(value, decimals) for value in numbers),
                bar(row.estimate, row.low, row.high, axis, marks=marks),
            ]
        )
    rich = tables.plain_table(headers, rows, n_text=1)
    rich.columns[-1].justify = "left"
    return rich


def bar(value, low, high, axis, width=_BAR_WIDTH, marks=_MARKS):
    """An interval drawn with characters.

    Parameters
    ----------
    value, low, high : float
        Estimate and ends of its interval; nan draws nothing.
    axis : tuple of (float, float)
        Scores at the left and right edge.
    width : int, default=30
        Characters from edge to edge.
    marks : str, default="├─●┤"
        Left end, line, estimate and right end.

    Returns
    -------
    str

    Examples
    --------
    >>> bar(0.5, 0.25, 0.75, axis=(0, 1), width=9)
    '  ├─●─┤'
    """
    if not np.isfinite([value, low, high]).all() or axis[1] <= axis[0]:
        return ""
    places = (np.array([low, value, high]) - axis[0]) / (axis[1] - axis[0])
    start, dot, end = np.clip(np.round(places * (width - 1)), 0, width - 1).astype(int)
    left, line, point, right = marks
    cells = [" "] * start + [line] * (end - start + 1)
    cells[start], cells[end], cells[dot] = left, right, point
    return "".join(cells)


def group_cells(findings, rows):
    """The groups for people, and how many of them are left out.

    Parameters
    ----------
    findings : Findings
        What to tell.
    rows : int
        Most groups.

    Returns
    -------
    cells : Cells
    left : int
    """
    columns = ["topic", "model", "n", "direct", "estimate", "low", "high"]
    table = findings.groups[columns].head(rows)
    cells = tables.group_cells(table, tables.decimals_for(findings.groups["direct"]))
    return cells, max(0, len(findings.groups) - rows)


def _print_ranking(findings):
    board = findings.board
    _heading("Ranking" if len(board) > 1 else "Score")
    print_prose(f"{board.estimate.method}: {tables.promise(board.estimate)}")
    print_table(tables.plain_table(*ranking_cells(findings)))
    for sentence in ranking_in_words(findings):
        print_prose(sentence)


def ranking_cells(findings):
    """Models from best to worst, for people; a `Cells`."""
    table = findings.models()
    decimals = tables.decimals_for(table["estimate"])
    rows = []
    for row in table.itertuples():
        numbers = (tables.rounded(value, decimals) for value in (row.estimate, row.low, row.high))
        rows.append([str(row.model), tables.rank_range(row), *numbers, f"{row.n:g}"])
    return Cells(["model", "ranks", "score", "low", "high", "n"], rows, 1)


def ranking_in_words(findings):
    """What the ranks promise, who may be the best, and what else there is to know."""
    board = findings.board
    if len(board) > 1:
        level = f"{100 * board.estimate.confidence_level:g} %"
        best = ", ".join(str(name) for name in board.rank_sets.best())
        yield f"Ranks hold for all models at once ({level}). May be the best: {best}."
        yield from board.remarks


def _print_pairs(findings, rows):
    if len(findings.board) > 1:
        _heading("Pairs")
        for sentence in pair_sentences(findings, rows):
            print_prose(sentence)


def pair_sentences(findings, rows):
    """What the verdicts promise, and one sentence for each of the first pairs."""
    pairs = findings.pairs()
    yield (
        f"{findings.comparison.estimate.method}; verdicts and intervals hold for all pairs at "
        "once: a verdict is clear where the interval leaves out 0"
    )
    decimals = tables.decimals_for(findings.models()["estimate"])
    for row in pairs.head(rows).itertuples():
        yield verdict_in_words(row, decimals)
    if len(pairs) > rows:
        tied = (pairs["verdict"] == "tied").sum()
        yield (
            f"{tied} of {len(pairs)} pairs are tied; {len(pairs) - rows} of models further apart "
            f"in the ranking are not printed: --rows {len(pairs)} or --html."
        )


def verdict_in_words(pair, decimals):
    """One pair of models in a sentence.

    Parameters
    ----------
    pair : namedtuple
        A row of ``Findings.pairs()``.
    decimals : int
        Digits after the point.

    Returns
    -------
    str
    """
    if np.isnan(pair.difference):
        return f"{pair.model_a} and {pair.model_b} cannot be compared: they share no items."
    difference, low, high = (
        "unknown" if np.isnan(x) else f"{x:+.{decimals}f}"
        for x in (pair.difference, pair.low, pair.high)
    )
    interval = f"{difference}, {low} to {high}"
    if pair.verdict == "unknown":
        return f"Which of {pair.model_a} and {pair.model_b} is better is unknown ({interval})."
    if pair.verdict == "tied":
        return f"{pair.model_a} and {pair.model_b} are tied ({interval}){_needed(pair)}."
    return f"{pair.model_a} is {pair.verdict} than {pair.model_b} ({interval})."


def _needed(pair):
    """How many more items would decide, if that can be known."""
    if np.isinf(pair.more_items):
        return "; no number of items would decide if that is the true difference"
    if pair.more_items > 0:
        return f"; {pair.more_items:,.0f} more items would decide if that is the true difference"
    return ""
