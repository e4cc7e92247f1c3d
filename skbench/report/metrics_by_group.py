"""Estimates of `skbench metrics` in every group, as rows, a sentence and a table."""

from dataclasses import replace

import numpy as np
import pandas as pd

from skbench._checks import listed, plain
from skbench._notes import LOST
from skbench._numbers import number
from skbench._undecided import Undecided
from skbench.comparison import extremes
from skbench.comparison.extreme_groups import likely_in_words
from skbench.groups import DirectEstimator
from skbench.items.roles import find_roles, may_be
from skbench.readers.loading import load_table
from skbench.report import reading, tables
from skbench.report.labeled_rows import as_event, as_one_word
from skbench.report.terminal import DataError, note
from skbench.stats.intervals.classification import equality_p_value
from skbench.summaries import group_metrics

_DRAWS = 2000
_MOST_NAMED = 3  # columns that an error suggests


def compared(file, metrics, columns, positive, level, seed):
    """Return `Compared` groups for each metric and grouping.

    `columns` are the columns of true labels, of predictions and of the groupings.
    """
    *labels, groupings = columns
    table, notes = load_table(file, lambda names: [name for by in groupings for name in by])
    for text in notes:
        note(text)
    found = []
    for by in groupings or [None]:
        summaries = {one: _summary(table, one, (*labels, by), positive) for one in metrics}
        found += [Compared(metric, summary, level, seed) for metric, summary in summaries.items()]
    return found


def _summary(table, metric, columns, positive):
    """Return the summary of the rows without missing values."""
    (truth,), (prediction,), by = _roles(table, metric, *columns)
    rows = table.dropna(subset=[truth, prediction, *by])
    if len(rows) < len(table):
        n, names = len(table) - len(rows), listed([truth, prediction, *by])
        note(f"skipped {n} of {len(table)} rows with a missing value in {names}", LOST)
    y_true, y_pred = rows[truth], rows[prediction]
    if metric == "auc" and (is_text := pd.to_numeric(y_pred, errors="coerce").isna()).any():
        at = is_text.idxmax()
        raise DataError(
            f"auc requires numbers in {prediction!r}, but row {at + 1} has {plain(y_pred[at])!r}. "
            "Write numbers without units or percent signs, such as 0.25 or 25."
        )
    labels = y_true if metric == "auc" else pd.concat([y_true, y_pred])
    pos_label = _positive(labels.drop_duplicates(), positive)
    return group_metrics(y_true, y_pred, rows[by], metric, pos_label=pos_label)


def _roles(table, metric, truth, prediction, by):
    """Return the columns of true labels, of predictions and of groups."""
    predicted = "probability" if metric == "auc" else "prediction"
    named = {"label": truth, predicted: prediction, "group": by}
    roles, notes = find_roles(table.columns, named, guess=("label", predicted))
    for text in notes:
        note(text)
    for role in named:
        if role not in roles:
            taken = [name for names in roles.values() for name in names]
            choices = [{role: name} for name in may_be(role, table, taken)[:_MOST_NAMED]]
            raise Undecided(f"No column has a known name for the {role}.", choices)
    return [roles[role] for role in named]


def _positive(labels, asked):
    """Return the positive label: as given, or a word such as 1 or yes; None if there is none."""
    event = 1 if asked is None else as_event(labels, asked, "label", "positive")
    return next(iter(labels[as_one_word(labels) == event]), None)


class Compared:
    """Direct and shrunken estimates of a metric by group, and the extreme groups."""

    def __init__(self, metric, summary, level, seed):
        self.metric, self.by = metric, ",".join(map(str, summary.X))
        self.sizes, self.summary = summary.n, summary.dropna()
        self.names, summary = tables.joined(summary.labels.to_frame()), self.summary
        self.direct = DirectEstimator().fit(**summary.fit_args).estimate(level).within(0, 1)
        model = reading.recommended(seed, by=()).fit(**summary.fit_args)
        self.estimate = model.estimate(level).within(0, 1)
        draws = model.sample(_DRAWS, random_state=seed)
        draws = replace(draws, values=np.clip(draws.values, 0, 1))
        self.extremes = extremes(
            draws, of="both", greater_is_better=metric != "fpr", confidence_level=level
        )
        # Groups have equal F1 if and only if they have equal k / n.
        z = summary.z / (2 - summary.z) if metric == "f1" else summary.z
        sigma2 = summary.sigma2 if metric == "auc" else None
        self.p_value = equality_p_value(z, summary.n, np.random.default_rng(seed), sigma2)

    def group_rows(self):
        """Return one row per group; n is 0 if the metric is undefined."""
        by = range(self.summary.labels.nlevels)  # positions, because names might be roles
        rows = tables.group_rows(self.summary, self.direct, self.estimate, by)
        rows = rows.drop(columns=["model", "topic", "n"]).set_axis(np.flatnonzero(self.sizes))
        rows["worst_probability"] = self.extremes.worst_probability.to_numpy()
        names = pd.DataFrame({"group": self.names, "n": self.sizes})
        about = {"method": self.estimate.method, "guarantee": self.estimate.guarantee}
        return self._named(names.join(rows).assign(**about))

    def extreme_rows(self):
        """Return one row per extreme: worst, best, gap and ratio."""
        rows = self.extremes.to_frame().assign(p_value_of_equal_groups=self.p_value)
        return self._named(rows.reset_index())

    def _named(self, rows):
        """Insert the metric and the grouping as first columns."""
        return pd.DataFrame({"metric": self.metric, "by": self.by}, rows.index).join(rows)

    def sentence(self):
        """Describe whether the groups differ, the worst group and the gap to the best."""
        probability = self.extremes.worst_probability
        names = likely_in_words(probability.set_axis(tables.joined(probability.index.to_frame())))
        ends = self.extremes.to_frame()[["value", "low", "high"]].map(number, form="z.3f")
        worst, _, gap, ratio = ("{} [{}, {}]".format(*row) for row in ends.to_numpy())
        equal = self.p_value > 1 - self.estimate.confidence_level
        verdict = "no significant difference" if equal else "the groups differ significantly"
        if equal or self.extremes.to_frame()["low"]["gap"] <= 0:
            # Draws of the gap are positive even for equal groups, so its lower end is no evidence.
            gap, ratio = f"at most {ends.high['gap']}", f"at least {ends.low['ratio']}"
        return (
            f"{self.metric} by {self.by}: {verdict} (p = {self.p_value:.4f}). The worst group is "
            f"most likely {names}, with {self.metric} {worst}. The gap to the best group is {gap}. "
            f"The ratio of the lowest to the highest is {ratio}."
        )


def rows_of(found):
    """Return the rows of groups and of extremes for all metrics."""
    rows = {"groups": Compared.group_rows, "extremes": Compared.extreme_rows}
    return {name: pd.concat(map(of_one, found), ignore_index=True) for name, of_one in rows.items()}


def table_of(found, groups):
    """Return the table to print, with conclusions first."""
    promises = [tables.method_and_promise(one.estimate) for one in found]
    direct = [tables.compared_with(one.direct) for one in found]
    several = [name for name in ("metric", "by") if groups[name].nunique() > 1]
    return tables.group_table(
        groups,
        (*tables.DIRECT, *tables.ESTIMATES, ("P(worst)", "worst_probability")),
        labels=(*several, "group"),
        conclusion=[one.sentence() for one in found],
        promise=promises[0],
        notes=[
            *(f"{text}." for text in dict.fromkeys([*promises, *direct]) if text != promises[0]),
            "P(worst): probability that the group is the worst.",
        ],
        nests=several[0] if several else "",
    )
