"""`skbench estimate`: from a file of results to a table of estimates."""

from dataclasses import replace

import click

from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import pasts, reading, tables, understanding
from skbench.report.options import (
    Names,
    choice_option,
    features_option,
    model_options,
    plot_option,
    seed_option,
)
from skbench.report.paths import Input
from skbench.report.terminal import DataError, in_one_line, note, save_picture, working
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
@click.option("--method", type=click.Choice(METHODS), default="mixed", show_default=True)
@click.option(
    "--interval",
    type=click.Choice([name for names in _INTERVALS.values() for name in names]),
    metavar="NAME",
    help=f"With eb: {', '.join(_INTERVALS['eb'])}. With direct: {', '.join(_INTERVALS['direct'])}.",
)
@choice_option("--variance", "Sampling variance of the group means.", *_VARIANCES)
@click.option(
    "--population",
    metavar="NUMBER|COLUMN",
    help="Items that each topic has in all, if a random part was run: estimate their mean.",
)
@seed_option
@plot_option
@format_options
def estimate(file, method, confidence_level, plot, form, **options):
    """Estimate the performance of every group, a model on a topic, in FILE.

    FILE is CSV, TSV, JSON Lines or Parquet, or a log (or a folder of logs) of an
    evaluation program. Tables have one row per model and item, or one row per item
    and a column of scores per model. Columns are guessed by their usual names;
    what was guessed is told on stderr, and the options below overrule it.
    Where the range of the scores is known (they are 0 or 1, the program defines it, or
    --bounds tells it), estimates and intervals are cut to it.
    With --past or --bank the estimates are those of all items that earlier models answered.
    """
    _check_usage(method, options)
    with in_one_line():
        rows, topics = _read(file, options)
        items = rows.items
        options["columns"] = by = [name for name in ("model", *topics) if name in items]
        # Intervals for bounded scores take 0 to 1 for granted.
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
        ratio = estimated.sample_size_ratio
        known = {
            "score": reading.score_name(rows),
            "sample_size_ratio": None if ratio is None else ratio._asdict(),
        }
        if plot is not None:
            save_plot(plot, summary, direct, estimated, reading.score_name(rows))
        show_estimates(form, table, estimated, "groups", frame, **known)


def _check_usage(method, options):
    """Refuse options that have no meaning with others."""
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
        raise click.UsageError(f"--{name} has no meaning with {where}.")


def _read(file, options):
    """Item rows and the columns that make up the topic; says what was guessed."""
    from skbench.readers.group_results import added_up

    by = options["by"] or []
    topics = [name for name in by if name not in ("model", options["model"])]
    reserved = {"item", "score"} & set(topics)
    if reserved and len(topics) > 1:
        raise DataError(
            f"--by names column {min(reserved)!r}, which every group has of its own. Name columns "
            "that items are grouped by, such as the topic."
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
            raise DataError("--by model needs a model column. Pass --model COLUMN.")
        return (rows if rows.groups is None else added_up(rows, ["model"])), []
    if "topic" not in rows.columns:
        others = ", ".join(reading.other_columns(items)) or "none left in this file"
        raise DataError(
            "no column has a usual name for the topic. Pass --by model for one group per model, "
            f"or --by COLUMN, one or several (a,b) of: {others}."
        )
    return rows, topics if len(topics) > 1 else ["topic"]


def _refuse_for_groups(options):
    """Refuse what needs single items."""
    for name in ("past", "bank", "population", "cluster"):
        if options.get(name):
            raise DataError(f"--{name} needs scores of items, and the file holds those of groups.")


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
        reading.check_spread(summary)
    else:
        summary = summarize_groups(rows.groups, **settings)
    return reading.with_names(summary, by)


def _estimated(summary, method, options, confidence_level, size=None):
    """Direct estimates, and those of the method asked for; of all `size` items if given."""
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
    """Number of all items: of every group, or a Series of those of each; None if not asked."""
    import pandas as pd

    if asked is None:
        return None
    free = reading.other_columns(items)
    if asked not in free:
        try:
            return float(asked)
        except ValueError:
            raise DataError(
                f"--population is neither a number nor a column: {asked!r}. There are only: "
                f"{', '.join(free) or 'none'}."
            ) from None
    sizes = items.groupby(by, sort=False)[asked]
    if not pd.api.types.is_numeric_dtype(items[asked]) or sizes.nunique(dropna=False).max() > 1:
        raise DataError(
            f"--population names column {asked!r}, which is no number or differs within a group. "
            "It must say of each row how many items its topic has in all."
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


def _shown(frame, items, summary, direct, estimate):
    """The table for people; direct estimates once."""
    own = estimate is not direct
    head = [f"{estimate.method}: {_size(frame, items, summary)}", tables.promise(estimate)]
    notes = []
    if own:
        head += tables.outlying_in_words(frame)
        head.append(tables.compared_with(direct))
        notes += _width(estimate, direct)
    if estimate.sample_size_ratio is not None:
        notes.append(tables.worth(estimate))
    nests = "" if frame[["model", "topic"]].isna().any(axis=None) else "topic"
    promise = tables.method_and_promise(estimate)
    names = [*tables.DIRECT] if own else []
    names += [*tables.ESTIMATES, ("std.\nerror", "standard_error")]
    return tables.group_table(frame, names, head=head, promise=promise, notes=notes, nests=nests)


def _width(estimate, direct):
    """How wide intervals are, where those to compare with have a width."""
    import numpy as np

    from skbench.stats.intervals.moments import ROUNDING

    ours, theirs = (e.high - e.low for e in (estimate, direct))
    known = np.isfinite(ours + theirs)
    if theirs[known].sum() > ROUNDING * np.abs(direct.value[known]).sum():
        yield (
            f"Intervals of {estimate.method} are on average "
            f"{ours[known].mean() / theirs[known].mean():.2f} times as wide as the direct ones."
        )


def _size(table, items, summary):
    """How many groups and scores, and what ties the scores together."""
    import numpy as np

    kinds = [(table[name].nunique(), name) for name in ("model", "topic")]
    product = " x ".join(understanding.counted(*kind) for kind in kinds if kind[0])
    parts = [f"{understanding.counted(len(table), 'group')} ({product})"]
    if not np.isnan(summary.n).any():
        least, most = summary.n.min(), summary.n.max()
        per_group = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        parts.append(f"{summary.n.sum():.0f} scores, {per_group} per group")
    if summary.outcome == "clustered":
        parts.append("items in clusters")
    if summary.groups is not None:
        parts.append("models share items" if "item" in items else "models may share items")
    return "; ".join(parts)


def save_plot(path, summary, direct, estimate, score):
    """Save a picture of estimates beside direct ones."""
    from skbench.plot import ForestDisplay, ShrinkageDisplay

    if estimate is direct:
        display = ForestDisplay.from_estimates({direct.method: direct})
    else:
        display = ShrinkageDisplay.from_estimates(direct, estimate, n=summary.n)
    display.plot(xlabel=score).ax_.xaxis.label.set_parse_math(False)
    save_picture(display.figure_, path)
