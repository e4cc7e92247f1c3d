"""Items of a sequential evaluation, identified by a hash of their ids, and its state as text."""

import hashlib
import json
from array import array

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from skbench._checks import as_text, check_named, one_column, plain
from skbench._columns import as_pandas

_FORMAT = 3  # of states; the first had no items, the second no single model


def item_ids(items, given, start, size):
    """Ids of a batch: `items`, else the pandas index, else numbers from `start`."""
    if items is None:
        indexes = (column.index for column in given if isinstance(column, pd.Series))
        counted_on = range(start, start + size)
        items = next((index for index in indexes if not _is_default(index)), counted_on)
    if not isinstance(items, str) and not is_list_like(items, allow_sets=False):
        raise TypeError(f"items must be a sequence of ids, got {items!r:.40}.")
    ids = as_pandas([items] if isinstance(items, str) else items)
    ids = ids.set_index(list(ids)).index if isinstance(ids, pd.DataFrame) else ids
    if not isinstance(ids, pd.Index):
        ids = one_column("items", ids)
        # pandas cannot convert all objects to text.
        ids = pd.Index(ids, dtype=object if ids.dtype == object else None)
    if len(ids) != size:
        raise ValueError(f"items has {len(ids)} ids for {size} scores. Pass one id for each score.")
    if size:
        check_named("items", ids)
    return ids


def _is_default(index):
    """Whether an index is the default one, which does not identify items."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def item_hash(item):
    """Hash of an id, or of a tuple such as (topic, item)."""
    text = "\x1f".join(map(as_text, item if isinstance(item, tuple) else [item]))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def item_hashes(ids):
    """Hashes of distinct ids."""
    keys = list(map(item_hash, ids))
    if len(set(keys)) < len(keys):
        _refuse_twice(pd.Index(keys).duplicated(), ids)
    return keys


def _refuse_twice(repeated, ids):
    raise ValueError(
        f"Item {plain(ids[int(np.argmax(repeated))])!r} occurs twice, but each item counts once. "
        "Remove it, pass distinct ids as items=..., or pass all items so far to catch_up."
    )


class Items:
    """Scores of items by the hash of their ids, in order of arrival."""

    def __init__(self, n_scores):
        self._places = {}
        self._scores = [array("d") for _ in range(n_scores)]

    def __len__(self):
        return len(self._places)

    def __contains__(self, key):
        return key in self._places

    def refuse_known(self, keys, ids):
        """Raise an error for items that were counted before."""
        if not self._places.keys().isdisjoint(keys):
            _refuse_twice([key in self._places for key in keys], ids)

    def add(self, keys, columns):
        """Append new items."""
        self._places.update(zip(keys, range(len(self), len(self) + len(keys)), strict=True))
        for own, column in zip(self._scores, columns, strict=True):
            own.frombytes(column.tobytes())

    def new_among(self, keys, ids, columns, tolerance):
        """Find the new items among all items so far. Counted items must have the same scores."""
        places = np.array([self._places.get(key, -1) for key in keys], dtype=int)
        known = np.flatnonzero(places >= 0)
        if len(known) < len(self):
            raise ValueError(
                f"{len(self) - len(known)} of {len(self)} counted items are not among these "
                f"{len(keys)} items. Pass all items so far with unchanged ids and topics, or start "
                "again."
            )
        now = np.array([column[known] for column in columns])
        before = np.array([np.array(own)[places[known]] for own in self._scores])
        changed = np.flatnonzero((np.abs(now - before) > tolerance).any(axis=0))
        if len(changed):
            first = changed[0]
            was, is_now = (" and ".join(f"{x:g}" for x in of[:, first]) for of in (before, now))
            raise ValueError(
                f"{len(changed)} of {len(self)} counted items have changed scores. The first is "
                f"item {plain(ids[known[first]])!r} ({was} before, {is_now} now). Pass the "
                "counted scores, or start again."
            )
        return places < 0

    def to_state(self):
        """Return the items and their scores as lists."""
        return {"items": list(self._places), "scores": [own.tolist() for own in self._scores]}


def state_text(kind, settings, own):
    """Return a state as JSON."""
    state = {"format": _FORMAT, "kind": kind, **settings, **own}
    return json.dumps(state | {"hash": item_hash(json.dumps(state))})


def parsed_state(text, kind):
    """Return the state in a text, after checking that it is unchanged."""
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is empty, truncated or not JSON.") from None
    if not isinstance(state, dict):
        raise ValueError("it has no settings and no items.")
    if "format" not in state and "counts" in state:
        raise ValueError("an earlier version wrote it, without the items that it counted.")
    for name, wanted in (("format", _FORMAT), ("kind", kind)):
        if state.get(name) != wanted:
            raise ValueError(f"its {name} is {state.get(name)!r:.40} instead of {wanted!r}.")
    if state.pop("hash", None) != item_hash(json.dumps(state)):
        raise ValueError("it was edited after it was written.")
    return state
