"""`skbench doctor`: how files are read, and which command fits them."""

import click

from skbench.report.formats import form_option, print_json
from skbench.report.loaded_later import reading, understanding
from skbench.report.options import Names, reading_options
from skbench.report.paths import Input
from skbench.report.table import Column, Table
from skbench.report.terminal import command_with, in_one_line, one_line, print_line
from skbench.report.writers import print_grid

_MOST = 8  # notes, or columns of a table, that fit on a screen
_LONGEST_EXAMPLE = 30  # letters


@click.command()
@click.argument("paths", type=Input(), nargs=-1, required=True)
@click.option("--by", type=Names(), help="Topic column(s).")
@reading_options
@form_option("json")
def doctor(paths, by, form, **roles):
    """Show how the files or folders in PATHS are read, without computing anything.

    The output lists which columns hold models, topics, items and scores, and how many of each
    there are. It also shows missing answers, the range of the scores, likely mistakes, the same
    call in Python, and the command to run next. If a table has no scores that can be
    recognized, the output lists its columns.

    Example: skbench doctor results.csv
    """
    with in_one_line():
        # As in `skbench estimate`, --by model alone means one group per model.
        by = [name for name in by or [] if name not in ("model", roles["model"])] or None
        reading.check_topics(by, roles["model"])
        try:
            rows = reading.read(paths, by, roles, whole_sets=True)
        except (ValueError, FileNotFoundError, ImportError) as error:
            if form == "text":
                _list_columns(paths)
            choices = getattr(error, "choices", [])
            if form == "json" or {choice.get("name") for choice in choices} in (set(), {None}):
                raise
            return _of_another_kind(error, choices)
        found = understanding.understood(rows)
        if form == "json":
            about = {"columns": rows.columns, "notes": rows.notes, "formats": rows.formats}
            return print_json(about | found)
        more = len(rows.notes) - _MOST
        cut = [f"and {more} more notes (see --json)"] if more > 0 else []
        notes = map(one_line, rows.notes[:_MOST])
        for line in filter(None, (*notes, *cut, *understanding.in_lines(found), found["units"])):
            print_line(line)
        name, options = _next(rows, found)
        if name is None or "item" in options:
            print_line(reading.NO_SPREAD)
        if name is not None:
            means = rows.groups is not None and "k" not in rows.groups  # there are no items
            reader = "readers.read_with_notes" if means else "read_items"
            print_line(f"in Python: skbench.{reader}({_arguments(paths, {'topic': by} | roles)})")
            print_line(f"Next: {command_with(name, **options)}")


def _of_another_kind(error, choices):
    """Print the commands for tables that do not hold scores of answers, the best one last."""
    print_line(one_line(error.text))
    commands = (command_with(**({"name": "report"} | choice)) for choice in choices)
    best, *others = filter(None, commands)
    for command in others:
        print_line(f"Or: {command}")
    print_line(f"Next: {best}")


def _arguments(paths, options):
    source = paths[0] if len(paths) == 1 else list(paths)
    given = (name for name, value in options.items() if value and name != "rename")
    return ", ".join([repr(source), *(f"{name}={options[name]!r}" for name in given)])


def _next(rows, found):
    """Return the best command for such a file and the options that it needs, or None."""
    if "euroeval" in rows.formats:
        return "leaderboard", {}
    if rows.groups is not None:
        return ("report" if "k" in rows.groups else "estimate"), {}
    items, binary = rows.items, found["scores"] == understanding.BINARY
    by = [name for name in ("model", *rows.topics) if name in items]
    groups = items.assign(all=0).groupby(by or "all")
    if by and groups.size().max() < 2 and not binary:
        ranked = by == ["model", "topic"]
        return ("leaderboard" if ranked else None), {"item": rows.columns.get("topic")}
    # Groups without an interval may still allow a comparison of models.
    if (groups["score"].nunique().max() < 2 and not binary) or (
        found["n_clusters"] and groups["cluster"].nunique().max() < 2
    ):
        compared = found["n_models"] and found["n_items"] and found["n_clusters"] != 1
        return ("leaderboard" if compared else None), {}
    if found["n_repeats"] > 1 and found["n_models"] < 2 and binary:
        return "passk", {"k": items.groupby([*by, "item"]).size().min()}
    return "report", {}


def _list_columns(paths):
    """Print the columns of tables that cannot be read as results."""
    from skbench._checks import listed
    from skbench.readers.loading import load_table

    for path in paths:
        try:
            table, _ = load_table(path, lambda columns: [])
        except (ValueError, OSError, ImportError):
            continue
        print_line(f"{path}: {len(table):,} rows, {len(table.columns)} columns")
        shown, more = table.iloc[:, :_MOST], table.columns[_MOST:]
        shown = shown.astype(str).where(shown.notna())
        examples = [", ".join(shown[name].dropna().unique()[:3]) for name in shown]
        columns = [
            Column("column", list(shown)),
            Column("examples", [text[:_LONGEST_EXAMPLE] for text in examples]),
            Column("distinct", shown.nunique(), ",d"),
            Column("missing", shown.isna().sum(), ",d"),
        ]
        print_grid(Table(columns))
        if len(more):
            print_line(f"and {len(more)} more: {listed(more, most=12)}")
