"""`extremes`: the worst and the best of many groups, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import check_by, plain, require_columns
from skbench._printed import NUMBERS, Printed, PrintedTable
from skbench._types import Level, Names, checked
from skbench._warnings import warn
from skbench.containers import Draws, Estimate
from skbench.items.rows import group_labels
from skbench.stats.intervals.posterior import equality_p_value

_MOST_LIKELY = 3  # candidates for the worst group


@dataclass(frozen=True, eq=False, repr=False)
class Extremes(Printed):
    """The worst and the best group, with intervals.

    Attributes
    ----------
    estimate : Estimate
        Labeled "worst", "best", "gap" and "ratio", as asked for, after the labels of `by`. Its
        forest is ``ForestDisplay.from_estimates({"extremes": found.estimate})``.
    worst_probability, best_probability : Series of length n_groups
        Probability of each group being the worst, and the best, of its set; they sum to 1.
    """

    estimate: Estimate
    worst_probability: pd.Series
    best_probability: pd.Series

    def to_frame(self) -> pd.DataFrame:
        """A pandas table: value, low, high, standard_error, method, guarantee."""
        return self.estimate.to_frame()

    def _printed(self):
        e = self.estimate
        words = f"{e.method}; {100 * e.confidence_level:g}% intervals, guarantee: {e.guarantee}"
        return [f"Extremes by {words}", PrintedTable(self.to_frame()[list(NUMBERS)])]


@checked
def extremes(
    draws: Draws,
    by: Names | None = None,
    *,
    of: Literal["gap", "ratio", "both"] = "gap",
    greater_is_better: bool = True,
    confidence_level: Level = 0.95,
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
        Means, standard deviations and equal-tailed quantiles of the draws of each extreme, and the
        probability of each group being the worst, and the best. Where the groups of a set may all
        be equal, its intervals reach to what the extremes then are.

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
    cover .90 to .96 (test_extremes_of_real_topics).

    Where groups hardly differ, draws of the worst are too low and of the gap too large: with two
    models and twelve equal topics, quantiles hold the true worst score a third of the time. So
    where the draws are compatible with equal groups (`skbench.stats.posterior.equality_p_value`
    above ``1 - confidence_level``), the intervals of worst and best also hold that of the mean of
    all groups, the gap's starts at 0 and the ratio's ends at 1
    (test_intervals_hold_where_groups_are_equal). The values stay those of the draws: read such a
    gap as "at most `high`".

    When not to use it: for bootstrap draws of direct estimates, whose extremes are biased outward
    twice; where several groups, but not all, share the lowest score, which is then above the
    interval too often; to show that no group is low, where one of few items may be unlike all
    others: draws are shrunk toward these.

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
    if not draws.labels or not draws.values.size:
        raise ValueError(f"draws hold nothing to compare: {draws!r}.")
    if draws.kind == "bootstrap":
        warn("Extremes of bootstrap draws are biased outward: take posterior draws.")
    by = [] if by is None else check_by(by)
    labels = draws.labels[0]
    if len(draws.labels) > 1:
        labels = pd.MultiIndex.from_product([axis.to_flat_index() for axis in draws.labels])
    values = draws.values.reshape(len(draws.values), -1)
    found, if_equal = {}, {}
    worst_chance, best_chance = np.empty((2, len(labels)))
    for name, groups in _sets(labels, by):
        of_groups = values[:, groups]
        own = _of_set(of_groups, of, greater_is_better)
        found |= {(*name, extreme): draw for extreme, draw in own.items()}
        equal = own
        if equality_p_value(of_groups) > 1 - confidence_level:
            equal = _of_set(of_groups.mean(axis=1, keepdims=True), of, greater_is_better)
        if_equal |= {(*name, extreme): draw for extreme, draw in equal.items()}
        worst_chance[groups] = _chances(of_groups, own["worst"])
        best_chance[groups] = _chances(of_groups, own["best"])
    names = [*by, "extreme"]
    index = group_labels(pd.DataFrame(list(found), columns=names), names)
    estimate, other = (
        Draws(np.column_stack(list(sets.values())), index, draws.kind).interval(confidence_level)
        for sets in (found, if_equal)
    )
    ends = {
        "low": np.minimum(estimate.low, other.low),
        "high": np.maximum(estimate.high, other.high),
    }
    chances = (pd.Series(chance, labels) for chance in (worst_chance, best_chance))
    return Extremes(replace(estimate, **ends), *chances)


def likely_in_words(chance):
    """The groups that are the worst with the highest probabilities, a Series by their names."""
    chance = chance.sort_values(ascending=False, kind="stable")
    likely = chance[chance >= chance.iloc[0] / 2][:_MOST_LIKELY]
    return " or ".join(f"{name} ({p:.2f})" for name, p in likely.items())


def _sets(labels, by):
    """Name of each set as a tuple, and the positions of its groups."""
    levels = labels.to_frame(index=False)
    require_columns(levels.columns, by, "labels of draws")
    for name, members in levels.groupby(by, observed=True) if by else [((), levels)]:
        if len(members) < 2:
            raise ValueError(
                f"Group {plain(labels[members.index[0]])!r} is alone in its set, so there is no "
                "gap. Add groups, or name fewer levels as by=."
            )
        yield name, members.index


def _of_set(values, of, greater_is_better):
    """Draws of each extreme of a set."""
    low, high = values.min(axis=1), values.max(axis=1)
    found = {"worst": low, "best": high} if greater_is_better else {"worst": high, "best": low}
    if of != "ratio":
        found["gap"] = high - low
    if of != "gap":
        if low.min() < 0:
            raise ValueError("of='ratio' needs scores that are not negative. Pass of='gap'.")
        with np.errstate(invalid="ignore"):
            found["ratio"] = low / high  # nan where all are 0
    return found


def _chances(values, extreme):
    """Share of the draws in which each group is at the extreme of its set; ties share it."""
    there = values == extreme[:, None]
    with np.errstate(invalid="ignore"):  # nobody is the worst where scores are nan
        return (there / there.sum(axis=1, keepdims=True)).mean(axis=0)
