"""The `skbench` command: each subcommand lives in a file of its own."""

import atexit
import gc
import io
import os
import sys
from copy import copy
from importlib import import_module

_HELP = """Honest estimates of model performance from few items per topic.

Try `skbench demo` first; then `skbench estimate FILE` on results of your own.
"""
# What each is for. A command is read from the file of its name when it is called for.
COMMANDS = {
    "arena": "Rate models by votes between two of them.",
    "compare": "Compare two models of a file, or all pairs.",
    "demo": "See it work on a real benchmark, made on the spot.",
    "doctor": "Tell what is read in a file, before anything is computed.",
    "estimate": "Estimate every group of a file of results.",
    "gate": "Pass or fail new results against old ones.",
    "items": "Audit items: wrong keys, duplicates, no use.",
    "judge": "Correct an autorater by a few human labels.",
    "leaderboard": "Rank the models of a file, with intervals and rank sets.",
    "metrics": "Compare accuracy, TPR, F1 or AUC between groups of rows.",
    "passk": "Does one of k answers solve it, do all of them?",
    "plan": "Plan how many items a comparison of two models needs.",
    "report": "Report on files or folders of results.",
    "sequential": "Stop when enough: verdicts valid whenever one looks.",
    "trend": "Test the trend of scores over the versions of a model.",
}


def main(args=None):
    """Run the command line.

    Whoever reads stdout or stderr may stop reading: files are still written, and the exit code
    is what it would have been.

    Exit codes: 0 all is well, 1 the data or the installation are at fault (one
    line on stderr says what and what to do), 2 the command was mistyped.

    Parameters
    ----------
    args : list of str, default=None
        Arguments; None takes those of the process.
    """
    try:
        import click
        import rich  # noqa: F401
    except ImportError:
        sys.exit('skbench: the command line needs click and rich: pip install "skbench[cli]"')
    for name in ("stdout", "stderr"):
        setattr(sys, name, _unread(getattr(sys, name)))
    # To look for garbage among modules, which stay, takes as long as to load some, also at the end.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    # Read when numpy is loaded. Matrices have a few dozen rows here: threads only wait.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from skbench import __version__
    from skbench.report.options import COMMON

    class Commands(click.Group):
        """Lists all commands without reading them: most of them load pandas."""

        def list_commands(self, context):
            return list(COMMANDS)

        def get_command(self, context, name):
            if name not in COMMANDS:
                return None
            command = copy(getattr(import_module(f"skbench.report.{name}"), name))
            command.params = [*command.params, *COMMON]
            return command

        def format_commands(self, context, formatter):
            with formatter.section("Commands"):
                formatter.write_dl(list(COMMANDS.items()))

    commands = click.version_option(__version__, prog_name="skbench")(
        Commands("skbench", help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
    )
    try:
        commands.main(args, prog_name="skbench")
    except OSError as error:  # stdout, beyond what commands write themselves
        sys.exit(f"skbench: {error}")


class _Unread(io.FileIO):
    """A pipe that swallows what is written after its reader has gone, as after ``| head -1``.

    Of stderr, whatever is in its way: the results do not wait for notes.
    """

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())  # what is left to write must not fail again
            os.close(nowhere)
            if not isinstance(error, BrokenPipeError) and self.fileno() != 2:
                raise OSError(f"Cannot write the output: {error.strerror}.") from error
            return len(data)


def _unread(stream):
    """The stream of a process as one that nobody need read; others and terminals as they are."""
    if stream is None:  # closed from the start
        return open(os.devnull, "w", encoding="utf-8")
    if stream not in (sys.__stdout__, sys.__stderr__) or stream.isatty():
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Unread(stream.fileno(), "w", closefd=False)),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
    )
