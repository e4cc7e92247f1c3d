"""`skbench passk`: does one of k answers solve it, do all of them, and what is flaky?"""

import click

from skbench._notes import LOST
from skbench.report.formats import format_options, show
from skbench.report.loaded_later import reading, tables
from skbench.report.options import Names, level_option, number_option, reading_options
from skbench.report.paths import Input
from skbench.report.table import Column, Table
from skbench.report.terminal import DataError, command_with, in_one_line, note

_FLAKY_SHOWN = 10


@click.command()
@click.argument("file", type=Input())
@number_option("-k", "Answers taken.", default=3)
@click.option("--all", "all_of_them", is_flag=True, help="All k must be right: pass^k.")
@click.option("--by", type=Names(), help="Topic column(s): one estimate per model and topic.")
@click.option("--compare", type=Names(), metavar="A,B", help="Paired difference of two models.")
@click.option("--drop-short", is_flag=True, help="Leave out items with fewer than k answers.")
@click.option("--flaky", is_flag=True, help="Name the items that are solved now and then.")
@click.option("--correct", help="Column of right answers, where rows are counts.  [n_correct]")
@click.option("--runs", help="Column of all answers, where rows are counts.  [n_runs]")
@reading_options
@level_option
@format_options
def passk(
    file, k, all_of_them, by, compare, drop_short, flaky, correct, runs, confidence_level, form,
    **roles,
):  # fmt: skip
    """Chance that one of k answers is right, or that all of them are.

    FILE has one row per answer, items answered several times; or one row per model and
    item with the columns n_correct and n_runs. Intervals are over items, not over runs.
    """
    if compare is not None and len(compare) != 2:
        raise click.UsageError("--compare takes two models: A,B.")
    with in_one_line():
        from skbench import pass_at_k

        rows, columns = _read(file, by, roles, (correct, runs))
        rows = _with_enough(rows, columns["topic"], k, drop_short)
        found = pass_at_k(rows, k, all_of_them, confidence_level=confidence_level, **columns)
        pair = None
        if compare is not None:
            pair = found.compare(*(reading.as_in(rows["model"], name) for name in compare))
        reliability = found.reliability()
        frame = tables.labeled_rows(found.to_frame())
        labels = found.labels.to_frame(index=False)
        columns = [
            Column(" / ".join(found.labels.names), tables.joined(labels)),
            Column(found.method.split()[0], frame["value"], ".3f"),
            Column("low", frame["low"], ".3f"),
            Column("high", frame["high"], ".3f"),
        ]
        notes = _sentences(reliability, flaky)
        if pair is not None:
            notes += [text for i in range(len(pair)) for text in pair.sentences(i)[:2]]
        document = {
            "method": found.method,
            "groups": frame,
            "pairs": [] if pair is None else tables.pair_rows(pair),
            "items": tables.item_rows(reliability) if flaky else [],
        }
        show(form, Table(columns, notes=notes), document, frame)


def _with_enough(rows, topics, k, drop_short):
    """Rows of the items that have k answers of a model; others are refused, or left out."""
    keys = ["model", *topics, "item"]
    answers = rows.groupby(keys, sort=False)["item"].transform("size")
    if "n_runs" in rows:
        answers = rows["n_runs"]
    short = answers < k
    if not short.any():
        return rows
    first, cells = rows[short].iloc[0], len(rows[short].drop_duplicates(keys))
    what = f"{cells} of {len(rows.drop_duplicates(keys))} items of a model"
    if not drop_short:
        raise DataError(
            f"{what} have fewer than {k} answers, first item {first['item']!r} of "
            f"{first['model']!r}. Take k <= {answers.min()}, or leave these items out:",
            [f"{command_with()} --drop-short"],
        )
    if short.all():
        raise DataError(f"no item has {k} answers of a model: take fewer (-k).")
    note(f"{what} have fewer than {k} answers: left out", LOST)
    return rows[~short].reset_index(drop=True)


def _read(file, by, roles, counts):
    """Item rows, of answers or with counts, and the arguments for columns."""
    from skbench.items.roles import find_roles
    from skbench.report.understanding import in_lines, understood

    names = [name or usual for name, usual in zip(counts, ("n_correct", "n_runs"), strict=True)]
    columns = _columns(file)
    counted = counts != (None, None) or set(names) <= set(columns)
    if counted and roles["score"] is not None:
        raise DataError("--score is for single answers; counts have --correct and --runs.")
    reading.check_topics(by, roles["model"])
    if not counted and columns and roles["cluster"] is None:
        # Rows of one item are its runs, with or without a column that numbers them.
        named = {role: roles[role] for role in ("model", "item", "score")} | {"topic": by}
        cluster = next(iter(find_roles(columns, named)[0].get("item", [])), None)
        roles = roles | {"cluster": cluster}
    # Runs are not averaged here, whatever clusters there are.
    rows, *runs = (
        reading.read(file, by, roles | {"score": score}, whole_sets=True)
        for score in (names if counted else [roles["score"]])
    )
    for line in [*rows.notes, *([] if counted else in_lines(understood(rows)))]:
        note(line)
    items = reading.named_after(rows, file).items
    reading.need_columns(items, "item")
    if counted:
        items = items.rename(columns={"score": "n_correct"})
        items = items.assign(n_runs=runs[0].items["score"].to_numpy())
    columns = reading.columns_for(rows, by)
    if columns["cluster"] == "item":  # runs of an item are no cluster of items
        columns["cluster"] = None
    return items, columns


def _columns(file):
    """Columns of a table; none for logs, or a folder of them."""
    from skbench.readers.loading import load_table

    try:
        return list(load_table(file, lambda columns: [])[0].columns)
    except (ValueError, OSError):
        return []


def _sentences(reliability, flaky):
    some = reliability[reliability["verdict"] == "flaky"]
    counts = reliability["verdict"].value_counts()
    words = [
        f"{counts.get('always', 0):,} of {len(reliability):,} cells of a model and an item are "
        f"always solved, {counts.get('never', 0):,} never, {len(some):,} now and then (flaky)."
    ]
    if flaky:
        words += [
            f"{' / '.join(map(str, row.Index))}: {row.n_correct} of {row.n_runs} "
            f"({row.rate:.2f}, {row.low:.2f} to {row.high:.2f})"
            for row in some.head(_FLAKY_SHOWN).itertuples()
        ]
        if len(some) > _FLAKY_SHOWN:
            words.append(f"{len(some) - _FLAKY_SHOWN} more: --json has them all.")
    return words
