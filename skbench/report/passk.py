"""`skbench passk`: pass@k, pass^k and flaky items from repeated answers."""

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
@number_option("-k", "Number of answers per item.", default=3)
@click.option("--all", "all_of_them", is_flag=True, help="Estimate pass^k (all k answers correct).")
@click.option("--by", type=Names(), help="Topic column(s): one estimate per model and topic.")
@click.option(
    "--compare", type=Names(), metavar="A,B", help="Add the paired difference of two models."
)
@click.option("--drop-short", is_flag=True, help="Skip items with fewer than k answers.")
@click.option("--flaky", is_flag=True, help="List items that are solved in only some runs.")
@click.option("--correct", help="Column with counts of correct answers.  [n_correct]")
@click.option("--runs", help="Column with counts of all answers.  [n_runs]")
@reading_options
@level_option
@format_options
def passk(
    file, k, all_of_them, by, compare, drop_short, flaky, correct, runs, confidence_level, form,
    **roles,
):  # fmt: skip
    """Estimate pass@k, the probability that at least one of k answers is correct.

    With --all, estimate pass^k, the probability that all k answers are correct. FILE has one
    row per answer, or one row per model and item with the columns n_correct and n_runs.
    Intervals assume that the items are a random sample.

    Example: skbench passk runs.csv -k 5
    """
    if compare is not None and len(compare) != 2:
        raise click.UsageError("--compare requires two models: A,B.")
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
        table = Table(
            columns,
            notes=notes,
            conclusion=[_meaning(columns[1].heading, k)],
            next_commands=[] if flaky else [command_with(flaky=True)],
        )
        show(form, table, document, frame)


def _meaning(name, k):
    """Define the estimated quantity."""
    if k == 1:
        return f"{name}: probability that an answer to an item is correct."
    what = f"all {k} answers" if "^" in name else f"at least one of {k} answers"
    return f"{name}: probability that {what} to an item {'are' if '^' in name else 'is'} correct."


def _with_enough(rows, topics, k, drop_short):
    """Return the rows of items with at least k answers; raise an error for others, or skip them."""
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
            f"{what} have fewer than {k} answers (first item {first['item']!r} of "
            f"{first['model']!r}). Pass -k {answers.min()} or less, or skip these items:",
            [f"{command_with()} --drop-short"],
        )
    if short.all():
        raise DataError(f"No item has {k} answers of a model. Pass a smaller -k.")
    note(f"skipped {what} with fewer than {k} answers", LOST)
    return rows[~short].reset_index(drop=True)


def _read(file, by, roles, counts):
    """Return rows of answers or counts, and the column arguments of `pass_at_k`."""
    from skbench.items.roles import find_roles
    from skbench.report.understanding import in_lines, understood

    names = [name or usual for name, usual in zip(counts, ("n_correct", "n_runs"), strict=True)]
    columns = _columns(file)
    counted = counts != (None, None) or set(names) <= set(columns)
    if counted and roles["score"] is not None:
        raise DataError(
            "--score cannot be used with counts. Name their columns with --correct and --runs."
        )
    reading.check_topics(by, roles["model"])
    if not counted and columns and roles["cluster"] is None:
        # Several rows of one item are its runs, even without a column that numbers them.
        named = {role: roles[role] for role in ("model", "item", "score")} | {"topic": by}
        cluster = next(iter(find_roles(columns, named)[0].get("item", [])), None)
        roles = roles | {"cluster": cluster}
    # Runs must not be averaged, whatever the clusters are.
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
    if columns["cluster"] == "item":  # runs of an item are not a cluster of items
        columns["cluster"] = None
    return items, columns


def _columns(file):
    """Return the columns of a table, or an empty list for logs."""
    from skbench.readers.loading import load_table

    try:
        return list(load_table(file, lambda columns: [])[0].columns)
    except (ValueError, OSError):
        return []


def _sentences(reliability, flaky):
    flaky_items = reliability[reliability["verdict"] == "flaky"]
    counts = reliability["verdict"].value_counts()
    sentences = [
        f"Of {len(reliability):,} model-item pairs, {counts.get('always', 0):,} are solved in all "
        f"runs, {counts.get('never', 0):,} in no run, and {len(flaky_items):,} in only some runs "
        "(flaky)."
    ]
    if flaky:
        sentences += [
            f"{' / '.join(map(str, row.Index))}: {row.n_correct} of {row.n_runs} runs "
            f"({row.rate:.2f}, interval {row.low:.2f} to {row.high:.2f})"
            for row in flaky_items.head(_FLAKY_SHOWN).itertuples()
        ]
        if len(flaky_items) > _FLAKY_SHOWN:
            sentences.append(f"{len(flaky_items) - _FLAKY_SHOWN} more flaky items (see --json)")
    return sentences
