"""Talking to the terminal: one line per note, warning or error, all on stderr."""

import io
import math
import shlex
import time
import warnings
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from skbench import _progress
from skbench._files import write_whole
from skbench._notes import CHOICE, SUMMARY, Note
from skbench._numbers import visible
from skbench._undecided import Undecided
from skbench.report.wording import as_option, as_typed, in_options

# In the meta of click's context: notes not yet printed, how many at most, and rows of a table.
_NOTES, MOST_NOTES, MOST_ROWS = "skbench.notes", "skbench.most_notes", "skbench.most_rows"
_NARROWEST_TEXT = 12  # columns to which names are folded on a narrow terminal
_PLAIN_SECONDS = 20  # between lines of progress where there is no terminal
_UNLIMITED = 100_000  # columns
_OF_ONE_FILE = ("arena", "judge", "metrics")  # commands that read no folders


class DataError(click.ClickException):
    """Something is wrong with the data or the installation: exit code 1."""

    exit_code = 1

    def __init__(self, message, commands=()):
        super().__init__(message)
        self.commands = commands

    def show(self, file=None):
        """Print ``skbench: message`` on stderr, and commands that mend it."""
        for line in filter(None, (f"skbench: {self.message}", *self.commands)):
            click.echo(_unbroken(line), err=True)


def command_with(name=None, **options):
    """The command that was called, or another on the same files, with these options too.

    None where it has no such option, or reads no folders.
    """
    context = click.get_current_context()
    command = context.command
    if name is not None:
        command = getattr(import_module(f"skbench.report.{name}"), name)
    files = [param for param in context.command.params if isinstance(param, click.Argument)]
    known = {param.name for param in command.params}
    given = [
        param
        for param in context.command.params
        if context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
        and param not in files
        and param.expose_value
        and param.name in known - {"by" if name == "topic" else name for name in options}
    ]
    words = ["skbench", command.name]
    for param in files:
        if not param.required and param.name not in known:
            continue  # models, which other commands do not name
        value = context.params[param.name]
        several = value if isinstance(value, (tuple, list)) else [value]
        if name in _OF_ONE_FILE and any(one and Path(one).is_dir() for one in several):
            return None
        words += [str(one) for one in several if one is not None]
    for param in given:
        words += as_typed(param, context.params[param.name])
    for option, value in options.items():
        typed = as_option(option, value, command)
        if typed is None:
            return None
        words += typed
    return shlex.join(words)


def setting(name, default=None):
    """What all commands alike are asked for, such as MOST_ROWS; else the default."""
    context = click.get_current_context(silent=True)
    return default if context is None else context.meta.get(name, default)


def note(text, importance=None):
    """Keep a line for stderr until the results are printed or the command ends.

    The importance is one of `skbench._notes`; by default that of a `Note`, and `CHOICE` of other
    texts. Unless --verbose is given, only the most important notes are printed.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return print_note(text)
    if importance is None:
        importance = getattr(text, "importance", CHOICE)
    if _NOTES not in context.meta:
        context.meta[_NOTES] = []
        context.call_on_close(print_notes)
    context.meta[_NOTES].append(Note(one_line(text), importance))


def print_note(text):
    """Print a line on stderr, however quiet the command is to be."""
    click.echo(one_line(text), err=True)


def print_notes():
    """Print the notes so far on stderr; if they are too many, the most important ones."""
    notes, most = list(dict.fromkeys(setting(_NOTES, ()))), setting(MOST_NOTES, math.inf)
    if notes:
        click.get_current_context().meta.pop(_NOTES)
    if len(notes) > most:
        kept = sorted(notes, key=lambda text: text.importance)[: most - 1]
        notes = [*kept, f"{len(notes) - len(kept)} more notes: -v"] if most else []
    for text in notes:
        print_note(text)


def save_picture(figure, path):
    """Write a figure to just this file, as PNG where its name does not say what, and tell."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150, format=Path(path).suffix[1:] or "png")
    write_whole(path, drawn.getvalue())
    note(f"picture: {path}", SUMMARY)


