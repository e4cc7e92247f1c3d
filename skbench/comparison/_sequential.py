"""Stop when enough: intervals and verdicts that are valid whenever one looks."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skbench._checks import check_whole
from skbench._random import as_generator
from skbench._types import Bounds, RandomState
from skbench.comparison._sequential_state import Sequential
from skbench.stats.sequential import betting

if TYPE_CHECKING:
    from skbench.comparison._sequential_state import SequentialResult

_MIXING = 0.5  # share of the draws that all items have alike


class SequentialMean(Sequential):
    """A mean score, batch by batch, with an interval that is valid whenever one looks.

    Parameters
    ----------
    target : float, default=None
        Decide whether the mean is "above" or "below" it.
    width : float, default=None
        Or decide, "precise", once the interval is no wider. With neither, nothing is
        decided: the interval alone is valid whenever one looks.
    bounds : tuple of two floats, default=(0, 1)
        Range of the scores by their definition.
    max_items : int, default=None
        Items there are, or are paid for: says when they will not decide.
    futility : float, default=0.05
        Chance of a decision below which to go on is futile.
    confidence_level : float, default=0.95
        Of the interval at all looks together.

    Attributes
    ----------
    n_items : int
        Items so far.
    result : SequentialResult
        What is known so far.

    Notes
    -----
    See `skbench.stats.betting`. Items must come in an order that has nothing to do with
    their scores: shuffle them once. The ends of all looks are intersected. The state goes
    to a file and back by `save` and `load`.

    When not to use it: for a number of items that was fixed anyway, where a usual
    interval is shorter.

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
        """Add the scores of a batch of items, one each, within the bounds."""
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
        Of the models, as verdicts.
    margin : float, default=None
        Decide, too, once they are shown to differ by less: verdict "equivalent".
    bounds : tuple of two floats, default=(0, 1)
        Range of the scores by their definition.
    max_weight : float, default=1.0
        Largest weight of a batch, see `decisive_order`.
    max_items, futility, confidence_level
        As in `SequentialMean`.

    Attributes
    ----------
    n_items : int
        Items so far.
    result : SequentialResult
        What is known so far; its value is the mean of a minus b.

    Notes
    -----
    The betting confidence sequence of the paired differences, from minus to plus the
    length of the bounds (`skbench.stats.betting`). Looked at 60 times, equal models are
    told apart in at most 5 % of runs; models 15 points apart take about 1.3 to 1.6 times
    the items of a test of fixed size with power 0.8, and are told apart nearly always
    (test_sixty_looks_keep_the_level, test_expected_items). Items in clusters: give the
    mean of each cluster.

    When not to use it: for a number of items that was fixed anyway, with `compare_models`.

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

    _settings = (
        "names", "margin", "bounds", "max_weight", "max_items", "futility", "confidence_level",
    )  # fmt: skip

    def __init__(
        self,
        names: tuple[str, str] = ("a", "b"),
        *,
        margin: float | None = None,
        bounds: Bounds = (0, 1),
        max_weight: float = 1.0,
        max_items: int | None = None,
        futility: float = 0.05,
        confidence_level: float = 0.95,
    ) -> None:
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"names must be those of two models, got {names!r}.")
        for name, value in (("margin", margin), ("max_weight", max_weight)):
            if value is not None and not (isinstance(value, numbers.Real) and value > 0):
                raise ValueError(f"{name} must be above 0, got {value!r}.")
        self.names, self.margin, self.bounds = tuple(names), margin, bounds
        self.max_weight, self.max_items, self.futility = max_weight, max_items, futility
        self.confidence_level = confidence_level
        self._start()

    def _range(self):
        reach = self.max_weight * (self.bounds[1] - self.bounds[0])
        return -reach, reach

    def update(
        self, a: ArrayLike, b: ArrayLike, weights: ArrayLike | None = None
    ) -> SequentialResult:
        """Add both models' scores of a batch of items, weighted if from `decisive_order`."""
        a, b = self._batch(a, "a"), self._batch(b, "b")
        if a.size != b.size:
            raise ValueError(f"a has {a.size} scores and b {b.size}: give those of the same items.")
        if weights is None:
            return self._add(a - b)
        weights = np.asarray(weights, dtype=float)
        if weights.shape != a.shape or not (0 <= weights).all():
            raise ValueError(f"weights must be {a.size} numbers of at least 0.")
        if weights.max(initial=0) > self.max_weight * (1 + 1e-12):
            raise ValueError(
                f"A weight is {weights.max():g}, above max_weight {self.max_weight:g}. Pass "
                "max_weight=2 to the constructor for weights of decisive_order."
            )
        return self._add(weights * (a - b))

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


def decisive_order(
    spread: Any, n_draws: int, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of items that decide a comparison soonest, by what an item bank predicts.

    Parameters
    ----------
    spread : ItemBank or array-like of shape (n_items,)
        How far apart two models are expected to be on each item: the root of the
        probability that they disagree, say. Of a bank's items, the spread of earlier models'
        answers. A bad guess costs items, never validity.
    n_draws : int
        Number of draws, with replacement.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws.

    Returns
    -------
    items : ndarray of int of shape (n_draws,)
        Positions of the items (in ``bank.items_``). One that comes again is not asked again,
        but counts again.
    weights : ndarray of shape (n_draws,)
        For `SequentialComparison.update`, at most 2.

    Notes
    -----
    Items are drawn with ``q = 1 / (2 n) + spread / (2 sum(spread))`` and count ``1 / (n q)``:
    the mean of weight times score is that of these very items, whatever `spread` says, with
    least variance where it is right.

    When not to use it: with an order sorted by difficulty in place of the draws; no
    interval is valid for that.

    Examples
    --------
    >>> items, weights = decisive_order([0.1, 0.1, 0.7, 0.7], 6, random_state=0)
    >>> race = SequentialComparison(max_weight=2)
    >>> race.update([1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 1], weights).n_items
    6
    """
    check_whole("n_draws", n_draws)
    if hasattr(spread, "scores_"):
        count, variance = spread.n_answers_, np.nanvar(spread.scores_, axis=1)
        # Items on which all earlier models agree have one answer of the average spread more.
        spread = np.sqrt((count * variance + variance.mean()) / (count + 1))
    spread = np.asarray(spread, dtype=float)
    if spread.ndim != 1 or not spread.size or not (np.isfinite(spread) & (spread >= 0)).all():
        raise ValueError("spread must be a column of finite numbers of at least 0, one per item.")
    n, total = spread.size, spread.sum()
    share = spread / total if total > 0 else np.full(n, 1 / n)
    q = _MIXING / n + (1 - _MIXING) * share
    items = as_generator(random_state).choice(n, size=n_draws, p=q)
    return items, 1 / (n * q[items])
