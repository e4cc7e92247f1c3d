"""Estimates, models and pairs: rows for programs, tables and sentences for people."""

import numpy as np
import pandas as pd

from skbench._numbers import number, score_form
from skbench.containers import LISTED, ON_AVERAGE, UNLESS_SKEWED
from skbench.items.rows import joined
from skbench.report.table import Column, Table

_MODELS = ("model", "model_a", "model_b")
DIRECT = ("direct", "direct"), ("low", "direct_low"), ("high", "direct_high")
ESTIMATES = ("estimate", "value"), ("low", "low"), ("high", "high")
_MOST_OUTLYING = 10  # groups in the list of outliers
# What each guarantee means; {level} is the confidence level in percent.
_MEANINGS = {
    "each group": "each interval covers its true value with a probability of about {level}",
    ON_AVERAGE: "each interval covers its true value with a probability of about {level}, "
    "slightly less for some true values",
    UNLESS_SKEWED: "each interval covers its true value with a probability of about {level}, "
    "less if a group has few scores and a skewed distribution",
    "average over groups": "about {level} of all intervals cover their true values, but the "
    "coverage for a single group may be lower",
    "posterior": "each true value is in its interval with a probability of {level}, if the prior "
    "and the model are correct",
    "model": "each interval covers its true value with a probability of about {level}, if the "
    "model is correct",
    "none": "they have no guaranteed coverage",
}


def level_and_guarantee(estimate):
    """Confidence level and guarantee of the intervals, in a few words."""
    return f"{100 * estimate.confidence_level:.4g}% intervals ({estimate.guarantee})"


def promise(estimate):
    """What the intervals of an estimate guarantee, in words."""
    level = f"{100 * estimate.confidence_level:.4g}%"
    meaning = _MEANINGS[estimate.guarantee].format(level=level)
    return f"{level_and_guarantee(estimate)}: {meaning}"


def method_and_promise(estimate):
    """The method and what its intervals guarantee."""
    return f"Method: {estimate.method}. {promise(estimate)}"


def compared_with(direct):
    """The direct estimates beside an estimate, in words."""
    return (
        f"Direct estimates (the group's own scores): {direct.method}, {level_and_guarantee(direct)}"
    )


def sample_size_in_words(estimate):
    """How many times the items the direct estimates would need to be as precise."""
    ratio = estimate.sample_size_ratio
    if np.isnan(ratio.value):
        return "The gain over the direct estimates is unknown."
    high = "more" if np.isinf(ratio.high) else f"{ratio.high:.2g}"
    level = f"{100 * estimate.confidence_level:g}%"
    span = f"{ratio.low:.2g} {'or' if high == 'more' else 'to'} {high}"
    return (
        "Overall, the estimates are as precise as direct estimates from "
        f"{ratio.value:.2g} times as many items ({level} interval {span}, from held-out items)."
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
    """The groups as a table, with these names of columns; empty columns are left out."""
    form = score_form(rows["direct"])
    columns = [Column(name, rows[name]) for name in labels if rows[name].notna().any()]
    columns += [
        Column(heading, rows[name], "g" if name == "n" else form, narrow=name != "standard_error")
        for heading, name in (("n", "n"), *names)
        if rows[name].notna().any()
    ]
    return Table(columns, **about)


def rank_range(row):
    """The ranks that a model may have: "2" or "1-3"."""
    low, high = row.rank_low, row.rank_high
    return f"{low}" if low == high else f"{low}-{high}"


def outlying_groups(rows):
    """Rows of the groups that may be outliers, the most probable first."""
    listed = rows[rows["outlier_probability"] > LISTED]
    return listed.sort_values("outlier_probability", ascending=False, kind="stable")


def outlying_in_words(rows):
    """A sentence, and one line per group that may be an outlier; nothing if there is none."""
    listed = outlying_groups(rows)
    if listed.empty:
        return []
    form = score_form(rows["direct"])
    if len(listed) == 1:
        head = (
            "1 group may be an outlier. Its estimate borrows less strength from other groups. "
            "Check its items."
        )
    else:
        head = (
            f"{len(listed)} groups may be outliers. Their estimates borrow less strength from "
            "other groups. Check their items."
        )
    lines = [_outlying_in_words(row, form) for row in listed.head(_MOST_OUTLYING).itertuples()]
    more = len(listed) - len(lines)
    return [
        head,
        *(f"  {line}" for line in lines),
        *([f"  and {more} more (outlier_probability in --json)"] if more else []),
    ]


def _outlying_in_words(row, form):
    name = " on ".join(str(part) for part in (row.model, row.topic) if part is not None)

    def interval(value, low, high):
        value, low, high = (number(x, form) for x in (value, low, high))
        return f"{value} ({low} to {high})"

    direct = interval(row.direct, row.direct_low, row.direct_high)
    estimate = interval(row.value, row.low, row.high)
    # Rounded down, so that no probability reads as 1.
    probability = np.floor(100 * row.outlier_probability) / 100
    return (
        f"{name} (n = {row.n:g}): direct {direct}, estimate {estimate}, probability "
        f"{probability:.2f} of being an outlier"
    )
