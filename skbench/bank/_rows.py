"""Item rows of new models: where their items stand in the bank."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import (
    check_named,
    of_one_type,
    plain,
    refuse_unhashable,
    require_columns,
)
from skbench._warnings import warn
from skbench.items.rows import CHANCE, as_frame, collected, probabilities_of


class NewRows(NamedTuple):
    """Rows of a user's table."""

    model: np.ndarray  # names
    position: np.ndarray  # in the bank; -1 for items that it lacks
    topic: np.ndarray  # codes; those from n_topics on are new ones
    item: np.ndarray  # ids
    new_topics: list  # their names
    probability: np.ndarray | None  # chances of being asked


def read_rows(bank, X, model, topic, item):
    """The `NewRows` of a table."""
    frame = rows_of(X, "X", item, topic, model)
    if len(frame) == 0:
        raise ValueError("X has no rows: there is nothing to fit.")
    check_named(model, frame[model])
    position, code, new = positions_and_topics(bank, frame, topic, item)
    probability = None
    if CHANCE in frame.columns:
        probability = probabilities_of(frame[CHANCE])
        odd = ~((probability > 0) & (probability <= 1))
        if odd.any():
            at = int(np.argmax(odd))
            blank = np.isnan(probability[at])
            raise ValueError(
                f"{CHANCE} must be numeric, above 0 and at most 1, but in row {at} it is "
                f"{'blank' if blank else repr(plain(frame[CHANCE].iloc[at]))}. Write the chances "
                "as they were, such as 0.25 for 25%; or drop the column if all were the same."
            )
    models, items = frame[model].to_numpy(), frame[item].to_numpy()
    return NewRows(models, position, code, items, new, probability)


def positions_in(bank, items, topic, item):
    """Positions in the bank (-1: not there), and codes of topics (new: ``len(bank.topics_)``)."""
    frame = rows_of(items, "items", item, topic)
    position, code, _ = positions_and_topics(bank, frame, topic, item)
    return position, np.minimum(code, len(bank.topics_))


def positions_and_topics(bank, frame, topic, item):
    """Positions, codes of topics, and the names of topics that the bank lacks."""
    check_named(item, frame[item])
    ids = bank.items_["item"]
    no_topics = list(bank.topics_) == ["all"]
    if topic in frame.columns and no_topics:
        pairs = frame[[topic, item]].drop_duplicates()
        if (twice := pairs[item].duplicated()).any():
            raise ValueError(
                f"Item {plain(pairs[item][twice].iloc[0])!r} occurs in several topics, and the "
                "bank has no topics to tell them apart: make one of item rows with topics."
            )
    if topic not in frame.columns or no_topics:
        if ids.duplicated().any():
            raise ValueError(
                f"Item {plain(ids[ids.duplicated()].iloc[0])!r} occurs in several topics of the "
                f"bank: give the column {topic!r}."
            )
        position = pd.Index(ids).get_indexer(frame[item])
        if np.any(position < 0) and not no_topics:
            bad = frame[item].iloc[int(np.argmax(position < 0))]
            raise ValueError(
                f"The bank has no item {plain(bad)!r}, and there is no column {topic!r} that tells "
                "its topic. Give the column, or leave the item out."
            )
        code = np.where(position >= 0, bank.topic_codes_[position], 0)
        return position, code, []
    check_named(topic, frame[topic])
    pairs = pd.MultiIndex.from_frame(frame[[topic, item]])
    position = pd.MultiIndex.from_frame(bank.items_).get_indexer(pairs)
    new = sorted(set(frame[topic]) - set(bank.topics_), key=str)
    code = pd.Index([*bank.topics_, *new]).get_indexer(frame[topic])
    return position, code, new


def rows_of(X, what, item, topic, *others):
    """Any dataframe as a pandas frame, with ids, and topics, of one type."""
    frame = X if isinstance(X, pd.DataFrame) else collected(as_frame(X))
    require_columns(frame.columns, [*others, item], what)
    own = [name for name in (item, topic) if name in frame]
    for name in own:
        refuse_unhashable(name, frame[name])
    return frame.assign(**{name: of_one_type(frame[name]) for name in own})


def refuse_unknown_items(bank, ids, whose, remedy):
    """Refuse items of which the bank has none: most likely, their ids differ."""
    raise ValueError(
        f"The bank has none of the items of {whose}, such as {plain(ids[0])!r}; its own are like "
        f"{plain(bank.items_['item'].iloc[0])!r}. Name items, and topics, as the bank does{remedy}."
    )


def warn_of_unknown(bank, ids, position, rows, meaning):
    """Warn of items that the bank lacks."""
    unknown = ids[position < 0]
    if len(unknown):
        warn(
            f"The bank lacks the items of {len(unknown)} of {len(ids)} {rows}, such as "
            f"{plain(unknown[0])!r}: {meaning}.{nearly_known(bank, unknown)}"
        )


def nearly_known(bank, items):
    """A hint if the bank has unknown ids under another topic or spelling."""
    known = set(map(str, bank.items_["item"]))
    if any(str(item) in known for item in items):
        return " Some of these ids are there under other topics, or as numbers or text."
    short = {item.lstrip("0") for item in known}
    if any(str(item).lstrip("0") in short for item in items):
        return " Some of these ids differ from its own in leading zeros alone."
    return ""
