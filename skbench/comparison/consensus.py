"""Consensus of the orders of models on several tasks."""

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
    """A consensus order of the models, and its disagreements with the tasks.

    Attributes
    ----------
    order : pandas.Index of length n_models
        Names of the models, best first.
    cost : int
        Number of disagreements: pairs of models in the opposite order on a task, summed over
        tasks.
    method : str
        "exact", or the name of the heuristic. The cost of a heuristic may not be minimal.
    """

    order: pd.Index
    cost: int
    method: str

    def _printed(self):
        head = f"Kemeny order of {len(self.order)} models ({self.method})"
        names = ", ".join(map(str, self.order))
        return [f"{head}: {names}; disagreements with the tasks: {self.cost}"]


def kemeny_order(scores: Table) -> KemenyOrder:
    """Find the order of models that disagrees least with their orders on the tasks (Kemeny).

    Parameters
    ----------
    scores : DataFrame or array-like of shape (n_models, n_tasks)
        Score of each model on each task. Higher is better. Only the order within a task matters.

    Returns
    -------
    KemenyOrder

    Raises
    ------
    ValueError
        If a score is missing or infinite, names are repeated, or the table is empty.

    Warns
    -----
    UserWarning
        If the order comes from a heuristic, because more than 16 models have to be ordered
        together (see the notes).

    Notes
    -----
    The order minimizes Kendall's distance [1]_. This is the number of pairs of models that are in
    the opposite order on a task, summed over tasks. Ties cost nothing. Pairwise majorities often
    split the models into groups that can be ordered separately. Groups of up to 16 models are
    ordered exactly. Larger groups are ordered by Borda counts, and improved by moving single
    models. If several orders are optimal, one of them is returned. It may depend on the order of
    the rows.

    When not to use it: if the size of differences matters, or if scores have sampling error (use
    `rank_confidence_sets`).

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
            f"scores must be a table with models in rows and tasks in columns, got {scores!r:.60}."
        ) from error
    values = floats("scores", table.to_numpy(dtype=object))
    if not values.size:
        raise ValueError(f"scores has shape {values.shape}. Pass models in rows, tasks in columns.")
    if not np.isfinite(values).all():
        model, task = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"scores must be finite, but model {plain(table.index[model])!r} has "
            f"{values[model, task]:g} on task {plain(table.columns[task])!r}. Remove the "
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
            f"A group of {largest} models exceeds the limit of {kemeny.LARGEST_EXACT} for the "
            f"exact search. The order is by a heuristic ({_HEURISTIC}) and may not be optimal."
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
