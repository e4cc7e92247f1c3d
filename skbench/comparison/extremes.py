"""`extremes`: the worst and the best of many groups, and how far they are apart."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import check_by, check_option, plain, require_columns
from skbench._types import Names
from skbench.containers import Draws, Estimate


@dataclass(frozen=True, eq=False, repr=False)
class Extremes:
    """The worst and the best group, with intervals.

    Attributes
    ----------
    estimate : Estimate
        Labeled "worst", "best", "gap" and "ratio", as asked for, after the labels of `by`.
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
    of: Literal["gap", "ratio", "both"] = "gap",
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
    of : {"gap", "ratio", "both"}, default="gap"
        Highest less lowest score, or lowest over highest; nan if all scores may be 0.
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
        If `by` names no level of the labels, a set has one group only, or `of` asks for a ratio of
        negative scores.

    Warns
    -----
    UserWarning
        If the draws are of a bootstrap.

    Notes
    -----
    The lowest of many direct estimates is lower than the lowest true score, since it is also the
    unluckiest; the lowest of shrunken estimates is too high. The mean of the lowest over joint
    draws is neither. Draws are of expected scores; where the mean of exactly `N` items is meant, of
    which `n` were asked and `k` are right, take ``(k + rng.binomial(N - n, draws)) / N``. So on
    MMLU-Pro, 43 topics of ten items: .42 to .47 of the error of direct extremes, and intervals that
    cover .90 to .96 (test_extremes_of_real_topics). Where groups hardly differ, the gap is
    overestimated, and its interval does not hold 0: five equal groups of 60 rows have a gap of .11
    on average. `skbench.stats.classification.equality_p_value` tests whether groups differ.

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
    check_option("of", of, ("gap", "ratio", "both"))
    check_option("greater_is_better", greater_is_better, (True, False))
    if not isinstance(draws, Draws) or not draws.labels or not draws.values.size:
        raise TypeError(
            f"draws must be Draws of groups, got {draws!r:.80}. Estimators that draw give them, as "
            "MixedModel().fit(...).sample(1000)."
        )
    if draws.kind == "bootstrap":
        warnings.warn(
            "These are bootstrap draws: the lowest of them is too low and the highest too high. "
            "Take posterior draws, such as those of MixedModel.",
            stacklevel=2,
        )
    labels = draws.labels[0]
    if len(draws.labels) > 1:
        labels = pd.MultiIndex.from_product(draws.labels)
    values = draws.values.reshape(len(draws.values), -1)
    code, sets = _sets(labels, by)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    low, high = (
        extreme.reduceat(values[:, order], starts, axis=1) for extreme in (np.minimum, np.maximum)
    )
    worst, best = (low, high) if greater_is_better else (high, low)
    asked = ["gap", "ratio"] if of == "both" else [of]
    apart = [high - low if name == "gap" else _ratio(low, high) for name in asked]
    found = np.stack([worst, best, *apart], axis=2).reshape(len(values), -1)
    names = pd.Index(["worst", "best", *asked], name="extreme")
    return Extremes(
        Draws(found, _crossed(sets, names), draws.kind).interval(confidence_level),
        *(pd.Series(_probability(values, each, code), labels) for each in (worst, best)),
    )


def _sets(labels, by):
    """Code of the set of each group, and a frame of the names of the sets."""
    levels = labels.to_frame(index=False)
    by = [] if by is None else check_by(by)
    require_columns(levels.columns, by, "labels of draws")
    if by:
        code = levels.groupby(by, observed=True).ngroup().to_numpy()
    else:
        code = np.zeros(len(labels), dtype=int)
    sizes = np.bincount(code)
    if sizes.min() < 2:
        alone = labels[np.argmax(sizes[code] < 2)]
        raise ValueError(
            f"Group {plain(alone)!r} is alone in its set, so there is no gap. Name fewer levels "
            "in by, or add groups."
        )
    first = np.unique(code, return_index=True)[1]
    return code, levels.loc[first, by]


def _crossed(sets, extremes):
    """Labels of the extremes of every set."""
    if sets.columns.empty:
        return extremes
    rows = sets.loc[np.repeat(sets.index, len(extremes))]
    return pd.MultiIndex.from_frame(rows.assign(extreme=np.tile(extremes, len(sets))))


def _ratio(low, high):
    """Lowest over highest score; 0 / 0 is not known."""
    if low.min() < 0:
        raise ValueError("of='ratio' needs scores that are not negative. Pass of='gap'.")
    return np.divide(low, high, out=np.full_like(low, np.nan), where=high > 0)


def _probability(values, extreme, code):
    """Share of the draws in which each group is at the extreme of its set; ties share it."""
    there = (values == extreme[:, code]).astype(float)
    ties = there @ np.equal.outer(code, np.arange(extreme.shape[1]))
    with np.errstate(invalid="ignore"):  # nobody is the worst where scores are nan
        return (there / ties[:, code]).mean(axis=0)
