"""Items of a table that come several times: answered again, blank, or numbered by topic."""

import pandas as pd

from skbench._checks import listed
from skbench.items.roles import ROLES, columns_of


def without_spare_blanks(items):
    """Rows without those blank ones of which another row is there."""
    keys = [name for name in ("model", "topic", "item") if name in items]
    keys += columns_of("attempt", items)
    blank = items["score"].isna()
    if "item" not in items or not blank.any():
        return items
    answered = pd.MultiIndex.from_frame(items.loc[~blank, keys])
    spare = blank & pd.MultiIndex.from_frame(items[keys]).isin(answered)
    return items[~spare]


def with_unique_items(items, roles, notes, place, bad):
    """Make sure that a (model, item) pair is one row, unless its rows are told apart.

    `place(row)` is the file of a row and its place there.
    """
    if "item" not in items or "item" not in roles:
        return items
    topics = roles.get("topic", [])
    keys = [name for name in ("model", "item") if name in items]
    keys += ["topic"] if len(topics) == 1 else topics
    item_is_cluster = roles.get("cluster") == roles["item"]
    repeated = items.duplicated(keys)
    if repeated.any() and not item_is_cluster:
        numbers = _numbers_of_repeats(items)
        apart = (name for name in numbers if not items.duplicated([*keys, name]).any())
        if (repeat := next(apart, None)) is None:
            repeated = items.duplicated([*keys, *numbers[:1]])
            remedy = _remedy(items, keys, items[repeated].iloc[0])
            first = items.groupby(keys, sort=False, observed=True).ngroup()
            first = items.index.to_series().groupby(first).transform("first")
            for row in items.index[repeated]:
                item, (file, line) = str(items["item"][row]), place(first[row])
                what = f"repeats item {item!r}, which is in {line} of {file.name!r}. {remedy}"
                bad.refuse(*place(row), what)
            items = items[~repeated]
        else:
            notes.append(f"items have several answers, told apart by {repeat!r}")
            items = items.rename(columns={repeat: "repeat"})
            if "cluster" not in items:
                items.insert(items.columns.get_loc("score") + 1, "cluster", items["item"])
                roles["cluster"] = roles["item"]
    return _unique_over_topics(items, keys, roles, notes)


def _unique_over_topics(items, keys, roles, notes):
    """Items by other names where their ids start again in every topic."""
    pair = [name for name in ("model", "item") if name in keys]
    if not items.drop_duplicates(keys).duplicated(pair).any():
        return items
    notes.append("item ids start again in every topic: made unique by putting the topic in front")
    parts = [items[name].astype(str) for name in (*(k for k in keys if k not in pair), "item")]
    items = items.assign(item=parts[0].str.cat(parts[1:], sep="/"))
    return items.assign(cluster=items["item"]) if roles.get("cluster") == roles["item"] else items


def _numbers_of_repeats(items):
    """Columns that number the answers to an item."""
    numbers = columns_of("attempt", items)
    if "model" in items:
        return numbers
    # A run may be a model.
    return [name for name in numbers if items[name].astype(str).str.isdigit().all()]


def _remedy(items, keys, row):
    """What may be passed where rows repeat an item, such as this row."""
    others = items.columns.difference([*keys, *ROLES], sort=False)
    apart = [
        name.removesuffix("_in_file") if name.removesuffix("_in_file") in ROLES else name
        for name in others
        if pd.api.types.is_hashable(row[name]) and not items.duplicated([*keys, name]).any()
    ]
    hint = f"Such rows differ in {listed(apart)}. " if apart else ""
    if apart and "model" not in items:
        hint += f"If that is the model, pass model={apart[0]!r}. "
    elif apart and apart[0] not in ROLES:
        topics = [name for name in keys if name not in ("model", "item")]
        hint += f"To keep them apart, pass topic={[*topics, apart[0]]!r}. "
    return f"{hint}If items were answered several times, pass cluster= with the item's column"
