"""`tradeoff`: which models are worth their cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import listed, names_of, plain
from skbench._numbers import number, score_form
from skbench._printed import Printed, PrintedTable
from skbench._types import Level, Names, OpenBounds, Rows, checked
from skbench.comparison.costs import cost_table, costs_of
from skbench.comparison.leaderboards import leaderboard_of
from skbench.containers import Estimate
from skbench.items.tables import score_table
from skbench.stats.ranking import frontier
from skbench.stats.ranking.multiplicity import bonferroni_level

_MOST_WARNINGS = 5  # models that a sentence each is about


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff(Printed):
    """Scores and costs of models, and who surely is not worth its cost.

    Attributes
    ----------
    score, cost : Estimate
        Mean score and mean cost per item, the best score first. The two intervals of a model hold
        together with probability `confidence_level`, those of several models need not.
    dominates : ndarray of bool of shape (n_models, n_models)
        Entry (j, k): model `j` has the better score and the lower cost than model `k`, or the same
        where both costs are known exactly. All entries that are True are right together with
        probability `confidence_level`.
    confidence_level : float
        Level of both statements.
    greater_is_better : bool
        Whether high scores are good.
    score_name, cost_name : str
        Columns of the table.
    remarks : tuple of str
        Further remarks, in sentences.
    """

    score: Estimate
    cost: Estimate
    dominates: np.ndarray
    confidence_level: float
    greater_is_better: bool
    score_name: str
    cost_name: str
    remarks: tuple

    def to_frame(self) -> pd.DataFrame:
        """One row per model, the best score first.

        Columns are score and cost with their intervals; `dominated`, where that is sure, and
        `dominated_by`, the cheapest of those with the better score; `may_be_on_frontier`, the
        others; and `on_observed_frontier`, by the estimates alone.
        """
        columns = {}
        for name, e in (("score", self.score), ("cost", self.cost)):
            columns |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
        dominated = self.dominates.any(axis=0)
        cost = np.where(self.dominates, self.cost.value[:, None], np.inf)
        by = self.score.labels.astype(object)[np.argmin(cost, axis=0)]
        columns["dominated"] = dominated
        columns["dominated_by"] = pd.Series(
            np.where(dominated, by, None), self.score.labels, dtype=object
        )
        columns["may_be_on_frontier"] = ~dominated
        sign = 1 if self.greater_is_better else -1
        columns["on_observed_frontier"] = frontier.observed_frontier(
            sign * self.score.value, self.cost.value
        )
        return pd.DataFrame(columns, index=self.score.labels)

    def sentences(self) -> list[str]:
        """Who may be on the frontier, and who is dominated by whom."""
        table = self.to_frame()
        may = [str(plain(name)) for name in table.index[table["may_be_on_frontier"]]]
        level = f"{100 * self.confidence_level:g}%"
        dominated = table[table["dominated"]]
        if len(table) == 1:
            return [f"{may[0]} is the only model: nothing can dominate it."]
        told = [
            f"{len(may)} of {len(table)} models may be on the frontier of {self.score_name} and "
            f"{self.cost_name}: {listed(may, most=_MOST_WARNINGS)}."
        ]
        if dominated.empty:
            told.append(f"No model is surely dominated ({level}, all models at once).")
        form, names = score_form(self.score.value), (self.score_name, self.cost_name)
        units = ["" if name in ("score", "cost") else f"{name}: " for name in names]
        for name, row in dominated.head(_MOST_WARNINGS).iterrows():
            other = table.loc[[row["dominated_by"]]].iloc[0]
            its, mine = (number(x["score"], form) for x in (other, row))
            told.append(
                f"{plain(name)} is dominated by {plain(row['dominated_by'])}, which has a better "
                f"score ({units[0]}{its} against {mine}) and "
                f"{_costs_in_words(other['cost'], row['cost'], units[1])}."
            )
        if len(dominated) > _MOST_WARNINGS:
            told.append(f"{len(dominated) - _MOST_WARNINGS} more models are dominated.")
        return told

    def __len__(self):
        return len(self.score)

    def _printed(self):
        return [*self.sentences(), PrintedTable(self.to_frame()), *self.remarks]


@checked
def tradeoff(
    items: Rows,
    *,
    score: str = "score",
    cost: str = "cost",
    model: str = "model",
    item: str = "item",
    topic: Names | None = "topic",
    cluster: str | None = None,
    topics: Names | None = None,
    greater_is_better: bool = True,
    confidence_level: Level = 0.95,
    missing: Literal["drop", "wrong", "refuse"] = "drop",
    bounds: OpenBounds | None = None,
) -> Tradeoff:
    """Scores and costs of models, and which of them others surely beat in both.

    Parameters
    ----------
    items : dataframe
        One row per answer of a model to an item, in any dataframe that narwhals reads.
    score, cost : str
        Names of the columns. Costs are those of the answer of the row, in any one unit (tokens,
        seconds, dollars), and not negative. A row without a cost counts in the score alone.
    model, item : str
        Names of the columns.
    topic : str or list of str or None, default="topic"
        Columns of the topic, which may be absent; item ids are unique within a topic. None: ids
        are unique.
    cluster : str, default=None
        Column of clusters of dependent items; the item column itself where items were answered
        several times.
    topics : str or list of str, default=None
        Columns of the topics, whose means count equally, in scores and in costs. None counts items
        equally.
    greater_is_better : bool, default=True
        Whether high scores are good.
    confidence_level : float, default=0.95
        Level of score and cost of a model together, and of all verdicts together.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        Items that a model did not answer, as in `leaderboard`.
    bounds : tuple of two floats, default=None
        Least and largest score, as in `leaderboard`.

    Returns
    -------
    Tradeoff

    Raises
    ------
    ValueError
        If score and cost are one column, a cost is negative or no number, all are 0, or no row has
        one; and as in `leaderboard`.

    Warns
    -----
    UserWarning
        If rows or models have no cost, some of a model's costs are 0, or one model has the same
        cost on all items and another has not; and as in `leaderboard`.

    Notes
    -----
    Model b dominates model a if it has the better score and the lower mean cost; where both costs
    are known exactly (list prices), the same cost will do: better in one and not worse in the other
    is the usual definition of a frontier, and estimates cannot show that two costs are equal. Both
    are tested on the differences of paired items, each at the Bonferroni level of all
    ``M (M - 1) / 2`` pairs: scores as in `leaderboard`, costs as below. An intersection-union test
    needs no correction for two quantities. Verdicts are all right together with probability
    `confidence_level`. Of six simulated models on 100 items, one on the true frontier is called
    dominated in .00 to .02 of simulations, by paired t intervals in up to .08; .36 to .39 of
    dominated models are found, by marginal intervals that hold together .03 to .07
    (benchmarks/tradeoff.py).

    The mean is what one pays, also where few items make up most of it, and t intervals of such
    means miss on one side. Intervals of costs take the skewness off and allow for one more cost
    like the largest (`skbench.stats.frontier.skewed_ends`). For lognormal costs that holds the
    level up to a standard deviation of 1 of the logarithms (the costliest of 50 items at some 10
    times the median); at 1.5 (30 times) two models are misjudged in up to .07 of samples.

    It does not hold where dear items are rare, whatever the standard deviation: a sample without
    one looks cheap. Against a model whose costs hardly vary, a better one of the same mean cost
    dominates falsely about as often as a sample has no dear item, ``(1 - p)^n``: with costs of 5
    or 10 in place of 1 in .07 of samples of 50 at ``p = .05``, in .34 to .36 at ``p = .02``, and in
    .005 of samples of 100 at ``p = .05`` (benchmarks/tradeoff.py). Each cost interval, at its level
    of .975, covers .93 to .95 with 6 to 10 items or 5 clusters of lognormal costs.

    A model whose cost is the same on all of its items has a list price, taken as known exactly;
    models of one price are told apart by the score alone. Costs of answers that are alike by chance
    look the same, so a warning says so where costs of other models vary.

    When not to use it: for costs per run rather than per item (a fixed fee); where costs are
    missing because answers failed or ran out of time.

    Examples
    --------
    >>> from skbench import make_items
    >>> items = make_items(n_models=3, n_topics=4, n_items=50, random_state=0).items
    >>> prices = {"model-0": 1.0, "model-1": 3.0, "model-2": 2.0}
    >>> found = tradeoff(items.assign(cost=items["model"].map(prices)))
    >>> found.to_frame()[["score", "cost", "dominated_by"]].round(2)
             score  cost dominated_by
    model
    model-2   0.66   2.0         None
    model-1   0.52   3.0      model-2
    model-0   0.43   1.0         None
    """
    if score == cost:
        raise ValueError(f"score and cost are both {score!r}. Name a column for each.")
    names = {"model": model, "item": item, "cluster": cluster, "topic": topic}
    by = names_of(topics)
    table = score_table(items, **names, score=score, by=by, bounds=bounds)
    board = leaderboard_of(table, both_level(confidence_level), missing=missing)
    costs = costs_of(cost_table(items, cost, **names, by=by), both_level(confidence_level))
    return tradeoff_of(board, costs, (score, cost), confidence_level, greater_is_better)


def both_level(confidence_level):
    """The level at which the intervals of score and cost hold together."""
    return (1 + confidence_level) / 2


def tradeoff_of(board, costs, names, confidence_level, greater_is_better=True):
    """`tradeoff` of a `Leaderboard` and `Costs`, both at the level of `both_level`."""
    order = np.arange(len(board)) if greater_is_better else np.arange(len(board))[::-1]
    labels = board.estimate.labels[order]
    at = costs.estimate.labels.get_indexer(labels)
    has_cost = at >= 0
    inner, of_models = np.ix_(has_cost, has_cost), np.ix_(at[has_cost], at[has_cost])
    dominates = np.zeros((len(labels),) * 2, dtype=bool)
    dominates[inner] = frontier.dominance(
        _better(board, labels, confidence_level, greater_is_better)[inner],
        costs.estimate.value[at[has_cost]],
        costs.variance[of_models],
        costs.influence[:, at[has_cost]],
        costs.df[of_models],
        bonferroni_level(confidence_level, max(1, len(labels) * (len(labels) - 1) // 2)),
    )
    fixed = costs.estimate.labels[costs.fixed]
    return Tradeoff(
        score=_at(board.estimate, order, labels),
        cost=_at(costs.estimate, at, labels),
        dominates=dominates,
        confidence_level=confidence_level,
        greater_is_better=greater_is_better,
        score_name=names[0],
        cost_name=names[1],
        remarks=tuple(_remarks(labels, labels[~has_cost], labels[labels.isin(fixed)], names[1])),
    )


def _better(board, labels, confidence_level, greater_is_better):
    """Whether the row's model surely has the better score than the column's."""
    found = np.zeros((len(labels),) * 2, dtype=bool)
    if board.comparison is None:
        return found
    pairs = board.comparison.estimate
    a, b = (labels.get_indexer(pairs.labels.get_level_values(level)) for level in (0, 1))
    sure = board.comparison.p_value <= 1 - confidence_level  # adjusted for the number of pairs
    wins = sure & ((pairs.value > 0) == greater_is_better) & (pairs.value != 0)
    losses = sure & ~wins & (pairs.value != 0)
    found[a[wins], b[wins]] = True
    found[b[losses], a[losses]] = True
    return found


def _at(estimate, positions, labels):
    """The estimates at these positions; nan at negative ones."""
    columns = {
        name: np.where(positions < 0, np.nan, getattr(estimate, name)[positions])
        for name in ("value", "low", "high", "standard_error")
    }
    return replace(estimate, **columns, labels=labels)


def _remarks(labels, unknown, fixed, cost):
    """Models whose cost is unknown, or a list price."""
    if len(unknown):
        yield f"Nothing is known of the {cost} of {listed(unknown, most=_MOST_WARNINGS)}."
    if len(fixed):
        names = "all models" if len(fixed) == len(labels) else listed(fixed, most=_MOST_WARNINGS)
        yield f"The {cost} of {names} is the same on all items and is taken as known exactly."


def cost_in_words(value):
    """A cost to three figures."""
    return number(value, ",.0f" if value >= 1000 else ".3g")


def _costs_in_words(low, high, unit):
    """A cost that is lower than another, or the same, with as many figures as tell them apart."""
    if low == high:
        return f"the same cost ({unit}{cost_in_words(low)})"
    ends = [cost_in_words(low), cost_in_words(high)]
    for figures in range(4, 18):
        if ends[0] == ends[1]:
            ends = [number(x, f",.{figures}g") for x in (low, high)]
    return f"a lower cost ({unit}{ends[0]} against {ends[1]})"
