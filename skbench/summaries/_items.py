"""`summarize_items`: turn item rows of any dataframe into a `GroupSummary`."""

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
    warn_of_unequal_probabilities,
    with_item_key,
)
from skbench.stats.clusters.clustered import cluster_robust_by_size, mean_of_cluster_means
from skbench.summaries._errors import ErrorSums
from skbench.summaries._sharing import RowSlices, assumed_topics, shared_topics
from skbench.summaries._sums import group_sums
from skbench.summaries.direct_estimates import estimates_from_sums
from skbench.summaries.features import item_texts, joined_features

_DF_SLACK = 1e-9  # degrees of freedom of equal clusters are integers up to rounding


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
    """Summarize item scores into one direct estimate and sampling variance per group.

    Parameters
    ----------
    items : dataframe, str or path-like
        One row per model and item, in any dataframe that narwhals reads: pandas, polars (eager
        or lazy), pyarrow, DuckDB, Dask, PySpark. It may also be the path of a Parquet file, of a
        folder of them, or a pattern with ``*``. DuckDB or polars scans such files without loading
        them into memory.
    by : str or list of str
        Columns that define the groups, such as ``["model", "topic"]``.
    score : str, default="score"
        The score column, numeric or Boolean. If all scores are 0 or 1, they are binary.
    model : str, default="model"
        The model column. If it is one of `by`, the other columns of `by` are the topic.
    item : str or None, default="item"
        The column of item ids, unique within a topic. The ids show whether models answered the same
        items. The column may be absent, or one of `by`. If None, ids are ignored, and models are
        assumed to share the items of a topic. Time and memory then do not grow with the number of
        distinct items.
    topic : str or list of str or None, default="topic"
        Topic columns, needed if item ids repeat between topics and `by` does not contain the topic.
        The default column may be absent. With None, two rows are the same item if they have the
        same item id and the same values in all `by` columns other than the model.
    cluster : str, default=None
        The column of clusters of dependent items. A cluster may be a passage with several
        questions, or a question with several answers. If every cluster contains at most one
        item of each group, the summary is the same as without clusters.
    cluster_weight : {"item", "cluster"}, default="item"
        Whether a direct estimate is the mean over items or the unweighted mean of cluster means.
        These are different quantities (`skbench.stats.clustered.mean_of_cluster_means`).
    variance : {"smoothed", "plug-in", "pooled", "agresti", "model"}, default="smoothed"
        Sampling variance of binary scores (`skbench.stats.binomial.sampling_variance`). "plug-in"
        is 0 if all answers are correct or all are incorrect, and is meant to reproduce papers.
        "model" uses an accuracy predicted from the model and the topic. For other scores, `sigma2`
        is always the sample variance divided by n. `variance` then sets what shrinkage estimators
        do with `sigma2`. "plug-in" leaves it unchanged, "pooled" replaces it by the pooled
        variance, and any other value moderates it (`skbench.stats.moderated`).
    features : dataframe or list of str, default=None
        A table of group features with some of the `by` columns as keys, or a list of item
        columns. Numeric item columns are averaged within groups. Text columns must be constant
        within a group.
    bounds : tuple of two floats, default=None
        Lowest and highest score by the definition of the metric, for direct intervals of scores
        that are not binary. By default, scores from 0 to 1 have bounds 0 and 1. Scores that are all
        whole numbers from 0 to 10 are assumed to be ratings. The lower bound of ratings is 1, or 0
        if a score is 0. Their upper bound is the smallest of 3, 4, 5, 6, 7 and 10 that is not below
        the highest score. Other scores, and scores with infinite bounds, are treated as unbounded.

    Returns
    -------
    GroupSummary
        The groups in sorted order. `X` contains the `by` columns and the features. If models
        share items, `groups` is the topic, so that cross-fitting keeps topics together.

    Raises
    ------
    ValueError
        If a column, score, label or id is missing; if the table is empty; if scores are not
        numeric; if every group has only one cluster; if a pair of model and item occurs twice;
        if the table of features lacks a group; or if a text feature varies within a group.
    FileNotFoundError
        If there is no Parquet file at the path.

    Warns
    -----
    UserWarning
        If a model has no items in a topic, if item ids do not show whether items are shared, if a
        group contains answers of several models and `cluster` is missing, or if scores do not vary
        within any group.

    Notes
    -----
    For binary scores, `z = k / n`. For other scores, `z` is the mean, and `sigma2` is the sample
    variance (ddof 1) divided by n. If a group has one item, or if all its scores are equal, the
    pooled within-group variance is used. If scores do not vary within any group, `sigma2` is
    nan. Variances estimated from few scores are imprecise, so shrinkage estimators shrink them
    toward the pooled variance. `sampling` contains the weight of the pooled variance
    (`skbench.stats.moderated`).

    With clusters, `z` is the item-weighted mean, with the CR2 variance and ``floor(df) + 1``
    independent observations. Here `df` are the degrees of freedom of Bell and McCaffrey. If a group
    has one cluster, or if all its cluster means are equal, the pooled design effect of the other
    groups is used.

    The dataframe's engine computes the sums, and all engines agree up to rounding. Item ids, the
    correlation of models, and the moderation of variances need the rows themselves. Rows of lazy
    frames and files are therefore fetched a second time, by topic, about 2 million at a time.

    Do not use it if group means and variances are already available. Estimators accept plain
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
    warn_of_unequal_probabilities(frame, by)
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
        warns = item is not None and item not in by
        topics = assumed_topics(sums.labels, by, model, warns=warns)
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
    """Return the numeric and the text columns among the features."""
    schema = frame.collect_schema()
    numbers = [name for name in columns if schema[name].is_numeric() or schema[name] == nw.Boolean]
    texts = [name for name in columns if schema[name] in (nw.String, nw.Categorical, nw.Enum)]
    for name in columns:
        if name not in numbers and name not in texts:
            raise ValueError(
                f"features names column {name!r}, which has type {schema[name]}. Convert it to "
                "numbers or text, or omit it."
            )
    return numbers, [name for name in texts if name not in by]


def _estimates(sums, cluster, weight, variance):
    """Return estimates, sampling variances, numbers of independent observations, and outcome."""
    z, sigma2, outcome = estimates_from_sums(
        sums.n, sums.total, sums.centered, sums.squared, sums.binary, sums.labels, variance
    )
    # With one item per cluster, the result is the same as without clusters.
    if cluster is None or not (sums.clusters["size"] > 1).any():
        return z, sigma2, sums.n, outcome
    return *_clustered(sums, z, sigma2, weight), "clustered"


def _clustered(sums, z, item_sigma2, weight):
    """Return estimates, cluster-robust variances and numbers of independent observations."""
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
            f"Every group, such as {plain(sums.labels[0])!r}, has only one cluster, so the "
            "variance between clusters is unknown. Pass cluster= with smaller clusters, or with "
            "the item column if items are independent."
        )
    if single.any():
        warn(
            f"{int(single.sum())} of {len(single)} groups (first "
            f"{sums.labels[int(np.argmax(single))]!r}) have only one cluster. Their sampling "
            "variances use the design effect of the other groups. They have no t interval."
        )
    # Equal cluster sums do not mean a variance of 0, so borrow the design effect.
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
            f"No group has two different values of {score!r}, so the sampling variances are "
            "unknown (nan). Estimators do not accept them. Pass scores per item, or your own "
            "sigma2."
        )


def _warn_of_missing_groups(labels):
    if labels.nlevels < 2:
        return
    full = pd.MultiIndex.from_product([labels.unique(name) for name in labels.names])
    missing = full.difference(labels)
    # Nested columns, such as category and subject, are not crossed.
    if 0 < len(missing) <= len(labels):
        shown = ", ".join(map(str, missing[:3])) + (", ..." if len(missing) > 3 else "")
        warn(
            f"{len(missing)} of {len(full)} combinations of {', '.join(map(repr, labels.names))} "
            f"have no items, so they have no estimate: {shown}"
        )
