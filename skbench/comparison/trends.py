"""Trend of scores over the versions of a model: slope and change, overall and by topic."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from skbench._checks import names_of, plain
from skbench._types import Labels, Level, Names, OpenBounds, Rows, checked
from skbench._warnings import warn
from skbench.comparison._leaderboard_scores import covariance_of_scores, scores_of_models
from skbench.comparison._pair_warnings import (
    SKEWED,
    skewed,
    warn_of_missing_items,
    warn_of_units,
)
from skbench.comparison._pairs import intervals
from skbench.comparison._trend_result import Trend, as_text, verdicts
from skbench.comparison.compare import remarks_of
from skbench.containers import ON_AVERAGE, UNLESS_SKEWED, Estimate
from skbench.items.tables import score_table
from skbench.items.versions import ordered_versions
from skbench.stats.clusters.shared_items import contrast_errors, shared_item_scores
from skbench.stats.ranking import multiplicity
from skbench.stats.ranking.trend import reach, trend_contrasts

_ROWS = pd.Index(["slope", "change"], name="trend")


@checked
def trend(
    items: Rows,
    order: str | Labels = "version",
    *,
    model: str = "model",
    topic: Names | None = "topic",
    item: str = "item",
    score: str = "score",
    cluster: str | None = None,
    by: Names | None = None,
    confidence_level: Level = 0.95,
    missing: Literal["drop", "wrong", "refuse"] = "drop",
    bounds: OpenBounds | None = None,
) -> Trend:
    """Estimate the slope of the score over versions of a model, from the items they share.

    Parameters
    ----------
    items : dataframe
        Per-item scores, one row per version and item, in any dataframe that narwhals reads.
    order : str or list of str, default="version"
        Either a column with one number or date (or ISO date as text) for each version, or a list of
        the version names in order. With a list, steps between versions are equal. If the default
        column is absent, and model names differ only in a date or number (ada-v1, ada-v2), this
        date or number is used.
    model : str, default="model"
        Column with the names of the versions. If this column has only one value or is absent, the
        values of `order` are the names of the versions.
    topic : str or list of str or None, default="topic"
        One or more topic columns. The same item id in two topics stands for two different items.
        The default column may be absent. With None, an item id stands for one item in the whole
        table.
    item, score : str
        Names of the columns. High scores are good.
    cluster : str, default=None
        Column of clusters of dependent items. Pass the item column if versions answered items
        several times.
    by : str or list of str, default=None
        Columns of groups, such as the topic, for an additional slope in each group.
    confidence_level : float, default=0.95
        Confidence level of the intervals. With `by`, the false discovery rate of the group slopes
        is 1 minus this level.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        How to treat items that a version did not answer: skip them, score them 0, or raise an
        error.
    bounds : tuple of two floats, default=None
        Smallest and largest possible score, as in `compare_models`.

    Returns
    -------
    Trend

    Raises
    ------
    ValueError
        If columns, labels or scores are missing, or if answers are repeated without `cluster`. If
        the values of `order` are neither numbers nor dates, are the same for all versions, or
        differ within one version. If shared items do not link all versions, directly or
        indirectly.

    Warns
    -----
    UserWarning
        If versions answered different items, if score differences are very skewed, or if all items
        are in one cluster.

    See Also
    --------
    compare_models : Two versions, or all pairs.
    TrendDisplay : Plot of a trend.

    Notes
    -----
    The slope is that of the least-squares line through the version scores, ``sum_v c_v theta_v``
    with ``c_v = (x_v - mean(x)) / sum_v (x_v - mean(x))^2``. This slope equals the mean of the item
    slopes ``sum_v c_v score_iv``. The standard error of this mean is cluster-robust (CR2), with
    Bell-McCaffrey degrees of freedom [1]_. Only items are treated as a random sample; versions are
    fixed, so the slope does not predict the next version. One test of all versions can detect a
    slow change that no pair of versions shows.

    Items have equal weights across topics. If versions answered different items, the version scores
    are the least-squares fit of ``score = version + item``
    (`skbench.stats.shared_items.shared_item_scores`). For bounded scores, intervals also allow for
    rare scores or changes that the sample missed (`skbench.stats.worst_case`). For scores of 0 and
    1 on independent items, the difference between the first and the last version is tested by
    McNemar's exact test, as in `compare_models`.

    Intervals of the version scores are simultaneous (max-t, or Bonferroni with few clusters). For
    scores of 0 and 1 on independent items, they are Clopper-Pearson intervals at the adjusted
    level, because Wilson intervals are too narrow near 0 and 1.

    When not to use it:

    - For versions with scores that are not comparable (another judge, another grading prompt).
    - To find the version in which the score dropped. Compare adjacent versions.
    - To predict the scores of future versions.

    References
    ----------
    .. [1] Bell and McCaffrey (2002). Bias reduction in standard errors for linear regression with
       multi-stage samples. Survey Methodology 28, 169-181.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng, n = np.random.default_rng(0), 200
    >>> hard = rng.normal(size=n)
    >>> items = pd.concat([
    ...     pd.DataFrame({"version": v, "item": range(n), "score": 1.0 * (hard < 1 - 0.1 * v)})
    ...     for v in range(1, 6)
    ... ])
    >>> trend(items).to_frame()[["value", "low", "high"]].round(3)
            value    low   high
    trend
    slope  -0.030 -0.042 -0.018
    change -0.115 -0.167 -0.078
    """
    by = names_of(by)
    versions = ordered_versions(items, order, model)
    names = {"model": versions.model, "item": item, "score": score, "cluster": cluster}
    names |= {"topic": topic, "bounds": bounds}
    table = score_table(versions.items, by=[], **names).with_missing(missing)
    table, place = _in_order(table, versions)
    fields, fit = _fields(table.scores, table.clusters, place, *_about(table))
    _refuse_unlinked(table, fit)
    topics, level = None, np.nan
    if by:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # already raised for the whole table
            parts = score_table(versions.items, by=by, **names).with_missing(missing)
        topics, level = _of_topics(*_in_order(parts, versions, table.models), confidence_level)
        _warn_of_unknown(topics)
    _warn(table, fields, fit)
    value = versions.value.iloc[versions.value.index.get_indexer(table.models)]
    estimate, p_value = _estimated(table, fields, confidence_level)
    return Trend(
        estimate=estimate,
        p_value=p_value,
        df=fields["df"],
        test=tuple("McNemar, exact" if exact else "t test" for exact in fields["exact"]),
        scores=_scores(table, fit, confidence_level),
        order=value.set_axis(table.models).rename("order"),
        unit=versions.unit,
        topics=topics,
        topic_level=level,
        n_items=int(fit.used.sum()),
        n_clusters=int(fields["n_clusters"][0]),
        remarks=(
            *versions.notes,
            *remarks_of(table, fields, "none", 1),
            *_on_topics(level, confidence_level),
        ),
    )


def _about(table):
    """The rounding error, and whether McNemar's test applies if no answer is missing."""
    return table.rounding, table.is_binary and not table.is_clustered


