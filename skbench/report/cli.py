"""The `skbench` command; each subcommand is a module of the same name."""

import atexit
import gc
import io
import os
import sys
from copy import copy
from importlib import import_module

_HELP = """Estimate, compare and rank models from benchmark results, with intervals.

Start with `skbench demo`, or run `skbench report FILE` on your own results.
"""
# The module of a command is imported only when the command is called.
COMMANDS = {
    "arena": "Rate models from pairwise votes.",
    "compare": "Compare two models, or all pairs of models.",
    "demo": "Try skbench on a small benchmark with known accuracies.",
    "doctor": "Show how a file is read, without computing anything.",
    "estimate": "Estimate the score of each model on each topic.",
    "gate": "Check new results against a baseline (pass, fail or undecided).",
    "items": "Find wrong answer keys, duplicates and uninformative items.",
    "judge": "Correct the scores of an LLM judge with human labels.",
    "leaderboard": "Rank models, with intervals for scores and ranks.",
    "metrics": "Compare accuracy, TPR, FPR, F1 or AUC between groups.",
    "passk": "Estimate pass@k and pass^k from several answers per item.",
    "plan": "Compute how many items an evaluation needs.",
    "report": "Summarize results: estimates, ranking and comparisons.",
    "sequential": "Decide during a run whether more items are needed.",
    "trend": "Test whether scores change between the versions of a model.",
}


def main(args=None):
    """Run the command line.

    If the reader of stdout or stderr closes it, the command still writes its files and exits
    with the same code.

    Exit codes: 0 success; 1 error in the data or the installation, described in one line on
    stderr; 2 error in the command line. `skbench gate` and `skbench report` exit with 3 if a
    test fails, and `skbench gate` and `skbench sequential` exit with 4 if it is undecided.

    Parameters
    ----------
    args : list of str, default=None
        Arguments. None uses those of the process.
    """
    try:
        import click
        import rich  # noqa: F401
    except ImportError:
        sys.exit('skbench: click and rich are not installed. Run: pip install "skbench[cli]"')
    for name in ("stdout", "stderr"):
        setattr(sys, name, _unread(getattr(sys, name)))
    # Garbage collection among modules, also at exit, would take as long as importing some.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    # numpy reads this at import. Matrices have a few dozen rows, so threads would only wait.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from skbench import __version__
    from skbench.report.options import COMMON

    class Commands(click.Group):
        """Lists all commands without importing them, because most of them import pandas."""

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
    except OSError as error:  # writing to stdout
        sys.exit(f"skbench: {error}")


class _Unread(io.FileIO):
    """A pipe that discards output after its reader has closed it, as with ``| head -1``.

    On stderr, all errors are ignored, so that notes never stop the results.
    """

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())  # later writes must not fail again
            os.close(nowhere)
            if not isinstance(error, BrokenPipeError) and self.fileno() != 2:
                raise OSError(f"Cannot write the output: {error.strerror}.") from error
            return len(data)


def _unread(stream):
    """Wrap stdout or stderr so that closing the reader is no error; skip terminals."""
    if stream is None:  # already closed
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
