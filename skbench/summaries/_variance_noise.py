"""Variation between groups in the variance of their scores."""

import narwhals as nw
import pandas as pd

from skbench.items.rows import SCORE, collected, sorted_by, with_score
from skbench.stats.intervals.moderated import variance_noise

_TOTAL, _ITEMS, _AWAY, _SIZE = (f"_skbench_{what}" for what in ("total", "items", "away", "size"))
_POWERS = {"_skbench_square": 2, "_skbench_fourth": 4}


def powers_of_distances(frame, by, score, cluster, cluster_weight):
    """Return the number, and sums of squares and fourth powers, of deviations from group means."""
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
    """Return the `VarianceNoise` of item rows, from tables of `powers_of_distances`."""
    table = sorted_by(pd.concat(tables), by)
    n, squares, fourth_powers = (table[name].to_numpy() for name in (_SIZE, *_POWERS))
    return variance_noise(n, squares, fourth_powers, sigma2, n_independent, variance)


def _distances(rows, by):
    """Add the deviation of each score from the mean of its group."""
    return rows.with_columns((nw.col(SCORE) - nw.col(SCORE).mean().over(*by)).alias(_AWAY))


def _distances_of_clusters(rows, by, cluster, weight):
    """Return each cluster's residual sum over the mean size, or the deviation of its mean."""
    keys = list(dict.fromkeys([*by, *cluster]))
    clusters = rows.group_by(keys).agg(nw.col(SCORE).sum().alias(_TOTAL), nw.len().alias(_ITEMS))
    total, items = nw.col(_TOTAL), nw.col(_ITEMS)
    if weight == "cluster":
        clusters = clusters.with_columns((total / items).alias(_TOTAL))
        return clusters.with_columns((total - total.mean().over(*by)).alias(_AWAY))
    mean = total.sum().over(*by) / items.sum().over(*by)
    return clusters.with_columns(((total - items * mean) / items.mean().over(*by)).alias(_AWAY))
