"""Handle items that occur several times in a table."""

import pandas as pd

from skbench._checks import listed
from skbench._undecided import Undecided
from skbench.items.codes import CodedRows
from skbench.items.roles import ROLES, columns_of, normal
from skbench.items.rows import as_frame, joined
from skbench.readers._found import item_key, topic_columns

_METRICS = ("metric", "metric_name", "scorer", "filter")


def without_spare_blanks(items, topics):
    """Drop rows with missing scores if another row has the same answer."""
    keys = [name for name in ("model",) if name in items] + item_key(items, topics)
    keys += columns_of("attempt", items)
    blank = items["score"].isna()
    if "item" not in items or not blank.any():
        return items
    answered = pd.MultiIndex.from_frame(items.loc[~blank, keys])
    spare = blank & pd.MultiIndex.from_frame(items[keys]).isin(answered)
    return items[~spare]


def with_unique_items(items, roles, notes, place, bad):
    """Ensure one row per model and item, unless a column numbers the repeats.

    `place(row)` returns the file of a row and its place there.
    """
    if "item" not in items or "item" not in roles:
        return items
    key = item_key(items, topic_columns(roles.get("topic", [])))
    model = [name for name in ("model",) if name in items]
    keys, may_repeat = [*model, *key], roles.get("cluster") == roles["item"]
    rows = CodedRows(as_frame(items), refuses_missing=False)
    if not may_repeat and rows.most_answers(key, *model or [None])[1] > 1:
        numbers = _numbers_of_repeats(items)
        apart = (name for name in numbers if not items.duplicated([*keys, name]).any())
        if (repeat := next(apart, None)) is None:
            repeated = items.duplicated([*keys, *numbers[:1]])
            if not bad.skip:
                _refuse_repeated(items, keys, repeated, roles, place)
            for row in items.index[repeated]:
                bad.refuse(*place(row), f"repeats item {str(items['item'][row])!r}")
            items = items[~repeated]
        else:
            notes.append(f"items have several answers, numbered by column {repeat!r}")
            items = items.rename(columns={repeat: "repeat"})
            if "cluster" not in items:
                items.insert(items.columns.get_loc("score") + 1, "cluster", items["item"])
                roles["cluster"] = roles["item"]
    if roles.get("cluster") == roles["item"] and len(key) > 1:
        items = items.assign(cluster=joined(items[key]))
    elif "cluster" in items:
        places = items[[*key[:-1], "cluster"]].drop_duplicates()["cluster"]
        if n_wide := places[places.duplicated()].nunique():
            notes.append(f"{n_wide} clusters have items of several topics, and each is one cluster")
    if rows.number(key) > rows.number(["item"]):
        notes.append("item ids start again in every topic, so topic and id identify an item")
    return items


def _numbers_of_repeats(items):
    """Return the columns that number the answers to an item."""
    numbers = columns_of("attempt", items)
    if "model" in items:
        return numbers
    # Without a model column, a run may be a model.
    return [name for name in numbers if items[name].astype(str).str.isdigit().all()]


def _refuse_repeated(items, keys, repeated, roles, place):
    """Raise for repeated items, with a choice for each possible meaning."""
    row = items[repeated].iloc[0]
    same = (items[keys] == row[keys]).all(axis=1)
    (file, line), (first_file, first_line) = place(row.name), place(items.index[same][0])
    text = f"{str(file)!r}, {line}: repeats item {str(row['item'])!r} of {first_line}"
    if first_file != file:
        raise ValueError(f"{text} in {str(first_file)!r}. Remove the copy.")
    others = items.columns.difference([*keys, *ROLES], sort=False)
    apart = [
        name.removesuffix("_in_file") if name.removesuffix("_in_file") in ROLES else name
        for name in others
        if pd.api.types.is_hashable(row[name]) and not items.duplicated([*keys, name]).any()
    ]
    topics, several = roles.get("topic", []), {"cluster": roles["item"][0]}
    choices = [{"topic": [*topics, name]} for name in apart if name not in ROLES]
    if "model" not in items:
        choices = [{"model": name} for name in apart]
    fewest = items.groupby(keys, observed=True).size().min()
    if items["score"].dropna().isin((0, 1)).all() and fewest > 1:
        choices.append({"name": "passk", "k": str(fewest)})
    hint = f" Such rows differ in {listed(apart)}." if apart else ""
    raise Undecided(
        f"{text}.{hint} If items were answered several times, pass cluster= with the item column.",
        # Answers may be averaged, but metrics may not.
        choices[:4] + [several] * (not any(normal(name) in _METRICS for name in apart)),
    )
