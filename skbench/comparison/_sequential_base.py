"""Base of sequential evaluations: items, counts, intervals, verdicts and states."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np
import pandas as pd

from skbench._checks import check_same_index, check_within, floats
from skbench._files import write_whole
from skbench._numbers import number, score_form
from skbench._parameters import check_stored
from skbench._printed import Printed
from skbench._types import Path, checked
from skbench._warnings import warn
from skbench.comparison._sequential_items import (
    Items,
    item_hash,
    item_hashes,
    item_ids,
    parsed_state,
    state_text,
)
from skbench.stats.sequential import betting

_FEWEST = 10  # items before futility is assessed
_ROUNDING = 1e-9  # of the range; rounding errors may exceed the bounds by this


@dataclass(frozen=True, repr=False)
class SequentialResult(Printed):
    """The result after a batch.

    Attributes
    ----------
    verdict : str
        "undecided", or the decision.
    value, low, high : float
        Mean (difference) and its interval, simultaneously valid at all looks.
    n_items : int
        Number of items so far.
    chance : float
        Probability of a decision after `max_items` items; nan if unknown.
    futile : bool
        Whether that probability is below `futility`.
    confidence_level : float
        Confidence level of the interval.
    """

    verdict: str
    value: float
    low: float
    high: float
    n_items: int
    chance: float
    futile: bool
    confidence_level: float

    @property
    def stop(self) -> bool:
        """Whether to stop, because of a decision or futility."""
        return self.verdict != "undecided" or self.futile

    def to_frame(self) -> pd.DataFrame:
        """Return the result as one row."""
        return pd.DataFrame([asdict(self)])

    def _printed(self):
        numbers = self.value, self.low, self.high
        value, low, high = (number(x, score_form(numbers)) for x in numbers)
        words = (
            f"Verdict after {self.n_items:,} items: {self.verdict}. The estimate is {value} "
            f"({100 * self.confidence_level:.4g}% interval {low} to {high}, valid at every look)."
        )
        if math.isnan(self.chance):
            return [words]
        futile = " Continuing is futile." if self.futile else ""
        return [f"{words} The probability of a decision is {100 * self.chance:.0f}%.{futile}"]


@checked
class Sequential(Printed):
    """Counted items, counts of their scores, and the intersection of all intervals so far."""

    def _start(self):
        check_stored(self)
        low, high = self.bounds = tuple(map(float, self.bounds))
        reach = 0.0, high - low
        for name, (least, most) in {"target": (low, high), "width": reach, "margin": reach}.items():
            value = getattr(self, name, None)
            if value is None:
                continue
            if not least < value < most:
                raise ValueError(
                    f"{name} must be strictly between {least:g} and {most:g}, got {value!r}."
                )
            setattr(self, name, float(value))
        self.futility, self.confidence_level = float(self.futility), float(self.confidence_level)
        self.max_items = None if self.max_items is None else int(self.max_items)
        self._items, self._counts = Items(len(self._given)), {}
        self._ends = self._range()
        self._verdict = "undecided"

    @property
    def n_items(self) -> int:
        """Number of items so far."""
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        """Whether the item with this id was counted."""
        return item_hash(item) in self._items

    @property
    def result(self) -> SequentialResult:
        """The result so far."""
        values, counts = self._observed()
        n = self.n_items
        value = float(values @ counts / n) if n else math.nan
        chance = self._chance(value, values, counts, n)
        futile = self._verdict == "undecided" and bool(chance < self.futility)
        known = self._verdict, value, *self._ends, n, chance, futile
        return SequentialResult(*known, self.confidence_level)

    def _observed(self):
        """Distinct scores so far, and their counts."""
        values = np.array(sorted(self._counts), dtype=float)
        return values, np.array([self._counts[v] for v in values.tolist()], dtype=float)

    def _update(self, items, *given):
        """Add items, none of which was counted before."""
        keys, ids, columns = self._batch(items, given, self.n_items)
        self._items.refuse_known(keys, ids)
        return self._add(keys, columns)

    def _catch_up(self, items, *given):
        """Add the new items among all items so far."""
        keys, ids, columns = self._batch(items, given, 0)
        slack = _ROUNDING * (self.bounds[1] - self.bounds[0])
        new = self._items.new_among(keys, ids, columns, slack)
        if not new.any():
            return self.result
        return self._add([keys[i] for i in np.flatnonzero(new)], [of[new] for of in columns])

    def _batch(self, items, given, start):
        """Hashes, ids and checked scores of distinct items."""
        named = dict(zip(self._given, given, strict=True))
        check_same_index(**named, items=items)
        columns = [self._checked(name, column) for name, column in named.items()]
        if len({column.size for column in columns}) > 1:
            a, b = map(len, columns)
            raise ValueError(f"a has {a} scores and b has {b}. Pass both for the same items.")
        ids = item_ids(items, given, start, columns[0].size)
        return item_hashes(ids), ids, columns

    def _add(self, keys, columns):
        """Add checked items and return the new result."""
        self._items.add(keys, columns)
        self._count(columns)
        low, high = self._range()
        values, counts = self._observed()
        scaled = np.clip((values - low) / (high - low), 0, 1)
        ends = betting.confidence_sequence(scaled, counts, self.confidence_level)
        now = [low + (high - low) * end for end in ends]
        both = max(now[0], self._ends[0]), min(now[1], self._ends[1])
        if both[0] <= both[1]:
            self._ends = both
        else:
            warn(
                "The new scores contradict the earlier interval. Check that the items are in "
                "random order."
            )
        if self._verdict == "undecided":
            self._verdict = next(iter(self._decisions(*self._ends)), "undecided")
        return self.result

    def _count(self, columns):
        """Count the scores, or differences, by value."""
        scores = columns[0] if len(columns) == 1 else np.subtract(*columns)
        for value, count in zip(*np.unique(scores, return_counts=True), strict=True):
            self._counts[float(value)] = self._counts.get(float(value), 0) + int(count)

    def _chance(self, value, values, counts, n):
        """Probability of a decision after the available items."""
        if self.max_items is None or n < _FEWEST or self._verdict != "undecided":
            return math.nan
        low, high = self._range()
        squares = counts @ (values - value) ** 2 + (high - low) ** 2 / 16
        return self._chance_by(value, squares / (n + 1), n, max(self.max_items, n))

    def _checked(self, name, scores):
        """Scores of a batch as floats within the bounds."""
        what = name if name == "scores" else f"scores of {name}"
        column = np.atleast_1d(floats(what, scores))
        if column.ndim > 1:
            raise ValueError(f"{name} has shape {column.shape}. Pass one score for each item.")
        if not np.isfinite(column).all():
            raise ValueError(f"{what} must not be missing or infinite. Remove such items.")
        check_within(f"{what} lie", column, self.bounds, _ROUNDING)
        return np.clip(column, *self.bounds)

    def to_json(self) -> str:
        """Return the state as JSON: settings, hashed item ids, scores, interval and verdict."""
        settings = {name: getattr(self, name) for name in self._settings}
        own = self._items.to_state() | {"ends": self._ends, "verdict": self._verdict}
        return state_text(type(self).__name__, settings, own)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the object with the state that `to_json` wrote."""
        return cls._read(text, "This text")

    def save(self, path: Path) -> None:
        """Write the state to a file, atomically."""
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a state that `save` wrote."""
        with open(path, "rb") as file:
            start = file.read(1)  # skips long files that are not a state
            content = start + file.read() if start == b"{" else start
        return cls._read(content.decode("utf-8", "replace"), repr(str(path)))

    @classmethod
    def _read(cls, text, what):
        """Return the object of a state, or raise an error that explains what is wrong."""
        try:
            state = parsed_state(text, cls.__name__)
        except ValueError as error:
            raise ValueError(
                f"{what} is not the state of a sequential evaluation of {cls._about}: {error} "
                "Start again without it."
            ) from error
        found = cls(**{name: state[name] for name in cls._settings})
        columns = list(map(np.array, state["scores"]))
        found._items.add(state["items"], columns)
        found._count(columns)
        found._ends, found._verdict = tuple(state["ends"]), state["verdict"]
        return found

    def _printed(self):
        return [f"{type(self).__name__}: {self.result}"]
