"""Item rows of new models, and the positions of their items in the bank."""

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
    position: np.ndarray  # in the bank; -1 for items that are not in it
    topic: np.ndarray  # codes; those from n_topics on are new topics
    item: np.ndarray  # ids
    new_topics: list  # names of the new topics
    probability: np.ndarray | None  # inclusion probabilities


def read_rows(bank, X, model, topic, item):
    """Read the `NewRows` of a table."""
    frame = rows_of(X, "X", item, topic, model)
    if len(frame) == 0:
        raise ValueError("X has no rows. Pass at least one answer per model.")
    check_named(model, frame[model])
    position, code, new = positions_and_topics(bank, frame, topic, item)
    probability = None
    if CHANCE in frame.columns:
        probability = probabilities_of(frame[CHANCE])
        invalid = ~((probability > 0) & (probability <= 1))
        if invalid.any():
            at = int(np.argmax(invalid))
            missing = np.isnan(probability[at])
            raise ValueError(
                f"{CHANCE} must be a number above 0 and at most 1, but in row {at} it is "
                f"{'missing' if missing else repr(plain(frame[CHANCE].iloc[at]))}. Use fractions, "
                "such as 0.25 for 25%, or remove the column if all items had the same probability."
            )
    models, items = frame[model].to_numpy(), frame[item].to_numpy()
    return NewRows(models, position, code, items, new, probability)


def positions_in(bank, items, topic, item):
    """Positions in the bank (-1 if unknown) and topic codes (``n_topics`` for new topics)."""
    frame = rows_of(items, "items", item, topic)
    position, code, _ = positions_and_topics(bank, frame, topic, item)
    return position, np.minimum(code, len(bank.topics_))


def positions_and_topics(bank, frame, topic, item):
    """Positions, topic codes, and names of topics that are not in the bank."""
    check_named(item, frame[item])
    ids = bank.items_["item"]
    no_topics = list(bank.topics_) == ["all"]
    if topic in frame.columns and no_topics:
        pairs = frame[[topic, item]].drop_duplicates()
        if (twice := pairs[item].duplicated()).any():
            raise ValueError(
                f"Item {plain(pairs[item][twice].iloc[0])!r} occurs in several topics, but the "
                "bank has no topics. Fit the bank to rows with a topic column."
            )
    if topic not in frame.columns or no_topics:
        if ids.duplicated().any():
            raise ValueError(
                f"Item {plain(ids[ids.duplicated()].iloc[0])!r} occurs in several topics of the "
                f"bank. Add the column {topic!r}."
            )
        position = pd.Index(ids).get_indexer(frame[item])
        if np.any(position < 0) and not no_topics:
            bad = frame[item].iloc[int(np.argmax(position < 0))]
            raise ValueError(
                f"The bank has no item {plain(bad)!r}, and without a column {topic!r} its topic is "
                "unknown. Add the column, or remove the item."
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
    """Convert any dataframe to pandas, with ids and topics of one type each."""
    frame = X if isinstance(X, pd.DataFrame) else collected(as_frame(X))
    require_columns(frame.columns, [*others, item], what)
    own = [name for name in (item, topic) if name in frame]
    for name in own:
        refuse_unhashable(name, frame[name])
    return frame.assign(**{name: of_one_type(frame[name]) for name in own})


def refuse_unknown_items(bank, ids, whose, remedy):
    """Raise an error if the bank contains none of the items."""
    raise ValueError(
        f"The bank has none of the items of {whose}, such as {plain(ids[0])!r}. The ids of the "
        f"bank are like {plain(bank.items_['item'].iloc[0])!r}. Use its item ids and topic "
        f"names{remedy}."
    )


def warn_of_unknown(bank, ids, position, rows, meaning):
    """Warn if some items are not in the bank."""
    unknown = ids[position < 0]
    if len(unknown):
        warn(
            f"The bank lacks the items of {len(unknown)} of {len(ids)} {rows}, such as "
            f"{plain(unknown[0])!r}. {meaning}.{nearly_known(bank, unknown)}"
        )


def nearly_known(bank, items):
    """A hint if the bank contains the ids under another topic or spelling."""
    known = set(map(str, bank.items_["item"]))
    if any(str(item) in known for item in items):
        return " The bank has some of these ids under another topic or type (number or text)."
    short = {item.lstrip("0") for item in known}
    if any(str(item).lstrip("0") in short for item in items):
        return " Some of these ids differ from those of the bank only in leading zeros."
    return ""
