"""Items of a table that come several times: answered again, blank, or numbered by topic."""

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench.items.roles import OPTIONS, ROLES, columns_of


def without_spare_blanks(items):
    """Rows without those blank ones of which another row is there."""
    keys = [name for name in ("model", "topic", "item") if name in items]
    keys += numbers_of_repeats(items)
    blank = items["score"].isna()
    if "item" not in items or not blank.any():
        return items
    first = items.sort_values("score", na_position="last", kind="stable").duplicated(keys)
    return items[~(blank & first.reindex(items.index))].reset_index(drop=True)


def with_unique_items(items, roles, notes, path, bad):
    """Make sure that a (model, item) pair is one row, unless its rows are told apart."""
    if "item" not in items or "item" not in roles:
        return items
    topics = roles.get("topic", [])
    keys = [name for name in ("model", "item") if name in items]
    keys += ["topic"] if len(topics) == 1 else topics
    item_is_cluster = roles.get("cluster") == roles["item"]
    repeat = None if item_is_cluster else _column_of_repeats(items)
    if repeat is not None:
        items = items.rename(columns={repeat: "repeat"})
        several = f"items have several answers, told apart by {repeat!r}"
        if "cluster" not in items:
            items.insert(items.columns.get_loc("score") + 1, "cluster", items["item"])
            roles["cluster"] = roles["item"]
            several += ": an item is a cluster"
        notes.append(several)
    elif not item_is_cluster:
        items = _without_repeated(items, keys, path, bad, topics)
    return _unique_over_topics(items, keys, roles, notes)


def _without_repeated(items, keys, path, bad, topics):
    repeated = items.duplicated(keys)
    if repeated.any() and not bad.skip:
        _raise_repeated(items, keys, repeated, topics)
    for row in np.flatnonzero(repeated):
        bad.refuse(path, f"row {row + 1}", f"repeats item {str(items['item'].iloc[row])!r}")
    return items[~repeated].reset_index(drop=True)


def _unique_over_topics(items, keys, roles, notes):
    """Items by other names where their ids start again in every topic."""
    pair = [name for name in ("model", "item") if name in keys]
    if not items.drop_duplicates(keys).duplicated(pair).any():
        return items
    notes.append("item ids start again in every topic: made unique by putting the topic in front")
    topics = [name for name in keys if name not in pair]
    parts = [items[name].astype(str) for name in (*topics, "item")]
    items = items.assign(item=parts[0].str.cat(parts[1:], sep="/"))
    return items.assign(cluster=items["item"]) if roles.get("cluster") == roles["item"] else items


def _column_of_repeats(items):
    """The column that numbers the answers to an item, where items repeat, or None."""
    keys = [name for name in ("model", "topic", "item") if name in items]
    numbers = numbers_of_repeats(items)
    if "model" not in items:  # a run may be one
        numbers = [name for name in numbers if items[name].astype(str).str.isdigit().all()]
    if not numbers or not items.duplicated(keys).any():
        return None
    apart = (name for name in numbers if not items.duplicated([*keys, name]).any())
    return next(apart, None)


def numbers_of_repeats(columns):
    return columns_of("attempt", columns)


def _raise_repeated(items, keys, repeated, topics):
    row = items[repeated].iloc[0]
    where = ", ".join(f"{key} {str(row[key])!r}" for key in keys)
    tell_apart = [
        name.removesuffix("_in_file") if name.removesuffix("_in_file") in ROLES else name
        for name in items.columns.difference([*keys, *ROLES], sort=False)
        if pd.api.types.is_hashable(row[name]) and not items.duplicated([*keys, name]).any()
    ]
    hint = f" They differ in {listed(tell_apart)}: " if tell_apart else ""
    if hint and tell_apart[0] in ROLES:
        hint = f" They differ in {tell_apart[0]!r}, which is not the {tell_apart[0]} as named."
    elif hint and "model" in items:
        beside = "".join(f"{name}," for name in topics)
        hint += f"keep them apart with topic= (--by {beside}{tell_apart[0]})."
    elif hint:
        hint += "is that the model?"
    raise ValueError(
        f"{int(repeated.sum())} of {len(items)} rows repeat an item that is already there, "
        f"first {where}.{hint} Pass {OPTIONS['model']} or {OPTIONS['item']}; if items were "
        f"answered several times, pass {OPTIONS['cluster']} too, with the item column."
    )
