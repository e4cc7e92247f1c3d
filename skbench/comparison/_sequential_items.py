"""Items of a sequential run, known by a hash of their ids, and its state as text."""

import hashlib
import json
import re
from array import array

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from skbench._checks import as_text, check_named, plain

_FORMAT = 2  # of states; the first did not know its items
_OWN = ("items", "scores", "ends", "verdict")
_HASH = re.compile("[0-9a-f]{16}")


def item_ids(items, given, start, size):
    """Ids of a batch: as given, else the index of pandas, else numbers from `start` on."""
    if items is None:
        indexes = (column.index for column in given if isinstance(column, pd.Series))
        counted_on = range(start, start + size)
        items = next((index for index in indexes if not _is_default(index)), counted_on)
    if not isinstance(items, str) and not is_list_like(items, allow_sets=False):
        raise TypeError(f"items must be a sequence of ids, got {items!r:.40}.")
    ids = items.set_index(list(items)).index if isinstance(items, pd.DataFrame) else items
    ids = ids if isinstance(ids, pd.Index) else pd.Index([ids] if isinstance(ids, str) else ids)
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
    return json.dumps({"format": _FORMAT, "kind": kind, **settings, **own})


def _whole(digits):
    """A whole number; one that is too long for any float is infinite, and refused as such."""
    return int(digits) if len(digits) < 300 else float(digits)


def parsed_state(text, kind, settings, n_scores):
    """The state that a text holds, as far as the text alone tells that it is one."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError("it is empty." if isinstance(text, str) else "it is not text.")
    try:
        state = json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError):
        raise ValueError("it is cut short, or no JSON at all.") from None
    if not isinstance(state, dict):
        raise ValueError("it holds neither settings nor items.")
    if "format" not in state and "counts" in state:
        raise ValueError("an earlier version wrote it, which did not know the items it counted.")
    for name, wanted in (("format", _FORMAT), ("kind", kind)):
        if state.get(name) != wanted:
            raise ValueError(f"its {name} is {state.get(name)!r:.40} in place of {wanted!r}.")
    expected = {"format", "kind", *settings, *_OWN}
    for name in sorted(expected ^ set(state)):
        raise ValueError(f"it {'lacks' if name in expected else 'has an unknown'} {name!r:.40}.")
    items, scores = state["items"], state["scores"]
    if not _are(items, {str}) or not all(map(_HASH.fullmatch, items)):
        raise ValueError("its items are not all hashes of ids.")
    if len(set(items)) < len(items):
        raise ValueError(f"{len(items) - len(set(items))} of its {len(items)} items came twice.")
    numbers = _are(scores, {list}, n_scores) and all(
        _are(of, {int, float}, len(items)) for of in scores
    )
    if not numbers:
        raise ValueError("its scores are not one number for each item and model.")
    if not _are(state["ends"], {int, float}, 2):
        raise ValueError("its ends are not two numbers.")
    return state


def _are(values, types, size=None):
    """Whether these are a list of values of these types, and so many of them."""
    return (
        isinstance(values, list)
        and set(map(type, values)) <= types
        and (size is None or len(values) == size)
    )
