"""Detect topics that are the total of the others, whose items would count twice."""

import re

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._notes import LOST, Note
from skbench.items.rows import joined

_STATISTIC = re.compile(
    "((grand |sub)?total|overall|mean|average|avg[.]?|sum|median|std[.]?|summe|gesamt|mittelwert|"
    "durchschnitt|moyenne|somme|promedio|suma)( score)?",
    re.IGNORECASE,
)
_FEWEST_OTHERS = 2  # topics that make a total
_SURE = 3  # different sums that agree, which cannot be by chance
_NEAR = 1e-6  # relative tolerance for sums of scores
# "combined gas law" and "sum of squares" are topics, so the word must stand alone, at the end, or
# before a word for what is summed.
_TOTAL = re.compile(
    r"(.*[^a-z])?(all|overall|totals?|sum|average|avg|mean|aggregate|combined|micro)"
    r"([^a-z]+(topics?|subjects?|tasks?|categories|items|questions|scores?|accuracy|avg))?",
    re.IGNORECASE,
)


def are_statistics(items):
    """Return which rows are the mean or another summary of the others, by label and score."""
    known = [] if is_numeric_dtype(items["item"]) else items["item"].unique()
    names = [name for name in known if _STATISTIC.fullmatch(str(name))]
    if not names:
        return np.zeros(len(items), dtype=bool)
    named = items["item"].isin(names)
    # An item may be a function named sum, but then its scores are like those of other items.
    sure = named & ~items["score"].isin([0, 1, *items["score"][~named].unique()])
    keys = [items[name] for name in ("model", "topic") if name in items]
    others = items["score"].where(~named).groupby(keys or named.to_numpy() * 0)
    mean, least, most = (others.transform(how) for how in ("mean", "min", "max"))
    differ = items["score"].where(named & (least < most)) - mean
    agrees = (differ.abs() <= _NEAR).where(differ.notna()).groupby(items["item"]).min() == 1
    return (sure | items["item"].isin(agrees.index[agrees])).to_numpy()


def check_totals(rows, topics, counts=None):
    """Raise if a topic is the total of the others. Return notes on topics that may be."""
    model = ["model"] if "model" in rows else []
    doubts = []
    for name in topics:
        within = [*model, *(other for other in topics if other != name)]
        doubts += _check(rows, rows[name], within, counts)
    if len(topics) > 1:
        names = pd.Series(joined(rows[topics].drop_duplicates()))
        labels = rows.groupby(topics, sort=False, observed=True).ngroup().map(names)
        doubts += _check(rows, labels, model, counts)
    return list(dict.fromkeys(doubts))


def _check(rows, topic, within, counts):
    """Yield notes on topics that may be totals within one model, or one model and level."""
    sums = _sums(rows, topic, within, counts)
    is_total = (
        (sums["of"] >= _FEWEST_OTHERS)
        & (sums["n"] == sums["n_others"])
        & ((sums["k"] - sums["k_others"]).abs() <= _NEAR * (1 + sums["k"].abs()))
    )
    everywhere = is_total.groupby(sums["topic"], sort=False, observed=True).all()
    for name in everywhere.index[everywhere]:
        found = sums[sums["topic"] == name]
        in_topic = topic == name
        same_items = counts is None and _holds_the_items_of_all_others(rows, in_topic, within)
        if same_items or found["k"].nunique() >= _SURE or _TOTAL.fullmatch(str(name)):
            model = " / ".join(map(str, rows.loc[in_topic, within].iloc[0]))
            raise ValueError(
                f"Topic {str(name)!r} is the total of the others. Like the others together, it has "
                f"{found['n'].iloc[0]} answers{' of ' * bool(model)}{model} with a sum of scores "
                f"of {found['k'].iloc[0]:g}. Remove its rows, because its items would count twice."
            )
        text = (
            f"topic {str(name)!r} has as many answers, and the same sum of scores, as all others "
            "together. If it is their total, remove its rows, because its items count twice"
        )
        yield Note(text, LOST)


def _sums(rows, topic, within, counts):
    """Return the numbers of answers and sums of scores of each topic and of all others."""
    n, k = counts or (None, "score")
    by = rows.groupby([*(rows[name] for name in within), topic], sort=False, observed=True)
    sums = pd.DataFrame({"n": by[n].sum() if counts else by.size(), "k": by[k].sum(), "of": 1})
    places = list(range(len(within)))
    sums["place"] = sums.groupby(level=places, sort=False).ngroup() if within else 0
    sums = sums.assign(topic=sums.index.get_level_values(-1)).reset_index(drop=True)
    whole = sums.groupby("place", sort=False)[["n", "k", "of"]].transform("sum")
    return sums.assign(
        n_others=whole["n"] - sums["n"], k_others=whole["k"] - sums["k"], of=whole["of"] - 1
    )


def _holds_the_items_of_all_others(rows, in_topic, within):
    if "item" not in rows:
        return False
    place = rows.groupby(within, sort=False, observed=True).ngroup() if within else 0
    cells = pd.DataFrame({"place": place, "item": rows["item"].astype(str), "score": rows["score"]})
    beside = cells["place"].isin(cells["place"][in_topic])
    own, others = (
        cells[chosen & beside].sort_values(list(cells), ignore_index=True)
        for chosen in (in_topic, ~in_topic)
    )
    return own.equals(others) and own["score"].nunique() > 1
