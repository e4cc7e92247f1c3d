"""`skbench report`: everything one may say about a folder of results."""

import shlex
import sys
from pathlib import Path

import click
import numpy as np

from skbench.report import thresholds
from skbench.report.reading import (
    Names,
    check_topics,
    cluster_name,
    level_option,
    reading_options,
    score_name,
)
from skbench.report.terminal import DataError, in_one_line, loading, say, working


class CheckCommand(click.Command):
    """A command whose exit code 2 means a threshold, so mistyping exits with 1."""

    def make_context(self, *args, **kwargs):
        """Parse the arguments."""
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            error.exit_code = 1
            raise


@click.command(cls=CheckCommand, short_help="Report on files or folders of results.")
@click.argument("paths", nargs=-1, required=True)
@click.option("--by", type=Names(), help="Topic column(s).  [default: guessed]")
@reading_options
@level_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--rows",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    help="Groups, and pairs of models, to print.",
)
@click.option("--html", type=click.Path(dir_okay=False), help="Write one self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--fail-under",
    type=float,
    metavar="SCORE",
    help="Exit with 2 if a model's whole interval lies below.",
)
@click.option(
    "--fail-if-worse-than",
    metavar="MODEL",
    help="Exit with 2 if another model is clearly worse than this one.",
)
def report(paths, by, confidence_level, seed, rows, html, as_json, **options):
    """Report on the results in PATHS: files or folders that a harness wrote.

    Prints what was read, an estimate per model and topic, the ranking with the
    ranks each model may have, a verdict for every pair, and what to beware of.
    Exit codes: 0, 1 on error, 2 when a threshold given by you is crossed. A threshold
    is crossed only where the interval leaves no doubt; doubt is told on stderr.
    """
    limits = {name: options.pop(name) for name in ("fail_under", "fail_if_worse_than")}
    with in_one_line():
        items, topics = _read(paths, by, options)
        with working("estimating ..."):
            findings = _found(items, topics, confidence_level, seed)
        verdicts = thresholds.verdicts(findings, **limits)
        _write(findings, items, verdicts, paths, rows, html, as_json)
    for verdict in verdicts:
        say(verdict.sentence)
    if any(verdict.crossed for verdict in verdicts):
        sys.exit(2)


def _read(paths, by, roles):
    """Items, and the columns that make up the topic."""
    with loading():
        from skbench.readers import read_items

    check_topics(by, roles["model"])
    items = read_items(paths[0] if len(paths) == 1 else list(paths), topic=by, **roles)
    for note in items.attrs["notes"]:
        say(note)
    if "euroeval" in items.attrs["formats"]:
        raise DataError(
            "EuroEval keeps bootstrap samples of whole test sets, not items, and a report on them "
            "as items would be too sure. Use RepeatedRuns and MeanRankScore in Python."
        )
    if "item" not in items:
        # Models then share nothing that is known, and are compared as on different items.
        items["item"] = np.arange(len(items))
    if "model" not in items:
        items["model"] = Path(paths[0]).stem
    topics = by if by and len(by) > 1 else ["topic"]
    return items, [name for name in topics if name in items]


def _found(items, topics, confidence_level, seed):
    with loading():
        from skbench.report.findings import find
        from skbench.report.methods import recommended

    return find(
        items,
        by=["model", *topics],
        cluster=cluster_name(items),
        estimator=recommended(seed),
        confidence_level=confidence_level,
        random_state=seed,
    )


def _write(findings, items, verdicts, paths, rows, html, as_json):
    from skbench.report import page, printing

    about = {
        "read": _read_in_words(findings, paths),
        "notes": items.attrs["notes"],
        "score": score_name(items),
        "command": shlex.join(["skbench", *sys.argv[1:]]),
    }
    if as_json:
        click.echo(printing.as_json(findings, about, verdicts))
    else:
        printing.print_report(findings, about, rows)
    if html is not None:
        page.write(html, findings, about, verdicts)
        say(f"page: {html}")


def _read_in_words(findings, paths):
    size = findings.size
    kinds = [(kind, size[f"{kind}s"]) for kind in ("model", "topic", "item")]
    numbers = ", ".join(f"{n:,} {kind}{'s' * (n > 1)}" for kind, n in kinds if n)
    where = paths[0] if len(paths) == 1 else f"{len(paths)} paths"
    return f"{size['scores']:,} scores read from {where}: {numbers}"
