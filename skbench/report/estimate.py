"""`skbench estimate`: an estimate and an interval for every group of a file of results."""

from dataclasses import replace

import click

from skbench._numbers import number, score_form
from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import headline, pasts, reading, tables, understanding
from skbench.report.options import (
    Names,
    choice_option,
    features_option,
    model_options,
    plot_option,
    seed_option,
)
from skbench.report.paths import Input
from skbench.report.terminal import (
    DataError,
    command_with,
    in_one_line,
    note,
    save_picture,
    working,
)
from skbench.report.wording import METHODS

_VARIANCES = ("smoothed", "plug-in", "pooled", "agresti", "model")
_WITHOUT_FEATURES = ("direct", "james-stein")
_INTERVALS = {
    "eb": ["robust", "length-optimal", "parametric", "fab"],
    "direct": "auto wilson clopper-pearson jeffreys agresti-coull wald t normal bounded".split(),
}
_READING = "model models score item cluster rename format filter skip_bad_lines".split()


@click.command()
@click.argument("file", type=Input())
@click.option("--by", type=Names(), help="Topic column(s), or 'model' for one group per model.")
@model_options
@features_option
@click.option(
    "--method", type=click.Choice(METHODS), default="mixed", show_default=True, help="Estimator."
)
@click.option(
    "--interval",
    type=click.Choice([name for names in _INTERVALS.values() for name in names]),
    metavar="NAME",
    help=f"Interval method. For --method eb: {', '.join(_INTERVALS['eb'])}. For --method direct: "
    f"{', '.join(_INTERVALS['direct'])}.",
)
@choice_option("--variance", "Estimator of the sampling variance of direct estimates.", *_VARIANCES)
@click.option(
    "--population",
    metavar="NUMBER|COLUMN",
    help="Number of items of each topic in the full benchmark, if FILE has a random sample.",
)
@seed_option
@plot_option
@format_options
def estimate(file, method, confidence_level, plot, form, **options):
    """Estimate the mean score of every group (a model on a topic) in FILE.

    FILE is a table (CSV, TSV, JSON Lines or Parquet), a log of an evaluation harness, or
    a folder of logs. A table has one row per model and item, or one row per item and one
    score column per model. Columns are recognized by common names. Notes on stderr list
    the columns in use. The options below select other columns.

    Estimates and intervals are clipped to the range of the scores, if it is known. It is
    known for scores 0 and 1 and for many logs. Otherwise, pass --bounds. With --past or
    --bank, scores are estimated for all items that earlier models answered.
    """
    _check_usage(method, options)
    with in_one_line():
        rows, topics = _read(file, options)
        items = rows.items
        options["columns"] = by = [name for name in ("model", *topics) if name in items]
        # Intervals for bounded scores need a range.
        assumed = (0.0, 1.0) if options["interval"] == "bounded" else None
        known_range = reading.score_range(rows, options["bounds"] or assumed)
        summary = _summarized(rows, by, options, known_range)
        size = _population(items, by, options["population"])
        with working("estimating"):
            past = pasts.learn(
                options["past"], options["bank"], rows, file, options["named"], options, known_range
            )
            if past is None:
                direct, estimated = _estimated(summary, method, options, confidence_level, size)
            else:
                direct, _ = _estimated(summary, "direct", options, confidence_level)
                estimated = past.estimate(summary.labels, by, confidence_level)
        same = estimated is direct
        direct = reading.within_scores(direct, known_range)
        estimated = direct if same else reading.within_scores(estimated, known_range)
        if rows.groups is None:
            reading.note_if_beyond(estimated, items, known_range)
        frame = tables.group_rows(summary, direct, estimated, by)
        table = _shown(frame, items, summary, direct, estimated)
        if past is not None:
            sentence = pasts.worth(past, summary, estimated).sentence
            table = table._replace(notes=(*table.notes, sentence))
        table = table._replace(next_commands=_next(items, bool(topics)))
        ratio = estimated.sample_size_ratio
        known = {
            "score": reading.score_name(rows),
            "sample_size_ratio": None if ratio is None else ratio._asdict(),
        }
        if plot is not None:
            save_plot(plot, summary, direct, estimated, reading.score_name(rows))
        show_estimates(form, table, estimated, "groups", frame, **known)