def _in_order(table, versions, models=None):
    """The table with its versions in order, and their places."""
    place = versions.place.to_numpy()[versions.value.index.get_indexer(table.models)]
    if models is not None:
        positions = table.models.get_indexer(models)
    else:  # independent of names: of versions at the same place, the better comes last
        positions = np.lexsort((np.round(np.nanmean(table.scores, axis=0), 12), place))
    return table.of_models(positions), place[positions]


def _fields(scores, clusters, place, rounding, is_binary):
    """Slope and change with the inputs of their errors, and the fit of the scores."""
    clusters = np.unique(clusters, return_inverse=True)[1]
    least = np.nanmin(scores)
    fit = shared_item_scores(scores - least, clusters)
    contrasts = trend_contrasts(place)
    errors, skewness = contrast_errors(scores - least, clusters, fit, contrasts)
    # Rounding error of the sums.
    rounding = rounding * np.abs(contrasts).sum(axis=1)
    value = np.where(np.abs(errors.difference) <= rounding, 0.0, errors.difference)
    used = clusters[fit.used]
    both = [np.isfinite(scores[:, c != 0]).all(axis=1).sum() for c in contrasts[1:]]
    n = np.array([fit.used.sum(), *both])
    exact, wins = _exact(scores[fit.used], contrasts[1])
    fields = {
        "difference": value,
        "variance": errors.variance,
        "df": errors.df,
        "skewness": skewness,
        "n_items": n,
        "n_behind": np.where(n > 0, n, fit.used.sum()),
        "n_clusters": np.full(2, np.unique(used).size),
        "related": np.ones(2, dtype=bool),
        "exact": np.array([len(place) == 2, True]) & (exact and is_binary),
        "only_a": np.array([0, wins[0]]),
        "only_b": np.array([0, wins[1]]),
        "left": np.ones(2),
        "constant": np.isfinite(errors.df) & ~(errors.variance > rounding**2),
        "contrasts": contrasts,
    }
    return fields, fit._replace(mean=fit.mean + least)


def _exact(scores, change):
    """Whether first and last version answered everything, and wins and losses of the last."""
    first, last = scores[:, change.argmin()], scores[:, change.argmax()]
    exact = np.count_nonzero(change) == 2 and bool(np.isfinite(first + last).all())
    return exact, (np.sum(last > first), np.sum(first > last))


def _inference(table, fields, level):
    """Interval ends and p-values, as for differences of two models."""
    variance = fields["variance"]
    if table.bounds is None:
        variance = np.where(fields["constant"], np.nan, variance)
    contrasts = fields["contrasts"]
    width = reach(contrasts, table.range_of_differences)
    low, high, p_value = intervals(fields | {"variance": variance}, level, width)
    if contrasts.shape[1] == 2:  # the slope is the change over its step
        step = contrasts[0].max()
        low[0], high[0], p_value[0] = step * low[1], step * high[1], p_value[1]
    return low, high, p_value


