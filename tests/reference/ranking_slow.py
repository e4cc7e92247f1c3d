"""Ranks, orders and rank sets by their definitions, one comparison at a time."""

from itertools import combinations, permutations

import numpy as np


def counted_ranks(values, ties):
    """1 plus the number of higher values, and so on, for one list."""
    result = []
    for value in values:
        best = 1 + sum(other > value for other in values)
        worst = sum(other >= value for other in values)
        result.append({"best": best, "worst": worst, "average": (best + worst) / 2}[ties])
    return result


def cheapest_orders(cost):
    """All orders of least cost, and that cost, by trying every order."""
    totals = {
        order: sum(cost[a, b] for a, b in combinations(order, 2))
        for order in permutations(range(len(cost)))
    }
    least = min(totals.values())
    return [list(order) for order, total in totals.items() if total == least], least


def all_maximal_cliques(adjacent):
    """Every set of mutually adjacent nodes that no larger one contains."""
    nodes = range(len(adjacent))
    cliques = [
        set(members)
        for size in range(1, len(adjacent) + 1)
        for members in combinations(nodes, size)
        if all(adjacent[a, b] for a, b in combinations(members, 2))
    ]
    return {frozenset(c) for c in cliques if not any(c < other for other in cliques)}


def rank_set_ends(estimate, error, noise, confidence_level, simultaneous, stepdown):
    """Ends of rank confidence sets from explicit lists of one-sided hypotheses."""
    n = len(estimate)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    low, high = [], []
    for j in range(n):
        family = pairs if simultaneous else [pair for pair in pairs if j in pair]
        rejected = _rejected(family, estimate, error, noise, confidence_level, stepdown)
        low.append(1 + sum(b == j for _, b in rejected))
        high.append(n - sum(a == j for a, _ in rejected))
    return low, high


def _rejected(family, estimate, error, noise, confidence_level, stepdown):
    """Pairs (a, b) where a is found better than b."""
    rejected, left = [], list(family)
    while left:
        largest = np.max([(noise[:, a] - noise[:, b]) / error[a, b] for a, b in left], axis=0)
        critical = np.sort(largest)[int(np.ceil(confidence_level * (len(noise) - 1)))]
        new = [(a, b) for a, b in left if (estimate[a] - estimate[b]) / error[a, b] > critical]
        rejected += new
        left = [pair for pair in left if pair not in new]
        if not new or not stepdown:
            break
    return rejected
