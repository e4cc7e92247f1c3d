"""Sequential evaluation: intervals and verdicts that stay valid after every batch of items."""

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
    """Estimate a mean score batch by batch, until it is precise or differs from a target.

    The interval is valid at every look, that is, after every batch (anytime-valid inference).

    Parameters
    ----------
    target : float, default=None
        Value to compare the mean with, within the bounds. The verdict is "above" or "below" once
        the interval excludes it.
    width : float, default=None
        The verdict is "precise" once the interval is no wider than this. Without `target` and
        `width`, the verdict stays "undecided".
    bounds : tuple of two floats, default=(0, 1)
        Lowest and highest possible score.
    name : str, default=None
        Name of the model, which is stored in the state.
    max_items : int, default=None
        Number of available items. It is needed for the results `chance` (the probability of a
        decision by then) and `futile`.
    futility : float, default=0.05
        The result is `futile` if `chance` is below this value.
    confidence_level : float, default=0.95
        Confidence level of the interval, simultaneous over all looks.

    Attributes
    ----------
    n_items : int
        Number of items so far.
    result : SequentialResult
        The result so far.

    Notes
    -----
    The interval is the intersection, over all looks, of the betting confidence sequence of
    `skbench.stats.betting`. The order of the items must be unrelated to their scores, so shuffle
    them once. The order within a batch does not matter.

    Each item counts once. Items are identified by ``items=``. Without it, they are identified by
    the index of a pandas Series, or else numbered from `n_items` on. The index 0, 1, 2, ... is
    ignored. For clustered items, pass the means of whole clusters as scores and the ids of the
    clusters as items. Otherwise wrong verdicts are frequent, because items of a cluster are
    dependent. `save` and `load` keep the state in a file. A file that was edited raises an error.

    When not to use it: if the number of items is fixed in advance, because an ordinary interval
    is then shorter.

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
            Scores, within the bounds.
        items : sequence of shape (n_items,), default=None
            Ids of the items, or tuples such as (topic, item).

        Raises
        ------
        ValueError
            If an item was counted before, or occurs twice.
        """
        return self._update(items, scores)

    def catch_up(
        self, scores: ArrayLike, items: ArrayLike | Labels | None = None
    ) -> SequentialResult:
        """Add the new items from a table of all items so far, in any order.

        Parameters
        ----------
        scores, items
            As in `update`. Without ids, items are numbered 0, 1, 2, ... in this order.

        Raises
        ------
        ValueError
            If a counted item is missing or has a different score.
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
    """Compare two models batch by batch, and stop as soon as one is significantly better.

    The verdict is valid at every look, that is, after every batch (anytime-valid inference). The
    verdict is "undecided", "equivalent", or the name of the better model.

    Parameters
    ----------
    names : tuple of two str, default=("a", "b")
        Names of the models.
    margin : float, default=None
        Equivalence margin, smaller than the range of the scores. The verdict is "equivalent" once
        the whole interval lies between ``-margin`` and ``margin``, and never if `margin` is None.
    bounds : tuple of two floats, default=(0, 1)
        Lowest and highest possible score.
    max_items, futility, confidence_level : int, float and float
        As in `SequentialMean`.

    Attributes
    ----------
    n_items : int
        Number of items so far.
    result : SequentialResult
        The result so far. Its `value` is the mean difference, a minus b.

    Notes
    -----
    The interval is the betting confidence sequence of the paired differences
    (`skbench.stats.betting`). Pass the ids of the items to `update` as ``items=``, so that no item
    is counted twice. For clustered items, pass the mean of each cluster and the ids of the
    clusters.

    In simulations with 60 looks, the verdict on two equal models was wrong in at most 5% of runs.

    If items are drawn with unequal probabilities, divide each difference by the item's selection
    probability. Pass the weighted differences to `SequentialMean` with ``target=0`` and their range
    as `bounds`.

    When not to use it: if the number of items is fixed in advance (use `compare_models`).

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
            raise ValueError(f"names must be two strings, got {names!r:.80}.")
        if len(names) != 2 or len({*names, "undecided", "equivalent"}) != 4:
            raise ValueError(
                "names must be two different names other than 'undecided' and 'equivalent', got "
                f"{names!r:.80}."
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
        """Add both models' scores on a batch of items; see `SequentialMean.update`."""
        return self._update(items, a, b)

    def catch_up(
        self, a: ArrayLike, b: ArrayLike, items: ArrayLike | Labels | None = None
    ) -> SequentialResult:
        """Add the new items from all items so far; see `SequentialMean.catch_up`."""
        return self._catch_up(items, a, b)

    def _decisions(self, low, high):
        sides = {self.names[0]: low > 0, self.names[1]: high < 0}
        within = self.margin is not None and -self.margin < low and high < self.margin
        return [verdict for verdict, holds in (sides | {"equivalent": within}).items() if holds]

    def _chance_by(self, value, variance, n, n_end):
        level = self.confidence_level
        if self.margin is not None and betting.half_width(variance, n_end, level) < self.margin:
            return 1.0  # the interval will be shorter than the margin
        return betting.chance_of_decision(value, variance, n, n_end, 0.0, level)
