"""`skbench estimate`: from a file of results to a table of estimates."""

from dataclasses import replace

import click
import numpy as np

from skbench.report import past as pasts
from skbench.report import tables
from skbench.report.formats import format_options, show_estimates
from skbench.report.options import (
    Names,
    bounds_option,
    features_option,
    level_option,
    missing_option,
    past_options,
    reading_options,
)
from skbench.report.reading import (
    check_spread,
    cluster_name,
    cluster_weight,
    find_features,
    other_columns,
    read_rows,
    recommended,
    say_if_beyond,
    score_name,
    score_range,
    with_names,
    within_scores,
)
from skbench.report.terminal import DataError, in_one_line, save_picture, working

_METHODS = ("mixed", "eb", "direct", "synthetic", "james-stein", "fay-herriot", "structured")
_WITHOUT_FEATURES = ("direct", "james-stein")
_INTERVALS = {
    "eb": ("robust", "length-optimal", "parametric", "fab"),
    "direct": (
        "auto",
        "wilson",
        "clopper-pearson",
        "jeffreys",
        "agresti-coull",
        "wald",
        "t",
        "normal",
        "bounded",
    ),
}
_READING = ("model", "models", "score", "item", "cluster", "rename", "filter", "skip_bad_lines")
_ALL_INTERVALS = tuple(name for names in _INTERVALS.values() for name in names)


class _Method(click.Choice):
    """A method by its name; the former name of the default gets a hint."""

    def convert(self, value, param, ctx):
        if value == "average":
            self.fail("'average' is now called 'mixed', and is the default.", param, ctx)
        return super().convert(value, param, ctx)


@click.command()
@click.argument("file")
@click.option("--by", type=Names(), help="Topic column(s), or 'model' for one group per model.")
@reading_options
@features_option
@click.option("--method", type=_Method(_METHODS), default="mixed", show_default=True)
@click.option(
    "--interval",
    type=click.Choice(_ALL_INTERVALS),
    metavar="NAME",
    help=f"With eb: {', '.join(_INTERVALS['eb'])}. With direct: {', '.join(_INTERVALS['direct'])}.",
)
@past_options
@bounds_option
@missing_option
@click.option(
    "--scale",
    type=click.Choice(["identity", "arcsine", "logit"]),
    help="Scale on which eb shrinks.",
)
@click.option(
    "--variance",
    type=click.Choice(["smoothed", "plug-in", "pooled", "agresti", "model"]),
    default="smoothed",
    show_default=True,
    help="Sampling variance of the group means.",
)
@click.option(
    "--population",
    metavar="NUMBER|COLUMN",
    help="Items that each topic has in all, if a random part was run: estimate their mean.",
)
@level_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--sample-size",
    is_flag=True,
    help="Tell by refits on parts of the items how many items the estimates are worth: slow.",
)
@click.option("--plot", type=click.Path(dir_okay=False), help="Save a picture (.png, .pdf, .svg).")
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
        known_range = score_range(rows, _bounds(options))
        size = None
        if options["population"] is not None:
            size = _population(items, by, options["population"])
        with working("estimating"):
            past = _past(rows, file, options)
            if past is None:
                direct, estimated = _estimated(summary, method, options, confidence_level, size)
            else:
                direct, _ = _estimated(summary, "direct", options, confidence_level)
                estimated = past.estimate(summary.labels, by, confidence_level)
            if sample_size and estimated is not direct:
                estimator = _estimator(method, options)
                estimated = _with_sample_size(
                    estimated, estimator, items, _with_table(summary_options, summary)
                )
        same = estimated is direct
        direct = within_scores(direct, known_range)
        estimated = direct if same else within_scores(estimated, known_range)
        if rows.groups is None:
            say_if_beyond(estimated, items, known_range)
        frame = tables.group_rows(summary, direct, estimated, by)
        table = _shown(frame, items, summary, direct, estimated)
        if past is not None:
            sentence = pasts.worth(past, summary, estimated).sentence
            table = table._replace(notes=(*table.notes, sentence))
        ratio = estimated.sample_size_ratio
        known = {
            "score": score_name(rows),
            "sample_size_ratio": None if ratio is None else ratio._asdict(),
        }
        show_estimates(form, table, estimated, "groups", frame, **known)
        if plot is not None:
            _save_plot(plot, summary, direct, estimated, score_name(rows))


