"""What `skbench metrics` estimates in every group, and its table."""

import warnings
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import listed
from skbench._numbers import number
from skbench.containers import Draws, Estimate, GroupSummary
from skbench.items.roles import check_exist, columns_of
from skbench.readers.loading import load_table
from skbench.report import reading, tables
from skbench.report.labeled_rows import as_one_word
from skbench.report.table import p_value
from skbench.report.terminal import DataError, command_with, say, working
from skbench.stats.intervals.classification import equality_p_value

_DRAWS = 2000
_MOST_NAMED = 3  # candidates for the worst group, and commands that are offered
_MOST_GROUPS = 50  # in a column that is offered for --by
_NOTE = (
    "worst: probability of being the worst group. Even equal groups have an estimated gap above 0: "
    "the p-value says whether they differ."
)


class _Found(NamedTuple):
    """What is known of one metric."""

    metric: str
    summary: GroupSummary
    direct: Estimate
    estimate: Estimate
    extremes: Any
    p_value: float  # of the groups being equal


def compared(file, truth, by, metrics, prediction, positive, level, seed):
    """What was found for each metric, and rows of the groups and of the extremes."""
    table, truth, by = _read(file, truth, by)
    columns = _predictions(table, metrics, prediction, (truth, *by))
    table = _complete(table, [truth, *by, *set(columns.values())])
    with working("estimating"):
        found = []
        for name, column in columns.items():
            summary = _summary(table, name, truth, column, by, positive)
            found.append(_estimated(name, summary, level, seed))
    groups, extremes = (
        pd.concat(map(rows_of, found), ignore_index=True)
        for rows_of in (_group_rows, _extreme_rows)
    )
    return found, groups, extremes


def _group_rows(found):
    """One row per group."""
    by = [f"by {name}" for name in found.summary.labels.names]  # none of them has a role
    rows = tables.group_rows(found.summary, found.direct, found.estimate, by)
    rows = rows.drop(columns="model").rename(columns={"topic": "group"})
    rows.insert(0, "metric", found.metric)
    rows["worst_probability"] = found.extremes.worst_probability.to_numpy()
    return rows.assign(method=found.estimate.method, guarantee=found.estimate.guarantee)


def _extreme_rows(found):
    """One row per extreme: worst, best, gap and ratio."""
    rows = found.extremes.to_frame().reset_index()
    rows.insert(0, "metric", found.metric)
    return rows.assign(p_value_of_equal_groups=found.p_value)


def _sentence(found):
    """The worst group, and the gap between the worst and the best."""
    chance = found.extremes.worst_probability.sort_values(ascending=False, kind="stable")
    likely = chance[chance >= chance.iloc[0] / 2][:_MOST_NAMED]
    names = tables.joined(likely.index.to_frame(index=False))
    shown = " or ".join(f"{name} ({p:.2f})" for name, p in zip(names, likely, strict=True))
    worst, _, gap, ratio = (
        "{} [{}, {}]".format(*(number(x, "z.3f") for x in row))
        for row in found.extremes.to_frame()[["value", "low", "high"]].to_numpy()
    )
    alpha = 1 - found.estimate.confidence_level
    verdict = "differ" if found.p_value <= alpha else "may all be equal"
    return (
        f"{found.metric}: the worst group, most likely {shown}, is at {worst}; the gap to the best "
        f"group is {gap}, and the lowest is {ratio} times the highest. The groups {verdict} "
        f"(p = {p_value(found.p_value)})."
    )


def _read(file, truth, by):
    """The table, and the names of the columns of labels and groups."""
    table, notes = load_table(file, lambda columns: by or [])
    for note in notes:
        say(note)
    known = columns_of("label", table.columns)
    if truth is None and not known:
        _ask("truth", "the true labels", _repeating(table, by or []))
    if truth is None:
        truth = known[0]
        others = f" (it might be {listed(known[1:])}: --truth)" if known[1:] else ""
        say(f"truth: column {truth!r}{others}")
    if by is None:
        others = [truth, *known, *columns_of("prediction", table.columns)]
        _ask("by", "the groups", _repeating(table, others))
    check_exist([truth], table.columns, "truth=")
    check_exist(by, table.columns, "by=")
    return table, truth, by


def _repeating(table, others):
    """Names of columns of few different values, but these others."""
    names = (name for name in table if name not in others)
    return (name for name in names if 1 < table[name].nunique() <= _MOST_GROUPS)


def _ask(option, what, candidates):
    """Refuse to guess a column; offers the complete commands."""
    commands = [command_with(**{option: name}) for name in islice(candidates, _MOST_NAMED)]
    raise DataError(f"no column is known to hold {what}. Pass --{option} COLUMN.", commands)


