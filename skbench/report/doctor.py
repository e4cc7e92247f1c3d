"""`skbench doctor`: what is read in files, and what would be made of it."""

from pathlib import Path

import click

from skbench._lazy import later
from skbench.report.formats import form_option, print_json
from skbench.report.options import Names, reading_options
from skbench.report.table import Column, Table
from skbench.report.terminal import command_with, in_one_line, print_line
from skbench.report.writers import print_grid

reading = later("skbench.report.reading")
understanding = later("skbench.report.understanding")
_MOST_COLUMNS = 12
_MOST_NOTES = 10
_LONGEST_EXAMPLE = 30  # letters


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--by", type=Names(), help="Topic column(s).")
@reading_options
@form_option("json")
def doctor(paths, by, form, **roles):
    """Tell what is read in PATHS, files or folders, and compute nothing.

    Which column is what, how many models, topics, items, repeats and clusters there are,
    whether every model answered every item and where not, how scores are written and what
    range they have, columns of human labels and of autoraters, what the harness declared; and
    which command takes it. Where a table cannot be read as results, its columns are listed.
    """
    with in_one_line():
        # As `estimate` takes it: model by itself is one group per model.
        by = [name for name in by or [] if name not in ("model", roles["model"])] or None
        reading.check_topics(by, roles["model"])
        new_names = roles.pop("rename")
        try:
            from skbench.readers import read_with_notes

            source = paths[0] if len(paths) == 1 else list(paths)
            rows = reading.renamed(read_with_notes(source, topic=by, **roles), new_names)
        except (ValueError, FileNotFoundError, ImportError):
            if form == "text":
                _list_columns(paths)
            raise
        found = understanding.understood(rows)
        if form == "json":
            about = {"columns": rows.columns, "notes": rows.notes, "formats": rows.formats}
            print_json(about | found.to_dict())
            return
        name, options = _next(rows, found)
        for line in (*_cut(rows.notes), *found.lines(), found.units):
            if line:
                print_line(line)
        if name is None:
            print_line(f"next: none. {reading.ONE_SCORE}")
            return
        print_line(f"in Python: skbench.read_items({_arguments(source, by, roles)})")
        print_line(f"next: {command_with(name, **options)}")


def _cut(notes):
    """Notes that fit on a screen."""
    yield from notes[:_MOST_NOTES]
    if len(notes) > _MOST_NOTES:
        yield f"and {len(notes) - _MOST_NOTES} more notes (--json has them all)"


def _arguments(source, by, roles):
    given = {"topic": by} | roles
    named = [f"{name}={value!r}" for name, value in given.items() if value]
    return ", ".join([repr(source), *named])


def _next(rows, found):
    """The command that takes such a file best, and options it needs; None where there is none."""
    if "euroeval" in rows.formats:
        return "leaderboard", {}
    if found.what == "groups":
        return ("report" if "k" in rows.groups else "estimate"), {}
    items = rows.items
    groups = [name for name in ("model", *understanding.topic_columns(rows)) if name in items]
    if groups and not items.duplicated(groups).any() and not items["score"].isin((0, 1)).all():
        return None, {}
    spread = items["score"].groupby([items[name] for name in groups]) if groups else None
    if "item" in items and (spread.nunique().max() if groups else items["score"].nunique()) < 2:
        return "leaderboard", {}  # scores that are all alike have no interval by themselves
    if found.n_repeats > 1 and found.n_models < 2 and found.scores == "right or wrong":
        keys = [name for name in ("model", "item") if name in items]
        return "passk", {"k": str(items.groupby(keys).size().min())}
    return "report", {}


def _list_columns(paths):
    """The columns of a table that is no results as far as can be told."""
    from skbench._checks import listed
    from skbench.readers.loading import load_table

    for path in paths:
        if Path(path).is_dir():
            continue
        try:
            table, _ = load_table(path, lambda columns: [])
        except (ValueError, OSError, ImportError):
            continue
        print_line(f"{path}: {len(table):,} rows, {len(table.columns)} columns")
        more = table.columns[_MOST_COLUMNS:]
        table = table.iloc[:, :_MOST_COLUMNS]
        present = [table[name].dropna().astype(str) for name in table]
        examples = [", ".join(x.unique()[:3])[:_LONGEST_EXAMPLE] for x in present]
        columns = [
            Column("column", list(table)),
            Column("examples", examples),
            Column("distinct", [x.nunique() for x in present], ",d"),
            Column("blank", [len(table) - len(x) for x in present], ",d"),
        ]
        print_grid(Table(columns))
        if len(more):
            print_line(f"and {len(more)} more: {listed(more, most=12)}")