def _check_usage(method, options):
    """Refuse options that do not go together."""
    names = ("features", "interval", "population")
    given = [name for name in names if options[name] is not None]
    if pasts.check_past(options["past"], options["bank"]):
        _refuse(["method"] * (method != "mixed") + given, "--past or --bank")
    lacking = {
        "interval": options["interval"] not in _INTERVALS.get(method, ()),
        "features": method in _WITHOUT_FEATURES,
    }
    _refuse([name for name in given if lacking.get(name)], f"--method {method}")


def _refuse(names, where):
    for name in names:
        raise click.UsageError(f"--{name} cannot be used with {where}.")


def _read(file, options):
    """Item rows and the columns that make up the topic."""
    from skbench.readers.group_results import added_up

    by = options["by"] or []
    topics = [name for name in by if name not in ("model", options["model"])]
    reserved = {"item", "score"} & set(topics)
    if reserved and len(topics) > 1:
        raise DataError(
            f"--by {min(reserved)}: every row has its own {min(reserved)}. Name columns that group "
            "items, such as the topic."
        )
    options["named"] = topics or None
    roles = {name: options[name] for name in _READING}
    rows = reading.read_rows(
        file, options["named"], roles, options["missing"], features=options["features"]
    )
    items = rows.items
    if rows.groups is not None:
        _refuse_for_groups(options)
    if by and not topics:
        if "model" not in items:
            raise DataError("--by model: no column has a usual name for it. Pass --model COLUMN.")
        return (rows if rows.groups is None else added_up(rows, ["model"])), []
    if "topic" not in rows.columns:
        others = ", ".join(reading.other_columns(items)) or "none left in this file"
        raise DataError(
            "No column has a usual name for the topic. Pass --by COLUMN, or --by model for one "
            f"group per model. Other columns: {others}."
        )
    return rows, topics if len(topics) > 1 else ["topic"]


def _refuse_for_groups(options):
    """Refuse what needs single items."""
    for name in ("past", "bank", "population", "cluster"):
        if options.get(name):
            raise DataError(f"--{name} needs scores of items, but the file has results of groups.")


def _summarized(rows, by, options, known_range):
    from skbench.items.ranges import scale_in_words
    from skbench.summaries import summarize_items
    from skbench.summaries.group_results import summarize_groups

    features = reading.find_features(rows, by, options["features"], options["population"])
    settings = {"by": by, "variance": options["variance"], "features": features}
    if rows.groups is None:
        cluster = reading.cluster_name(rows)
        weight = reading.cluster_weight(cluster)
        settings |= {"cluster": cluster, "cluster_weight": weight, "bounds": known_range}
        settings["topic"] = reading.columns_for(rows)["topic"]
        summary = summarize_items(rows.items, **settings)
        scale = None if known_range is not None else scale_in_words(summary.sampling.bounds)
        if scale is not None:
            note(f"{scale.rstrip('.')} (--bounds)")
        reading.check_variance(summary)
    else:
        summary = summarize_groups(rows.groups, **settings)
    return reading.with_names(summary, by)


def _estimated(summary, method, options, confidence_level, size=None):
    """Direct estimates and those of the method, for all `size` items if given."""
    from skbench.assessment import sample_size_ratio
    from skbench.groups import DirectEstimator
    from skbench.summaries import estimate_of_population

    estimator = _estimator(method, options).fit(**summary.fit_args)
    estimated = estimate_of_population(estimator, summary, confidence_level, size)
    if method == "direct":
        return estimated, estimated
    if size is None:
        ratio = sample_size_ratio(estimator, summary, confidence_level)
        estimated = replace(estimated, sample_size_ratio=ratio)
    direct = DirectEstimator().fit(**summary.fit_args)
    return estimate_of_population(direct, summary, confidence_level, size), estimated


def _population(items, by, asked):
    """Number of all items, for every group or as a Series for each; None without the option."""
    import pandas as pd

    if asked is None:
        return None
    free = reading.other_columns(items)
    if asked not in free:
        try:
            return float(asked)
        except ValueError:
            raise DataError(
                f"--population {asked!r} is neither a number nor a column. Columns: "
                f"{', '.join(free) or 'none'}."
            ) from None
    sizes = items.groupby(by, sort=False)[asked]
    if not pd.api.types.is_numeric_dtype(items[asked]) or sizes.nunique(dropna=False).max() > 1:
        raise DataError(
            f"--population: column {asked!r} is not numeric or differs within a group. It must "
            "hold the number of all items of the row's topic."
        )
    return sizes.first()


