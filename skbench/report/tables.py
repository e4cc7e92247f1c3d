"""Estimates, models and pairs as rows for programs and tables for people, and in words."""

import numpy as np
import pandas as pd

from skbench._numbers import number, score_form
from skbench.containers import LISTED, ON_AVERAGE, UNLESS_SKEWED
from skbench.items.rows import joined
from skbench.report.table import Column, Table

_MODELS = ("model", "model_a", "model_b")
DIRECT = ("direct", "direct"), ("low", "direct_low"), ("high", "direct_high")
ESTIMATES = ("estimate", "value"), ("low", "low"), ("high", "high")
_MOST_OUTLYING = 10  # groups that are told by name
# What each guarantee means; {covered} is the level in percent.
_MEANINGS = {
    "each group": "about {covered} of 100 such intervals cover, whichever the group",
    ON_AVERAGE: "about {covered} of 100 such intervals cover, a few less at some true accuracies",
    UNLESS_SKEWED: "about {covered} of 100 such intervals cover, fewer where few scores are skewed",
    "average over groups": "about {covered} of 100 groups are covered, not each one",
    "posterior": "right if the prior and the model are",
    "model": "right if the model is",
    "none": "these intervals promise nothing",
}


def level_and_guarantee(estimate):
    """Level and guarantee of the intervals of an estimate, in a few words."""
    return f"{100 * estimate.confidence_level:g}% intervals, {estimate.guarantee}"


def promise(estimate):
    """What the intervals of an estimate promise, in words."""
    meaning = _MEANINGS[estimate.guarantee].format(covered=f"{100 * estimate.confidence_level:g}")
    return f"{level_and_guarantee(estimate)}: {meaning}"


def method_and_promise(estimate):
    """The same after the method."""
    return f"{estimate.method}: {promise(estimate)}"


def compared_with(direct):
    """What stands beside an estimate, in words."""
    return f"To compare with: {direct.method}, {level_and_guarantee(direct)}"


def worth(estimate):
    """How many items an estimate is worth, in words."""
    level = f"{100 * estimate.confidence_level:g}% interval"
    if np.isnan(estimate.sample_size_ratio.value):
        return f"How many items {estimate.method} is worth over all groups is unknown."
    return (
        f"Over all groups, {estimate.method} is {estimate.sample_size_ratio}; {level}, "
        "from leaving items out."
    )


def group_rows(summary, direct, estimate, by):
    """One row per group, sorted by topic (all columns of `by` but "model") and model."""
    labels = pd.DataFrame(list(summary.labels), columns=by)
    topics = [name for name in by if name != "model"]
    table = pd.DataFrame(
        {
            "model": labels["model"].astype(str) if "model" in by else None,
            "topic": joined(labels[topics]) if topics else None,
            "n": summary.n,
            "direct": direct.value,
            "direct_low": direct.low,
            "direct_high": direct.high,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "standard_error": estimate.standard_error,
            "outlier_probability": np.nan
            if estimate.outlier_probability is None
            else estimate.outlier_probability,
        }
    )
    order = labels.sort_values([*topics, *(["model"] if "model" in by else [])], kind="stable")
    return table.loc[order.index].reset_index(drop=True)


def model_rows(board):
    """One row per model of a `Leaderboard`, best first; letters of ties as a list."""
    from skbench.comparison.ranks import letters_of

    frame = board.to_frame().rename_axis("model").rename(columns={"estimate": "value"})
    return labeled_rows(frame.assign(ties=letters_of(board.rank_sets)))


def pair_rows(comparison):
    """One row per pair of models of a `ModelComparison`, with its verdict."""
    frame = comparison.to_frame().rename(columns={"difference": "value"})
    return labeled_rows(frame.assign(verdict=comparison.verdict))


def labeled_rows(frame):
    """A frame whose index has become its first columns, as text: models, and topics in one."""
    labels = frame.index.to_frame(index=False).astype(str)
    topics = [name for name in labels if name not in _MODELS]
    named = labels.drop(columns=topics)
    if topics:
        named["topic"] = joined(labels[topics])
    return pd.concat([named, frame.reset_index(drop=True)], axis=1)


def item_rows(frame):
    """The same of items, whose ids stay as they are."""
    labels = frame.index.to_frame(index=False)
    others = labels.drop(columns="item")
    if others.columns.empty:
        return frame.reset_index()
    rows = labeled_rows(frame.set_axis(pd.MultiIndex.from_frame(others)))
    return rows.assign(item=labels["item"])


def group_table(rows, names=ESTIMATES, labels=("model", "topic"), **about):
    """The groups for people, with what these columns are called; without what no group has."""
    form = score_form(rows["direct"])
    columns = [Column(name, rows[name]) for name in labels if rows[name].notna().any()]
    columns += [
        Column(heading, rows[name], "g" if name == "n" else form)
        for heading, name in (("n", "n"), *names)
        if rows[name].notna().any()
    ]
    return Table(columns, **about)


def rank_range(row):
    """The ranks a model may have: "2" or "1-3"."""
    low, high = row.rank_low, row.rank_high
    return f"{low}" if low == high else f"{low}-{high}"


def outlying_groups(rows):
    """Rows of the groups that are unlike their peers, the surest first."""
    listed = rows[rows["outlier_probability"] > LISTED]
    return listed.sort_values("outlier_probability", ascending=False, kind="stable")


def outlying_in_words(rows):
    """A heading, and one line per group that is unlike its peers; nothing where none is."""
    listed = outlying_groups(rows)
    if listed.empty:
        return []
    form = score_form(rows["direct"])
    count = (
        "1 group may be unlike its"
        if len(listed) == 1
        else f"{len(listed)} groups may be unlike their"
    )
    lines = [_outlying_in_words(row, form) for row in listed.head(_MOST_OUTLYING).itertuples()]
    more = len(listed) - len(lines)
    return [
        f"{count} peers, with these probabilities, and then borrows little; look at the items:",
        *(f"  {line}" for line in lines),
        *([f"  and {more} more: column outlier_probability of --json"] if more else []),
    ]


def _outlying_in_words(row, form):
    name = ", ".join(str(part) for part in (row.model, row.topic) if part is not None)

    def told(value, low, high):
        ends = (number(x, form) for x in (value, low, high))
        return "{} [{}, {}]".format(*ends)

    direct = told(row.direct, row.direct_low, row.direct_high)
    estimate = told(row.value, row.low, row.high)
    # Rounded down: a probability of 1 is not known.
    sure = np.floor(100 * row.outlier_probability) / 100
    return f"{name} (n = {row.n:g}): direct {direct}, estimate {estimate}, probability {sure:.2f}"
