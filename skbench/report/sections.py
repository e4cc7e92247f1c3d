"""A report as sections with tables, on the terminal and in Markdown, and its tables in LaTeX."""

from functools import partial
from typing import NamedTuple

import click
import numpy as np
import pandas as pd

from skbench._files import append_whole
from skbench._notes import SUMMARY
from skbench._numbers import markdown_text, number, score_form
from skbench._printed import NUMBERS
from skbench.comparison.extreme_groups import likely_in_words
from skbench.comparison.tradeoffs import cost_in_words
from skbench.report import tables
from skbench.report.headline import facts, headline
from skbench.report.table import Column, Table
from skbench.report.terminal import (
    MOST_ROWS,
    ascii_only,
    note,
    print_line,
    print_next,
    print_prose,
    setting,
    width,
)
from skbench.report.understanding import counted
from skbench.report.writers import as_latex, as_list, as_markdown, print_whole

_BAR_WIDTH, _SHORTEST_BAR = 30, 12
_MARKS = "├─●┤"
_ASCII_MARKS = "|-o|"
_GROUP_HEADINGS = ("Models", "Topics and models")
GROUP_COLUMNS = ("direct", "direct"), *tables.ESTIMATES


class Section(NamedTuple):
    """A heading, a sentence above, a table, and a list of sentences."""

    heading: str
    lead: str = ""
    table: Table | None = None
    sentences: tuple = ()


def sections(findings, with_bars=False, n_pairs=None):
    """The sections after the headline, with at most n_pairs pairs and models (None: all)."""
    outliers = tables.outlying_in_words(findings.groups)
    if outliers:
        yield Section("Outliers", outliers[0], sentences=outliers[1:])
    yield Section("Ranking" if len(findings.board) > 1 else "Score", table=ranking(findings))
    if len(findings.board) > 1:
        lead, *sentences = pair_sentences(findings, n_pairs)
        yield Section("Pairs", lead, sentences=sentences)
    if findings.tradeoff is not None:
        lead, *sentences = findings.tradeoff.sentences()
        yield Section("Score and cost", lead, score_and_cost(findings), sentences)
    if findings.extremes is not None:
        lead, *sentences = worst_sentences(findings, n_pairs)
        yield Section("Worst topics", lead, sentences=sentences)
    heading = _GROUP_HEADINGS[findings.size["topics"] > 0]
    yield Section(heading, table=_groups(findings, with_bars))
    if findings.warnings:
        yield Section("Warnings", sentences=findings.warnings)


def print_report(findings, about, next_commands):
    """Print the report and the commands to run next on stdout."""
    print_line(about["read"])
    click.echo()
    print_prose(" ".join(headline(findings)))
    for section in sections(findings, with_bars=True, n_pairs=setting(MOST_ROWS)):
        click.echo(f"\n{section.heading}\n{'-' * len(section.heading)}")
        if section.lead:
            print_prose(section.lead)
        if section.table is not None:
            print_whole(section.table)
            print_prose(f"{section.table.promise}.")
        for sentence in section.sentences:
            print_prose(f"- {sentence.strip()}")
    print_next(next_commands)


def as_markdown_report(findings, about, verdicts):
    """The whole report in Markdown."""
    parts = _in_markdown(sections(findings))
    return "\n\n".join([*_head(findings, about, verdicts), *parts])


def write_summary(path, findings, about, verdicts):
    """Append the report without pairs and groups to the Markdown page of a CI job."""
    long = ("Pairs", "Worst topics", *_GROUP_HEADINGS)
    short = [s for s in sections(findings) if s.heading not in long]
    text = "\n\n".join([*_head(findings, about, verdicts), *_in_markdown(short)])
    append_whole(path, f"{text}\n\n")  # other steps of the job write to the same file
    note(f"summary: {path}", SUMMARY)


def as_latex_report(findings):
    """The tables of the ranking and of the groups, for the LaTeX package booktabs."""
    return "\n\n".join(as_latex(s.table) for s in sections(findings) if s.table is not None)


def _head(findings, about, verdicts):
    yield "## Conclusion"
    yield f"**{markdown_text(' '.join(headline(findings)))}**"
    yield as_list(f"{name}: {text}" for name, text in facts(findings, about))
    if verdicts:
        yield as_list(verdict.sentence for verdict in verdicts)


