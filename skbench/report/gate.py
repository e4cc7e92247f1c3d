"""`skbench gate`: a test whether new results are acceptable against a baseline."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from skbench._files import write_whole
from skbench._notes import SUMMARY
from skbench.report.formats import form_option, print_data, quoted, show
from skbench.report.loaded_later import pasts, reading, tables
from skbench.report.options import (
    Names,
    Share,
    bounds_option,
    choice_option,
    in_unit,
    level_option,
    past_options,
    population_option,
    reading_options,
)
from skbench.report.paths import Input, file_option
from skbench.report.table import Table
from skbench.report.terminal import DataError, command_with, in_one_line, note, working

EXIT_CODES = {"pass": 0, "fail": 3, "undecided": 4}
# Marker column of a stored baseline, by its clusters: a column, the items or none.
_STORED = {name: f"skbench_baseline_{name}" for name in ("cluster", "item", None)}
_ROLES = ("model", "item", "score", "cluster", "repeat")


@click.command()
@click.argument("old", type=Input())
@click.argument("new", type=Input())
@click.option("--margin", type=Share(0), required=True, help="Tolerated loss, above 0, such as 3%.")
@click.option("--relative", is_flag=True, help="Treat --margin as a share of the baseline's score.")
@click.option("--baseline", help="Name of the model in OLD, if OLD has several models.")
@click.option("--candidate", help="Name of the model in NEW, if NEW has several models.")
@choice_option(
    "--fail",
    "Fail if NEW is significantly worse, or worse by more than the margin.",
    "worse",
    "margin",
)
@click.option(
    "--worst",
    type=Share(),
    metavar="SCORE",
    help="Fail if the worst topic (--by) is significantly below SCORE.",
)
@choice_option(
    "--missing",
    "Items that only one model answered: skip them (drop), or score the missing answer 0 (wrong).",
    "drop",
    "wrong",
)
@click.option("--by", type=Names(), help="Topic column(s). Lists the topics on which NEW is worse.")
@reading_options
@bounds_option
@population_option
@level_option
@past_options
@click.option(
    "--undecided", type=click.Choice(["pass", "fail"]), help="Treat UNDECIDED as this outcome."
)
@file_option(
    "--save-baseline",
    "Store NEW as the next baseline if it passes. The file may be OLD.",
    "FILE.csv",
    (".csv",),
    replaces="old",
)
@form_option("json", "markdown")
def gate(old, new, margin, undecided, save_baseline, form, **options):
    """Test the results NEW against the baseline OLD: PASS, FAIL or UNDECIDED.

    OLD and NEW are files or folders of results. They are compared item by item. NEW passes if
    the interval of the difference excludes losses larger than --margin. Otherwise, NEW fails
    if it is significantly worse. If neither holds, the test is undecided.

    Exit codes: 0 pass, 3 fail, 4 undecided, 1 error, 2 usage error.

    Example: skbench gate baseline.csv new.csv --margin 3%
    """
    with in_one_line():
        result, rows = _decided(old, new, margin, options.copy())
        outcome = result.verdict
        if outcome == "undecided" and undecided is not None:
            outcome = undecided
            remark = f"UNDECIDED counts as {undecided} (--undecided {undecided})."
            result = replace(result, remarks=(remark, *result.remarks))
        if save_baseline and outcome == "pass":
            _store(rows, options["by"], save_baseline)
        if form == "markdown":
            print_data(result.to_markdown())
        else:
            commands = [] if outcome == "pass" else [command_with("report")]
            table = Table([], result.sentences(), next_commands=commands)
            show(form, table, _document(result))
    sys.exit(EXIT_CODES[outcome])


def _document(result):
    """Return the result as a document for JSON."""
    (about,) = result.to_frame().to_dict("records")
    names = ("baseline", "candidate")
    models = [{"model": about.pop(name), "value": about.pop(f"score_{name}")} for name in names]
    first, second = (model["model"] for model in reversed(models))
    ends = {name: about.pop(name) for name in ("low", "high", "standard_error")}
    pair = {"model_a": first, "model_b": second, "value": about.pop("difference"), **ends}
    topics = []
    if result.topics is not None:
        topics = tables.labeled_rows(result.topics).rename(columns={"difference": "value"})
    items = result.item_verdicts
    return about | {
        "sentences": result.sentences(),
        "remarks": result.remarks,
        "models": models,
        "pairs": [pair | {"n_items": result.n_items}],
        "topics": topics,
        "worst": result.worst_topic(),
        "items": [] if items is None else tables.item_rows(items),
        "markdown": result.to_markdown(),
    }


def _decided(old, new, margin, options):
    """Return the result, and the `ItemRows` of the candidate."""
    from skbench import gate as decide
    from skbench.items.rows import concatenated

    names = [options.pop("baseline"), options.pop("candidate")]
    settings = {name: options.pop(name) for name in ("relative", "fail", "missing", "worst")}
    by, level = options.pop("by"), options.pop("confidence_level")
    past, file, bounds, asked = (
        options.pop(name) for name in ("past", "bank", "bounds", "population")
    )
    with_past = pasts.check_past(past, file, settings["missing"])
    reading.check_topics(by, options["model"])
    sides = [_one_model(*side, by, options) for side in zip((old, new), names, strict=True)]
    (baseline, rows_old), (candidate, rows_new) = sides
    reading.check_alike(rows_old, rows_new)
    if baseline == candidate:
        baseline, candidate = f"{baseline} (old)", f"{candidate} (new)"
    columns = _columns((old, new), (rows_old, rows_new), by)
    both = rows_old.items.assign(model=baseline), rows_new.items.assign(model=candidate)
    items = concatenated(both, [*rows_new.key, "cluster"])
    both = rows_new._replace(items=items)
    settings["bounds"] = known_range = reading.score_range(both, bounds)
    if not settings["relative"]:
        margin = in_unit(margin, known_range, "--margin")
    settings["worst"] = in_unit(settings["worst"], known_range, "--worst", is_score=True)
    settings["population"] = reading.population_of(asked, items, by, with_past)
    if with_past:
        settings["bank"] = bank = pasts.read_bank(past, file, by, options, [candidate], rows_new)
        items = pasts.as_banks_take(items, by)
        columns |= {"by": ["topic"] if by else None, "topic": ["topic"]}
        items["item"] = pasts.as_in(items["item"], bank.items_["item"])
        if "topic" in items:
            items["topic"] = pasts.as_in(items["topic"], bank.topics_)
    with working("comparing"):
        result = decide(
            items, baseline, candidate, margin, **settings, **columns, confidence_level=level
        )
    return result, rows_new


def _one_model(file, name, by, roles):
    """Return the name and the `ItemRows` of the only or the chosen model of a file."""
    from skbench.items.roles import check_model

    by, roles = _as_stored(file, by, roles)
    rows = reading.named_after(reading.read_rows(file, by, roles), file)
    if rows.groups is not None:
        raise DataError(f"{file!r} holds results of groups. A gate needs scores of single items.")
    items = rows.items
    reading.need_columns(items, "item", where=f"No column of {file!r}")
    models = list(items["model"].unique())
    if name is None and len(models) > 1:
        raise DataError(
            f"{file!r} holds {len(models)} models, such as {models[0]!r}. Choose one with "
            "--baseline (for OLD) or --candidate (for NEW)."
        )
    chosen = models[0] if name is None else reading.as_in(items["model"], name)
    check_model(chosen, models)
    return chosen, rows._replace(items=items[items["model"] == chosen])


def _columns(files, sides, by):
    """Return the columns of clusters and topics that both sides have."""
    reading.check_same_key(files, sides)
    first, columns = (reading.columns_for(rows, by) for rows in sides)
    clusters = {first["cluster"], columns["cluster"]}
    cluster = "item" if "item" in clusters else "cluster" if clusters == {"cluster"} else None
    return columns | {"cluster": cluster}


def _as_stored(file, by, roles):
    """Return topics and roles as typed, or those of a stored baseline."""
    header = ""
    if file.endswith(".csv") and Path(file).is_file():
        with Path(file).open(errors="replace") as lines:
            header = lines.readline().rstrip()
    for cluster, column in _STORED.items():
        if header.endswith(f'"{column}"'):
            own = {name: name for name in _ROLES[:3]} | {"cluster": cluster, "rename": ()}
            return _stored_topics(by), {name: own.get(name) for name in roles}
    return by, roles


def _stored_topics(by):
    """Return the names of topic columns in a stored baseline."""
    return by and [name if len(by) > 1 or name not in _ROLES else "topic" for name in by]


def _store(rows, by, path):
    """Write a baseline that `skbench gate` reads with the options of NEW."""
    from skbench._checks import as_text

    items, cluster = rows.items, reading.cluster_name(rows)
    by = _stored_topics(by or [rows.columns.get("topic", "topic")])
    items = items if len(by) > 1 else items.rename(columns={"topic": by[0]})
    key = [name for name in ("model", *by, "topic_in_file", "item") if name in items]
    stored = items[[*key, *(["cluster"] if cluster == "cluster" else [])]]
    stored = stored.astype(object).map(as_text).assign(score=items["score"])
    if cluster == "item" and "repeat" not in key:
        stored["repeat"] = items.groupby(key).cumcount() + 1
    write_whole(path, quoted(stored.assign(**{_STORED[cluster]: 1})))
    note(f"baseline: {path}", SUMMARY)
