"""`skbench trend`: changes of scores over the versions of a model."""

import click

from skbench._numbers import number, score_form, slope_form
from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import reading, tables
from skbench.report.options import (
    Names,
    bounds_option,
    level_option,
    missing_option,
    plot_option,
    reading_options,
)
from skbench.report.paths import Input
from skbench.report.table import Column, Table, p_value
from skbench.report.terminal import DataError, command_with, in_one_line, save_picture, working

_MOST_JUDGES = 3  # in an error


@click.command()
@click.argument("file", type=Input())
@click.option(
    "--order",
    metavar="COLUMN|A,B,...",
    help="Column of numbers or dates that orders the versions, or the versions in order.  "
    "[version, dates in names]",
)
@click.option("--by", type=Names(), help="Topic column(s). Also tests the trend of each topic.")
@click.option("--same-scale", is_flag=True, help="Treat scores of different judges as comparable.")
@reading_options
@bounds_option
@level_option
@missing_option
@plot_option
@format_options
def trend(file, order, by, same_scale, bounds, confidence_level, missing, plot, form, **roles):
    """Test whether scores rise or fall over the versions of a model in FILE.

    FILE is a folder of logs, or a table with one row per version and item. The test estimates
    one slope over all versions, paired by item. It can detect slow changes that are not
    significant between any two versions. With --by, the test of each topic controls the false
    discovery rate.

    Example: skbench trend results.csv --order date
    """
    with in_one_line():
        roles["version"] = "version" if order is None or "," in order else order
        rows, columns = reading.read_models(file, by, roles, missing)
        order = _order(rows, order)
        if not same_scale:
            _check_scale(rows, order, roles["rename"])
        known_range = reading.score_range(rows, bounds)
        settings = {"confidence_level": confidence_level, "bounds": known_range}
        with working("estimating"):
            found = _found(rows, order, missing=missing, **settings, **columns)
        if plot is not None:
            from skbench.plot import TrendDisplay

            display = TrendDisplay.from_trend(found).plot(ylabel=reading.score_name(rows))
            save_picture(display.figure_, plot)
        versions = _version_rows(found)
        topics = [] if found.topics is None else _topic_rows(found)
        known = {
            "score": reading.score_name(rows),
            "unit": found.unit,
            "n_items": found.n_items,
            "n_clusters": found.n_clusters,
            "sentences": found.sentences(),
            "remarks": found.remarks,
            "trend": found.to_frame().assign(test=found.test).reset_index(),
            "topic_level": found.topic_level,
        }
        if found.topics is None:
            table = _table(found, _version_columns(versions))
            return show_estimates(
                form, table, found.estimate, "models", versions, **known, topics=topics
            )
        table = _table(found, _topic_columns(topics))
        show_estimates(form, table, found.estimate, "topics", topics, **known, models=versions)


def _found(rows, order, **settings):
    """Estimate the trend; name the model column in errors if it holds the versions."""
    from skbench import trend as find_trend

    try:
        return find_trend(rows.items, order, **settings)
    except ValueError as error:
        if rows.columns.get("model") != order:
            raise
        text = str(error).replace(" order=,", f" model={order!r} order=,")
        raise ValueError(text) from error


def _order(rows, asked):
    """Return the column or the list of models of --order, or the default column."""
    from skbench.items.roles import check_exist, columns_of

    items = rows.items
    if asked is None:
        return next(iter(columns_of("version", reading.other_columns(items))), "version")
    if "," not in asked:
        check_exist([asked], list(items.columns), "order=")
        return asked
    return [reading.as_in(items["model"], name.strip()) for name in asked.split(",")]


def _check_scale(rows, order, new_names):
    """Raise an error if logs or columns declare different judges for the versions."""
    old = {new: old for old, _, new in (text.partition("=") for text in new_names)}
    models = [str(name) for name in rows.items["model"].unique()]
    models = [name for name in models if isinstance(order, str) or name in map(str, order)]
    for where, found in _declared(rows):
        graders = {name: found.get(old.get(name, name)) or found.get(name) for name in models}
        (first, one), *others = [pair for pair in graders.items() if pair[1]] or [(None, None)]
        for name, other in others:
            if other != one:
                own, its = (", ".join(sorted(x)[:_MOST_JUDGES]) for x in (other - one, one - other))
                raise DataError(
                    f"{where} declares another judge or judge prompt for {name!r} ({own:.120}) "
                    f"than for {first!r} ({its:.120}). If their scores are comparable, run:",
                    [f"{command_with()} --same-scale"],
                )


def _declared(rows):
    """Yield each source that declares judges, with the set of judges by model."""
    from pandas.api.types import is_numeric_dtype

    from skbench.items.roles import judge_columns

    for topic, found in rows.graders.items():
        yield f"the log of {topic!r}", found
    for name in judge_columns(reading.other_columns(rows.items))[1]:
        if not is_numeric_dtype(rows.items[name]):
            known = rows.items.dropna(subset=name).astype({"model": str, name: str})
            yield f"column {name!r}", known.groupby("model")[name].agg(set).to_dict()


def _version_rows(found):
    """Return one row per version, in order."""
    e = found.scores
    order = found.order.dt.strftime("%Y-%m-%d") if found.unit == "year" else found.order
    frame = e.to_frame()[["value", "low", "high", "standard_error"]].rename_axis("model")
    frame.insert(0, "order", order.to_numpy())
    return tables.labeled_rows(frame)


def _topic_rows(found):
    """Return one row per topic."""
    return tables.labeled_rows(found.topics.rename(columns={"slope": "value"}))


def _version_columns(rows):
    form = score_form(rows["value"])
    columns = [Column("version", rows["model"])]
    if not (rows["order"] == range(len(rows))).all():
        columns.append(Column("order", rows["order"].map(_as_text), align="right"))
    columns += [Column(name, rows[name], form) for name in ("value", "low", "high")]
    return [*columns, Column("std.\nerror", rows["standard_error"], form, narrow=False)]


def _topic_columns(rows):
    form = slope_form(rows["value"])
    return [
        Column("topic", rows["topic"]),
        *(Column(name, rows[key], form) for name, key in _OF_TOPICS),
        Column("trend", rows["verdict"], align="right"),
        Column("adjusted\np", rows["adjusted_p"], p_value),
        Column("items", rows["n_items"], "d", narrow=False),
        Column("versions", rows["n_versions"], "d", narrow=False),
    ]


_OF_TOPICS = ("slope", "value"), ("low", "low"), ("high", "high")


def _as_text(value):
    return value if isinstance(value, str) else number(float(value), "g")


def _table(found, columns):
    """Return the table to print, with the trend first."""
    level = f"{100 * found.estimate.confidence_level:g}%"
    promise, notes = tables.method_and_promise(found.estimate), list(found.remarks)
    if found.topics is None:
        notes.insert(0, f"Scores of versions: {found.scores.method}, {level} intervals.")
    else:  # the table holds topics
        notes.insert(0, f"{promise}.")
        promise = f"Slopes of topics: {100 * found.topic_level:.4g}% intervals"
    return Table(
        columns,
        promise=promise,
        notes=notes,
        conclusion=found.sentences(),
        next_commands=[command_with("leaderboard")],
    )
