"""Sums of the scores of each group, computed by the dataframe engine in one pass."""

from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from skbench.items.rows import (
    SCORE,
    any_null,
    checked_scores,
    collected,
    deferred,
    group_labels,
    with_score,
)

_ROWS_FOR_CENTER = 1000
_NULL_CLUSTER = "_skbench_null_cluster"
_SUMMED = ("_skbench_known", "_skbench_centered", "_skbench_squared")
_NOT_BINARY = "_skbench_not_binary"
_SIZE, _CLUSTERS, _CLUSTER_SQUARES = "_skbench_size", "_skbench_clusters", "_skbench_cluster_sq"


class GroupSums(NamedTuple):
    """Sums of the scores of each group."""

    labels: pd.Index  # sorted
    n: np.ndarray
    center: float  # a number near the mean score, subtracted to keep precision
    total: np.ndarray
    centered: np.ndarray  # sums of score - center
    squared: np.ndarray  # sums of (score - center)^2
    binary: bool
    table: pd.DataFrame  # the `by` columns, and "_mean NAME" of item columns
    clusters: pd.DataFrame | None  # per group (code) and cluster size: count, sum and squares


def group_sums(frame, by, score, cluster=None, item_means=()):
    """Return `GroupSums` of item rows from one ``group_by`` of sums, which all engines support.

    `cluster` are the columns that together identify a cluster.
    """
    frame = deferred(frame)
    # Counting integers takes less than half the time, and is enough if they are 0 and 1.
    rows, center = _counts(frame, by, score) if cluster is None and not item_means else None, 0.0
    if rows is None:
        scored = with_score(frame, score)
        center = _near_mean(scored)
        sums = _by_group(scored, by, item_means, center, cluster)
        rows = collected(sums, [*by, *([_SIZE] if cluster else [])])
        if _need_checks(rows, by):
            checked_scores(frame, [*by, *(cluster or [])], score)
    keys = group_labels(rows, by)
    codes, labels = keys.factorize()
    labels.names = keys.names

    def total(name):
        return np.bincount(codes, rows[name].to_numpy(dtype=float), minlength=len(labels))

    n = total("_skbench_known").astype(int)
    centered = total("_skbench_centered")
    binary = bool(rows[_NOT_BINARY].max() == 0)
    full = n * center + centered
    table = rows.groupby(codes)[by].first()
    for name in item_means:
        sums, counts = (total(f"{part} {name}") for part in ("_sum", "_count"))
        table[f"_mean {name}"] = np.divide(
            sums, counts, out=np.full(len(labels), np.nan), where=counts > 0
        )
    return GroupSums(
        labels=labels,
        n=n,
        center=center,
        total=np.rint(full) if binary else full,
        centered=centered,
        squared=total("_skbench_squared"),
        binary=binary,
        table=table,
        clusters=_cluster_table(rows, codes) if cluster else None,
    )


def _counts(frame, by, score):
    """Return uncentered sums if scores are the integers 0 and 1, else None."""
    if not frame.collect_schema()[score].is_integer() or score in by:
        return None
    x = nw.col(score)
    sums = frame.group_by(by).agg(
        nw.len().alias(_SIZE),
        x.count().alias("_skbench_known"),
        x.sum().alias("_skbench_centered"),
        x.min().alias("_skbench_least"),
        x.max().alias(_NOT_BINARY),
    )
    rows = collected(sums, by)
    if _need_checks(rows, by) or rows["_skbench_least"].min() < 0 or rows[_NOT_BINARY].max() > 1:
        return None
    return rows.assign(**{"_skbench_squared": rows["_skbench_centered"], _NOT_BINARY: 0.0})


def _near_mean(scored):
    """Return the mean of the first scores, which is good enough for centering."""
    first = collected(scored.select(nw.col(SCORE)).head(_ROWS_FOR_CENTER))[SCORE]
    first = first.to_numpy(dtype=float)
    first = first[np.isfinite(first)]
    return float(first.mean()) if first.size else 0.0


def _by_group(scored, by, item_means, center, cluster):
    """Return the sums by group as a frame. Lazy engines have not computed it yet."""
    x, centered = nw.col(SCORE), nw.col(SCORE) - center
    numbers = {name: nw.col(name).cast(nw.Float64) for name in item_means}
    scored = scored.with_columns(
        centered.alias("_skbench_centered"),
        # SQL engines compute powers 10 times more slowly than products.
        (centered * centered).alias("_skbench_squared"),
        (x * (1 - x)).abs().alias(_NOT_BINARY),
        *[
            nw.when(~value.is_nan()).then(value).alias(f"_value {name}")
            for name, value in numbers.items()
        ],
    )
    features = [(f"_sum {name}", f"_count {name}", f"_value {name}") for name in item_means]
    keys = list(dict.fromkeys([*by, *(cluster or [])]))
    sums = scored.group_by(keys).agg(
        nw.len().alias(_SIZE),
        x.count().alias("_skbench_known"),
        nw.col("_skbench_centered").sum(),
        nw.col("_skbench_squared").sum(),
        nw.col(_NOT_BINARY).max(),
        *[nw.col(value).sum().alias(total) for total, _, value in features],
        *[nw.col(value).count().alias(count) for _, count, value in features],
    )
    if cluster is None:
        return sums
    u = nw.col("_skbench_centered")
    sums = sums.with_columns(
        (u * u).alias(_CLUSTER_SQUARES),
        any_null(cluster).cast(nw.Float64).alias(_NULL_CLUSTER),
    )
    more = [_CLUSTER_SQUARES, _NULL_CLUSTER, *(name for pair in features for name in pair[:2])]
    return sums.group_by([*by, _SIZE]).agg(
        nw.len().alias(_CLUSTERS),
        nw.col(_NOT_BINARY).max(),
        *[nw.col(name).sum() for name in (*_SUMMED, *more)],
    )


def _need_checks(rows, by):
    """Return whether scores or labels are missing or infinite, or there are no rows."""
    if len(rows) == 0 or rows[by].isna().to_numpy().any():
        return True
    clusters = rows[_CLUSTERS] if _CLUSTERS in rows else 1
    unknown = (rows["_skbench_known"] != rows[_SIZE] * clusters).any()
    no_label = _NULL_CLUSTER in rows and rows[_NULL_CLUSTER].any()
    return unknown or no_label or not np.isfinite(rows["_skbench_centered"].astype(float)).all()


def _cluster_table(rows, codes):
    return pd.DataFrame(
        {
            "code": codes,
            "size": rows[_SIZE].to_numpy(dtype=float),
            "count": rows[_CLUSTERS].to_numpy(dtype=float),
            "sum": rows["_skbench_centered"].to_numpy(dtype=float),
            "squares": rows[_CLUSTER_SQUARES].to_numpy(dtype=float),
        }
    )
