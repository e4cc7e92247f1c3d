"""`skbench report`: everything that files or folders of results show."""

import os
import shlex
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import click

from skbench._notes import SUMMARY
from skbench.report import thresholds
from skbench.report.formats import form_option, print_data, print_json
from skbench.report.loaded_later import pasts, reading
from skbench.report.options import (
    Names,
    Share,
    features_option,
    model_options,
    seed_option,
)
from skbench.report.paths import Input, file_option
from skbench.report.terminal import DataError, command_with, in_one_line, note, print_note, working

UNNAMED = ""  # --cost without a column
THRESHOLD = 3  # exit code; 2 is the shell's word for wrong usage


@click.command()
@click.argument("paths", type=Input(), nargs=-1, required=True)
@click.option(
    "--by",
    type=Names(),
    help="Topic column(s). The ranking then weights all topics equally.  [default: by name]",
)
@model_options
@seed_option
@features_option
@file_option("--html", "Write the report as one HTML page.", suffixes=("", ".html", ".htm"))
@file_option(
    "--summary", "Append a short Markdown report to FILE, for the summary of a CI job.", "FILE"
)
@form_option("json", "markdown", "latex")
@click.option(
    "--cost",
    is_flag=False,
    flag_value=UNNAMED,
    help="Cost column (tokens, seconds, money). Adds the trade-off between score and cost. Omit "
    "the value to list candidate columns.",
)
@click.option(
    "--fail-under",
    type=Share(),
    metavar="SCORE",
    help="Exit with 3 if the whole interval of a model is below SCORE.",
)
@click.option(
    "--fail-if-worse-than",
    metavar="MODEL",
    help="Exit with 3 if any model is significantly worse than MODEL.",
)
def report(paths, by, bounds, confidence_level, missing, seed, cost, form, **options):
    """Summarize the results in PATHS (tables, logs, or folders of logs).

    The report begins with a short conclusion. It then lists the possible ranks of each
    model, the pairs of models, and an estimate for each model and topic. With --past or
    --bank, scores are estimated for all items that earlier models answered.

    Exit codes: 0 success, 1 error, 2 wrong usage, 3 a model failed --fail-under or
    --fail-if-worse-than. A model fails --fail-under only if its whole interval is below
    SCORE. If the interval includes SCORE, the result is UNDECIDED, and the exit code is 0.
    The results of both checks are printed on stderr.
    """
    earlier = options.pop("past"), options.pop("bank")
    asked = options.pop("features")
    if pasts.check_past(*earlier, missing) and asked is not None:
        raise click.UsageError("--features cannot be used with --past or --bank.")
    files = {name: options.pop(name) for name in ("html", "summary")}
    limits = {name: options.pop(name) for name in ("fail_under", "fail_if_worse_than")}
    with in_one_line():
        rows_read, topics = _read(paths, by, options, missing, cost, asked)
        known_range = reading.score_range(rows_read, bounds)
        groups = ["model", *topics]
        with working("estimating"):
            past = pasts.learn(*earlier, rows_read, paths[0], by, options, known_range)
            features = (
                None if past is not None else reading.find_features(rows_read, groups, asked, cost)
            )
            from skbench.report.findings import find

            settings = confidence_level, missing, seed, past, features
            findings = find(rows_read, groups, known_range, *settings, bool(by), cost)
        reading.note_if_beyond(findings.estimate, rows_read.items, known_range)
        verdicts = thresholds.verdicts(findings, known_range, **limits)
        about = {
            "data": _data_name(paths),
            "date": _day(),
            "read": _read_in_words(findings, paths),
            "notes": [without_folders(text, paths) for text in rows_read.notes],
            "score": reading.score_name(rows_read),
            "command_line": shlex.join(["skbench", *map(_without_folder, sys.argv[1:])]),
        }
        _write(
            findings, about, verdicts, form, **files, next_commands=_next(paths, files, findings)
        )
    for verdict in verdicts:
        print_note(verdict.sentence)
    if any(verdict.crossed for verdict in verdicts):
        sys.exit(THRESHOLD)


def _read(paths, by, roles, missing, cost, features):
    """Item rows and the columns that make up the topic."""
    from skbench.readers.group_results import expanded

    reading.check_topics(by, roles["model"])
    file = paths[0] if len(paths) == 1 else list(paths)
    rows = reading.read_rows(file, by, roles, missing, cost=cost, features=features)
    rows = expanded(rows)
    items = rows.items
    if cost is not None:
        _check_one_model_a_row(rows.columns["score"])
        reading.check_cost(cost, items)
    if "item" not in items:
        # No shared items are known, so the models are compared as on different items.
        items["item"] = range(len(items))
    rows = reading.named_after(rows, paths[0])
    return rows, [name for name in reading.topic_names(by) or ["topic"] if name in items]


def _check_one_model_a_row(score):
    """Refuse a cost if a row holds the scores of several models."""
    if isinstance(score, list) and len(score) > 1:
        raise DataError(
            f"--cost needs one row per model and item. The file has a column of scores per model, "
            f"such as {score[0]!r}."
        )


def _next(paths, files, findings):
    """Commands that make sense after the report."""
    yield None if files["html"] else command_with(html="report.html")
    if len(paths) == 1 and len(findings.board) > 1 and findings.items is not None:
        yield command_with("items")


def _write(findings, about, verdicts, form, html, summary, next_commands):
    from skbench.report import page, sections

    # Files first: stdout may be full.
    if html is not None:
        page.write(html, findings, about, verdicts)
        note(f"page: {html}", SUMMARY)
    if summary is not None:
        sections.write_summary(summary, findings, about, verdicts)
    if form == "json":
        print_json(sections.document(findings, about, verdicts))
    elif form == "markdown":
        print_data(sections.as_markdown_report(findings, about, verdicts))
    elif form == "latex":
        print_data(sections.as_latex_report(findings))
    else:
        sections.print_report(findings, about, next_commands)


def _read_in_words(findings, paths):
    size = findings.size
    kinds = [(kind, size[f"{kind}s"]) for kind in ("model", "topic", "item")]
    numbers = ", ".join(f"{n:,} {kind}{'s' * (n > 1)}" for kind, n in kinds if n)
    return f"{size['scores']:,} scores read from {_data_name(paths)}: {numbers}"


def _data_name(paths):
    from skbench.report.headline import listed

    return listed(Path(path).resolve().name for path in paths)


def _day():
    """The date of the report, or of SOURCE_DATE_EPOCH (for reproducible pages)."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        return date.today().isoformat()
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        text = f"SOURCE_DATE_EPOCH is {seconds!r}. Give seconds since 1970, or unset it."
        raise DataError(text) from error


def without_folders(text, paths):
    """Text without the folders of the files, which mean nothing on another machine."""
    parents = [Path(path).parent for path in paths]
    found = {str(folder) for parent in parents for folder in (parent, parent.resolve())}
    folders = {f"{folder}{os.sep}" for folder in found - {".", os.sep}}
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(folder, "")
    return text


def _without_folder(argument):
    """An argument as typed, but a path without its folder."""
    option, equals, value = argument.rpartition("=") if argument[:2] == "--" else ("", "", argument)
    is_path = os.sep in value and (os.path.isabs(value) or Path(value).parent.exists())
    return f"{option}{equals}{Path(value).name if is_path else value}"
