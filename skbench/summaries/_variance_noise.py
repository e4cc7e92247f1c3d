"""How far groups differ in the spread of their scores."""

import narwhals as nw
import pandas as pd

from skbench.items.rows import SCORE, collected, sorted_by, with_score
from skbench.stats.intervals.moderated import variance_noise

_TOTAL, _ITEMS, _AWAY, _SIZE = (f"_skbench_{what}" for what in ("total", "items", "away", "size"))
_POWERS = {"_skbench_square": 2, "_skbench_fourth": 4}


def powers_of_distances(frame, by, score, cluster, cluster_weight):
    """Per group, how many distances to its mean, and sums of their squares and fourth powers."""
    rows = with_score(frame, score)
    if cluster is None:
        rows = _distances(rows, by)
    else:
        rows = _distances_of_clusters(rows, by, cluster, cluster_weight)
    rows = rows.with_columns((nw.col(_AWAY) ** power).alias(n) for n, power in _POWERS.items())
    return collected(
        rows.group_by(by).agg(nw.len().alias(_SIZE), *[nw.col(n).sum() for n in _POWERS])
    )


def noise_of_variances(tables, by, sigma2, n_independent, variance):
    """`VarianceNoise` of item rows: how far their sampling variances may be believed.

    `tables` are `powers_of_distances` of some groups each.
    """
    table = sorted_by(pd.concat(tables), by)
    n, squares, fourth_powers = (table[name].to_numpy() for name in (_SIZE, *_POWERS))
    return variance_noise(n, squares, fourth_powers, sigma2, n_independent, variance)


def _distances(rows, by):
    """Distance of each score to the mean of its group."""
    return rows.with_columns((nw.col(SCORE) - nw.col(SCORE).mean().over(*by)).alias(_AWAY))


def _distances_of_clusters(rows, by, cluster, weight):
    """Residual sum of each cluster over the mean size, or distance of its mean."""
    keys = list(dict.fromkeys([*by, *cluster]))
    clusters = rows.group_by(keys).agg(nw.col(SCORE).sum().alias(_TOTAL), nw.len().alias(_ITEMS))
    total, items = nw.col(_TOTAL), nw.col(_ITEMS)
    if weight == "cluster":
        clusters = clusters.with_columns((total / items).alias(_TOTAL))
        return clusters.with_columns((total - total.mean().over(*by)).alias(_AWAY))
    mean = total.sum().over(*by) / items.sum().over(*by)
    return clusters.with_columns(((total - items * mean) / items.mean().over(*by)).alias(_AWAY))
