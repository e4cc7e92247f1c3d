"""`skbench metrics`: a metric of labels and predictions in every group, the worst, the gap."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import click
import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import listed
from skbench.report import reading, tables
from skbench.report.formats import format_options, show
from skbench.report.options import Names, level_option, plot_option, seed_option
from skbench.report.table import number
from skbench.report.terminal import DataError, command_with, in_one_line, save_picture, say, working

if TYPE_CHECKING:
    from skbench.comparison import Extremes
    from skbench.containers import Estimate, GroupSummary

_LOW_IS_GOOD = ("fpr",)
_DRAWS = 4000
_MOST_NAMED = 3  # candidates for the worst group, and commands that are offered
_MOST_GROUPS = 50  # in a column that is offered for --by
_ANSWERS = {-1, 0, 1}  # labels of which 1 is the positive one


@click.command()
@click.argument("file")
@click.option("--truth", help="Column of true labels.")
@click.option("--prediction", help="Column of predicted labels, or of scores for auc.")
@click.option("--by", type=Names(), help="Column(s) of groups; several are crossed.")
@click.option(
    "--metric",
    type=click.Choice("accuracy tpr fpr precision f1 auc".split()),
    multiple=True,
    default=("accuracy",),
    show_default=True,
    help="May be given several times.",
)
@click.option("--positive", metavar="LABEL", help="The label that counts as positive.")
@level_option
@seed_option
@plot_option
@format_options
def metrics(file, truth, prediction, by, metric, positive, confidence_level, seed, plot, form):
    """Compare a metric between groups: the worst group, and the gap to the best.

    FILE is CSV, TSV, JSON Lines or Parquet with one row per prediction: a column of true labels
    (y_true, label, target, ...), one of predictions (y_pred, prediction, ...; probabilities for
    auc), and columns of groups. Estimates borrow from the other groups.
    """
    if plot is not None and len(set(metric)) > 1:
        raise click.UsageError("--plot takes one metric.")
    with in_one_line():
        table, truth, by = _read(file, truth, by)
        columns = {m: _prediction(table, m, prediction, (truth, *by)) for m in metric}
        for name in dict.fromkeys(columns.values()) if prediction is None else ():
            say(f"prediction: column {name!r}")
        with working("estimating"):
            found = [
                _estimated(m, _summary(table, m, truth, name, by, positive), confidence_level, seed)
                for m, name in columns.items()
            ]
        groups, extremes = (
            pd.concat(map(rows_of, found), ignore_index=True)
            for rows_of in (_group_rows, _extreme_rows)
        )
        show(form, _shown(found, groups), {"groups": groups, "extremes": extremes}, groups)
        if plot is not None:
            from skbench.plot import ShrinkageDisplay

            (one,) = found
            display = ShrinkageDisplay.from_estimates(one.direct, one.estimate, n=one.summary.n)
            display.plot(xlabel=one.metric)
            save_picture(display.figure_, plot)


class _Found(NamedTuple):
    """What is known of one metric."""

    metric: str
    summary: GroupSummary
    direct: Estimate
    estimate: Estimate
    gap: Extremes
    ratio: Extremes | None  # None where all scores may be 0


def _group_rows(found):
    """One row per group."""
    by = [f"by {name}" for name in found.summary.labels.names]  # none of them has a role
    rows = tables.group_rows(found.summary, found.direct, found.estimate, by)
    rows = rows.drop(columns="model").rename(columns={"topic": "group"})
    rows.insert(0, "metric", found.metric)
    return rows.assign(
        worst_probability=found.gap.worst_probability.to_numpy(),
        method=found.estimate.method,
        guarantee=found.estimate.guarantee,
    )


def _extreme_rows(found):
    """One row per extreme: worst, best, gap and ratio."""
    ratio = [] if found.ratio is None else [found.ratio.to_frame().loc[["ratio"]]]
    rows = pd.concat([found.gap.to_frame(), *ratio]).rename_axis("extreme").reset_index()
    rows.insert(0, "metric", found.metric)
    return rows


def _sentences(found):
    """The worst group, and the gap between the worst and the best."""
    chance = found.gap.worst_probability.sort_values(ascending=False, kind="stable")
    likely = chance[chance >= chance.iloc[0] / 2][:_MOST_NAMED]
    names = tables.joined(likely.index.to_frame(index=False))
    shown = " or ".join(f"{name} ({p:.2f})" for name, p in zip(names, likely, strict=True))
    said = {row.extreme: _with_interval(row) for row in _extreme_rows(found).itertuples()}
    yield f"The worst group, most likely {shown}, has {_NAMES[found.metric]} of {said['worst']}."
    ratio = f"; the lowest is {said['ratio']} times the highest" if "ratio" in said else ""
    yield f"The gap between the worst and the best group is {said['gap']}{ratio}."


_NAMES = {
    "accuracy": "an accuracy",
    "tpr": "a true positive rate",
    "fpr": "a false positive rate",
    "precision": "a precision",
    "f1": "an F1",
    "auc": "an AUC",
}


def _with_interval(row):
    value, low, high = (number(x, "z.3f") for x in (row.value, row.low, row.high))
    return f"{value} [{low}, {high}]"


def _read(file, truth, by):
    """The rows that have a label and a group, and the names of these columns."""
    from skbench.items.roles import check_exist, columns_of
    from skbench.readers.loading import load_table

    table, notes = load_table(file, lambda columns: by or [])
    for note in notes:
        say(note)
    known = columns_of("label", table.columns) if truth is None else [truth]
    check_exist(known, table.columns, "--truth")
    if not known:
        few = [name for name in table if 1 < table[name].nunique() <= _MOST_GROUPS]
        _ask("truth", "the true labels", few)
    if truth is None:
        others = f" (it might be {listed(known[1:])}: --truth)" if known[1:] else ""
        say(f"truth: column {known[0]!r}{others}")
    if by is None:
        guesses = {*columns_of("prediction", table.columns), *known}
        names = [name for name in table if name not in guesses]
        _ask("by", "the groups", [n for n in names if 1 < table[n].nunique() <= _MOST_GROUPS])
    check_exist(by, table.columns, "--by")
    return _complete(table, [known[0], *by]), known[0], by


def _ask(option, what, candidates):
    """Refuse to guess a column; offers the complete commands."""
    commands = [command_with(**{option: name}) for name in candidates[:_MOST_NAMED]]
    raise DataError(f"no column is known to hold {what}. Pass --{option} COLUMN.", commands)


def _complete(table, names):
    """Rows without blanks in these columns; says how many have some."""
    blank = table[names].isna().any(axis=1)
    if blank.all():
        raise DataError(f"every row has a blank in one of the columns {listed(names)}.")
    if blank.any():
        say(f"{int(blank.sum())} of {len(table)} rows have a blank in {listed(names)}: left out")
    return table[~blank].reset_index(drop=True)


def _prediction(table, metric, given, taken):
    """The column of predictions for a metric: as given, or by its usual names."""
    from skbench.items.roles import check_exist, columns_of

    if given is not None:
        check_exist([given], table.columns, "--prediction")
        if not _fits(table[given], metric):
            held = "scores, not labels" if metric != "auc" else "words, not scores"
            raise DataError(f"column {given!r} holds {held}, so {metric} cannot be computed.")
        return given
    fit = [name for name in table if name not in taken and _fits(table[name], metric)]
    if metric == "auc":  # two values are labels
        fit = [name for name in fit if table[name].nunique() > 2]
    known = [name for name in columns_of("prediction", table.columns) if name in fit]
    if not known:
        _ask("prediction", "scores, for auc" if metric == "auc" else "predicted labels", fit)
    return known[0]


def _fits(column, metric):
    """Whether a column may hold scores, for auc, or labels."""
    if metric == "auc":
        return is_numeric_dtype(column)
    return not is_numeric_dtype(column) or not (column.dropna() % 1).any()


def _summary(table, metric, truth, prediction, by, positive):
    """The summary of a metric in the rows that have a prediction."""
    from skbench.summaries import group_metrics

    table = _complete(table, [prediction])
    y_true, y_pred = table[truth], table[prediction]
    label = 1
    if metric != "accuracy":
        labels = y_true if metric == "auc" else pd.concat([y_true, y_pred])
        label = _positive(labels.drop_duplicates(), positive)
    summary = group_metrics(y_true, y_pred, table[by], metric, pos_label=label)
    if len(summary) < 2:
        raise DataError(f"{metric} is known of one group only: there is nothing to compare.")
    return reading.with_names(summary, by)


def _positive(labels, asked):
    """The positive label: as asked, or 1, yes and the like where the others are 0 and no."""
    from skbench.report.labeled_rows import as_one_word

    written = labels.astype(str).str.removesuffix(".0")
    if asked is not None:
        same = labels[written.str.lower() == asked.strip().lower()]
        if same.empty:
            raise DataError(f"--positive {asked}: there is no such label, only {listed(written)}.")
        return same.iloc[0]
    words = as_one_word(labels)
    if set(words) <= _ANSWERS and (words == 1).any():
        return labels[words == 1].iloc[0]
    commands = [command_with(positive=label) for label in sorted(set(written))[:_MOST_NAMED]]
    raise DataError("which label is the positive one? Pass --positive LABEL.", commands)


def _estimated(metric, summary, confidence_level, seed):
    """Direct and shrunken estimates, and the extremes by joint draws."""
    from skbench.comparison import extremes
    from skbench.containers import Draws
    from skbench.groups import DirectEstimator, MixedModel

    direct = DirectEstimator().fit(**summary.fit_args).estimate(confidence_level)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*too few topics")  # the method's name says so
        model = MixedModel(model=None, topic=None).fit(**summary.fit_args)
    estimate = model.estimate(confidence_level)
    drawn = model.sample(_DRAWS, random_state=seed)
    draws = Draws(np.clip(drawn.values, 0, 1), drawn.labels, drawn.kind)
    settings = {
        "greater_is_better": metric not in _LOW_IS_GOOD,
        "confidence_level": confidence_level,
    }
    gap, ratio = extremes(draws, **settings), None
    if draws.values.max(axis=1).min() > 0:
        ratio = extremes(draws, of="ratio", **settings)
    return _Found(metric, summary, direct.within(0, 1), estimate.within(0, 1), gap, ratio)


def _shown(found, groups):
    """The table for people, conclusions first."""
    several = len(found) > 1
    head = [sentence for one in found for sentence in _sentences(one)]
    promises = dict.fromkeys(tables.method_and_promise(one.estimate) for one in found)
    compared = dict.fromkeys(
        f"To compare with: {one.direct.method}, {tables.level_and_guarantee(one.direct)}"
        for one in found
    )
    names = (*tables.DIRECT, *tables.ESTIMATES, ("worst", "worst_probability"))
    return tables.group_table(
        groups,
        names,
        ("metric", "group") if several else ("group",),
        head=[*head, *promises, *compared],
        promise=next(iter(promises)),
        notes=[
            "worst: probability of being the worst group. A gap is never below 0, so its interval "
            "does not show whether groups differ."
        ],
        nests="metric" if several else "",
    )
