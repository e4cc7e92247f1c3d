"""`skbench leaderboard`: the models from best to worst, and which of them may be the best."""

import shlex
from dataclasses import replace
from pathlib import Path

import click

from skbench._numbers import score_form
from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import (
    headline,
    pasts,
    rank_scores,
    reading,
    tables,
    understanding,
)
from skbench.report.options import Names, model_options, plot_option, population_option
from skbench.report.paths import Input
from skbench.report.table import Column, Table
from skbench.report.terminal import (
    DataError,
    command_with,
    in_one_line,
    save_picture,
    working,
)

_MOST_LETTERS = 12  # groups of models that letters keep readable


@click.command()
@click.argument("file", type=Input())
@click.option(
    "--topics", type=Names(), help="Topic column(s). The ranking then weights all topics equally."
)
@model_options
@click.option(
    "--half-width", help="For a table of means: column of their half-widths (1.96 standard errors)."
)
@click.option(
    "--n-runs", type=click.IntRange(2), help="With --half-width: number of runs per mean.  [10]"
)
@population_option
@plot_option
@format_options
def leaderboard(file, topics, bounds, confidence_level, missing, half_width, n_runs, **options):
    """Rank the models in FILE by their mean score.

    FILE is a table (CSV, TSV, JSON Lines or Parquet), a log of an evaluation harness, or
    a folder of logs. A table has one row per model and item, or one row per item and one
    score column per model. Columns are recognized by common names. Notes on stderr list
    the columns in use. The options below select other columns.

    The output has an interval for the score of each model, and a set of possible ranks.
    The rank sets follow from paired comparisons of all models (skbench compare). Models
    that share a letter are not significantly different. If models answered different
    items, scores are least squares estimates from shared items. With --past or --bank,
    scores are estimated for all items that earlier models answered.

    EuroEval results are ranked by the mean rank score. A table of means is ranked in the
    same way. It has the columns model, dataset, task, mean and optionally language. Pass
    the column of half-widths as --half-width.
    """
    past, bank, plot, form = (options.pop(name) for name in ("past", "bank", "plot", "form"))
    asked = options.pop("population")
    pasts.check_past(past, bank, missing)
    of_items = {
        "--topics": topics, "--bounds": bounds, "--past": past, "--bank": bank, "--plot": plot,
        "--population": asked,
    }  # fmt: skip
    if n_runs is not None and half_width is None:
        raise click.UsageError("--n-runs needs --half-width.")
    with in_one_line():
        if half_width is not None:
            _refuse_options(of_items)
            rows = rank_scores.published_rows(file, options["model"], options["score"])
            return rank_scores.show_rank_scores(form, rows, half_width, n_runs, confidence_level)
        rows, columns = reading.read_models(file, topics, options, missing, whole_sets=True)
        if "euroeval" in rows.formats:
            _refuse_options(of_items)
            return rank_scores.show_rank_scores(form, rows.items, None, None, confidence_level)
        known_range = reading.score_range(rows, bounds)
        with working("ranking"):
            learned = pasts.learn(past, bank, rows, file, topics, options, known_range)
            population = reading.population_of(asked, rows.items, topics, learned is not None)
            settings = confidence_level, missing, known_range, population
            board, items, columns = _ranked(rows.items, columns, learned, *settings)
        board = replace(board, estimate=reading.within_scores(board.estimate, known_range))
        reading.note_if_beyond(board.estimate, rows.items, known_range)
        frame = tables.model_rows(board)
        known = {
            "score": reading.score_name(rows),
            "n_topics": _n_topics(items, columns),
            "may_be_best": [str(name) for name in board.rank_sets.best()],
            "remarks": board.remarks,
        }
        table = board_table(board, frame, _size(items, columns))
        table = table._replace(
            conclusion=headline.ranking_in_words(board, frame),
            next_commands=_next(known["may_be_best"]),
        )
        if plot is not None:
            save_picture(ranking_picture(board, reading.score_name(rows)), plot)
        show_estimates(form, table, board.estimate, "models", frame, **known)


