"""The `skbench` command: each subcommand lives in a file of its own."""

import os
import sys

_HELP = """Honest estimates of model performance from few items per topic.

Try `skbench demo` first; then `skbench estimate FILE` on results of your own.
"""


def main(args=None):
    """Run the command line.

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
    # Read when numpy is loaded. Matrices have a few dozen rows here: threads only wait.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from skbench import __version__
    from skbench.report.compare import compare
    from skbench.report.demo import demo
    from skbench.report.estimate import estimate
    from skbench.report.judge import judge
    from skbench.report.leaderboard import leaderboard
    from skbench.report.plan import plan
    from skbench.report.report import report

    known = [demo, report, estimate, leaderboard, compare, judge, plan]
    commands = click.Group("skbench", commands=known, help=_HELP)
    commands = click.version_option(__version__, prog_name="skbench")(commands)
    commands.main(args, prog_name="skbench")
