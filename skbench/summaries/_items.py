"""`summarize_items`: item rows, in any dataframe, to a `GroupSummary`."""

from __future__ import annotations

from typing import Literal

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import check_by, plain, require_columns
from skbench._types import Names, OpenBounds, Path, Rows, Variance, checked
from skbench._warnings import warn
from skbench.containers import GroupSummary, Sampling
from skbench.items.rows import (
    check_cluster_weight,
    kinds_of_features,
    opened,
    refuse_lists,
    warn_of_chances,
    with_item_key,
)
from skbench.stats.clusters.clustered import cluster_robust_by_size, mean_of_cluster_means
from skbench.summaries._errors import ErrorSums
from skbench.summaries._sharing import RowSlices, assumed_topics, shared_topics
from skbench.summaries._sums import group_sums
from skbench.summaries.direct_estimates import estimates_from_sums
from skbench.summaries.features import item_texts, joined_features

_DF_SLACK = 1e-9  # degrees of freedom of equal clusters are whole but for rounding


@checked
def summarize_items(
    items: Rows | Path,
    by: Names,
    score: str = "score",
    *,
    model: str = "model",
    item: str | None = "item",
    topic: Names | None = "topic",
    cluster: str | None = None,
    cluster_weight: Literal["item", "cluster"] = "item",
    variance: Variance = "smoothed",
    features: Rows | Names | None = None,
    bounds: OpenBounds | None = None,
) -> GroupSummary:
    """Summarize item scores into one direct estimate per group.

    Parameters
    ----------
    items : dataframe, str or path-like
        One row per (model, item), in any dataframe that narwhals reads: pandas,
        polars (eager or lazy), pyarrow, DuckDB, Dask, PySpark. Or the path of a
        Parquet file, of a folder of them, or a pattern with ``*``; these are
        scanned by DuckDB or polars, never held in memory. Not changed.
    by : str or list of str
        Columns that define the groups, such as ``["model", "topic"]``.
    score : str, default="score"
        Column of scores, numeric or boolean. Only 0 and 1 makes them binary.
    model : str, default="model"
        Column that names the model. Where it is one of `by`, the other columns of
        `by` are the topic.
    item : str or None, default="item"
        Column of item ids, unique within a topic. It shows whether
        models answered the same items. May be absent, or one of `by`. None: ids are
        not looked at, and models are taken to share the items of a topic; that saves the one
        step whose cost grows with the number of items rather than of groups.
    topic : str or list of str or None, default="topic"
        Columns of topics, which may be absent, where item ids start again in each and `by` does not
        name them. None: ids are unique within `by`.
    cluster : str, default=None
        Column of clusters of dependent items: a passage with several questions,
        or the question itself where it was answered several times. Where no cluster has two
        items of a group, the summary is that without clusters.
    cluster_weight : {"item", "cluster"}, default="item"
        Whether a direct estimate is the mean over items, or the mean of the means of
        clusters, in which each counts the same: two different questions
        (`skbench.stats.clustered.mean_of_cluster_means`).
    variance : {"smoothed", "plug-in", "pooled", "agresti", "model"}, default="smoothed"
        Sampling variance of binary scores, see
        `skbench.stats.binomial.sampling_variance`. "plug-in" is 0 where all
        answers are right or wrong and is there to reproduce papers. "model" takes
        the mean that model and topic together predict. For other scores `sigma2` is always
        the sample variance over n; the option decides how estimators that shrink use it:
        "plug-in" takes each as it is, "pooled" takes the pooled variance, all others lie
        between, depending on how far groups differ (`skbench.stats.moderated`).
    features : dataframe or list of str, default=None
        A table of group features with some of the `by` columns as its keys, or item
        columns: of numbers the group means are the features, of text what it says of the
        group, the same in all of its rows.
    bounds : tuple of two floats, default=None
        Least and largest score by their definition, for direct intervals of scores that are not
        right and wrong answers. None: 0 and 1 if all scores lie there, the scale that whole numbers
        show (labels from 1 to 5), else unknown, as with infinite ones.

    Returns
    -------
    GroupSummary
        Groups in sorted order. `X` holds the `by` columns and the features;
        `groups` is the topic where models share items, so that folds keep topics
        together.

    Raises
    ------
    ValueError
        For missing columns, an empty table, scores that are missing or not numeric, one
        cluster in every group, missing labels or ids, duplicated (model, item) rows, groups
        that the table of features lacks, or a text feature that differs within a group.
    FileNotFoundError
        If there is no Parquet file at the path.

    Warns
    -----
    UserWarning
        If a model has no items in a topic, item ids do not settle whether items are
        shared, several models answered the items of a group without `cluster`, or no
        group has two different scores.

    Notes
    -----
    Binary: `z = k / n`. Other scores: the mean, with the variance of the items
    over n (ddof 1); a group with one item, or without spread, borrows the
    within-group variance pooled over all groups, nan if none has any. Variances of few
    scores are noisy, so `sampling` tells estimators that shrink how much of the pooled
    variance to mix in (`skbench.stats.moderated`). Clusters: the
    item-weighted mean with the CR2 variance, and ``floor(df) + 1`` independent observations,
    df of Bell and McCaffrey; a group with one cluster, or without spread between
    clusters, borrows the design effect of the other groups.

    The engine that has the rows sums them; all engines give the same numbers but for rounding. For
    item ids, the correlation of models on shared items, and how far groups differ in spread, rows
    of lazy frames and paths are fetched once more: topic after topic, some 2 million at a time.

    When not to use it: when the summaries exist already. Estimators take plain
    arrays.

    Examples
    --------
    >>> import pandas as pd
    >>> items = pd.DataFrame({"topic": ["law"] * 4 + ["art"] * 2, "score": [1, 1, 1, 0, 0, 1]})
    >>> summarize_items(items, by="topic").to_frame().round(4)
             z  sigma2  n
    topic
    art   0.50  0.1250  2
    law   0.75  0.0556  4
    """
    check_cluster_weight(cluster_weight, cluster)
    by = check_by(by)
    columns, table = kinds_of_features(features)
    frame, key = with_item_key(opened(items), item, topic, by, model)
    names = frame.collect_schema().names()
    require_columns(names, [*by, score, *([cluster] if cluster else []), *columns])
    refuse_lists(frame, [name for name in (*by, *key, cluster) if name in names])
    warn_of_chances(frame, by)
    numbers, texts = _numbers_and_texts(frame, columns, by)

    units = cluster and (key if cluster == item else [cluster])
    sums = group_sums(frame, by, score, units, numbers)
    z, sigma2, n_independent, outcome = _estimates(sums, cluster, cluster_weight, variance)
    texts = item_texts(frame, by, texts, sums.labels)
    model = model if model in names else None
    noisy, with_ids = outcome != "binomial", item in names and item not in by
    depends = units if outcome == "clustered" else None
    roles = by, score, model, key, depends
    errors = ErrorSums(roles, sums.labels, noisy, cluster_weight, bounds)
    read = [score, *by, *(units or []), *([model] if model else []), *(key if with_ids else [])]
    slices = RowSlices(frame, read, sums) if noisy or with_ids else None
    if with_ids:  # items that are groups have no ids left
        roles = by, score, model, key, cluster
        topics = shared_topics(frame, slices, sums.labels, *roles, errors)
    else:
        topics = assumed_topics(sums.labels, by, model, told=item is not None and item not in by)
        for rows in slices.by(by) if noisy else ():
            errors.add(rows, shared=False)
    _warn_of_missing_groups(sums.labels)
    _warn_of_unknown_variances(sigma2, score)
    return GroupSummary(
        z=z,
        sigma2=sigma2,
        n=sums.n,
        labels=sums.labels,
        X=joined_features(sums.table, sums.labels, by, columns, table, texts),
        groups=topics,
        n_independent=n_independent,
        sampling=Sampling(
            outcome,
            items_shared=topics is not None,
            item_correlation=errors.item_correlation(),
            variance_noise=errors.variance_noise(sigma2, n_independent, variance),
            most_independent=None if depends is None else int(n_independent.max()),
            bounds=errors.range(),
        ),
    )


