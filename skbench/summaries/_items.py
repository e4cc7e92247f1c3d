"""`summarize_items`: item rows, in any dataframe, to a `GroupSummary`."""

import warnings

import narwhals as nw
import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skbench._checks import check_option, require_columns
from skbench.containers import GroupSummary
from skbench.stats import binomial, clustered, means
from skbench.summaries._features import joined_features
from skbench.summaries._sharing import shared_topics

VARIANCES = ("smoothed", "plug-in", "pooled", "agresti", "model")


def summarize_items(
    items,
    by,
    score="score",
    *,
    model="model",
    item="item",
    cluster=None,
    variance="smoothed",
    features=None,
):
    """Summarise item scores into one direct estimate per group.

    Parameters
    ----------
    items : dataframe
        One row per (model, item), in any dataframe that narwhals reads (pandas,
        polars eager or lazy). Not changed.
    by : str or list of str
        Columns that define the groups, such as ``["model", "topic"]``.
    score : str, default="score"
        Column of scores, numeric or boolean. Only 0 and 1 makes them binary.
    model : str, default="model"
        Column that names the model. Where it is one of `by`, the other columns of
        `by` are the topic.
    item : str, default="item"
        Column of item ids, unique within a model and topic. It shows whether
        models answered the same items. May be absent.
    cluster : str, default=None
        Column of clusters of dependent items: a passage with several questions,
        or the question itself where it was answered several times.
    variance : {"smoothed", "plug-in", "pooled", "agresti", "model"}, default="smoothed"
        Sampling variance of binary scores, see
        `skbench.stats.binomial.sampling_variance`. "plug-in" is 0 where all
        answers are right or wrong and is there to reproduce papers. "model" takes
        the mean that model and topic together predict. No effect on other scores.
    features : dataframe or list of str, default=None
        A table of group features with some of the `by` columns as its keys, or
        item columns whose group means are the features.

    Returns
    -------
    GroupSummary
        Groups in sorted order. `X` holds the `by` columns and the features;
        `groups` is the topic where models share items, so that folds keep topics
        together.

    Raises
    ------
    ValueError
        For missing columns, an empty table, scores that are missing or not
        numeric, missing group or cluster labels, duplicated (model, item) rows,
        or groups that the table of features lacks.

    Warns
    -----
    UserWarning
        If a model has no items in a topic, or item ids do not settle whether items
        are shared.

    Notes
    -----
    Binary: `z = k / n`. Other scores: the mean, with the variance of the items
    over n (ddof 1); a group with one item, or without spread, borrows the
    within-group variance pooled over all groups. Clusters: the item-weighted mean
    with the CR2 variance, and ``floor(df) + 1`` independent observations, df of
    Bell and McCaffrey; a group with one cluster, or without spread between
    clusters, borrows the design effect of the other groups.

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
    check_option("variance", variance, VARIANCES)
    by = [by] if isinstance(by, str) else list(by)
    frame = nw.from_native(items)
    names = frame.collect_schema().names()
    item_means = [features] if isinstance(features, str) else features
    if isinstance(item_means, list | tuple):
        features = None
    else:
        item_means = []
    require_columns(names, [*by, score, *([cluster] if cluster else []), *item_means])
    _refuse_text_features(frame, item_means)
    item = item if item in names else None

    frame = checked_scores(frame, by, score, cluster)
    if item is not None and item != cluster:
        _refuse_duplicates(frame, by, item, model if model in names else None)
    sums = collected(_group_sums(frame, by, item_means), by)
    labels = group_labels(sums, by)
    z, sigma2, outcome, n_independent = _direct_estimates(
        frame, sums, labels, by, cluster, variance
    )
    topics = shared_topics(frame, labels, by, model, item)
    _warn_of_missing_groups(labels)
    return GroupSummary(
        z=z,
        sigma2=sigma2,
        n=sums["n"].to_numpy(),
        labels=labels,
        X=joined_features(sums, labels, by, item_means, features),
        groups=topics,
        outcome=outcome,
        n_independent=n_independent,
    )


SCORE = "_skbench_score"  # kept apart from the caller's own columns
_DF_SLACK = 1e-9  # degrees of freedom of equal clusters are whole but for rounding


def checked_scores(frame, by, score, cluster):
    """Add the float score, and refuse what cannot be summarised."""
    dtype = frame.collect_schema()[score]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        _refuse_text(frame, score)
    frame = frame.with_columns(nw.col(score).cast(nw.Float64).alias(SCORE))
    labels = [*by, *([cluster] if cluster else [])]
    bad_score = nw.col(SCORE).is_null() | ~nw.col(SCORE).is_finite()
    counts = collected(
        frame.select(
            nw.len().alias("rows"),
            bad_score.cast(nw.Int64).sum().alias("bad"),
            *[nw.col(c).is_null().cast(nw.Int64).sum().alias(f"missing {c}") for c in labels],
        )
    ).iloc[0]
    if counts["rows"] == 0:
        raise ValueError("items has no rows: there is nothing to summarise.")
    if counts["bad"]:
        raise ValueError(
            f"{int(counts['bad'])} of {int(counts['rows'])} rows have a missing or infinite "
            f"{score!r}. Leave out items that were not run, or score them (0 for a wrong answer)."
        )
    for name in labels:
        if counts[f"missing {name}"]:
            raise ValueError(
                f"{int(counts[f'missing {name}'])} of {int(counts['rows'])} rows have no {name!r}. "
                "Fill in the labels, or leave the rows out."
            )
    return frame


def _refuse_text(frame, score):
    values = collected(frame.select(nw.col(score)))[score]
    numeric = pd.to_numeric(values, errors="coerce")
    bad = values[numeric.isna()]
    if len(bad) == 0:
        raise ValueError(
            f"{score!r} holds numbers as text (dtype {values.dtype}). Convert the column, "
            "for example with astype(float)."
        )
    raise ValueError(
        f"{score!r} must be numeric, but row {bad.index[0]} has {bad.iloc[0]!r}. "
        "Map the outcomes to numbers, for example correct to 1 and incorrect to 0."
    )


def _refuse_text_features(frame, item_means):
    schema = frame.collect_schema()
    for name in item_means:
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
            raise ValueError(
                f"features names column {name!r}, which is not numeric and has no mean. "
                "Pass what it says of the groups as a table with one row per group."
            )


def _refuse_duplicates(frame, by, item, model):
    keys = list(dict.fromkeys([*([model] if model else []), *by, item]))
    counted = frame.group_by(keys).agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    repeated = collected(counted, keys)
    if len(repeated):
        first = ", ".join(f"{key}={repeated[key].tolist()[0]!r}" for key in keys)
        raise ValueError(
            f"{len(repeated)} items occur more than once in a group; the first is {first} with "
            f"{repeated['rows'].iloc[0]} rows. Remove double rows, or, if an item was answered "
            f"several times, pass cluster={item!r}."
        )


def _group_sums(frame, by, item_means):
    """Sizes, sums and sums of squares per group; scores centred to keep their digits."""
    x = nw.col(SCORE)
    center = float(collected(frame.select(x.mean().alias("center")))["center"].iloc[0])
    frame = frame.with_columns(
        (x - center).alias("_skbench_centered"),
        ((x - center) ** 2).alias("_skbench_squared"),
        (x * (1 - x)).abs().alias("_skbench_not_binary"),
    )
    return frame.group_by(by).agg(
        nw.len().alias("n"),
        x.sum().alias("_total"),
        nw.col("_skbench_centered").sum().alias("_centered"),
        nw.col("_skbench_squared").sum().alias("_squared"),
        nw.col("_skbench_not_binary").max().alias("_not_binary"),
        *[nw.col(c).mean().alias(f"_mean {c}") for c in item_means],
    )


def _direct_estimates(frame, sums, labels, by, cluster, variance):
    """Direct estimates, variances, outcome, and numbers of independent observations."""
    n = sums["n"].to_numpy()
    z, sigma2, outcome = estimates_from_sums(
        n=n,
        total=sums["_total"].to_numpy(),
        centered=sums["_centered"].to_numpy(),
        squared=sums["_squared"].to_numpy(),
        binary=sums["_not_binary"].max() == 0,
        labels=labels,
        variance=variance,
    )
    if cluster is None:
        return z, sigma2, outcome, n
    return _clustered_estimates(frame, sigma2, labels, by, cluster)


def estimates_from_sums(n, total, centered, squared, binary, labels, variance):
    """Direct estimates, sampling variances and outcome of groups of independent items.

    `centered` and `squared` are sums of the scores, and of their squares, after a
    number near their mean is subtracted; scores that are not binary need them.
    """
    if not binary:
        return total / n, means.pooled_mean_variance(centered, squared, n), "continuous"
    fitted = _main_effects(total, n, labels) if variance == "model" else None
    sigma2 = binomial.sampling_variance(total, n, variance, prior_mean=fitted)
    return total / n, sigma2, "binomial"


def _clustered_estimates(frame, item_sigma2, labels, by, cluster):
    keys = list(dict.fromkeys([*by, cluster]))
    sums = frame.group_by(keys).agg(nw.col(SCORE).sum().alias("total"), nw.len().alias("size"))
    sums = collected(sums, keys)
    codes = labels.get_indexer(group_labels(sums, by))
    fit = clustered.cluster_robust_variance(
        sums["total"].to_numpy(), sums["size"].to_numpy(), codes, len(labels)
    )
    single = np.isnan(fit.df)
    if single.any():
        warnings.warn(
            f"{int(single.sum())} of {len(labels)} groups have one cluster, the first is "
            f"{labels[int(np.argmax(single))]!r}: their sampling variance borrows the design "
            "effect of the other groups, and they get no t interval.",
            stacklevel=4,
        )
    # No spread between clusters is no proof of no noise: borrow the design effect.
    known = fit.variance > 0
    design_effect = 1.0
    if known.any():
        design_effect = max(1.0, fit.variance[known].sum() / item_sigma2[known].sum())
    sigma2 = np.where(known, fit.variance, design_effect * item_sigma2)
    independent = np.where(single, 1, np.floor(np.where(single, 0, fit.df) + _DF_SLACK) + 1)
    return fit.mean, sigma2, "clustered", independent.astype(int)


def _main_effects(k, n, labels):
    """Accuracy of each group as the levels of its labels predict it, on the logit scale."""
    overall = logit((k.sum() + 1) / (n.sum() + 2))
    effects = np.full(len(k), overall)
    for level in range(labels.nlevels):
        codes = pd.factorize(labels.get_level_values(level))[0]
        rate = (np.bincount(codes, k) + 1) / (np.bincount(codes, n) + 2)
        effects += (logit(rate) - overall)[codes]
    return expit(effects)


def collected(frame, keys=()):
    """A narwhals result as a pandas frame, sorted by its keys."""
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    table = pd.DataFrame(frame.to_dict(as_series=False))
    return table.sort_values(list(keys), ignore_index=True) if len(keys) else table


def group_labels(table, by):
    if len(by) == 1:
        return pd.Index(table[by[0]], name=by[0])
    return pd.MultiIndex.from_frame(table[by])


def _warn_of_missing_groups(labels):
    if labels.nlevels < 2:
        return
    full = pd.MultiIndex.from_product([labels.unique(name) for name in labels.names])
    missing = full.difference(labels)
    # Nested columns (a category and its subjects) are not meant to be crossed.
    if 0 < len(missing) <= len(labels):
        shown = ", ".join(map(str, missing[:3])) + (", ..." if len(missing) > 3 else "")
        warnings.warn(
            f"{len(missing)} of {len(full)} combinations of {', '.join(map(repr, labels.names))} "
            f"have no items and get no estimate: {shown}",
            stacklevel=3,
        )
