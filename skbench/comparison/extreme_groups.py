"""The worst and the best of many groups, and their gap."""

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
        Rows "worst", "best", "gap" and "ratio", as requested, for each set of `by`. To plot them,
        use ``ForestDisplay.from_estimates({"extremes": found.estimate})``.
    worst_probability, best_probability : Series of length n_groups
        Probability that each group is the worst, or the best, of its set; they sum to 1.
    """

    estimate: Estimate
    worst_probability: pd.Series
    best_probability: pd.Series

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table: value, low, high, standard_error, method, guarantee."""
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
    """Estimate the scores of the worst and the best group, and their gap or ratio.

    Parameters
    ----------
    draws : Draws
        Joint draws of the scores of all groups, such as those of
        ``MixedModel().fit(...).sample(...)``.
    by : str or list of str, default=None
        Index levels of the labels. Extremes are estimated separately for each value of these
        levels. With "model", the worst topic of each model is estimated. None treats all groups as
        one set.
    of : {"gap", "ratio", "both"}, default="gap"
        Highest minus lowest score, or lowest divided by highest score. The ratio is nan if all
        scores of a draw are 0.
    greater_is_better : bool, default=True
        False if the worst group is the one with the highest score, as for false positive rates.
    confidence_level : float, default=0.95
        Posterior probability of each interval.

    Returns
    -------
    Extremes
        Means, standard deviations and equal-tailed quantiles of the draws of each extreme, and the
        probability that each group is the worst, or the best. If the draws do not rule out that all
        groups of a set are equal, the intervals also allow for this case.

    Raises
    ------
    TypeError
        If `draws` are not Draws.
    ValueError
        If `by` is not a level of the labels, a set has only one group, or `of` requests a ratio of
        negative scores.

    Warns
    -----
    UserWarning
        If the draws come from a bootstrap.

    Notes
    -----
    The lowest of many direct estimates is biased downward, because the group with the lowest
    estimate was usually also unlucky. The lowest of shrunken estimates is too high. The mean of the
    lowest score over joint draws avoids both biases. On MMLU-Pro, with 43 topics of ten items, the
    root mean square error was 0.42 to 0.47 times that of the lowest and highest direct estimates.
    The coverage of intervals was 0.90 to 0.96.

    The draws describe expected scores. Suppose that the benchmark has exactly `N` items, and `n` of
    them were answered, `k` correctly. For the mean over these `N` items, pass
    ``(k + rng.binomial(N - n, draws)) / N``.

    If groups hardly differ, draws of the worst score are too low and those of the gap too large.
    With two models and twelve equal topics, quantiles of the draws cover the true worst score in
    only a third of cases. The equality of all groups is therefore tested
    (`skbench.stats.posterior.equality_p_value`). If equality is not rejected, the intervals of the
    worst and the best score also include the interval of the mean of all groups. The interval of
    the gap then starts at 0, and that of the ratio ends at 1. The point estimates are not adjusted,
    so report such a gap as "at most `high`".

    When not to use it:

    - For bootstrap draws of direct estimates. Their lowest scores are too low, and their highest
      scores too high.
    - If several groups, but not all, share the lowest score. The interval is then too often below
      this score.
    - To show that every group has a high score, if some groups have few items. The draws of these
      groups are shrunk toward the other groups.

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
        raise ValueError(f"draws have no groups or no values: {draws!r}.")
    if draws.kind == "bootstrap":
        warn("Extremes of bootstrap draws are biased outward. Use posterior draws.")
    by = [] if by is None else check_by(by)
    labels = draws.labels[0]
    if len(draws.labels) > 1:
        labels = pd.MultiIndex.from_product([axis.to_flat_index() for axis in draws.labels])
    values = draws.values.reshape(len(draws.values), -1)
    found, if_equal = {}, {}
    worst_share, best_share = np.empty((2, len(labels)))
    for name, groups in _sets(labels, by):
        of_groups = values[:, groups]
        own = _of_set(of_groups, of, greater_is_better)
        found |= {(*name, extreme): draw for extreme, draw in own.items()}
        equal = own
        if equality_p_value(of_groups) > 1 - confidence_level:
            equal = _of_set(of_groups.mean(axis=1, keepdims=True), of, greater_is_better)
        if_equal |= {(*name, extreme): draw for extreme, draw in equal.items()}
        worst_share[groups] = _shares(of_groups, own["worst"])
        best_share[groups] = _shares(of_groups, own["best"])
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
    chances = (pd.Series(chance, labels) for chance in (worst_share, best_share))
    return Extremes(replace(estimate, **ends), *chances)


def likely_in_words(chance):
    """The groups that are most likely the worst, with probabilities, as text."""
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
                f"Group {plain(labels[members.index[0]])!r} is the only one in its set, so there "
                "is no gap. Add groups, or pass fewer levels as by=."
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
            raise ValueError("of='ratio' needs scores of at least 0. Pass of='gap'.")
        with np.errstate(invalid="ignore"):
            found["ratio"] = low / high  # nan if all are 0
    return found


def _shares(values, extreme):
    """Share of draws in which each group is the extreme of its set; ties count in parts."""
    there = values == extreme[:, None]
    with np.errstate(invalid="ignore"):  # no group is the worst if scores are nan
        return (there / there.sum(axis=1, keepdims=True)).mean(axis=0)