def _refuse_options(options):
    """Refuse options on items, because leaderboards of data sets have none."""
    given = next((name for name, value in options.items() if value), None)
    if given:
        raise DataError(
            f"{given} needs items or topics, but FILE has scores of whole data sets. Run the "
            f"command without {given}."
        )


def _ranked(items, columns, learned, confidence_level, missing, known_range, population):
    """The leaderboard, and the rows and columns that it ranks."""
    from skbench.comparison.leaderboards import leaderboard_by_posterior, leaderboard_of

    if learned is None:
        table = reading.models_table(items, columns, known_range, population)
        return leaderboard_of(table, confidence_level, missing=missing), items, columns
    columns = {"by": ["topic"] if columns["by"] else None, "topic": ["topic"], "cluster": None}
    board = leaderboard_by_posterior(learned.posterior(columns["by"]), confidence_level)
    return learned.with_method(board), learned.items, columns


def _next(best):
    """Commands that make sense after a ranking."""
    report = command_with("report", html="report.html")
    compared = command_with("compare")
    if len(best) < 2 or best[0].startswith("-") or Path(best[0]).exists():
        return [compared, report]
    return [f"{compared} {shlex.join(best[:2])}", report]


def board_table(board, frame, size):
    """The table for people; narrow terminals lack errors, counts and letters."""
    form = score_form(frame["value"])
    shown = [
        Column("model", frame["model"]),
        Column("rank", frame["rank"], "g"),
        Column("set", [tables.rank_range(row) for row in frame.itertuples()], align="right"),
        Column("estimate", frame["value"], form),
        Column("low", frame["low"], form),
        Column("high", frame["high"], form),
        Column("std.\nerror", frame["standard_error"], form, narrow=False),
    ]
    if frame["n"].nunique() > 1:
        shown.append(Column("n", frame["n"], "d", narrow=False))
    n_groups = len(set().union(*frame["ties"]))
    ties = ["Models that share a letter are not significantly different."]
    if not n_groups:
        ties = []
    elif n_groups <= _MOST_LETTERS:
        letters = ["".join(names) for names in frame["ties"]]
        shown.append(Column("ties", letters, narrow=False))
    else:
        ties = [
            f"Models that share one of {n_groups} letters are not significantly different. The "
            "letters are in --csv and --json."
        ]
    level = f"{100 * board.estimate.confidence_level:g}%"
    several = len(board) > 1
    sets = f'Column "set": the possible ranks of each model (simultaneous {level} confidence).'
    notes = [
        f"{understanding.counted(len(board), 'model')} on {size}.",
        *([sets, *ties] if several else []),
        *board.remarks,
    ]
    promise = tables.method_and_promise(board.estimate)
    return Table(shown, promise=promise, notes=notes)


def _size(items, columns):
    counted = understanding.counted
    size = counted(reading.n_items(items, columns["topic"]), "item")
    if columns["by"]:
        size += f" of {counted(_n_topics(items, columns), 'topic')}"
    if columns["cluster"] == "cluster":
        size += f" in {counted(items['cluster'].nunique(), 'cluster')}"
    return size


def _n_topics(items, columns):
    return len(items[columns["by"]].drop_duplicates()) if columns["by"] else None


def ranking_picture(board, score):
    """A forest plot of the models, with the ranks that each may have."""
    import pandas as pd

    from skbench.plot import ForestDisplay

    names = [f"{row.Index}  [{tables.rank_range(row)}]" for row in board.to_frame().itertuples()]
    estimate = replace(board.estimate, labels=pd.Index(names))
    display = ForestDisplay.from_estimates({estimate.method: estimate}, max_rows=len(board))
    display.plot(xlabel=f"{score} (in brackets: possible ranks)")
    display.ax_.xaxis.label.set_parse_math(False)
    return display.figure_