def _in_markdown(parts):
    for section in parts:
        yield f"### {section.heading}"
        if section.lead:
            yield markdown_text(section.lead)
        if section.table is not None:
            yield as_markdown(section.table)
        if section.sentences:
            yield as_list(section.sentences)


def ranking(findings):
    """The models from best to worst, with scores and rank sets."""
    board, table = findings.board, findings.models
    form = score_form(table["value"])
    columns = [
        Column("model", table["model"]),
        Column("ranks", [tables.rank_range(row) for row in table.itertuples()], align="right"),
        Column("score", table["value"], form),
        Column("low", table["low"], form),
        Column("high", table["high"], form),
        Column("n", table["n"], "g"),
    ]
    notes = []
    if len(board) > 1:
        level = f"{100 * board.estimate.confidence_level:g}%"
        best = ", ".join(str(name) for name in board.rank_sets.best())
        notes = [
            f'Column "ranks": the possible ranks of each model (simultaneous {level} confidence).',
            f"May be the best: {best}.",
            *board.remarks,
        ]
    return Table(columns, promise=tables.method_and_promise(board.estimate), notes=notes)


def score_and_cost(findings):
    """The models with their scores and costs, and whether they may be on the frontier."""
    found = findings.tradeoff
    table, form = found.to_frame(), score_form(found.score.value)
    verdict = [
        "may be on the frontier" if row.may_be_on_frontier else f"dominated by {row.dominated_by}"
        for row in table.itertuples()
    ]
    parts = [("score", form), ("cost", cost_in_words)]
    columns = [Column("model", list(table.index))]
    for name, own in parts:
        headings = {name: name, f"{name}_low": "low", f"{name}_high": "high"}
        columns += [Column(text, table[x], own) for x, text in headings.items()]
    level = f"{100 * found.confidence_level:g}%"
    promise = (
        f"The cost is {found.cost_name} per item. The two intervals of a model cover its true "
        f"score and its true cost simultaneously ({level}). The verdicts hold simultaneously for "
        f"all models ({level})"
    )
    return Table([*columns, Column("verdict", verdict)], promise=promise, notes=found.remarks)


def _groups(findings, with_bars):
    """The groups; on the terminal with topics as headings and with bars on one axis."""
    groups = findings.groups
    notes = [] if findings.worth is None else [findings.worth.sentence]
    about = {"promise": tables.method_and_promise(findings.estimate), "notes": notes}
    if not with_bars:
        return tables.group_table(groups, GROUP_COLUMNS, ("topic", "model"), **about)
    nests = "topic" if groups["topic"].notna().any() else ""
    table = tables.group_table(groups, GROUP_COLUMNS, nests=nests, nests_always=True, **about)
    room = width() - table.width()
    if room < _SHORTEST_BAR:
        return table
    return table._replace(columns=[*table.columns, _bars(groups, min(room, _BAR_WIDTH))])


def _bars(rows, room):
    form = score_form(rows["direct"])
    axis = rows[["low", "direct", "value"]].min().min(), rows["high"].max()
    ends = [number(end, form) for end in axis]
    marks = _ASCII_MARKS if ascii_only() else _MARKS
    drawn = zip(rows["value"], rows["low"], rows["high"], strict=True)
    heading = ends[0] + ends[1].rjust(room - len(ends[0]))
    draw = partial(_drawn, axis=axis, width=room, marks=marks)
    return Column(heading, list(drawn), draw, align="left")


def _drawn(row, **settings):
    return bar(*row, **settings)


