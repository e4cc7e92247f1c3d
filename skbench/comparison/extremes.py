"""`extremes`: the worst and the best of many groups, and how far they are apart."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import check_by, check_option, plain
from skbench._types import Names
from skbench.containers import Draws, Estimate


@dataclass(frozen=True, eq=False, repr=False)
class Extremes:
    """The worst and the best group, with intervals.

    Attributes
    ----------
    estimate : Estimate
        Labeled "worst", "best" and "gap" (or "ratio"), after the labels of `by`.
    worst_probability, best_probability : Series of length n_groups
        Probability of each group being the worst, and the best, of its set; they sum to 1.
    """

    estimate: Estimate
    worst_probability: pd.Series
    best_probability: pd.Series

    def to_frame(self) -> pd.DataFrame:
        """A pandas table: value, low, high, standard_error, method, guarantee."""
        return self.estimate.to_frame()

    def __repr__(self):
        return repr(self.to_frame().iloc[:, :4])


def extremes(
    draws: Draws,
    by: Names | None = None,
    *,
    of: Literal["gap", "ratio"] = "gap",
    greater_is_better: bool = True,
    confidence_level: float = 0.95,
) -> Extremes:
    """Worst group, best group, and the gap or ratio between the two.

    Parameters
    ----------
    draws : Draws
        Joint draws of all groups, such as ``MixedModel().fit(...).sample(...)`` gives.
    by : str or list of str, default=None
        Levels of the labels by which groups form sets, such as "model": the worst topic of each
        model. None: one set.
    of : {"gap", "ratio"}, default="gap"
        Highest less lowest score, or lowest over highest.
    greater_is_better : bool, default=True
        False where the worst group is the one with the highest score, as of false positive rates.
    confidence_level : float, default=0.95
        Probability between the ends of each interval.

    Returns
    -------
    Extremes
        Means, standard deviations and equal-tailed quantiles of the draws of each extreme; and the
        probability of each group being the worst, and the best.

    Raises
    ------
    TypeError
        If `draws` are no Draws.
    ValueError
        If `by` names no level of the labels, a set has one group only, or a ratio is asked for of
        scores that are negative or all 0.

    Warns
    -----
    UserWarning
        If the draws are of a bootstrap.

    Notes
    -----
    The lowest of many direct estimates is lower than the lowest true score, since it is also the
    unluckiest; the lowest of shrunken estimates is too high. The mean of the lowest over joint
    draws is neither. MMLU-Pro, 42 topics of ten items: half of the error of direct extremes, the
    intervals cover .92 to .94 (test_extremes_of_real_topics). A gap is never below 0, and neither
    is its interval: to test whether groups differ at all, compare two of them that were named
    before.

    When not to use it: for bootstrap draws of direct estimates, whose extremes are biased outward
    twice.

    Examples
    --------
    >>> from skbench import MixedModel, make_items, summarize_items
    >>> data = make_items(n_models=2, n_topics=20, n_items=10, random_state=0)
    >>> g = summarize_items(data.items, ["model", "topic"])
    >>> draws = MixedModel().fit(**g.fit_args).sample(2000, random_state=0)
    >>> extremes(draws, by="model").to_frame().loc["model-0", ["value", "low", "high"]].round(1)
             value  low  high
    extreme
    worst      0.1  0.1   0.3
    best       0.8  0.7   0.9
    gap        0.6  0.5   0.8
    """
    check_option("of", of, ("gap", "ratio"))
    if not isinstance(draws, Draws):
        raise TypeError(
            f"draws must be Draws, got {type(draws).__name__}. Estimators that draw give them, as "
            "MixedModel().fit(...).sample(1000)."
        )
    if draws.kind == "bootstrap":
        warnings.warn(
            "These are bootstrap draws: the lowest of them is too low and the highest too high. "
            "Take posterior draws, such as those of MixedModel.",
            stacklevel=2,
        )
    values, labels = _flat(draws)
    code, sets = _sets(labels, by)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    low, high = (
        extreme.reduceat(values[:, order], starts, axis=1) for extreme in (np.minimum, np.maximum)
    )
    worst, best = (low, high) if greater_is_better else (high, low)
    apart = high - low if of == "gap" else _ratio(low, high)
    found = np.stack([worst, best, apart], axis=2).reshape(len(values), -1)
    drawn = Draws(found, _named(sets, ["worst", "best", of]), draws.kind)
    return Extremes(
        drawn.interval(confidence_level),
        *(pd.Series(_probability(values, each, code), labels) for each in (worst, best)),
    )


def _flat(draws):
    """Draws and labels with one axis of groups."""
    if len(draws.labels) == 1:
        return draws.values, draws.labels[0]
    labels = pd.MultiIndex.from_product(draws.labels)
    return draws.values.reshape(len(draws.values), -1), labels


def _sets(labels, by):
    """Code of the set of each group, and the names of the sets in order; None for one set."""
    code, sets = np.zeros(len(labels), dtype=int), None
    if by is not None:
        by = check_by(by)
        unknown = [name for name in by if name not in labels.names]
        if unknown:
            raise ValueError(
                f"by={unknown[0]!r} is no level of the labels of the draws, which are "
                f"{list(labels.names)}. Pass one of these."
            )
        kept = labels.droplevel([name for name in labels.names if name not in by])
        code, sets = kept.factorize(sort=True)
        sets.names = kept.names
    sizes = np.bincount(code)
    if sizes.min() < 2:
        alone = labels[np.argmax(sizes[code] < 2)]
        raise ValueError(
            f"Group {plain(alone)!r} is alone in its set, so there is no gap. Name fewer levels "
            "in by, or add groups."
        )
    return code, sets


def _named(sets, extremes):
    """Labels of the extremes of every set."""
    if sets is None:
        return pd.Index(extremes, name="extreme")
    rows = sets.to_frame(index=False).loc[np.repeat(np.arange(len(sets)), len(extremes))]
    return pd.MultiIndex.from_frame(rows.assign(extreme=np.tile(extremes, len(sets))))


def _ratio(low, high):
    """Lowest over highest score, of scores that have a ratio."""
    if low.min() < 0 or high.min() <= 0:
        raise ValueError(
            "of='ratio' needs scores that are not negative, and not all 0. Pass of='gap'."
        )
    return low / high


def _probability(values, extreme, code):
    """Share of the draws in which each group is at the extreme of its set; ties share it."""
    there = values == extreme[:, code]
    members = code[:, None] == np.arange(extreme.shape[1])
    ties = there.astype(float) @ members
    return (there / ties[:, code]).mean(axis=0)
