"""`skbench report`: everything one may say about a folder of results."""

import shlex
import sys
from pathlib import Path

import click
import numpy as np

from skbench.report import past as pasts
from skbench.report import thresholds
from skbench.report.reading import (
    Names,
    bounds_option,
    check_topics,
    cluster_name,
    level_option,
    missing_option,
    past_options,
    read_rows,
    reading_options,
    say_if_beyond,
    score_name,
    score_range,
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


@click.command(cls=CheckCommand)
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--by",
    type=Names(),
    help="Topic column(s), whose means then count equally in the ranking.  [default: guessed]",
)
@reading_options
@bounds_option
@level_option
@missing_option
@past_options
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
def report(paths, by, bounds, confidence_level, missing, seed, rows, html, as_json, **options):
    """Report on the results in PATHS: files or folders that a harness wrote.

    Prints what was read, an estimate per model and topic, the ranking with the
    ranks each model may have, a verdict for every pair, and what to beware of. With --past or
    --bank all of it is about all items that earlier models answered.
    Exit codes: 0, 1 on error, 2 when a threshold given by you is crossed. A threshold
    is crossed only where the interval leaves no doubt; doubt is told on stderr.
    """
    earlier = options.pop("past"), options.pop("bank")
    try:
        pasts.check_past(*earlier, missing)
    except click.UsageError as error:
        raise DataError(error.message) from error
    limits = {name: options.pop(name) for name in ("fail_under", "fail_if_worse_than")}
    with in_one_line():
        rows_read, topics = _read(paths, by, options, missing)
        known_range = score_range(rows_read, bounds)
        with working("estimating ..."):
            past = pasts.learn(*earlier, rows_read, paths[0], by, options)
            findings = _found(
                rows_read, topics, known_range, confidence_level, missing, seed, past, bool(by)
            )
        say_if_beyond(findings.estimate, rows_read.items, known_range)
        verdicts = thresholds.verdicts(findings, **limits)
        _write(findings, rows_read, verdicts, paths, rows, html, as_json)
    for verdict in verdicts:
        say(verdict.sentence)
    if any(verdict.crossed for verdict in verdicts):
        sys.exit(2)


def _read(paths, by, roles, missing):
    """Item rows as read, and the columns that make up the topic."""
    with loading():
        from skbench.readers._group_results import unfolded

    check_topics(by, roles["model"])
    rows = read_rows(paths[0] if len(paths) == 1 else list(paths), by, roles, missing)
    rows = unfolded(rows)
    items = rows.items
    if "item" not in items:
        # Models then share nothing that is known, and are compared as on different items.
        items["item"] = np.arange(len(items))
    if "model" not in items:
        items["model"] = Path(paths[0]).stem
    topics = by if by and len(by) > 1 else ["topic"]
    return rows, [name for name in topics if name in items]


def _found(read, topics, known_range, confidence_level, missing, seed, past, equal_topics):
    with loading():
        from skbench.report.findings import find
        from skbench.report.methods import recommended

    return find(
        read.items,
        by=["model", *topics],
        cluster=cluster_name(read),
        estimator=recommended(seed),
        known_range=known_range,
        confidence_level=confidence_level,
        missing=missing,
        # Without ids nothing is known to be shared: models then have items of their own.
        unrelated="item" not in read.columns,
        past=past,
        equal_topics=equal_topics,
    )


def _write(findings, read, verdicts, paths, rows, html, as_json):
    from skbench.report import page, printing

    about = {
        "read": _read_in_words(findings, paths),
        "notes": read.notes,
        "score": score_name(read),
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
