"""The forms in which the commands print a table: for people, for programs, for papers."""

import functools
import json
import sys

import click
import pandas as pd

from skbench.report import tables
from skbench.report.markup import as_latex, as_markdown, markdown_text, no_formula
from skbench.report.terminal import print_prose, print_table, visible

_FORMS = {"json": "JSON", "csv": "CSV", "markdown": "a Markdown table", "latex": "a LaTeX table"}


def format_options(command):
    """Add --json, --csv, --markdown and --latex, of which one may be given, as `form`."""
    return form_option(*_FORMS)(
        click.option(
            "--escape-formulas",
            is_flag=True,
            help="In CSV, put ' before text that a spreadsheet would run as a formula.",
        )(command)
    )


def form_option(*names):
    """A decorator that adds an option for each of these forms, as one argument `form`."""

    def decorate(command):
        @functools.wraps(command)
        def with_form(*args, **kwargs):
            asked = [name for name in names if kwargs.pop(f"as_{name}")]
            if len(asked) > 1:
                raise click.UsageError(f"--{asked[0]} and --{asked[1]} exclude each other.")
            if kwargs.get("escape_formulas") and asked != ["csv"]:
                raise click.UsageError("--escape-formulas goes with --csv.")
            return command(*args, form=asked[0] if asked else "text", **kwargs)

        for name in reversed(names):
            help_text = f"Print {_FORMS[name]}."
            option = click.option(f"--{name}", f"as_{name}", is_flag=True, help=help_text)
            with_form = option(with_form)
        return with_form

    return decorate


def print_form(form, table, estimate, head, name, cells, escape_formulas=False):
    """Print a table of estimates in any form but text.

    Parameters
    ----------
    form : {"json", "csv", "markdown", "latex"}
    table : DataFrame
        All there is to know of the rows, for programs.
    estimate : Estimate
        Its method and guarantee are told.
    head : dict
        What JSON tells once.
    name : str
        Key of the rows in JSON.
    cells : Cells
        What people are shown, for Markdown and LaTeX.
    escape_formulas : bool, default=False
        Whether to keep spreadsheets from running cells of CSV.
    """
    promise = f"{estimate.method}: {tables.promise(estimate)}"
    if form == "json":
        text = tables.records_json(estimate, head, name, table)
    elif form == "csv":
        text = tables.as_csv(table, estimate, escape_formulas).removesuffix("\n")
    elif form == "markdown":
        text = f"{as_markdown(cells)}\n\n{markdown_text(promise)}"
    else:
        text = as_latex(cells, promise)
    print_data(text)


def print_result(form, cells, sentences, document, frame, escape_formulas=False):
    """Print a decision: table and sentences, or a document for JSON, or a frame for CSV."""
    if form == "text":
        print_table(tables.plain_table(*cells))
        for sentence in sentences:
            print_prose(sentence)
        return
    if form == "json":
        document = {
            name: tables.records(_flat(value)) if isinstance(value, pd.DataFrame) else value
            for name, value in document.items()
        }
        document = tables.records(pd.DataFrame([document]))[0]
        text = json.dumps(document, indent=1, default=tables.plain_value, allow_nan=False)
    elif form == "csv":
        frame = _flat(frame)
        if escape_formulas:
            frame = frame.apply(lambda column: column.map(no_formula))
        text = frame.to_csv(index=False, lineterminator="\n").removesuffix("\n")
    elif form == "markdown":
        text = "\n".join([as_markdown(cells), "", *(f"- {markdown_text(x)}" for x in sentences)])
    else:
        text = as_latex(cells, sentences[0])
    print_data(text)


def _flat(frame):
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


def print_data(text):
    """Print for programs; on a terminal control characters of names are shown, not sent."""
    if sys.stdout.isatty():
        text = "\n".join(map(visible, text.split("\n")))
    click.echo(text, color=True)  # else it would take colors out of names
