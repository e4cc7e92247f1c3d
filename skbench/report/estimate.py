"""`skbench estimate`: from a file of results to a table of estimates."""

from dataclasses import replace

import click
import numpy as np

from skbench.report import past as pasts
from skbench.report import reading, tables
from skbench.report.formats import format_options, show_estimates
from skbench.report.options import (
    Names,
    choice_option,
    features_option,
    model_options,
    plot_option,
    seed_option,
)
from skbench.report.terminal import DataError, in_one_line, save_picture, working

_METHODS = {
    "mixed": "MixedModel",
    "eb": "EmpiricalBayes",
    "direct": "DirectEstimator",
    "synthetic": "SyntheticRegression",
    "james-stein": "JamesStein",
    "fay-herriot": "FayHerriot",
    "structured": "StructuredRegression",
}
_VARIANCES = ("smoothed", "plug-in", "pooled", "agresti", "model")
_WITHOUT_FEATURES = ("direct", "james-stein")
_INTERVALS = {
    "eb": ["robust", "length-optimal", "parametric", "fab"],
    "direct": "auto wilson clopper-pearson jeffreys agresti-coull wald t normal bounded".split(),
}
_READING = ("model", "models", "score", "item", "cluster", "rename", "filter", "skip_bad_lines")


@click.command()
@click.argument("file")
@click.option("--by", type=Names(), help="Topic column(s), or 'model' for one group per model.")
@model_options
@features_option
@click.option("--method", type=click.Choice(_METHODS), default="mixed", show_default=True)
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
@click.option(
    "--sample-size",
    is_flag=True,
    help="Tell by refits on parts of the items how many items the estimates are worth: slow.",
)
@plot_option
@format_options
def estimate(file, method, confidence_level, sample_size, plot, form, **options):
    """Estimate the performance of every group, a model on a topic, in FILE.

    FILE is CSV, TSV, JSON Lines or Parquet, or a log (or a folder of logs) of an
    evaluation program. Tables have one row per model and item, or one row per item
    and a column of scores per model. Columns are guessed by their usual names;
    what was guessed is told on stderr, and the options below overrule it.
    Where the range of the scores is known (they are 0 or 1, the program defines it, or
    --bounds tells it), estimates and intervals are cut to it.
    With --past or --bank the estimates are those of all items that earlier models answered.
    """
    _check_usage(method, sample_size, options)
    options["sample_size"] = sample_size
    with in_one_line():
        rows, topics = _read(file, options)
        items = rows.items
        options["columns"] = by = [name for name in ("model", *topics) if name in items]
        summary_options = _summary_options(rows, by, options)
        summary = _summarized(rows, summary_options)
        # Intervals for bounded scores take 0 to 1 for granted.
        assumed = (0.0, 1.0) if options["interval"] == "bounded" else None
        known_range = reading.score_range(rows, options["bounds"] or assumed)
        size = _population(items, by, options["population"])
        with working("estimating"):
            past = pasts.learn(
                options["past"], options["bank"], rows, file, options["named"], options
            )
            if past is None:
                direct, estimated = _estimated(summary, method, options, confidence_level, size)
            else:
                direct, _ = _estimated(summary, "direct", options, confidence_level)
                estimated = past.estimate(summary.labels, by, confidence_level)
            if sample_size and estimated is not direct:
                estimator = _estimator(method, options)
                estimated = _with_sample_size(estimated, estimator, items, summary, summary_options)
        same = estimated is direct
        direct = reading.within_scores(direct, known_range)
        estimated = direct if same else reading.within_scores(estimated, known_range)
        if rows.groups is None:
            reading.say_if_beyond(estimated, items, known_range)
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
        show_estimates(form, table, estimated, "groups", frame, **known)
        if plot is not None:
            _save_plot(plot, summary, direct, estimated, reading.score_name(rows))


