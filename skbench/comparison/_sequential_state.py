"""What both sequential procedures share: counts of scores, the ends so far, and saved states."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from skbench._checks import check_confidence_level, check_whole, check_within, floats
from skbench._files import write_whole
from skbench.stats.sequential import betting

_FEWEST = 10  # items before anything is called futile
_ROUNDING = 1e-9  # of the range, by which sums of decimals may leave it


@dataclass(frozen=True)
class SequentialResult:
    """The result after a batch.

    Attributes
    ----------
    verdict : str
        "undecided", or the decision.
    value, low, high : float
        Mean (difference) and its interval, valid at all looks together.
    n_items : int
        Number of items so far.
    chance : float
        Probability that `max_items` items will decide; nan where unknown.
    futile : bool
        Whether that probability is too small to go on.
    confidence_level : float
        Level of the interval.
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
        """Whether to stop: decided, or futile."""
        return self.verdict != "undecided" or self.futile

    def to_frame(self) -> pd.DataFrame:
        """The result as one row."""
        return pd.DataFrame([asdict(self)])

    def __str__(self):
        words = (
            f"{self.verdict} after {self.n_items:,} items: {self.value:.4g}, "
            f"{100 * self.confidence_level:.4g} % interval {self.low:.4g} to {self.high:.4g} "
            "at all looks"
        )
        if math.isnan(self.chance):
            return words
        futile = "; futile: it will hardly be decided" if self.futile else ""
        return f"{words}; chance of a decision {100 * self.chance:.0f} %{futile}"


class Sequential:
    """Scores counted by their value, and the narrowest ends so far."""

    def _start(self):
        """Check the settings and start without items."""
        check_confidence_level(self.confidence_level)
        self.bounds = tuple(float(end) for end in self.bounds)
        check_within("scores", np.empty(0), self.bounds)
        if self.max_items is not None:
            check_whole("max_items", self.max_items)
        if not 0 <= self.futility < 1:
            raise ValueError(f"futility must be in [0, 1), got {self.futility!r}.")
        self._counts = {}
        self._ends = self._range()
        self._verdict = "undecided"

    @property
    def n_items(self) -> int:
        """Number of items so far."""
        return sum(self._counts.values())

    @property
    def result(self) -> SequentialResult:
        """The result so far."""
        values, counts = self._observed()
        n = self.n_items
        value = float(values @ counts / n) if n else math.nan
        chance = self._chance(value, values, counts, n)
        undecided = self._verdict == "undecided"
        return SequentialResult(
            verdict=self._verdict,
            value=value,
            low=self._ends[0],
            high=self._ends[1],
            n_items=n,
            chance=chance,
            futile=bool(undecided and chance < self.futility),
            confidence_level=self.confidence_level,
        )

    def _observed(self):
        """Values of the scores seen, and how often each was."""
        values = np.array(sorted(self._counts), dtype=float)
        return values, np.array([self._counts[v] for v in values.tolist()], dtype=float)

    def _add(self, scores):
        """The result with more scores."""
        low, high = self._range()
        for value, count in zip(*np.unique(scores, return_counts=True), strict=True):
            self._counts[float(value)] = self._counts.get(float(value), 0) + int(count)
        values, counts = self._observed()
        scaled = np.clip((values - low) / (high - low), 0, 1)
        ends = betting.confidence_sequence(scaled, counts, self.confidence_level)
        now = [low + (high - low) * end for end in ends]
        both = max(now[0], self._ends[0]), min(now[1], self._ends[1])
        if both[0] <= both[1]:
            self._ends = both
        else:
            warnings.warn(
                "The scores contradict earlier ones: their mean has moved beyond chance. Was the "
                "order of the items random?",
                stacklevel=3,
            )
        if self._verdict == "undecided":
            self._verdict = self._decided(*self._ends)
        return self.result

    def _chance(self, value, values, counts, n):
        """Probability that the items still available will decide."""
        if self.max_items is None or n < _FEWEST or self._verdict != "undecided":
            return math.nan
        low, high = self._range()
        squares = counts @ (values - value) ** 2 + (high - low) ** 2 / 16
        return self._chance_by(value, squares / (n + 1), n, max(self.max_items, n))

    def _batch(self, scores, name):
        """Checked scores of a batch."""
        column = np.atleast_1d(floats(f"scores of {name}", scores)).ravel()
        if not np.isfinite(column).all():
            raise ValueError(f"{name} has a score that is missing or infinite; leave it out.")
        check_within(f"scores of {name} lie", column, self.bounds, _ROUNDING)
        return np.clip(column, *self.bounds)

    def to_json(self) -> str:
        """The state as text: settings, counts, ends and verdict."""
        settings = {name: getattr(self, name) for name in self._settings}
        counts = sorted(self._counts.items())
        state = {"counts": counts, "ends": self._ends, "verdict": self._verdict}
        return json.dumps({"kind": type(self).__name__, **settings, **state})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The object as it was when `to_json` wrote it."""
        state = json.loads(text)
        if state.get("kind") != cls.__name__:
            raise ValueError(f"This is the state of {state.get('kind')}, not of {cls.__name__}.")
        if state.get("max_weight", 1) != 1:  # of an earlier version
            raise ValueError(
                f"This state is of differences with weights up to {state['max_weight']:g}, which "
                "SequentialComparison no longer takes. Start again with a SequentialMean, "
                "target=0, of weights * (a - b)."
            )
        found = cls(**{name: state[name] for name in cls._settings})
        found._counts = {float(value): int(count) for value, count in state["counts"]}
        found._ends, found._verdict = tuple(state["ends"]), state["verdict"]
        return found

    def save(self, path: Path) -> None:
        """Write the state to a file, whole or not at all."""
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a state that `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __repr__(self):
        return f"{type(self).__name__}: {self.result}"
