"""Kemeny's consensus: the order of the models with the fewest disagreements with the tasks."""

import numpy as np
from scipy.sparse.csgraph import connected_components

LARGEST_EXACT = 16


def disagreements(scores):
    """Count the tasks that disagree with each order of two models.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_tasks)
        Scores; high is good. Only their order within a task matters.

    Returns
    -------
    ndarray of int of shape (n_models, n_models)
        Entry (a, b): number of tasks on which `b` has a higher score than `a`, which is the cost
        of placing `a` before `b`. Ties cost nothing.

    Examples
    --------
    >>> disagreements([[0.9, 0.2, 0.5], [0.6, 0.4, 0.5]])
    array([[0, 1],
           [1, 0]])
    """
    scores = np.asarray(scores, dtype=float)
    cost = np.zeros((len(scores), len(scores)), dtype=int)
    for task in scores.T:
        cost += task > task[:, None]
    return cost


def order_cost(order, cost):
    """Total cost of an order, summed over all pairs.

    Parameters
    ----------
    order : array-like of int of shape (n_models,)
        Positions of the models in `cost`, best first.
    cost : ndarray of shape (n_models, n_models)
        Entry (a, b) is the cost of placing `a` before `b`.

    Returns
    -------
    int or float
        ``sum over p < q of cost[order[p], order[q]]``. For `disagreements`, Kendall's distance.

    Examples
    --------
    >>> print(order_cost([1, 0], np.array([[0, 3], [1, 0]])))
    1
    """
    return np.triu(cost[np.ix_(order, order)], k=1).sum().item()


def exact_order(cost):
    """Find an order of minimal cost for at most 16 models.

    Parameters
    ----------
    cost : ndarray of shape (n_models, n_models)
        Entry (a, b) is the cost of placing `a` before `b`. The limit of 16 models is due to memory
        (2^16 subsets times 16).

    Returns
    -------
    ndarray of int of shape (n_models,)
        An order of minimal total cost, best first. Other orders may have the same cost.

    Notes
    -----
    Dynamic programming over subsets:
    ``f(S) = min over j in S of f(S - j) + sum over k in S - j of cost[k, j]``.

    Examples
    --------
    >>> exact_order(np.array([[0, 3, 1], [1, 0, 1], [2, 2, 0]]))
    array([1, 0, 2])
    """
    n = len(cost)
    subsets = np.arange(2**n)
    bit = 1 << np.arange(n)[:, None]
    member = subsets & bit > 0
    size = member.sum(axis=0)
    cost_of_last = np.stack([_subset_sums(column) for column in cost.T])
    best, last = np.zeros(2**n), np.zeros(2**n, dtype=int)
    for n_placed in range(1, n + 1):
        layer = subsets[size == n_placed]
        rest = np.where(member[:, layer], layer - bit, 0)
        totals = best[rest] + np.take_along_axis(cost_of_last, rest, axis=1)
        totals[~member[:, layer]] = np.inf
        last[layer], best[layer] = totals.argmin(axis=0), totals.min(axis=0)
    order, subset = [], 2**n - 1
    while subset:
        order.append(last[subset])
        subset -= 1 << last[subset]
    return np.array(order[::-1], dtype=int)


def local_order(cost):
    """Find an order of low cost for many models, by Borda counts and local search.

    Parameters
    ----------
    cost : ndarray of shape (n_models, n_models)
        Entry (a, b) is the cost of placing `a` before `b`.

    Returns
    -------
    ndarray of int of shape (n_models,)
        An order, best first, that no move of a single model improves.

    Notes
    -----
    The search starts with the models sorted by the total cost of placing each before all others
    (Borda). It moves single models to their best positions until none moves. On 16 models the
    result is often optimal, and otherwise close (test_local_search_is_close_to_optimal).

    Examples
    --------
    >>> local_order(np.array([[0, 3, 1], [1, 0, 1], [2, 2, 0]]))
    array([1, 0, 2])
    """
    order = np.argsort(cost.sum(axis=1) - cost.sum(axis=0), kind="stable")
    moved = True
    while moved:
        moved = False
        for model in order.copy():
            place = int(np.flatnonzero(order == model)[0])
            others = np.delete(order, place)
            before = np.concatenate([[0], np.cumsum(cost[others, model])])
            after = np.concatenate([np.cumsum(cost[model, others][::-1])[::-1], [0]])
            target = int(np.argmin(before + after))
            if (before + after)[target] < (before + after)[place]:
                order, moved = np.insert(others, target, model), True
    return order


def majority_components(cost):
    """Split the models into groups with an order between groups that majorities determine.

    Parameters
    ----------
    cost : ndarray of shape (n_models, n_models)
        Entry (a, b) is the cost of placing `a` before `b`.

    Returns
    -------
    list of ndarray of int
        Positions of the models of each group, best group first.

    Notes
    -----
    The groups are the strongly connected components of a graph. It has an edge from `a` to `b` if
    placing `a` first does not cost more. Every optimal order keeps the groups together, in this
    order (extended Condorcet criterion; Truchon 1998, Cahier 98-15, CREFA, Universite Laval).

    Examples
    --------
    >>> majority_components(np.array([[0, 2, 2], [1, 0, 0], [1, 3, 0]]))
    [array([1]), array([2]), array([0])]
    """
    points_to = cost <= cost.T
    n_groups, group = connected_components(points_to, directed=True, connection="strong")
    # An earlier group points to all models that a later group points to, and to that group.
    reach = np.zeros(n_groups)
    np.maximum.at(reach, group, points_to.sum(axis=1))
    return [np.flatnonzero(group == g) for g in np.argsort(-reach)]


def _subset_sums(values):
    """Sums over all subsets; subset `s` contains the values with bits set in `s`."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
