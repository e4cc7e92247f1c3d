"""`skbench items`: which items of a benchmark are keyed wrongly, twice there, or of no use."""

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
from skbench.report.terminal import DataError, in_one_line, save_picture, working


@click.command()
@click.argument("file", type=Input())
@click.option("--text", help="Column of the items' text: the same text twice is a duplicate.")
@number_option(
    "--reliability",
    "Reliability for which the number of items is given.",
    Share(0, 1),
    default=0.9,
)
@reading_options
@level_option
@plot_option
@format_options
def items(file, text, reliability, confidence_level, plot, form, **roles):
    """Audit the items of a benchmark by the answers of several models.

    FILE is a file or a folder of results, as for `skbench leaderboard`. Items are flagged that look
    keyed wrongly (most likely their scores are turned around), that are duplicates, or that have no
    spread and cannot change the ranking. The table lists the flagged ones; --json and --csv have
    all. Reliability is Cronbach's alpha (KR-20 for right and wrong answers).
    """
    with in_one_line():
        from skbench.bank import item_audit

        rows = reading.read_rows(file, None, roles)
        if rows.groups is not None or "euroeval" in rows.formats:
            raise DataError("the file holds results of groups or bootstrap samples, and no items.")
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
        show(form, _table(found, reliability, needed), document, document["items"])


def _rows(frame):
    """One row per item, its labels first."""
    rows = tables.item_rows(frame)
    return rows[[*rows.columns.difference(frame.columns, sort=False), *frame]]


def _table(found, reliability, needed):
    """The flagged items, and what was found in words."""
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
