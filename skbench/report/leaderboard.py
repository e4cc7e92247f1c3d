"""`skbench leaderboard`: models from best to worst, and how sure that order is."""

from dataclasses import replace

import click

from skbench.report import past as pasts
from skbench.report import tables
from skbench.report.formats import format_options, print_form
from skbench.report.markup import Cells
from skbench.report.options import (
    Names,
    bounds_option,
    level_option,
    missing_option,
    past_options,
    reading_options,
)
from skbench.report.rank_scores import print_rank_scores, published_rows, refuse_options
from skbench.report.reading import (
    read_models,
    say_if_beyond,
    score_name,
    score_range,
    within_scores,
)
from skbench.report.terminal import (
    in_one_line,
    print_line,
    print_prose,
    print_table,
    save_picture,
    working,
)
from skbench.report.understanding import counted

_MOST_LETTERS = 12  # groups of ties that letters keep readable


@click.command()
@click.argument("file")
@click.option("--by", type=Names(), help="Topic column(s), whose means then count equally.")
@reading_options
@bounds_option
@level_option
@missing_option
@past_options
@click.option("--half-width", help="Column of 1.96 standard errors beside means of data sets.")
@click.option(
    "--n-runs", type=click.IntRange(2), default=10, show_default=True, help="Runs behind each mean."
)
@click.option("--plot", type=click.Path(dir_okay=False), help="Save a picture (.png, .pdf, .svg).")
@format_options
def leaderboard(
    file,
    by,
    bounds,
    confidence_level,
    missing,
    past,
    bank,
    half_width,
    n_runs,
    plot,
    form,
    escape_formulas,
    **roles,
):
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
    pasts.check_past(past, bank, missing)
    with in_one_line():
        from skbench.comparison import leaderboard as ranked
        from skbench.comparison.leaderboards import leaderboard_of

        of_items = {"--by": by, "--bounds": bounds, "--past": past, "--bank": bank, "--plot": plot}
        if half_width is not None:
            refuse_options(of_items)
            rows = published_rows(file, roles["model"], roles["score"])
            return print_rank_scores(
                rows, half_width, n_runs, confidence_level, form, escape_formulas
            )
        rows, columns = read_models(file, by, roles, missing, whole_sets=True)
        if "euroeval" in rows.formats:
            refuse_options(of_items)
            return print_rank_scores(
                rows.items, None, n_runs, confidence_level, form, escape_formulas
            )
        items = rows.items
        with working("ranking"):
            learned = pasts.learn(past, bank, rows, file, by, roles)
            if learned is None:
                how = {"topics": columns["by"], "cluster": columns["cluster"]}
                board = ranked(items, confidence_level=confidence_level, missing=missing, **how)
            else:
                items, columns = learned.comparable(columns)
                table = learned.score_table(items, columns)
                board = leaderboard_of(table, confidence_level, missing=missing)
                board = learned.with_method(board)
        known_range = score_range(rows, bounds)
        board = replace(board, estimate=within_scores(board.estimate, known_range))
        say_if_beyond(board.estimate, rows.items, known_range)
        table = tables.with_text_labels(board.to_frame().rename_axis("model"))
        if form == "text":
            _print_report(board, table, items, columns)
        else:
            head = {
                "score": score_name(rows),
                "topics": _n_topics(items, columns),
                "may_be_best": [str(name) for name in board.rank_sets.best()],
                "remarks": list(board.remarks),
            }
            cells = _cells(board, table)
            print_form(form, table, board.estimate, head, "models", cells, escape_formulas)
        if plot is not None:
            save_picture(ranking_picture(board, score_name(rows)), plot)


def _print_report(board, table, items, columns):
    level = f"{100 * board.estimate.confidence_level:g} %"
    print_line(
        f"{counted(len(board), 'model')} on {_size(board, items, columns)}: {board.estimate.method}"
    )
    print_line(f"score: {tables.promise(board.estimate)}")
    print_line(f"ranks: {level}, all models at once: every model's rank is in its set")
    print_table(*(_rich(_cells(board, table, narrow)) for narrow in (False, True)))
    print_prose(_best(board))
    n_groups = len(set("".join(board.ties)))
    if n_groups <= _MOST_LETTERS:
        print_prose("Models that share a letter cannot be told apart on these items.")
    else:
        print_prose(
            f"{n_groups} groups of models cannot be told apart on these items, too many for a "
            "column of letters: --csv and --json have it."
        )
    for remark in board.remarks:
        print_prose(remark)


def _size(board, items, columns):
    size = counted(items.drop_duplicates([*(columns["by"] or []), "item"]).shape[0], "item")
    if columns["by"]:
        size += f" of {counted(_n_topics(items, columns), 'topic')}"
    if columns["cluster"] == "cluster":
        size += f" in {counted(items['cluster'].nunique(), 'cluster')}"
    return size


def _n_topics(items, columns):
    return len(items[columns["by"]].drop_duplicates()) if columns["by"] else None


def _cells(board, table, narrow=False):
    """The table for people; the narrow one without errors, counts and letters."""
    decimals = tables.decimals_for(table["estimate"])
    columns = {
        "model": table["model"].astype(str),
        "rank": table["rank"].astype(str),
        "set": [tables.rank_range(row) for row in table.itertuples()],
        **{name: _rounded(table[name], decimals) for name in ("estimate", "low", "high")},
    }
    if not narrow:
        columns["std.\nerror"] = _rounded(table["standard_error"], decimals)
        if table["n"].nunique() > 1:
            columns["n"] = table["n"].astype(str)
    if len(set("".join(board.ties))) <= _MOST_LETTERS and not narrow:
        columns["ties"] = table["ties"]
    return Cells(list(columns), list(zip(*columns.values(), strict=True)), 1)


def _rich(cells):
    """For a terminal, letters on the left of their column."""
    rich = tables.plain_table(*cells)
    if cells.headers[-1] == "ties":
        rich.columns[-1].justify = "left"
    return rich


def _rounded(values, decimals):
    return [tables.rounded(value, decimals) for value in values]


def _best(board):
    names = [str(name) for name in board.rank_sets.best()]
    if len(names) == 1:
        return f"The best: {names[0]}."
    return f"{len(names)} models may be the best: {', '.join(names)}."


def ranking_picture(board, score):
    """A forest plot of the models, with the ranks each may have.

    Parameters
    ----------
    board : Leaderboard
        The models, best first.
    score : str
        Name of the score.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import pandas as pd

    from skbench.plot import ForestDisplay

    names = [f"{row.Index}  [{tables.rank_range(row)}]" for row in board.to_frame().itertuples()]
    estimate = replace(board.estimate, labels=pd.Index(names))
    display = ForestDisplay.from_estimates({estimate.method: estimate}, max_rows=len(board))
    display.plot(xlabel=f"{score}; in brackets the ranks a model may have")
    display.ax_.xaxis.label.set_parse_math(False)
    return display.figure_
