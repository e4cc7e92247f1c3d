"""A consensus of the orders that tasks give the models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._checks import check_same_index, floats, plain, refuse_repeats
from skbench._columns import as_pandas
from skbench._printed import Printed
from skbench._types import Table
from skbench._warnings import warn
from skbench.stats.ranking import kemeny

_HEURISTIC = "Borda with local moves"


@dataclass(frozen=True, eq=False, repr=False)
class KemenyOrder(Printed):
    """A consensus order of the models, and its distance from the tasks.

    Attributes
    ----------
    order : pandas.Index of length n_models
        Names of the models, best first.
    cost : int
        Number of disagreements: pairs of models that a task orders the other way round, over
        all tasks.
    method : str
        "exact", or the name of the heuristic, whose cost may not be the smallest.
    """

    order: pd.Index
    cost: int
    method: str

    def _printed(self):
        head = f"Kemeny order of {len(self.order)} models ({self.method})"
        names = ", ".join(map(str, self.order))
        return [f"{head}: {names}; disagreements with the tasks: {self.cost}"]


def kemeny_order(scores: Table) -> KemenyOrder:
    """Kemeny's consensus: the order that the tasks contradict least.

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_models, n_tasks)
        Score of each model on each task; high is good. Only the order within a task counts.

    Returns
    -------
    KemenyOrder

    Raises
    ------
    ValueError
        If a score is missing or infinite, two models or tasks have one name, or the table is empty.

    Warns
    -----
    UserWarning
        If the order is that of a heuristic, because more than 16 models are in one group.

    Notes
    -----
    Minimizes Kendall's distance [1]_: the number of pairs of models that a task orders the
    other way round, over all tasks; ties cost nothing. The order is exact if majorities split
    the models into groups of at most 16. Larger groups are ordered by their Borda counts and
    improved by moving single models. Of several best orders, one is returned: the
    order of the rows may decide which.

    When not to use it: when the size of leads matters, or where the order has sampling error;
    see `rank_confidence_sets`.

    References
    ----------
    .. [1] Kemeny (1959). Mathematics without numbers. Daedalus 88, 577-591.

    Examples
    --------
    >>> scores = pd.DataFrame(
    ...     {"law": [0.6, 0.5, 0.9], "math": [0.4, 0.3, 0.1], "art": [0.8, 0.7, 0.9]},
    ...     index=["ada", "bob", "cyd"],
    ... )
    >>> consensus = kemeny_order(scores)
    >>> list(consensus.order), consensus.cost, consensus.method
    (['cyd', 'ada', 'bob'], 2, 'exact')
    """
    check_same_index(scores=scores)
    try:
        table = pd.DataFrame(as_pandas(scores))
    except (TypeError, ValueError, pd.errors.InvalidIndexError) as error:
        raise ValueError(
            f"scores must be a table, models in rows and tasks in columns, got {scores!r:.60}."
        ) from error
    values = floats("scores", table.to_numpy(dtype=object))
    if not values.size:
        raise ValueError(f"scores has shape {values.shape}: pass models in rows, tasks in columns.")
    if not np.isfinite(values).all():
        model, task = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"scores must be finite, but model {plain(table.index[model])!r} has "
            f"{values[model, task]:g} on task {plain(table.columns[task])!r}. Leave out the "
            "model or the task."
        )
    for what, names in (("models", table.index), ("tasks", table.columns)):
        refuse_repeats(f"The list of {what}", names)
    cost = kemeny.disagreements(values)
    groups = kemeny.majority_components(cost)
    largest = max(map(len, groups))
    exact = largest <= kemeny.LARGEST_EXACT
    if not exact:
        warn(
            f"{largest} models cannot be ordered piece by piece, more than the "
            f"{kemeny.LARGEST_EXACT} of the exact search: the order is that of a heuristic "
            f"({_HEURISTIC}) and may not have the least cost."
        )
    order = np.concatenate([_ordered(group, cost) for group in groups])
    return KemenyOrder(
        order=table.index[order],
        cost=kemeny.order_cost(order, cost),
        method="exact" if exact else _HEURISTIC,
    )


def _ordered(group, cost):
    """The models of a group, best first."""
    inside = cost[np.ix_(group, group)]
    small = len(group) <= kemeny.LARGEST_EXACT
    return group[kemeny.exact_order(inside) if small else kemeny.local_order(inside)]
