"""What `skbench metrics` estimates in every group, in rows, in a sentence and in a table."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from skbench._checks import listed
from skbench._numbers import number
from skbench._undecided import Undecided
from skbench.comparison import extremes
from skbench.containers import Estimate, GroupSummary
from skbench.groups import DirectEstimator
from skbench.items.roles import find_roles
from skbench.readers.loading import load_table
from skbench.report import reading, tables
from skbench.report.labeled_rows import as_event, as_one_word
from skbench.report.table import p_value
from skbench.report.terminal import say
from skbench.stats.intervals.classification import equality_p_value
from skbench.summaries import group_metrics

_DRAWS = 2000
_MOST_NAMED = 3  # candidates for the worst group, and columns that are offered
_MOST_GROUPS = 50  # in a column that is offered


class Found(NamedTuple):
    """What is known of one metric: rows of the groups and of the extremes, and of what they are."""

    groups: pd.DataFrame
    extremes: pd.DataFrame
    summary: GroupSummary
    direct: Estimate
    estimate: Estimate


def compared(file, metrics, columns, positive, level, seed):
    """What is found for each metric; `columns` of truth, prediction and groups, None to find."""
    table, notes = load_table(file, lambda names: columns[2] or [])
    for note in notes:
        say(note)
    found = []
    for metric in metrics:
        summary = _summary(table, metric, _roles(table, metric, *columns), positive)
        found.append(_estimated(summary, metric, level, seed))
    return found


def _roles(table, metric, truth, prediction, by):
    """Columns of the true labels, of the predictions, and of the groups."""
    predicted = "probability" if metric == "auc" else "prediction"
    named = {"label": truth, predicted: prediction, "group": by}
    roles, notes = find_roles(table.columns, named, guess=("label", predicted))
    for note in notes:
        say(note)
    for role in named:
        if role not in roles:
            taken = [name for names in roles.values() for name in names]
            free = [name for name in table if name not in taken and _may_be(role, table[name])]
            choices = [{role: name} for name in free[:_MOST_NAMED]]
            raise Undecided(f"No column has a usual name for the {role}.", choices)
    return [roles[role] for role in named]


def _may_be(role, column):
    """Whether the values of a column fit a role: probabilities, or names that repeat."""
    if role == "probability":
        return is_float_dtype(column)
    return 1 < column.nunique() <= _MOST_GROUPS


def _summary(table, metric, columns, positive):
    """The summary of the rows without blanks."""
    (truth,), (prediction,), by = columns
    rows = table.dropna(subset=[truth, prediction, *by])
    if len(rows) < len(table):
        n, names = len(table) - len(rows), listed([truth, prediction, *by])
        say(f"{n} of {len(table)} rows have a blank in {names}: left out")
    y_true, y_pred = rows[truth], rows[prediction]
    labels = y_true if metric == "auc" else pd.concat([y_true, y_pred])
    pos_label = 1 if metric == "accuracy" else _positive(labels.drop_duplicates(), positive)
    summary = group_metrics(y_true, y_pred, rows[by], metric, pos_label=pos_label)
    return reading.with_names(summary, by)


def _positive(labels, asked):
    """The positive label: as asked, or 1, yes and the like; None where there is none."""
    event = 1 if asked is None else as_event(labels, asked, "label", "positive")
    return next(iter(labels[as_one_word(labels) == event]), None)


def _estimated(summary, metric, level, seed):
    """Direct and shrunken estimates, and the extremes by joint draws, all from 0 to 1."""
    direct = DirectEstimator().fit(**summary.fit_args).estimate(level).within(0, 1)
    model = reading.recommended(seed, by=()).fit(**summary.fit_args)
    estimate, draws = model.estimate(level).within(0, 1), model.sample(_DRAWS, random_state=seed)
    draws = replace(draws, values=np.clip(draws.values, 0, 1))
    found = extremes(draws, of="both", greater_is_better=metric != "fpr", confidence_level=level)
    by = [f"by {name}" for name in summary.labels.names]  # none of them has a role
    rows = tables.group_rows(summary, direct, estimate, by).rename(columns={"topic": "group"})
    rows["model"] = metric
    rows = rows.rename(columns={"model": "metric"}).assign(
        worst_probability=found.worst_probability.to_numpy(),
        method=estimate.method,
        guarantee=estimate.guarantee,
    )
    ends = found.to_frame().assign(p_value_of_equal_groups=_p_value(summary, metric, seed))
    ends = pd.concat({metric: ends}, names=["metric"]).reset_index()
    return Found(rows, ends, summary, direct, estimate)


def _p_value(summary, metric, seed):
    """P value of the hypothesis that the metric is the same in all groups."""
    z = summary.z / (2 - summary.z) if metric == "f1" else summary.z  # F1 is equal where J is
    sigma2 = summary.sigma2 if metric == "auc" else None
    return equality_p_value(z, summary.n, np.random.default_rng(seed), sigma2)


def rows_of(found):
    """Rows of the groups, and of the extremes: worst, best, gap and ratio; of all metrics."""
    kinds = "groups", "extremes"
    return {
        kind: pd.concat([getattr(one, kind) for one in found], ignore_index=True) for kind in kinds
    }


def _sentence(found):
    """Whether the groups differ, the worst group, and the gap between the worst and the best."""
    chance = found.groups.set_index("group")["worst_probability"].sort_values(
        ascending=False, kind="stable"
    )
    likely = chance[chance >= chance.iloc[0] / 2][:_MOST_NAMED]
    names = " or ".join(f"{name} ({p:.2f})" for name, p in likely.items())
    metric, *_, p = found.extremes.iloc[0]
    ends = found.extremes[["value", "low", "high"]].map(number, form="z.3f").to_numpy()
    worst, _, gap, ratio = ("{} [{}, {}]".format(*row) for row in ends)
    verdict = "differ"
    if p > 1 - found.estimate.confidence_level:
        # An estimated gap is above 0 even where groups are equal, and so is its lower end.
        verdict, gap, ratio = "may all be equal", f"at most {ends[2, 2]}", f"at least {ends[3, 1]}"
    return (
        f"{metric}: the groups {verdict} (p = {p_value(p)}). The worst, most likely {names}, is at "
        f"{worst}; the gap to the best is {gap}, and the lowest is {ratio} times the highest."
    )


def table_of(found, groups):
    """The table for people, conclusions first."""
    promises = [tables.method_and_promise(one.estimate) for one in found]
    compared = [tables.compared_with(one.direct) for one in found]
    return tables.group_table(
        groups,
        (*tables.DIRECT, *tables.ESTIMATES, ("worst", "worst_probability")),
        labels=("metric", "group") if len(found) > 1 else ("group",),
        head=dict.fromkeys([*map(_sentence, found), *promises, *compared]),
        promise=promises[0],
        notes=["worst: probability of being the worst group."],
        nests="metric" if len(found) > 1 else "",
    )