def _check_usage(method, sample_size, options):
    if pasts.check_past(options["past"], options["bank"]):
        others = {"method": method != "mixed", "sample-size": sample_size}
        names = ("features", "interval", "scale", "population")
        others |= {name: options[name] is not None for name in names}
        for name in (name for name, given in others.items() if given):
            raise click.UsageError(f"--{name} has no meaning with --past or --bank.")
    interval = options["interval"]
    if interval is not None and interval not in _INTERVALS.get(method, ()):
        raise click.UsageError(f"--interval {interval} has no meaning with --method {method}.")
    if options["scale"] is not None and method != "eb":
        raise click.UsageError(f"--scale has no meaning with --method {method}.")
    if options["features"] is not None and method in _WITHOUT_FEATURES:
        raise click.UsageError(f"--features has no meaning with --method {method}.")
    if sample_size and method == "direct":
        raise click.UsageError("--sample-size has no meaning with --method direct.")
    if sample_size and options["population"] is not None:
        raise click.UsageError("--sample-size has no meaning with --population.")


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
    roles = {name: options[name] for name in _READING}
    rows = read_rows(file, topics or None, roles, options["missing"])
    items = rows.items
    if rows.groups is not None:
        _refuse_for_groups(options)
    if by and not topics:
        if "model" not in items:
            raise DataError("--by model needs a model column. Pass --model COLUMN.")
        return (rows if rows.groups is None else added_up(rows, ["model"])), []
    if "topic" not in rows.columns:
        others = ", ".join(other_columns(items)) or "none left in this file"
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


def _past(rows, file, options):
    """What earlier models say of the topics."""
    topics = [name for name in options["by"] or [] if name not in ("model", options["model"])]
    return pasts.learn(options["past"], options["bank"], rows, file, topics or None, options)


def _summary_options(rows, by, options):
    """What `summarize_items` is told besides the items."""
    return {
        "by": by,
        "cluster": cluster_name(rows),
        "cluster_weight": cluster_weight(cluster_name(rows)),
        "variance": options["variance"],
        "features": find_features(rows, by, options["features"], options["population"]),
    }


def _summarized(rows, summary_options):
    from skbench.summaries import summarize_items
    from skbench.summaries.group_results import summarize_groups

    if rows.groups is None:
        summary = summarize_items(rows.items, **summary_options)
        check_spread(summary)
    else:
        options = {name: summary_options[name] for name in ("by", "variance", "features")}
        summary = summarize_groups(rows.groups, **options)
    return with_names(summary, summary_options["by"])


def _bounds(options):
    """What the user says of the range; intervals for bounded scores take 0 to 1 for granted."""
    assumed = (0.0, 1.0) if options["interval"] == "bounded" else None
    return options["bounds"] or assumed


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


def _with_table(summary_options, summary):
    """The options, with features of all rows of a group, whichever of them a part has."""
    if summary_options["features"] is None:
        return summary_options
    return summary_options | {"features": summary.X.reset_index(drop=True)}


def _with_sample_size(estimated, estimator, items, summary_options):
    """The estimate with its sample size ratio from refits on parts of the items."""
    from skbench.assessment import split_items_risk

    risk = split_items_risk({"method": estimator}, items, random_state=0, **summary_options)
    ratio = risk.sample_size_ratio("method", estimated.confidence_level)
    return replace(estimated, sample_size_ratio=ratio)


def _population(items, by, asked):
    """Number of all items: of every group, or a Series of those of each."""
    import pandas as pd

    free = other_columns(items)
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

    interval = {} if options["interval"] is None else {"interval": options["interval"]}
    scale = {} if options["scale"] is None else {"scale": options["scale"]}
    seed = {"random_state": options["seed"]}
    if method == "mixed":
        return recommended(options["seed"], options["columns"])
    if method == "eb":
        return groups.EmpiricalBayes(**interval, **scale, **seed)
    if method == "direct":
        return groups.DirectEstimator(**interval, bounds=options["bounds"])
    if method == "synthetic":
        return groups.SyntheticRegression(**seed)
    if method == "structured":
        return groups.StructuredRegression(**seed)
    return {"james-stein": groups.JamesStein, "fay-herriot": groups.FayHerriot}[method]()


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