def _numbers_and_texts(frame, columns, by):
    """Which item columns have means, and which are text."""
    schema = frame.collect_schema()
    numbers = [name for name in columns if schema[name].is_numeric() or schema[name] == nw.Boolean]
    texts = [name for name in columns if schema[name] in (nw.String, nw.Categorical, nw.Enum)]
    for name in columns:
        if name not in numbers and name not in texts:
            raise ValueError(
                f"features names column {name!r}, which holds neither numbers nor text but "
                f"{schema[name]}. Turn it into one of them, or leave it out."
            )
    return numbers, [name for name in texts if name not in by]


def _estimates(sums, cluster, weight, variance):
    """Estimates, sampling variances, numbers of independent observations, and the outcome."""
    z, sigma2, outcome = estimates_from_sums(
        sums.n, sums.total, sums.centered, sums.squared, sums.binary, sums.labels, variance
    )
    # Clusters of one item each say nothing: the same numbers as without them.
    if cluster is None or not (sums.clusters["size"] > 1).any():
        return z, sigma2, sums.n, outcome
    return *_clustered(sums, z, sigma2, weight), "clustered"


def _clustered(sums, z, item_sigma2, weight):
    """Estimates, their cluster-robust variances, numbers of independent observations."""
    clusters = sums.clusters
    robust = cluster_robust_by_size if weight == "item" else mean_of_cluster_means
    fit = robust(
        clusters["sum"],
        clusters["squares"],
        clusters["count"],
        clusters["size"],
        clusters["code"],
        len(sums.labels),
    )
    single = np.isnan(fit.df)
    if single.all():
        raise ValueError(
            "All items of every group are in one cluster, such as those of "
            f"{plain(sums.labels[0])!r}: nothing tells how far clusters differ, so no sampling "
            "variance is known. Name smaller clusters with cluster=, or the items themselves "
            "if they may count as independent."
        )
    if single.any():
        warn(
            f"{int(single.sum())} of {len(single)} groups have one cluster, the first is "
            f"{sums.labels[int(np.argmax(single))]!r}: their sampling variance borrows the design "
            "effect of the other groups, and they get no t interval."
        )
    # No spread between clusters is no proof of no noise: borrow the design effect.
    known = fit.variance > 0
    design_effect = 1.0
    if known.any():
        design_effect = max(1.0, fit.variance[known].sum() / item_sigma2[known].sum())
    sigma2 = np.where(known, fit.variance, design_effect * item_sigma2)
    independent = np.where(single, 1, np.floor(np.where(single, 0, fit.df) + _DF_SLACK) + 1)
    z = z if weight == "item" else sums.center + fit.mean
    return z, sigma2, independent.astype(int)


def _warn_of_unknown_variances(sigma2, score):
    if np.isnan(sigma2).all():
        warn(
            f"No group has two different values of {score!r}, so nothing tells how noisy their "
            "means are: the sampling variances are unknown (nan), and estimators refuse them. "
            "Give the scores of single items, or a sigma2 of your own."
        )


def _warn_of_missing_groups(labels):
    if labels.nlevels < 2:
        return
    full = pd.MultiIndex.from_product([labels.unique(name) for name in labels.names])
    missing = full.difference(labels)
    # Nested columns (a category and its subjects) are not meant to be crossed.
    if 0 < len(missing) <= len(labels):
        shown = ", ".join(map(str, missing[:3])) + (", ..." if len(missing) > 3 else "")
        warn(
            f"{len(missing)} of {len(full)} combinations of {', '.join(map(repr, labels.names))} "
            f"have no items and get no estimate: {shown}"
        )
