"""One result as text, JSON, CSV or Markdown: what the commands on decisions share."""

import json

import click
import pandas as pd

from skbench.report import tables
from skbench.report.terminal import print_prose, print_table

markdown_option = click.option("--markdown", is_flag=True, help="Print Markdown.")


def form_of(**given):
    """The one form that was asked for, "text" where none was."""
    asked = [name for name, wanted in given.items() if wanted]
    if len(asked) > 1:
        first, second = (f"--{name.removeprefix('as_')}" for name in asked[:2])
        raise click.UsageError(f"{first} and {second} exclude each other.")
    return asked[0].removeprefix("as_") if asked else "text"


def show(form, headers, rows, sentences, document, frame):
    """Print a result: table and sentences, a document for JSON, or a frame for CSV."""
    if form == "json":
        found = {
            name: tables.records(_flat(value)) if isinstance(value, pd.DataFrame) else value
            for name, value in document.items()
        }
        found = tables.records(pd.DataFrame([found]))[0]
        click.echo(json.dumps(found, indent=1, default=tables.plain_value, allow_nan=False))
    elif form == "csv":
        click.echo(_flat(frame).to_csv(index=False, lineterminator="\n"), nl=False)
    elif form == "markdown":
        lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
        table = [f"| {' | '.join(cells)} |" for cells in lines]
        click.echo("\n".join([*table, "", *(f"- {text}" for text in sentences)]))
    else:
        print_table(tables.plain_table(headers, rows, n_text=1))
        for sentence in sentences:
            print_prose(sentence)


def _flat(frame):
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