def _estimated(table, fields, confidence_level):
    """Slope and change as an `Estimate`, and their p-values."""
    low, high, p_value = _inference(table, fields, confidence_level)
    kind = "clusters, CR2" if table.is_clustered else "independent items"
    gaps = ", least squares on shared items" if np.any(table.n_answers == 0) else ""
    estimate = Estimate(
        value=fields["difference"],
        low=low,
        high=high,
        standard_error=np.sqrt(np.where(fields["constant"], np.nan, fields["variance"])),
        confidence_level=confidence_level,
        labels=_ROWS,
        method=f"slope of the mean of the items over {len(table.models)} versions ({kind}{gaps})",
        guarantee=UNLESS_SKEWED if table.bounds is None or table.is_clustered else ON_AVERAGE,
    )
    return estimate, p_value


def _of_topics(table, place, confidence_level):
    """One row per topic with Benjamini-Hochberg p-values, and the level of the intervals."""
    group_of_item = table.cluster_groups[table.clusters]
    mine = [np.flatnonzero(group_of_item == g) for g in range(table.n_groups)]
    about = _about(table)
    rows = [_one_topic(table.scores[i], table.clusters[i], place, about) for i in mine]
    p_value = np.array([_slope(table, fields, confidence_level)[2] for fields, _ in rows])
    level = multiplicity.false_coverage_level(p_value, confidence_level)
    adjusted, tested = p_value.copy(), np.isfinite(p_value)
    adjusted[tested] = false_discovery_control(p_value[tested])
    ends = np.array([_slope(table, fields, level)[:2] for fields, _ in rows])

    def column(name):
        return np.array([np.nan if fields is None else fields[name][0] for fields, _ in rows])

    known = column("constant") == 0
    topics = pd.DataFrame(
        {
            "slope": column("difference"),
            "low": ends[:, 0],
            "high": ends[:, 1],
            "standard_error": np.sqrt(np.where(known, column("variance"), np.nan)),
            "df": column("df"),
            "p_value": p_value,
            "adjusted_p": adjusted,
            "verdict": verdicts(ends[:, 0], ends[:, 1], p_value),
            "n_items": np.nan_to_num(column("n_items")).astype(int),
            "n_versions": [n for _, n in rows],
        },
        index=table.groups,
    )
    return topics, level


def _one_topic(scores, clusters, place, about):
    """The fields of a topic (None if its versions are not linked), and its number of versions."""
    present = np.isfinite(scores).any(axis=0)
    if np.unique(place[present]).size < 2:
        return None, int(present.sum())
    fields, fit = _fields(scores[:, present], clusters, place[present], *about)
    return (None if fit.component.any() else fields), int(present.sum())


def _slope(table, fields, level):
    """Interval ends and p-value of the slope of a topic, or nan."""
    if fields is None:
        return np.nan, np.nan, np.nan
    fields = fields | {"exact": fields["exact"][[0, 0]]}  # the change does not matter
    return tuple(x[0] for x in _inference(table, fields, level))


def _scores(table, fit, confidence_level):
    """Scores of the versions with simultaneous intervals."""
    variance = np.where(fit.variance <= table.rounding**2, 0.0, fit.variance)
    correlation = covariance_of_scores([fit], np.ones(len(fit.mean)))
    level = multiplicity.simultaneous_level(correlation, fit.df.min(), confidence_level)
    columns = (x[:, None] for x in (fit.mean, variance, fit.df))
    found = scores_of_models(
        table, *columns, level, exact=True
    )  # Wilson intervals near 1 would all miss
    method = f"{found.method}, all versions at once"
    return replace(found, method=method, confidence_level=confidence_level)


def _refuse_unlinked(table, fit):
    """Raise an error if no shared items link a version with the others."""
    sizes = np.bincount(fit.component)
    if len(sizes) > 1:
        name = table.models[int(np.argmin(sizes[fit.component]))]
        raise ValueError(
            f"Version {plain(name)!r} shares no items with some other versions, directly or "
            "through others, so they cannot be compared. Remove it."
        )


def _warn(table, fields, fit):
    """Warn of problems of the data."""
    warn_of_units(table)
    warn_of_missing_items(table, [fit])
    if skewed(table, fields).any():
        warn(f"Versions {SKEWED}.")
    if fields["constant"].any():
        warn(
            "Versions differ by the same amount on every item, so the standard error is unknown "
            "(nan)."
        )
    elif np.isnan(fields["variance"]).any():
        few = "are in one cluster" if table.is_clustered else "are linked by a single item"
        warn(f"Versions {few}, so the standard error is unknown (nan).")


def _warn_of_unknown(topics):
    lacking = topics.index[topics["slope"].isna()]
    if len(lacking):
        warn(
            f"In {len(lacking)} of {len(topics)} topics, such as {as_text(lacking[0])!r}, versions "
            "share no items, so the slopes are unknown (nan)."
        )


def _on_topics(level, confidence_level):
    if np.isfinite(level):
        yield (
            f"Intervals of topics have confidence level {100 * level:.4g}%, so that they exclude 0 "
            f"if and only if the adjusted p-value is at most {1 - confidence_level:.4g}."
        )
