"""The output formats of commands: text, JSON, CSV, Markdown and LaTeX."""

import csv
import functools
import json
import math

import click

from skbench import __version__
from skbench._numbers import escaped
from skbench.report.terminal import print_notes
from skbench.report.writers import as_latex, as_markdown, print_whole

_FORMS = {"json": "JSON", "csv": "CSV", "markdown": "a Markdown table", "latex": "a LaTeX table"}
_FORMULA = ("=", "+", "-", "@")  # first characters of cells that a spreadsheet runs


def format_options(command):
    """Add --json, --csv, --markdown and --latex, at most one of which is given as `form`."""
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
        def with_form(*args, escape_formulas=False, **kwargs):
            asked = [name for name in names if kwargs.pop(f"as_{name}")]
            if len(asked) > 1:
                raise click.UsageError(f"--{asked[0]} and --{asked[1]} exclude each other.")
            if escape_formulas and asked != ["csv"]:
                raise click.UsageError("--escape-formulas needs --csv.")
            return command(*args, form=asked[0] if asked else "text", **kwargs)

        for name in reversed(names):
            help_text = f"Print {_FORMS[name]}."
            option = click.option(f"--{name}", f"as_{name}", is_flag=True, help=help_text)
            with_form = option(with_form)
        return with_form

    return decorate


def show(form, table, document, frame=None):
    """Print a table for people, a document as JSON, or a frame as CSV."""
    if form == "text":
        print_whole(table)
    elif form == "json":
        print_json(document)
    elif form == "csv":
        is_safe = click.get_current_context().params.get("escape_formulas", False)
        print_data(as_csv(frame, is_safe).removesuffix("\n"))
    else:
        print_data(as_markdown(table) if form == "markdown" else as_latex(table))


def show_estimates(form, table, estimate, name, frame, **known):
    """Print rows with intervals, their method and their guarantee."""
    about = {"method": estimate.method, "guarantee": estimate.guarantee}
    document = {"confidence_level": estimate.confidence_level, **about, **known, name: frame}
    show(form, table, document, frame.assign(**about))


def print_json(document):
    """Print a document as JSON, with the version, the command and the confidence level."""
    context = click.get_current_context()
    head = {
        "skbench": __version__,
        "command": context.command.name,
        "confidence_level": context.params.get("confidence_level"),
    }
    print_data(json.dumps(_plain(head | document), indent=1, allow_nan=False))


def _plain(value):
    """A value for JSON: tables as lists of objects, unknown and infinite numbers as null."""
    if hasattr(value, "columns"):  # a table
        return [_plain(row) for row in value.astype(object).to_dict("records")]
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int)) else str(value)


def as_csv(frame, is_safe):
    """One line per row, with lists in one cell and control characters escaped.

    With `is_safe`, formulas become text and all text is quoted.
    """

    def written(cell):
        text = " ".join(cell) if isinstance(cell, list) else cell
        text = escaped(text) if isinstance(text, str) else text
        return f"'{text}" if is_safe and isinstance(text, str) and _is_run(text) else text

    frame = frame.map(written).rename(columns=written)
    return quoted(frame) if is_safe else frame.to_csv(index=False, lineterminator="\n")


def quoted(frame):
    """Rows as CSV with all text in quotes, so that it is read back unchanged."""
    return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def _is_run(text):
    return text.lstrip().startswith(_FORMULA)


def print_data(text):
    """Print for programs, after the notes."""
    print_notes()
    click.echo(text)
