"""`skbench leaderboard`: models from best to worst, and how sure that order is."""

from dataclasses import replace

import click

from skbench._numbers import score_form
from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import pasts, rank_scores, reading, tables, understanding
from skbench.report.options import Names, model_options, plot_option, population_option
from skbench.report.paths import Input
from skbench.report.table import Column, Table
from skbench.report.terminal import DataError, in_one_line, save_picture, working

_MOST_LETTERS = 12  # groups of ties that letters keep readable


@click.command()
@click.argument("file", type=Input())
@click.option("--topics", type=Names(), help="Topic column(s), whose means then count equally.")
@model_options
@click.option("--half-width", help="Column of 1.96 standard errors beside means of data sets.")
@click.option(
    "--n-runs", type=click.IntRange(2), help="With --half-width: runs behind each mean.  [10]"
)
@population_option
@plot_option
@format_options
def leaderboard(file, topics, bounds, confidence_level, missing, half_width, n_runs, **options):
    """Rank the models in FILE by their mean score.

    FILE is CSV, TSV, JSON Lines or Parquet, or a log (or a folder of logs) of an
    evaluation program. Tables have one row per model and item, or one row per item
    and a column of scores per model. Columns are guessed by their usual names;
    what was guessed is told on stderr, and the options below overrule it.

    Every model gets an interval for its score and a set of ranks it may have. Ranks
    and letters follow from the comparisons of all pairs at once (skbench compare), item
    by item; where models did not answer the same items, scores are least squares on
    the items they share. With --past or --bank scores are of all items that earlier
    models answered.

    Results of EuroEval, and tables of data sets with --half-width (columns model,
    dataset, task, maybe language, mean), are ranked by the mean rank score, with
    the ranks that bootstrap scores leave open.
    """
    past, bank, plot, form = (options.pop(name) for name in ("past", "bank", "plot", "form"))
    asked = options.pop("population")
    pasts.check_past(past, bank, missing)
    of_items = {
        "--topics": topics, "--bounds": bounds, "--past": past, "--bank": bank, "--plot": plot,
        "--population": asked,
    }  # fmt: skip
    if n_runs is not None and half_width is None:
        raise click.UsageError("--n-runs goes with --half-width.")
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
        if plot is not None:
            save_picture(ranking_picture(board, reading.score_name(rows)), plot)
        show_estimates(form, table, board.estimate, "models", frame, **known)


def _refuse_options(options):
    """Refuse what speaks of items, which leaderboards of data sets do not have."""
    given = next((name for name, value in options.items() if value), None)
    if given:
        raise DataError(
            f"{given} speaks of items or topics, and FILE scores of whole data sets, ranked by "
            "the mean rank score. Leave it out."
        )


def _ranked(items, columns, learned, confidence_level, missing, known_range, population):
    """The leaderboard, and the rows and columns that it is of."""
    from skbench.comparison.leaderboards import leaderboard_by_posterior, leaderboard_of

    if learned is None:
        table = reading.models_table(items, columns, known_range, population)
        return leaderboard_of(table, confidence_level, missing=missing), items, columns
    columns = {"by": ["topic"] if columns["by"] else None, "topic": ["topic"], "cluster": None}
    board = leaderboard_by_posterior(learned.posterior(columns["by"]), confidence_level)
    return learned.with_method(board), learned.items, columns


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
    ties = "Models that share a letter cannot be told apart."
    if not n_groups:
        ties = "Too many groups of models cannot be told apart for letters."
    elif n_groups <= _MOST_LETTERS:
        letters = ["".join(names) for names in frame["ties"]]
        shown.append(Column("ties", letters, narrow=False))
    else:
        ties = (
            f"{n_groups} groups of models cannot be told apart, too many for a column of letters: "
            "--csv and --json have it."
        )
    e = board.estimate
    head = [
        f"{understanding.counted(len(board), 'model')} on {size}: {e.method}",
        f"score: {tables.promise(e)}",
        f"ranks: {100 * e.confidence_level:g}%, all models at once: every model's rank is in its "
        "set",
    ]
    names = [str(name) for name in board.rank_sets.best()]
    best = f"{len(names)} models may be the best: {', '.join(names)}."
    notes = [best if len(names) > 1 else f"The best: {names[0]}.", ties, *board.remarks]
    return Table(shown, head, tables.method_and_promise(e), notes)


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
    """A forest plot of the models, with the ranks each may have."""
    import pandas as pd

    from skbench.plot import ForestDisplay

    names = [f"{row.Index}  [{tables.rank_range(row)}]" for row in board.to_frame().itertuples()]
    estimate = replace(board.estimate, labels=pd.Index(names))
    display = ForestDisplay.from_estimates({estimate.method: estimate}, max_rows=len(board))
    display.plot(xlabel=f"{score}; in brackets the ranks a model may have")
    display.ax_.xaxis.label.set_parse_math(False)
    return display.figure_
