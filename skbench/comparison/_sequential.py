"""Stop when enough: intervals and verdicts that are valid whenever one looks."""

from __future__ import annotations

import json
import math
import numbers
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_confidence_level, check_whole, check_within, floats
from skbench._files import write_whole
from skbench._numbers import number, score_form
from skbench._types import Bounds
from skbench._warnings import warn
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
        numbers = self.value, self.low, self.high
        value, low, high = (number(x, score_form(numbers)) for x in numbers)
        words = (
            f"{self.verdict} after {self.n_items:,} items: {value}, "
            f"{100 * self.confidence_level:.4g}% interval {low} to {high} at all looks"
        )
        if math.isnan(self.chance):
            return words
        futile = "; futile: it will hardly be decided" if self.futile else ""
        return f"{words}; chance of a decision {100 * self.chance:.0f}%{futile}"


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
        futile = self._verdict == "undecided" and bool(chance < self.futility)
        known = self._verdict, value, *self._ends, n, chance, futile
        return SequentialResult(*known, self.confidence_level)

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
            warn(
                "The scores contradict earlier ones: their mean has moved beyond chance. Was the "
                "order of the items random?"
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
        if state.get("max_weight", 1) != 1:  # written by an earlier version
            raise ValueError(
                f"This is the state of a test with max_weight = {state['max_weight']}, which is no "
                "more: SequentialMean(target=0, bounds=...) takes weights * (a - b). Start anew."
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


class SequentialMean(Sequential):
    """A mean score, batch by batch, with an interval that is valid whenever one looks.

    Parameters
    ----------
    target : float, default=None
        Decide whether the mean is "above" or "below" this value.
    width : float, default=None
        Or decide ("precise") once the interval is no wider. With neither, the verdict stays
        "undecided" and the interval alone is of interest.
    bounds : tuple of two floats, default=(0, 1)
        Range of the scores by their definition.
    max_items : int, default=None
        Number of items available, for `chance` and `futile`.
    futility : float, default=0.05
        Chance of a decision below which it is futile to go on.
    confidence_level : float, default=0.95
        Level of the interval at all looks together. It is set here, once, because every look
        decides at this level.

    Attributes
    ----------
    n_items : int
        Number of items so far.
    result : SequentialResult
        The result so far.

    Notes
    -----
    The betting confidence sequence of `skbench.stats.betting`; the intervals of all looks are
    intersected. The order of the items must be unrelated to their scores: shuffle them once.
    `save` and `load` keep the state in a file.

    When not to use it: for a number of items fixed in advance; a usual interval is shorter.

    Examples
    --------
    >>> running = SequentialMean(target=0.5)
    >>> print(running.update([1, 1, 0, 1, 1, 1, 1, 1]).verdict)
    undecided
    >>> print(running.update([1, 1, 1, 1, 1, 1, 1, 1, 1]).verdict)
    above
    """

    _settings = ("target", "width", "bounds", "max_items", "futility", "confidence_level")

    def __init__(
        self,
        target: float | None = None,
        width: float | None = None,
        *,
        bounds: Bounds = (0, 1),
        max_items: int | None = None,
        futility: float = 0.05,
        confidence_level: float = 0.95,
    ) -> None:
        if target is not None and width is not None:
            raise ValueError("Pass target=... or width=..., not both.")
        self.target, self.width, self.bounds = target, width, bounds
        self.max_items, self.futility = max_items, futility
        self.confidence_level = confidence_level
        self._start()

    def _range(self):
        return self.bounds

    def update(self, scores: ArrayLike) -> SequentialResult:
        """Add the scores of a batch of items."""
        return self._add(self._batch(scores, "scores"))

    def _decided(self, low, high):
        if self.width is not None:
            return "precise" if high - low <= self.width else "undecided"
        if self.target is None:
            return "undecided"
        return "above" if low > self.target else "below" if high < self.target else "undecided"

    def _chance_by(self, value, variance, n, n_end):
        level = self.confidence_level
        if self.width is not None:
            return float(2 * betting.half_width(variance, n_end, level) <= self.width)
        if self.target is None:
            return np.nan
        return betting.chance_of_decision(value, variance, n, n_end, self.target, level)


class SequentialComparison(Sequential):
    """Which of two models is better, batch by batch, valid whenever one looks.

    Parameters
    ----------
    names : tuple of two str, default=("a", "b")
        Names of the models, used as verdicts.
    margin : float, default=None
        Decide "equivalent" once the models are shown to differ by less than this.
    bounds : tuple of two floats, default=(0, 1)
        Range of the scores by their definition.
    max_items, futility, confidence_level : int, float and float
        As in `SequentialMean`.

    Attributes
    ----------
    n_items : int
        Number of items so far.
    result : SequentialResult
        The result so far; its value is the mean of a minus b.

    Notes
    -----
    The betting confidence sequence of the paired differences (`skbench.stats.betting`). With
    60 looks, equal models are told apart in at most 5% of runs. Models 15 points apart take
    1.3 to 1.6 times the items of a test of fixed size with power 0.8
    (test_sixty_looks_keep_the_level, test_expected_items). For items in clusters, pass the
    means of the clusters. For items drawn with unequal probabilities, pass the weighted
    differences to a `SequentialMean` with ``target=0`` and bounds that hold them.

    When not to use it: for a number of items fixed in advance; use `compare_models`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> race = SequentialComparison(names=("ada", "bob"))
    >>> while not race.result.stop:
    ...     found = race.update(rng.random(20) < 0.9, rng.random(20) < 0.6)
    >>> print(found.verdict, found.n_items)
    ada 40
    """

    _settings = ("names", "margin", "bounds", "max_items", "futility", "confidence_level")

    def __init__(
        self,
        names: tuple[str, str] = ("a", "b"),
        *,
        margin: float | None = None,
        bounds: Bounds = (0, 1),
        max_items: int | None = None,
        futility: float = 0.05,
        confidence_level: float = 0.95,
    ) -> None:
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"names must be those of two models, got {names!r}.")
        if margin is not None and not (isinstance(margin, numbers.Real) and margin > 0):
            raise ValueError(f"margin must be above 0, got {margin!r}.")
        self.names, self.margin, self.bounds = tuple(names), margin, bounds
        self.max_items, self.futility = max_items, futility
        self.confidence_level = confidence_level
        self._start()

    def _range(self):
        reach = self.bounds[1] - self.bounds[0]
        return -reach, reach

    def update(self, a: ArrayLike, b: ArrayLike) -> SequentialResult:
        """Add both models' scores on a batch of items."""
        a, b = self._batch(a, "a"), self._batch(b, "b")
        if a.size != b.size:
            raise ValueError(f"a has {a.size} scores and b {b.size}: give those of the same items.")
        return self._add(a - b)

    def _decided(self, low, high):
        if low > 0 or high < 0:
            return self.names[0] if low > 0 else self.names[1]
        within = self.margin is not None and -self.margin < low and high < self.margin
        return "equivalent" if within else "undecided"

    def _chance_by(self, value, variance, n, n_end):
        level = self.confidence_level
        if self.margin is not None and betting.half_width(variance, n_end, level) < self.margin:
            return 1.0  # by then the interval is shorter than the margin
        return betting.chance_of_decision(value, variance, n, n_end, 0.0, level)