def bar(value, low, high, axis, width=_BAR_WIDTH, marks=_MARKS):
    """An interval drawn with characters on an axis of this width; empty if a number is nan.

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


def pair_sentences(findings, n_pairs):
    """The guarantee of the verdicts, and a sentence for each of the first pairs (None: all)."""
    pairs = findings.pairs
    yield (
        f"Method: {findings.comparison.estimate.method}. A difference is significant if its "
        "interval excludes 0. Verdicts and intervals hold simultaneously for all pairs. Numbers of "
        "further items are for 80% power, if the observed difference is the true one."
    )
    decimals = score_form(findings.models["value"])[1:]
    shown = pairs.iloc[:n_pairs]
    for row in shown.itertuples():
        yield verdict_in_words(row, decimals)
    if len(shown) < len(pairs):
        yield f"{len(pairs) - len(shown)} more pairs, with ranks further apart (--rows all)"


def verdict_in_words(pair, form):
    """A row of `Findings.pairs` in a sentence, with numbers in this format."""
    if np.isnan(pair.value):
        return f"{pair.model_a} and {pair.model_b} cannot be compared, because they share no items."
    difference, low, high = (number(x, f"+{form}") for x in (pair.value, pair.low, pair.high))
    interval = f"{difference}, {low} to {high}"
    if pair.verdict == "unknown":
        return f"It is unknown which of {pair.model_a} and {pair.model_b} is better ({interval})."
    if pair.verdict == "tied":
        names = f"{pair.model_a} and {pair.model_b}"
        return f"{names} are not significantly different ({interval}).{_needed(pair)}"
    return f"{pair.model_a} is significantly {pair.verdict} than {pair.model_b} ({interval})."


def _needed(pair):
    """A sentence on the items that would make the difference significant, if it is known."""
    if np.isinf(pair.more_items):
        return " No number of items would distinguish them."
    if pair.more_items > 0:
        return f" {pair.more_items:,.0f} more items would distinguish them."
    return ""


def extreme_rows(findings):
    """One row per model and extreme (worst and best topic, their gap), the best model first."""
    if findings.extremes is None:
        return pd.DataFrame(columns=["model", "extreme", *NUMBERS, "method", "guarantee"])
    rows = findings.extremes.to_frame().reset_index().astype({"model": str})
    place = dict(zip(findings.models["model"], range(len(findings.board)), strict=True))
    return rows.sort_values("model", key=lambda names: names.map(place), kind="stable")


def worst_sentences(findings, most=None):
    """The guarantee of the intervals, and the worst topics of the first models (None: all)."""
    yield (
        f"{tables.promise(findings.extremes)}. In brackets: the probability that a topic is the "
        "worst."
    )
    rows = extreme_rows(findings)
    chances = findings.worst_chances.groupby("model", sort=False)
    worst = rows[rows["extreme"] == "worst"]
    form = score_form(findings.groups["direct"])
    for row in worst.iloc[:most].itertuples():
        own = chances.get_group(row.model).set_index("topic")["worst_probability"]
        low, high = (number(x, form) for x in (row.low, row.high))
        yield (
            f"{row.model}: the worst topic scores between {low} and {high}. It is most likely "
            f"{likely_in_words(own)}."
        )
    if len(worst.iloc[:most]) < len(worst):
        yield f"{counted(len(worst) - len(worst.iloc[:most]), 'more model')} (--rows all)"


def document(findings, about, verdicts):
    """The report for JSON."""
    e, board, pairs = findings.estimate, findings.board, findings.comparison
    return {
        **about,
        "headline": headline(findings),
        **{f"n_{name}": number for name, number in findings.size.items()},
        "method": e.method,
        "guarantee": e.guarantee,
        "features": findings.features,
        "past": None if findings.worth is None else findings.worth._asdict(),
        "ranking": {
            "method": board.estimate.method,
            "guarantee": board.estimate.guarantee,
            "test": None if pairs is None else pairs.test,
            "may_be_best": [str(name) for name in board.rank_sets.best()],
            "remarks": board.remarks,
        },
        "groups": findings.groups,
        "models": findings.models,
        "pairs": findings.pairs,
        "tradeoff": None if findings.tradeoff is None else _traded(findings.tradeoff),
        "extremes": extreme_rows(findings),
        "warnings": findings.warnings,
        "thresholds": [verdict._asdict() for verdict in verdicts],
    }


def _traded(found):
    """Scores and costs for JSON."""
    return {
        "cost": found.cost_name,
        "method": found.cost.method,
        "guarantee": found.cost.guarantee,
        "sentences": found.sentences(),
        "remarks": found.remarks,
        "models": tables.labeled_rows(found.to_frame().rename_axis("model")),
    }
