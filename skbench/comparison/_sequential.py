"""Stop when enough: intervals and verdicts that are valid whenever one looks."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skbench._parameters import Range
from skbench._types import Bounds, Count, Labels, Level, Positive, checked
from skbench.comparison._sequential_base import Sequential, SequentialResult
from skbench.stats.sequential import betting

_Chance: TypeAlias = Annotated[float, Range(0, 1, "low")]


@checked
class SequentialMean(Sequential):
    """A mean score, batch by batch, with an interval that is valid whenever one looks.

    Parameters
    ----------
    target : float, default=None
        Decide whether the mean is "above" or "below" this value, which lies within the bounds.
    width : float, default=None
        Or decide ("precise") once the interval is no wider. With neither, the verdict stays
        "undecided" and the interval alone is of interest.
    bounds : tuple of two floats, default=(0, 1)
        Range of the scores by their definition.
    name : str, default=None
        Name of the model, which its state keeps.
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
    It matters for which items each look had, and for nothing else.

    Items are known by their ids: those passed as ``items=``, else the index of a pandas Series,
    else numbers counted on from `n_items` (also where the index is just 0, 1, 2, ...). An item
    counts once. For items in clusters, pass the means of whole clusters as scores, and the ids of
    the clusters as items: items of one cluster, counted as if independent, make wrong verdicts
    frequent. `save` and `load` keep the state in a file, with a hash of every id; a file that was
    changed is refused.

    When not to use it: for a number of items fixed in advance; a usual interval is shorter.

    Examples
    --------
    >>> running = SequentialMean(target=0.5)
    >>> print(running.update([1, 1, 0, 1, 1, 1, 1, 1]).verdict)
    undecided
    >>> print(running.update([1, 1, 1, 1, 1, 1, 1, 1, 1]).verdict)
    above
    """

    _given, _about = ("scores",), "one model"
    _settings = ("name", "target", "width", "bounds", "max_items", "futility", "confidence_level")

    def __init__(
        self,
        target: float | None = None,
        width: Positive | None = None,
        *,
        name: str | None = None,
        bounds: Bounds = (0, 1),
        max_items: Count | None = None,
        futility: _Chance = 0.05,
        confidence_level: Level = 0.95,
    ) -> None:
        if target is not None and width is not None:
            raise ValueError("Pass target=... or width=..., not both.")
        self.name, self.target, self.width, self.bounds = name, target, width, bounds
        self.max_items, self.futility = max_items, futility
        self.confidence_level = confidence_level
        self._start()

    def _range(self):
        return self.bounds

    def update(
        self, scores: ArrayLike, items: ArrayLike | Labels | None = None
    ) -> SequentialResult:
        """Add the scores of a batch of items.

        Parameters
        ----------
        scores : array-like of shape (n_items,)
            Scores within the bounds.
        items : sequence of shape (n_items,), default=None
            Ids, or tuples such as (topic, item).

        Raises
        ------
        ValueError
            If an item came before, or twice.
        """
        return self._update(items, scores)

    def catch_up(
        self, scores: ArrayLike, items: ArrayLike | Labels | None = None
    ) -> SequentialResult:
        """Add what is new among the scores of all items so far, in any order.

        Parameters
        ----------
        scores, items
            As in `update`; without ids, items are 0, 1, 2, ... in this order.

        Raises
        ------
        ValueError
            If an item that was counted is gone or has another score.
        """
        return self._catch_up(items, scores)

    def _decisions(self, low, high):
        if self.width is not None:
            return ["precise"] if high - low <= self.width else []
        if self.target is None:
            return []
        return ["above"] if low > self.target else ["below"] if high < self.target else []

    def _chance_by(self, value, variance, n, n_end):
        level = self.confidence_level
        if self.width is not None:
            return float(2 * betting.half_width(variance, n_end, level) <= self.width)
        if self.target is None:
            return np.nan
        return betting.chance_of_decision(value, variance, n, n_end, self.target, level)


@checked
class SequentialComparison(Sequential):
    """Which of two models is better, batch by batch, valid whenever one looks.

    Parameters
    ----------
    names : tuple of two str, default=("a", "b")
        Names of the models, used as verdicts.
    margin : float, default=None
        Decide "equivalent" once the models are shown to differ by less than this, which is
        less than the range of the scores.
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
    The betting confidence sequence of the paired differences (`skbench.stats.betting`). Items
    are known by their ids, and those in clusters are passed by their means, as in
    `SequentialMean`; two pandas Series need the same index. With 60 looks, equal models are told
    apart in at most 5% of runs. Models 15 points apart take 1.3 to 1.6 times the items of a test
    of fixed size with power 0.8 (test_sixty_looks_keep_the_level, test_expected_items). For items
    drawn with unequal probabilities, pass the weighted differences to a `SequentialMean` with
    ``target=0`` and bounds that hold them.

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

    _given, _about = ("a", "b"), "two models"
    _settings = ("names", "margin", "bounds", "max_items", "futility", "confidence_level")

    def __init__(
        self,
        names: tuple[str, str] = ("a", "b"),
        *,
        margin: Positive | None = None,
        bounds: Bounds = (0, 1),
        max_items: Count | None = None,
        futility: _Chance = 0.05,
        confidence_level: Level = 0.95,
    ) -> None:
        if not isinstance(names, tuple | list) or not all(isinstance(n, str) for n in names):
            raise ValueError(f"names must be those of two models, as text, got {names!r:.80}.")
        if len(names) != 2 or len({*names, "undecided", "equivalent"}) != 4:
            raise ValueError(
                f"names must be those of two models, and neither a verdict, got {names!r:.80}."
            )
        self.names, self.margin, self.bounds = tuple(names), margin, bounds
        self.max_items, self.futility = max_items, futility
        self.confidence_level = confidence_level
        self._start()

    def _range(self):
        reach = self.bounds[1] - self.bounds[0]
        return -reach, reach

    def update(
        self, a: ArrayLike, b: ArrayLike, items: ArrayLike | Labels | None = None
    ) -> SequentialResult:
        """Add both models' scores on a batch of items, as `SequentialMean.update` does."""
        return self._update(items, a, b)

    def catch_up(
        self, a: ArrayLike, b: ArrayLike, items: ArrayLike | Labels | None = None
    ) -> SequentialResult:
        """Add what is new on all items so far, as `SequentialMean.catch_up` does."""
        return self._catch_up(items, a, b)

    def _decisions(self, low, high):
        sides = {self.names[0]: low > 0, self.names[1]: high < 0}
        within = self.margin is not None and -self.margin < low and high < self.margin
        return [verdict for verdict, holds in (sides | {"equivalent": within}).items() if holds]

    def _chance_by(self, value, variance, n, n_end):
        level = self.confidence_level
        if self.margin is not None and betting.half_width(variance, n_end, level) < self.margin:
            return 1.0  # by then the interval is shorter than the margin
        return betting.chance_of_decision(value, variance, n, n_end, 0.0, level)
