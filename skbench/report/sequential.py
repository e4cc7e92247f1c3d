"""`skbench sequential`: decisions to stop or continue a run."""

import sys

import click

from skbench.report.formats import format_options, show
from skbench.report.loaded_later import reading
from skbench.report.options import (
    Share,
    bounds_option,
    in_unit,
    level_option,
    reading_options,
)
from skbench.report.paths import Input, file_option
from skbench.report.table import Column, Table
from skbench.report.terminal import DataError, in_one_line

CONTINUE = 4  # exit code; 0 means stop
_CLUSTERS = " Each cluster counts as one item, so FILE must contain complete clusters."


@click.command()
@click.argument("file", type=Input())
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("--target", type=Share(), help="One model: compare its mean with this score.")
@click.option("--width", type=Share(0), help="One model: stop when the interval has this width.")
@click.option("--margin", type=Share(0), help="Two models: tolerated difference.")
@click.option("--max-items", type=click.IntRange(1), help="Number of items available in total.")
@file_option("--state", "JSON file that stores the state between calls.")
@reading_options
@bounds_option
@level_option
@format_options
def sequential(file, a, b, state, bounds, form, **options):
    """Decide during a run whether it can stop, with anytime-valid intervals.

    FILE has all items so far, run in random order. The test compares models A and B, or the
    mean of one model with --target. Repeat the command as FILE grows. The intervals remain
    valid, however often it is repeated. With --state, the scores of earlier items must not
    change.

    Exit codes: 0 stop (decided or futile), 4 continue, 1 error, 2 usage error.

    Example: skbench sequential results.csv modelA modelB --state race.json
    """
    names = ("target", "width", "margin", "max_items", "confidence_level")
    settings = {name: options.pop(name) for name in names}
    if b is None and (settings["target"] is None) == (settings["width"] is None):
        raise click.UsageError("Name two models, or pass --target or --width for one model.")
    for name in ("target", "width") if b is not None else ("margin",):
        if settings.pop(name) is not None:
            raise click.UsageError(f"--{name} is for {'one model' if b else 'two models'}.")
    with in_one_line():
        wanted = [name for name in (a, b) if name is not None]
        scores, named, known = _scores(file, wanted, bounds, options)
        clusters = _CLUSTERS * (scores.index.name == "cluster")
        for name in {"target", "width", "margin"} & set(settings):
            settings[name] = in_unit(settings[name], known, f"--{name}", name == "target")
        names = [str(name) for name in scores.columns]
        own = {"names": tuple(names)} if b is not None else {"name": names[0] if named else None}
        running = _running(state, {"bounds": known} | own | settings)
        try:
            result = running.catch_up(*scores.to_numpy().T, items=scores.index)
        except ValueError as error:
            before = "" if state is None else f" does not continue {state!r}"
            raise DataError(f"{file!r}{before}: {error}{clusters}") from error
        if state is not None:
            running.save(state)
        (found,) = result.to_frame().to_dict("records")
        ends = {name: found[name] for name in ("value", "low", "high")}
        document = {name: found[name] for name in ("verdict", "n_items", "chance", "futile")}
        both = len(names) == 2
        keys = ("model_a", "model_b") if both else ("model",)
        rows = [dict(zip(keys, names, strict=True)) | ends | {"n_items": result.n_items}]
        document |= {"stop": result.stop, "pairs" if both else "models": rows}
        more = "" if result.stop else f" Add more items to {file} and repeat the command."
        conclusion = [f"{result}.{clusters}{more}"]
        table = Table(_columns(names, result, ends), conclusion=conclusion)
        show(form, table, document, result.to_frame())
    sys.exit(0 if result.stop else CONTINUE)


def _columns(names, result, ends):
    return [
        Column("", [" - ".join(names)]),
        Column("verdict", [result.verdict], align="right"),
        Column("items", [result.n_items], ",d"),
        *(Column(name, [value], ".4f") for name, value in ends.items()),
    ]


def _running(state, given):
    """Load the saved test, or start a new one."""
    from skbench import SequentialComparison, SequentialMean

    kind = SequentialComparison if "names" in given else SequentialMean
    fresh = kind(**given)
    try:
        found = fresh if state is None else kind.load(state)
    except FileNotFoundError:
        return fresh
    for name in given:
        if getattr(found, name) != getattr(fresh, name):
            raise DataError(
                f"{state!r} was created with {name}={getattr(found, name)!r}, but now it is "
                f"{getattr(fresh, name)!r}. Pass the same value, or another --state."
            )
    return found


def _scores(file, wanted, bounds, roles):
    """Return scores of items or clusters, whether models have names, and the score range."""
    import pandas as pd

    from skbench.items.roles import check_model

    rows = reading.read_rows(file, None, roles)
    items, named = rows.items, "model" in rows.items or len(wanted) > 0
    if "model" not in items:
        items = items.assign(model=wanted[0] if wanted else reading.readable(file).stem)
    reading.need_columns(items, "item", where=f"No column of {file!r}")
    models = list(items["model"].unique())
    chosen = [reading.as_in(items["model"], name) for name in wanted] or models
    for name in chosen:
        check_model(name, models)
    if len(chosen) > max(1, len(wanted)) or len(set(chosen)) < len(chosen):
        shown = ", ".join(map(repr, models[:5]))
        raise DataError(f"Name one or two of the models in {file!r}: {shown}.")
    known = reading.score_range(rows, bounds)
    if known is None:
        raise DataError("The range of the scores is unknown. Pass --bounds LOW HIGH.")
    columns = reading.columns_for(rows) | {"cluster": reading.cluster_name(rows) or "item"}
    table = reading.models_table(items[items["model"].isin(chosen)], columns, known)
    if not (table.n_answers > 0).all(axis=1).any():
        raise DataError(f"No item in {file!r} has scores of {' and '.join(map(repr, chosen))}.")
    units = table.of_cluster_means()
    return pd.DataFrame(units.scores, units.items, units.models)[chosen], named, known