def _estimator(method, options):
    from skbench import groups

    if method == "mixed":
        return reading.recommended(options["seed"], options["columns"])
    settings = {} if options["interval"] is None else {"interval": options["interval"]}
    if method in ("eb", "synthetic", "structured"):
        settings["random_state"] = options["seed"]
    if method == "direct":
        settings["bounds"] = options["bounds"]
    return getattr(groups, METHODS[method])(**settings)


def _next(items, has_topics):
    """Commands that make sense after the estimates."""
    several = "model" in items and items["model"].nunique() > 1 and "item" in items
    yield command_with("leaderboard") if several else None
    yield command_with("report", html="report.html") if has_topics else None


def _shown(frame, items, summary, direct, estimate):
    """The table for people; direct estimates once."""
    own = estimate is not direct
    conclusion = [*_range_in_words(frame, summary, estimate)]
    notes = [*_dependence(items, summary)]
    if own:
        if estimate.sample_size_ratio is not None:
            conclusion.append(tables.sample_size_in_words(estimate))
        conclusion += headline.outlying_in_headline(frame)
        notes += [*_width(estimate, direct), f"{tables.compared_with(direct)}."]
        notes += tables.outlying_in_words(frame)
    about = {
        "conclusion": conclusion,
        "promise": tables.method_and_promise(estimate),
        "notes": notes,
        "nests": "" if frame[["model", "topic"]].isna().any(axis=None) else "topic",
    }
    names = [*tables.DIRECT] if own else []
    names += [*tables.ESTIMATES, ("std.\nerror", "standard_error")]
    return tables.group_table(frame, names, **about)


def _range_in_words(frame, summary, estimate):
    """The number of groups, and the groups with the highest and the lowest estimate."""
    yield f"{_size(frame, summary)}."
    known = frame[frame["value"].notna()]
    if len(known) < 2:
        return
    form, level = score_form(frame["direct"]), f"{100 * estimate.confidence_level:g}%"
    ends = []
    for at in (known["value"].idxmax(), known["value"].idxmin()):
        row = known.loc[at]
        name = " on ".join(str(row[x]) for x in ("model", "topic") if row[x] is not None)
        value, low, high = (number(row[x], form) for x in ("value", "low", "high"))
        ends.append(f"{value} ({low} to {high}) for {name}")
    yield f"The highest estimate ({level} interval) is {ends[0]}; the lowest is {ends[1]}."


def _width(estimate, direct):
    """The width of the intervals relative to the direct ones, if these have a width."""
    import numpy as np

    from skbench.stats.intervals.moments import ROUNDING

    ours, theirs = (e.high - e.low for e in (estimate, direct))
    known = np.isfinite(ours + theirs)
    if theirs[known].sum() > ROUNDING * np.abs(direct.value[known]).sum():
        yield (
            f"The intervals are on average {ours[known].mean() / theirs[known].mean():.2f} times "
            "as wide as those of the direct estimates."
        )


def _size(table, summary):
    """Numbers of groups and scores, as a sentence without its period."""
    import numpy as np

    kinds = [(table[name].nunique(), name) for name in ("model", "topic")]
    product = " x ".join(understanding.counted(*kind) for kind in kinds if kind[0])
    groups = f"{understanding.counted(len(table), 'group')} ({product})"
    verb = "was" if len(table) == 1 else "were"
    if np.isnan(summary.n).any():
        return f"{groups} {verb} estimated"
    least, most = summary.n.min(), summary.n.max()
    per_group = f"{least:g}" if least == most else f"{least:g} to {most:g}"
    return f"{groups} {verb} estimated from {summary.n.sum():.0f} scores, {per_group} per group"


def _dependence(items, summary):
    """How scores depend on each other, as a sentence."""
    parts = ["items form clusters"] if summary.outcome == "clustered" else []
    if summary.groups is not None:
        parts.append("models share items" if "item" in items else "models may share items")
    if parts:
        yield f"Scores are treated as dependent, because {' and '.join(parts)}."


def save_plot(path, summary, direct, estimate, score):
    """Save a figure of the estimates and the direct estimates."""
    from skbench.plot import ForestDisplay, ShrinkageDisplay

    if estimate is direct:
        display = ForestDisplay.from_estimates({direct.method: direct})
    else:
        display = ShrinkageDisplay.from_estimates(direct, estimate, n=summary.n)
    display.plot(xlabel=score).ax_.xaxis.label.set_parse_math(False)
    save_picture(display.figure_, path)