def _check_usage(method, sample_size, options):
    """Refuse options that have no meaning with others."""
    names = ("features", "interval", "population")
    given = [name for name in names if options[name] is not None] + ["sample-size"] * sample_size
    if pasts.check_past(options["past"], options["bank"]):
        _refuse(["method"] * (method != "mixed") + given, "--past or --bank")
    lacking = {
        "interval": options["interval"] not in _INTERVALS.get(method, ()),
        "features": method in _WITHOUT_FEATURES,
        "sample-size": method == "direct",
    }
    _refuse([name for name in given if lacking.get(name)], f"--method {method}")
    if options["population"] is not None:
        _refuse(["sample-size"] * sample_size, "--population")


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
    rows = reading.read_rows(file, options["named"], roles, options["missing"])
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
    for name in ("past", "bank", "population", "cluster", "sample_size"):
        if options.get(name):
            raise DataError(
                f"--{name.replace('_', '-')} needs scores of single items, and the file holds "
                "results of groups."
            )


def _summary_options(rows, by, options):
    """What `summarize_items` is told besides the items."""
    return {
        "by": by,
        "cluster": reading.cluster_name(rows),
        "cluster_weight": reading.cluster_weight(reading.cluster_name(rows)),
        "variance": options["variance"],
        "features": reading.find_features(rows, by, options["features"], options["population"]),
    }


def _summarized(rows, summary_options):
    from skbench.summaries import summarize_items
    from skbench.summaries.group_results import summarize_groups

    if rows.groups is None:
        summary = summarize_items(rows.items, **summary_options)
        reading.check_spread(summary)
    else:
        options = {name: summary_options[name] for name in ("by", "variance", "features")}
        summary = summarize_groups(rows.groups, **options)
    return reading.with_names(summary, summary_options["by"])


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


def _with_sample_size(estimated, estimator, items, summary, summary_options):
    """The estimate with its sample size ratio from refits on parts of the items."""
    from skbench.assessment import estimated_risk

    if summary_options["features"] is not None:  # those of all rows, whichever a part has
        summary_options = summary_options | {"features": summary.X.reset_index(drop=True)}
    risk = estimated_risk({"method": estimator}, items, random_state=0, **summary_options)
    ratio = risk.sample_size_ratio("method", estimated.confidence_level)
    return replace(estimated, sample_size_ratio=ratio)


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
    return getattr(groups, _METHODS[method])(**settings)


def _shown(frame, items, summary, direct, estimate):
    """The table for people; direct estimates once."""
    own = estimate is not direct
    head = [f"{estimate.method}: {_size(frame, items, summary)}", tables.promise(estimate)]
    notes = []
    if own:
        head += tables.unlike_in_words(frame)
        head.append(f"To compare with: {direct.method}, {tables.level_and_guarantee(direct)}")
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
    from skbench.stats.intervals.moments import ROUNDING

    ours, theirs = (e.high - e.low for e in (estimate, direct))
    known = np.isfinite(ours) & np.isfinite(theirs)
    if theirs[known].sum() > ROUNDING * np.abs(direct.value[known]).sum():
        yield (
            f"Intervals of {estimate.method} are on average "
            f"{ours[known].mean() / theirs[known].mean():.2f} times as wide as the direct ones."
        )


def _size(table, items, summary):
    """How many groups and scores, and what ties the scores together."""
    kinds = [(name, table[name].nunique()) for name in ("model", "topic")]
    product = " x ".join(f"{count} {name}{'s' * (count > 1)}" for name, count in kinds if count)
    groups = f"{len(table)} group{'s' * (len(table) > 1)}"
    parts = [f"{groups} ({product})"]
    if not np.isnan(summary.n).any():
        least, most = summary.n.min(), summary.n.max()
        per_group = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        parts.append(f"{summary.n.sum():.0f} scores, {per_group} per group")
    if summary.outcome == "clustered":
        parts.append("items in clusters")
    if summary.groups is not None:
        parts.append("models share items" if "item" in items else "models may share items")
    return "; ".join(parts)


def _save_plot(path, summary, direct, estimate, score):
    from skbench.plot import ForestDisplay, ShrinkageDisplay

    if estimate is direct:
        display = ForestDisplay.from_estimates({direct.method: direct})
    else:
        display = ShrinkageDisplay.from_estimates(direct, estimate, n=summary.n)
    display.plot(xlabel=score).ax_.xaxis.label.set_parse_math(False)
    save_picture(display.figure_, path)
