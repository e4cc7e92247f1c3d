"""`skbench items`: miskeyed, duplicate and uninformative items of a benchmark."""

import click

from skbench.report.formats import format_options, show
from skbench.report.loaded_later import reading, tables
from skbench.report.options import (
    Share,
    level_option,
    number_option,
    plot_option,
    reading_options,
)
from skbench.report.paths import Input
from skbench.report.table import Column, Table, p_value
from skbench.report.terminal import DataError, command_with, in_one_line, save_picture, working


@click.command()
@click.argument("file", type=Input())
@click.option("--text", help="Column of item texts. Items with equal texts are duplicates.")
@number_option(
    "--reliability",
    "Target reliability. Prints the number of items needed.",
    Share(0, 1),
    default=0.9,
)
@reading_options
@level_option
@plot_option
@format_options
def items(file, text, reliability, confidence_level, plot, form, **roles):
    """Find bad items of a benchmark from the answers of several models in FILE.

    The table lists items that probably have a wrong answer key, duplicate items, and items on
    which all models have the same score. --json and --csv list all items. The reliability of
    the benchmark is Cronbach's alpha (KR-20 for scores 0 and 1).

    Example: skbench items results.csv --text question
    """
    with in_one_line():
        from skbench.bank import item_audit

        rows = reading.read_rows(file, None, roles)
        if rows.groups is not None or "euroeval" in rows.formats:
            raise DataError(
                f"{file!r} holds results of groups or bootstrap samples. The audit needs scores of "
                "single items."
            )
        answers = rows.items
        reading.need_columns(answers, "model", "item")
        topics = reading.columns_for(rows)["topic"]
        if text is not None:
            reading.check_exist([text], answers.columns, "text=")
        with working("auditing"):
            found = item_audit(answers, topic=topics, text=text, confidence_level=confidence_level)
        if plot is not None:
            save_picture(_picture(found), plot)
        needed = found.items_needed(reliability)
        document = {
            "n_items": len(found.items),
            "n_models": found.n_models,
            "n_effective_models": found.n_effective_models,
            "method": found.reliability.method,
            "reliability": dict(
                zip(("value", "low", "high"), found.reliability.to_frame().iloc[0], strict=False)
            ),
            "n_complete_items": found.n_complete,
            "target_reliability": reliability,
            "required_items": needed,
            "n_flagged": len(found.flagged),
            "items": _rows(found.items),
        }
        table = _table(found, reliability)._replace(next_commands=[f"{command_with()} --csv"])
        show(form, table, document, document["items"])


def _rows(frame):
    """Return one row per item, with its labels first."""
    rows = tables.item_rows(frame)
    return rows[[*rows.columns.difference(frame.columns, sort=False), *frame]]


def _table(found, reliability):
    """Return the table of flagged items, below the summary."""
    frame = _rows(found.flagged)
    labels = [name for name in ("topic", "item") if name in frame]
    columns = [Column(name, frame[name]) for name in labels]
    columns += [
        Column("flagged", frame["flagged"]),
        Column("difficulty", frame["difficulty"], ".2f"),
        Column("discrimination", frame["discrimination"], ".2f"),
        Column("low", frame["low"], ".2f", narrow=False),
        Column("high", frame["high"], ".2f", narrow=False),
        Column("p", frame["p_value"], p_value, narrow=False),
    ]
    return Table(columns if len(frame) else [], found.sentences(reliability))


def _picture(found):
    from skbench.plot import ScatterDisplay

    return ScatterDisplay.from_item_audit(found).plot().figure_
