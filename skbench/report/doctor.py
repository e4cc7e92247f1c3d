"""`skbench doctor`: what is read in files, and what would be made of it."""

from pathlib import Path

import click

from skbench.report.formats import form_option, print_json
from skbench.report.options import Names, reading_options
from skbench.report.reading import ONE_SCORE, check_topics, renamed
from skbench.report.table import Column, Table
from skbench.report.terminal import DataError, in_one_line, print_line
from skbench.report.understanding import topic_columns, understood
from skbench.report.writers import print_grid

_MOST_COLUMNS = 40
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
        check_topics(by, roles["model"])
        new_names = roles.pop("rename")
        try:
            from skbench.readers import read_with_notes

            source = paths[0] if len(paths) == 1 else list(paths)
            rows = renamed(read_with_notes(source, topic=by, **roles), new_names)
        except (ValueError, FileNotFoundError, ImportError) as error:
            if form == "text":
                _list_columns(paths)
            raise DataError(str(error)) from error
        found = understood(rows)
        if form == "json":
            about = {"columns": rows.columns, "notes": rows.notes, "formats": rows.formats}
            print_json(about | found.to_dict())
            return
        for line in filter(None, (*rows.notes, *found.lines(), found.units, _next(rows, found))):
            print_line(line)


def _next(rows, found):
    """Which commands take such a file."""
    if "euroeval" in rows.formats:
        return "next: skbench leaderboard; these are scores of whole test sets, not of items"
    if found.what == "groups":
        more = " or skbench report" if "k" in rows.groups else ""
        return f"next: skbench estimate{more}"
    if found.n_models > 1 and found.n_items:
        return "next: skbench report, leaderboard, compare or estimate"
    groups = [name for name in ("model", *topic_columns(rows)) if name in rows.items]
    single = groups and not rows.items.duplicated(groups).any()
    if single and not rows.items["score"].isin((0, 1)).all():
        return f"next: none. {ONE_SCORE}"
    if found.n_topics or found.n_models > 1:
        return "next: skbench report or estimate"
    return "next: skbench estimate --by COLUMN, or gate against another file"


def _list_columns(paths):
    """The columns of a table that is no results as far as can be told."""
    from skbench.readers.loading import load_table

    for path in paths:
        if Path(path).is_dir():
            continue
        try:
            table, _ = load_table(path, lambda columns: [])
        except (ValueError, OSError, ImportError):
            continue
        print_line(f"{path}: {len(table):,} rows, {len(table.columns)} columns")
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
