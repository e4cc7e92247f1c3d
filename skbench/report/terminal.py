"""Output to the terminal: results on stdout; notes, warnings and errors on stderr."""

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

# Keys in the meta of click's context: notes to print, their maximum, and rows of a table.
_NOTES, MOST_NOTES, MOST_ROWS = "skbench.notes", "skbench.most_notes", "skbench.most_rows"
_NARROWEST_TEXT = 12  # columns to which names are folded if a table is too wide
_PLAIN_SECONDS = 20  # between lines of progress where there is no terminal
_UNLIMITED = 100_000  # columns
_OF_ONE_FILE = ("arena", "judge", "metrics")  # commands that read no folders


class DataError(click.ClickException):
    """An error in the data or the installation: exit code 1."""

    exit_code = 1

    def __init__(self, message, commands=()):
        super().__init__(message)
        self.commands = commands

    def show(self, file=None):
        """Print ``skbench: message`` on stderr, and commands that avoid the error."""
        for line in filter(None, (f"skbench: {self.message}", *self.commands)):
            click.echo(_unbroken(line), err=True)


def command_with(name=None, **options):
    """The command line of the running command with these options added.

    With a name, the command line of that command on the same files. The result is None if the
    command lacks an option, or reads single files but a folder was given.
    """
    context = click.get_current_context()
    command = context.command
    if name is not None:
        command = getattr(import_module(f"skbench.report.{name}"), name)
    files = [param for param in context.command.params if isinstance(param, click.Argument)]
    known = {param.name: param for param in command.params}
    given = [
        param
        for param in context.command.params
        if context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
        and param not in files
        and param.expose_value
        and param.name in known.keys() - {"by" if name == "topic" else name for name in options}
        and (name is None or _carries_over(param, known[param.name]))
    ]
    words = ["skbench", command.name]
    for param in files:
        if not param.required and param.name not in known:
            continue  # names of models, which other commands do not take
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


def _carries_over(param, other):
    """Whether another command takes an option in the same way; files are written only once."""
    return param.type.name == other.type.name and not hasattr(param.type, "replaces")


def setting(name, default=None):
    """The value of a common option, such as MOST_ROWS, or the default."""
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
    """Print a line on stderr, even with --quiet."""
    click.echo(one_line(text), err=True)


def print_notes():
    """Print the notes so far on stderr; if there are too many, the most important ones."""
    notes, most = list(dict.fromkeys(setting(_NOTES, ()))), setting(MOST_NOTES, math.inf)
    if notes:
        click.get_current_context().meta.pop(_NOTES)
    if len(notes) > most:
        kept = sorted(notes, key=lambda text: text.importance)[: most - 1]
        notes = [*kept, f"{len(notes) - len(kept)} more notes (print them with -v)"] if most else []
    for text in notes:
        print_note(text)


def save_picture(figure, path):
    """Write a figure to this file, as PNG if the name has no suffix, and note the file."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150, format=Path(path).suffix[1:] or "png")
    write_whole(path, drawn.getvalue())
    note(f"picture: {path}", SUMMARY)


def one_line(text):
    """The text in one line, with options in place of arguments of Python."""
    return in_options(_unbroken(text))


def _unbroken(text):
    return visible(" ".join(str(text).split()))


@contextmanager
def in_one_line():
    """Turn errors in the data into a `DataError`, and print each warning once, in one line."""
    printed = set()

    def show(message, category, filename, lineno, file=None, line=None):
        text = one_line(message)
        if text not in printed:
            printed.add(text)
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
            # `doctor` explains how a file is read; `report` is the command to run on it.
            running = click.get_current_context().command.name
            best = {"name": "report"} if running == "doctor" else {}
            commands = [command_with(**(best | choice)) for choice in error.choices]
            raise DataError(one_line(error.text), commands) from error
        except (ValueError, OSError, ImportError) as error:
            text = error
            if isinstance(error, OSError) and error.errno is not None:
                text = error.strerror + (f": {str(error.filename)!r}" if error.filename else "")
            raise DataError(one_line(text)) from error


@contextmanager
def working(text):
    """Show the progress: a bar on a terminal, a line from time to time elsewhere."""
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
            described = f"{text}: {visible(what)}" if what else text
            if total is None:  # a step of unknown length: the bar does not move
                bar.update(task, description=f"{described}, step {done}")
                return
            bar.update(task, completed=done, total=total, description=described)
            if done == total:  # the length of the next part is unknown
                bar.tasks[0].total = None

        with _progress.listening(report):
            yield report


def _now_and_then(text):
    """A function that prints the progress, but not too often."""
    last = time.monotonic()

    def report(done, total, what=""):
        nonlocal last
        if time.monotonic() - last > _PLAIN_SECONDS:
            last = time.monotonic()
            progress = f"step {done}" if total is None else f"{done} of {total}"
            if setting(MOST_NOTES, 1):
                print_note(f"{text}: {f'{what}, ' if what else ''}{progress}")

    return report


def _stdout():
    """The console of the results; the notes are printed before them."""
    print_notes()
    return Console(force_jupyter=False)


def print_table(table, narrow):
    """Print a rich table on stdout with whole numbers; `narrow` if the first is too wide."""
    console = _stdout()
    table = _fitted(table, narrow, console)
    console.print(table)


def width():
    """Columns of the terminal, or of COLUMNS or 80 elsewhere."""
    return Console(force_jupyter=False).width


def _fitted(table, narrow, console):
    """The table that fits, on a console made as wide as its numbers need."""
    unlimited = console.options.update(width=_UNLIMITED)
    needed = console.measure(table, options=unlimited).maximum
    if needed > console.width:
        table = narrow
        needed = console.measure(table, options=unlimited).maximum
        for column in table.columns:
            if not column.no_wrap:
                widths = (console.measure(x, options=unlimited).maximum for x in column.cells)
                needed -= max(0, max(widths, default=0) - _NARROWEST_TEXT)
        needed = max(console.width, needed)
    console.width = needed
    return table


def ascii_only():
    """Whether stdout may lack the characters of lines and bars."""
    return Console(force_jupyter=False).options.ascii_only


def print_prose(text):
    """Print a wrapped paragraph on stdout; line breaks before and after it are kept."""
    inner = text.strip("\n")
    _stdout().print(Text(text.replace(inner, visible(inner)) if inner else text))


def print_line(text):
    """Print a line on stdout, which is wrapped only on a terminal."""
    console = _stdout()
    if not console.is_terminal:
        console.width = _UNLIMITED
    console.print(Text(visible(text)))


def print_next(commands):
    """Print the commands to run next on stdout, unwrapped so that they can be copied."""
    commands = list(filter(None, commands))
    if commands:
        click.echo("\nNext:")
    for command in commands:
        click.echo(f"  {_unbroken(command)}")
