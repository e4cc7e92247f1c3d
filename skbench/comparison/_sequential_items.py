"""Items of a sequential run, known by a hash of their ids, and its state as text."""

import hashlib
import json
from array import array

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from skbench._checks import as_text, check_named, one_column, plain
from skbench._columns import as_pandas

_FORMAT = 3  # of states; the first did not know its items, the second not the one model


def item_ids(items, given, start, size):
    """Ids of a batch: as given, else the index of pandas, else numbers from `start` on."""
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
        # Not all that pandas would make text of can be.
        ids = pd.Index(ids, dtype=object if ids.dtype == object else None)
    if len(ids) != size:
        raise ValueError(f"items has {len(ids)} ids for {size} scores: pass one for each.")
    if size:
        check_named("items", ids)
    return ids


def _is_default(index):
    """Whether an index is that of a table without one, which every batch may bear."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def item_hash(item):
    """A short text that stands for an id, or for one of several parts such as (topic, item)."""
    text = "\x1f".join(map(as_text, item if isinstance(item, tuple) else [item]))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def item_hashes(ids):
    """The hash of every id; no item may be there twice."""
    keys = list(map(item_hash, ids))
    if len(set(keys)) < len(keys):
        _refuse_twice(pd.Index(keys).duplicated(), ids)
    return keys


def _refuse_twice(repeated, ids):
    raise ValueError(
        f"Item {plain(ids[int(np.argmax(repeated))])!r} came twice, and an item counts once. Leave "
        "it out, pass ids that differ as items=, or give all items so far to catch_up."
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
        """Refuse items that came before."""
        if not self._places.keys().isdisjoint(keys):
            _refuse_twice([key in self._places for key in keys], ids)

    def add(self, keys, columns):
        """Put new items behind the others."""
        self._places.update(zip(keys, range(len(self), len(self) + len(keys)), strict=True))
        for own, column in zip(self._scores, columns, strict=True):
            own.frombytes(column.tobytes())

    def new_among(self, keys, ids, columns, tolerance):
        """Which of all items so far are new; the others must be there, with the same scores."""
        places = np.array([self._places.get(key, -1) for key in keys], dtype=int)
        known = np.flatnonzero(places >= 0)
        if len(known) < len(self):
            raise ValueError(
                f"{len(self) - len(known)} of {len(self)} items counted before are not among the "
                f"{len(keys)} of now: some were taken away, or ids or topics have changed. Give "
                "all items so far, or start anew."
            )
        now = np.array([column[known] for column in columns])
        before = np.array([np.array(own)[places[known]] for own in self._scores])
        changed = np.flatnonzero((np.abs(now - before) > tolerance).any(axis=0))
        if len(changed):
            first = changed[0]
            was, is_now = (" and ".join(f"{x:g}" for x in of[:, first]) for of in (before, now))
            raise ValueError(
                f"{len(changed)} of {len(self)} items counted before have other scores now, the "
                f"first is item {plain(ids[known[first]])!r}: {was} before, {is_now} now. Give "
                "the scores that were counted, or start anew."
            )
        return places < 0

    def to_state(self):
        """The items and their scores as lists."""
        return {"items": list(self._places), "scores": [own.tolist() for own in self._scores]}


def state_text(kind, settings, own):
    """A state as JSON."""
    state = {"format": _FORMAT, "kind": kind, **settings, **own}
    return json.dumps(state | {"hash": item_hash(json.dumps(state))})


def parsed_state(text, kind):
    """The state that a text holds, exactly as it was written."""
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is empty, cut short or no JSON at all.") from None
    if not isinstance(state, dict):
        raise ValueError("it holds neither settings nor items.")
    if "format" not in state and "counts" in state:
        raise ValueError("an earlier version wrote it, which did not know the items it counted.")
    for name, wanted in (("format", _FORMAT), ("kind", kind)):
        if state.get(name) != wanted:
            raise ValueError(f"its {name} is {state.get(name)!r:.40} in place of {wanted!r}.")
    if state.pop("hash", None) != item_hash(json.dumps(state)):
        raise ValueError("it was changed since it was written.")
    return state
