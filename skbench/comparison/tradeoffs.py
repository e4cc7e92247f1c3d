"""Scores and costs of models: which models may be on the frontier."""

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

_MOST_NAMED = 5  # models in sentences


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff(Printed):
    """Scores and costs of models, and which models are significantly dominated.

    Attributes
    ----------
    score, cost : Estimate
        Mean score and mean cost per item, the best score first. The two intervals of one model are
        simultaneous at `confidence_level`; those of several models are not.
    dominates : ndarray of bool of shape (n_models, n_models)
        Entry (j, k): model `j` has a significantly better score and a significantly lower cost
        than model `k`, or the same cost if both are known exactly. With probability
        `confidence_level`, all True entries are correct.
    confidence_level : float
        Joint level of the two intervals of a model, and of all True entries of `dominates`.
    greater_is_better : bool
        Whether high scores are good.
    score_name, cost_name : str
        Columns of score and cost.
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
        """Return one row per model, the best score first.

        The columns are score and cost with their intervals, and:

        - `dominated`: whether another model dominates it significantly,
        - `dominated_by`: the cheapest of these other models,
        - `may_be_on_frontier`: whether no model dominates it significantly,
        - `on_observed_frontier`: whether no model dominates it by the estimates alone.
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
        """Return in words which models may be on the frontier, and which are dominated."""
        table = self.to_frame()
        may = [str(plain(name)) for name in table.index[table["may_be_on_frontier"]]]
        level = f"{100 * self.confidence_level:g}%"
        dominated = table[table["dominated"]]
        if len(table) == 1:
            return [f"{may[0]} is the only model, so no model dominates it."]
        sentences = [
            f"{len(may)} of {len(table)} models may be on the frontier of {self.score_name} and "
            f"{self.cost_name}: {listed(may, most=_MOST_NAMED)}."
        ]
        if dominated.empty:
            sentences.append(
                f"No model is significantly dominated (simultaneous confidence level {level})."
            )
        form, names = score_form(self.score.value), (self.score_name, self.cost_name)
        units = ["" if name in ("score", "cost") else f"{name}: " for name in names]
        for name, row in dominated.head(_MOST_NAMED).iterrows():
            other = table.loc[[row["dominated_by"]]].iloc[0]
            its, mine = (number(x["score"], form) for x in (other, row))
            sentences.append(
                f"{plain(name)} is dominated by {plain(row['dominated_by'])}, which has a better "
                f"score ({units[0]}{its} against {mine}) and "
                f"{_costs_in_words(other['cost'], row['cost'], units[1])}."
            )
        if len(dominated) > _MOST_NAMED:
            sentences.append(f"{len(dominated) - _MOST_NAMED} more models are dominated.")
        return sentences

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
    """Find models that are dominated in score and cost, with control of the familywise error rate.

    Parameters
    ----------
    items : dataframe
        Per-item scores and costs, one row per model and item, in any dataframe that narwhals
        reads.
    score, cost : str
        Names of the columns. Each row contains the cost of its answer, in any unit (tokens,
        seconds, dollars). Costs must not be negative. Rows without a cost contribute only to the
        score.
    model, item : str
        Names of the columns.
    topic : str or list of str or None, default="topic"
        One or more topic columns. The same item id in two topics stands for two different items.
        The default column may be absent. With None, an item id stands for one item in the whole
        table.
    cluster : str, default=None
        Column of clusters of dependent items. Pass the item column if models answered items
        several times.
    topics : str or list of str, default=None
        Columns of topics with equal weights. Scores and costs are then means of the topic means.
        None weights items equally.
    greater_is_better : bool, default=True
        Whether high scores are good.
    confidence_level : float, default=0.95
        Probability that both intervals of a model cover the true values. Also the probability that
        every model reported as dominated really is dominated.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        How to treat items that a model did not answer, as in `leaderboard`.
    bounds : tuple of two floats, default=None
        Smallest and largest possible score, as in `leaderboard`.

    Returns
    -------
    Tradeoff

    Raises
    ------
    ValueError
        If score and cost are the same column, a cost is negative or not a number, or all costs are
        0 or missing. `leaderboard` lists further errors.

    Warns
    -----
    UserWarning
        If rows or models have no cost, if some but not all costs of a model are 0, or if some but
        not all models have a constant cost. `leaderboard` lists further warnings.

    Notes
    -----
    Model b dominates model a if b has the better score and the lower mean cost. If both costs are
    known exactly, b also dominates a at equal cost. The usual definition (better in score or cost,
    not worse in the other) cannot be tested, because estimates cannot show that costs are equal.

    Scores and costs are compared by paired differences, with Bonferroni adjustment for all
    ``M (M - 1) / 2`` pairs. A model is reported as dominated only if both tests are significant.
    This is an intersection-union test, so the two tests need no further adjustment. All statements
    are correct with probability `confidence_level`. These are results of simulations with six
    models on 100 items (benchmarks/tradeoff.py):

    =======================================  ====================  =======================
    method                                   false dominance rate  dominated models found
    =======================================  ====================  =======================
    `tradeoff`                               0.00 to 0.02          0.36 to 0.39
    paired t intervals                       up to 0.08
    separate simultaneous intervals                                0.03 to 0.07
    =======================================  ====================  =======================

    Models are compared by their mean cost, because the mean determines the bill. Costs are skewed
    to the right, so t intervals are too often below the true mean. Cost intervals are therefore
    corrected for skewness (`skbench.stats.frontier.skewed_ends`). For lognormal costs with a log
    standard deviation of up to 1, the error rate is then at most the nominal rate. With a log
    standard deviation of 1.5 and two models, the error rate is up to 0.07. With 6 to 10 items or 5
    clusters, 97.5% intervals of the cost have a coverage of 0.93 to 0.95.

    The error rate is higher if expensive items are rare, because a sample without them looks cheap.
    Suppose that a model is much more expensive on a fraction `p` of the items. A second model has a
    worse score. Its cost is constant over items and equals the first model's mean cost. If a sample
    of `n` items has no expensive item, the first model is wrongly reported as dominating. The
    probability of such a sample is ``(1 - p)^n``:

    =====  ====  ============
    items  p     error rate
    =====  ====  ============
    50     0.05  0.07
    50     0.02  0.34 to 0.36
    100    0.05  0.005
    =====  ====  ============

    If the cost of a model is the same on all items, this cost is assumed to be known exactly (a
    list price). Models with equal prices are compared by their scores. The costs of a model may
    also be the same on all sampled items by chance, so skbench warns if the costs of other models
    vary from item to item.

    When not to use it: for costs per run instead of per item (a fixed fee), or if costs are missing
    because answers failed or timed out.

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
        raise ValueError(f"score and cost are both {score!r}. Pass two different columns.")
    names = {"model": model, "item": item, "cluster": cluster, "topic": topic}
    by = names_of(topics)
    table = score_table(items, **names, score=score, by=by, bounds=bounds)
    board = leaderboard_of(table, both_level(confidence_level), missing=missing)
    costs = costs_of(cost_table(items, cost, **names, by=by), both_level(confidence_level))
    return tradeoff_of(board, costs, (score, cost), confidence_level, greater_is_better)


def both_level(confidence_level):
    """The level of each interval if those of score and cost are to be simultaneous."""
    return (1 + confidence_level) / 2


def tradeoff_of(board, costs, names, confidence_level, greater_is_better=True):
    """Return the `Tradeoff` of a `Leaderboard` and `Costs`, both at the level of `both_level`."""
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
    """Whether the row's model has a significantly better score than the column's."""
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
    """The estimates at these positions; nan at negative positions."""
    columns = {
        name: np.where(positions < 0, np.nan, getattr(estimate, name)[positions])
        for name in ("value", "low", "high", "standard_error")
    }
    return replace(estimate, **columns, labels=labels)


def _remarks(labels, unknown, fixed, cost):
    """Remarks on models with unknown or constant costs."""
    if len(unknown):
        yield f"The {cost} of {listed(unknown, most=_MOST_NAMED)} is unknown."
    if len(fixed):
        names = "all models" if len(fixed) == len(labels) else listed(fixed, most=_MOST_NAMED)
        yield f"The {cost} of {names} is the same on all items and is taken as known exactly."


def cost_in_words(value):
    """A cost with three digits."""
    return number(value, ",.0f" if value >= 1000 else ".3g")


def _costs_in_words(low, high, unit):
    """A lower or equal cost in words, with enough digits to distinguish the two."""
    if low == high:
        return f"the same cost ({unit}{cost_in_words(low)})"
    ends = [cost_in_words(low), cost_in_words(high)]
    for figures in range(4, 18):
        if ends[0] == ends[1]:
            ends = [number(x, f",.{figures}g") for x in (low, high)]
    return f"a lower cost ({unit}{ends[0]} against {ends[1]})"