def one_line(text):
    """The text without line breaks, control characters shown, arguments of Python as options."""
    return in_options(_unbroken(text))


def _unbroken(text):
    return visible(" ".join(str(text).split()))


@contextmanager
def in_one_line():
    """Turn errors in the data into one line each, `DataError`, and warnings, each told once."""
    said = set()

    def show(message, category, filename, lineno, file=None, line=None):
        text = one_line(message)
        if text not in said:
            said.add(text)
            print_note(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        try:
            yield
        except BrokenPipeError:
            raise
        except Undecided as error:
            # `doctor` tells what can be done with a file; `report` does it.
            asked = click.get_current_context().command.name
            best = {"name": "report"} if asked == "doctor" else {}
            commands = [command_with(**(best | choice)) for choice in error.choices]
            raise DataError(one_line(error.text), commands) from error
        except (ValueError, OSError, ImportError) as error:
            text = error
            if isinstance(error, OSError) and error.errno is not None:
                text = error.strerror + (f": {str(error.filename)!r}" if error.filename else "")
            raise DataError(one_line(text)) from error


@contextmanager
def working(text):
    """Show how far something is: a bar on a terminal, a line now and then elsewhere."""
    console = Console(stderr=True, force_jupyter=False)
    if not console.is_terminal:
        report = _now_and_then(text)
        with _progress.listening(report):
            yield report
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(text, total=None)

        def report(done, total, what=""):
            told = f"{text}: {visible(what)}" if what else text
            if total is None:  # a step on the way: the bar stays where it is, or pulses
                bar.update(task, description=f"{told}, step {done}")
                return
            bar.update(task, completed=done, total=total, description=told)
            if done == total:  # what comes next has no length yet
                bar.tasks[0].total = None

        with _progress.listening(report):
            yield report


def _now_and_then(text):
    """A function that says how far something is, but not too often."""
    last = time.monotonic()

    def report(done, total, what=""):
        nonlocal last
        if time.monotonic() - last > _PLAIN_SECONDS:
            last = time.monotonic()
            far = f"step {done}" if total is None else f"{done} of {total}"
            if setting(MOST_NOTES, 1):
                print_note(f"{text}: {f'{what}, ' if what else ''}{far}")

    return report


def _stdout():
    """The console of the results, which notes come before."""
    print_notes()
    return Console(force_jupyter=False)


def print_table(table, narrow):
    """Print a rich table on stdout with every number whole; `narrow` where it is too wide."""
    console = _stdout()
    if console.is_terminal:
        table = _fitted(table, narrow, console)
    else:
        console.width = _UNLIMITED
    console.print(table)


def _fitted(table, narrow, console):
    """The table for a terminal, which is taken to be as wide as numbers need."""
    unlimited = console.options.update(width=_UNLIMITED)
    needed = console.measure(table, options=unlimited).maximum
    if needed > console.width:
        table = narrow
        needed = console.measure(table, options=unlimited).maximum
        first = next(iter(table.columns)).cells
        widest = max(console.measure(cell, options=unlimited).maximum for cell in first)
        needed -= max(0, widest - _NARROWEST_TEXT)
        needed = max(console.width, needed)
    console.width = needed
    return table


def ascii_only():
    """Whether stdout may lack the characters that lines and bars are drawn with."""
    return Console(force_jupyter=False).options.ascii_only


def print_prose(text):
    """Print a paragraph on stdout, wrapped; line breaks before and after it are kept."""
    inner = text.strip("\n")
    _stdout().print(Text(text.replace(inner, visible(inner)) if inner else text))


def print_line(text):
    """Print on stdout, wrapped on a terminal and in one line elsewhere."""
    console = _stdout()
    if not console.is_terminal:
        console.width = _UNLIMITED
    console.print(Text(visible(text)))