def _predictions(table, metrics, given, taken):
    """Metric -> column of its predictions: as given, or by their usual names."""
    if given is not None:
        check_exist([given], table.columns, "prediction=")
        return dict.fromkeys(metrics, given)
    found = {}
    for metric in metrics:
        holds = _are_scores if metric == "auc" else _are_labels
        known = [n for n in columns_of("prediction", table.columns) if holds(table[n])]
        if not known:
            what = "scores, for auc" if metric == "auc" else "predicted labels"
            _ask("prediction", what, (n for n in table if n not in taken and holds(table[n])))
        found[metric] = known[0]
    say(f"prediction: column {', '.join(f'{name!r} ({metric})' for metric, name in found.items())}")
    return found


def _are_scores(column):
    return is_numeric_dtype(column) and column.nunique() > 2


def _are_labels(column):
    return not is_numeric_dtype(column) or not (column.dropna() % 1).any()


def _complete(table, names):
    """Rows without blanks in these columns; says how many have some."""
    blank = table[names].isna().any(axis=1)
    if blank.all():
        raise DataError(f"every row has a blank in one of the columns {listed(names)}.")
    if blank.any():
        say(f"{int(blank.sum())} of {len(table)} rows have a blank in {listed(names)}: left out")
    return table[~blank]


def _summary(table, metric, truth, prediction, by, positive):
    """The summary of a metric."""
    from skbench.summaries import group_metrics

    label, y_true, y_pred = 1, table[truth], table[prediction]
    if metric != "accuracy":
        labels = y_true if metric == "auc" else pd.concat([y_true, y_pred])
        label = _positive(labels.drop_duplicates(), positive)
    summary = group_metrics(y_true, y_pred, table[by], metric, pos_label=label)
    if len(summary) < 2:
        raise DataError(f"{metric} is known of one group only: there is nothing to compare.")
    return reading.with_names(summary, by)


def _positive(labels, asked):
    """The positive label: as asked, or 1, yes and the like where the others are 0 and no."""
    written = labels.astype(str).str.removesuffix(".0")
    if asked is not None:
        same = labels[written.str.lower() == asked.strip().lower()]
        if same.empty:
            raise DataError(f"--positive {asked}: there is no such label, only {listed(written)}.")
        return same.iloc[0]
    words = as_one_word(labels)
    if set(words) <= {-1, 0, 1} and (words == 1).any():
        return labels[words == 1].iloc[0]
    commands = [command_with(positive=label) for label in sorted(set(written))[:_MOST_NAMED]]
    raise DataError("which label is the positive one? Pass --positive LABEL.", commands)


def _estimated(metric, summary, level, seed):
    """Direct and shrunken estimates, and the extremes by joint draws."""
    from skbench.comparison import extremes
    from skbench.groups import DirectEstimator, MixedModel

    direct = DirectEstimator().fit(**summary.fit_args).estimate(level)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*too few topics")  # the method's name says so
        model = MixedModel(model=None, topic=None).fit(**summary.fit_args)
    drawn = model.sample(_DRAWS, random_state=seed)
    found = extremes(
        Draws(np.clip(drawn.values, 0, 1), drawn.labels, drawn.kind),
        of="both",
        greater_is_better=metric != "fpr",
        confidence_level=level,
    )
    estimate = model.estimate(level).within(0, 1)
    chance = _p_value(metric, summary, np.random.default_rng(seed))
    return _Found(metric, summary, direct.within(0, 1), estimate, found, chance)


def _p_value(metric, summary, rng):
    """P value of the hypothesis that the metric is the same in all groups."""
    if metric == "auc":
        return equality_p_value(summary.z, summary.n, rng, summary.sigma2)
    z = summary.z / (2 - summary.z) if metric == "f1" else summary.z
    return equality_p_value(z, summary.n, rng)


def shown(found, groups):
    """The table for people, conclusions first."""
    several = len(found) > 1
    promises = [tables.method_and_promise(one.estimate) for one in found]
    compared = [
        f"To compare with: {one.direct.method}, {tables.level_and_guarantee(one.direct)}"
        for one in found
    ]
    return tables.group_table(
        groups,
        (*tables.DIRECT, *tables.ESTIMATES, ("worst", "worst_probability")),
        ("metric", "group") if several else ("group",),
        head=dict.fromkeys([*map(_sentence, found), *promises, *compared]),
        promise=promises[0],
        notes=[_NOTE],
        nests="metric" if several else "",
    )
