"""Mean costs of models for `tradeoff`, with the variances of their differences."""

from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import plain, require_columns
from skbench._warnings import warn
from skbench.comparison._pairs import mean_pair_table
from skbench.containers import UNLESS_SKEWED, Estimate
from skbench.items.rows import SCORE, as_frame, collected, with_score
from skbench.items.tables import score_table
from skbench.stats.intervals.group_means import mean_of_groups
from skbench.stats.ranking.frontier import skewed_ends


class Costs(NamedTuple):
    """Mean costs of models, in the form that `skbench.stats.frontier.dominance` needs."""

    estimate: Estimate
    influence: np.ndarray  # (n_clusters, n_models)
    variance: np.ndarray  # (n_models, n_models), of differences
    df: np.ndarray
    fixed: np.ndarray  # (n_models,), whether the cost is the same on all items


def cost_table(items, cost, *, model, **names):
    """Return a `ScoreTable` of the costs, from the rows that have one."""
    frame = as_frame(items)
    require_columns(frame.collect_schema().names(), [cost, model])
    if not frame.collect_schema()[cost].is_numeric():
        _refuse_text(frame, cost, model, names["item"])
    frame = with_score(frame, cost)
    absent = nw.col(SCORE).is_null() | nw.col(SCORE).is_nan()
    flags = frame.select(
        absent.cast(nw.Float64).sum().alias("absent"),
        ((nw.col(SCORE) < 0) | (nw.col(SCORE) == np.inf)).cast(nw.Float64).sum().alias("invalid"),
        nw.len().alias("rows"),
    )
    n_absent, n_invalid, n_rows = collected(flags).iloc[0]
    if n_invalid:
        values = collected(frame.select(SCORE))[SCORE]
        first = np.argmax((values < 0) | (values == np.inf))
        raise ValueError(
            f"{n_invalid:.0f} of {n_rows:.0f} values of {cost!r} are negative or infinite, such as "
            f"{_cell(frame, first, cost, model, names['item'])}. Leave unknown costs empty. Change "
            "the sign if higher values are better."
        )
    if n_absent == n_rows:
        raise ValueError(f"Column {cost!r} has no values. Pass another column as cost=.")
    if n_absent:
        warn(
            f"{n_absent:.0f} of {n_rows:.0f} rows have no {cost!r} and count only in the scores. "
            "If these answers failed or timed out, mean costs are too low."
        )
    rows = nw.to_native(frame.filter(~absent).drop(SCORE))
    table = score_table(rows, model=model, score=cost, bounds=(-np.inf, np.inf), **names)
    if not np.nan_to_num(table.scores).any():
        raise ValueError(
            f"All values of {cost!r} are 0, so there are no costs to compare. Pass another column "
            "as cost=."
        )
    _warn_of_zeros(table, cost)
    return table


def _refuse_text(frame, cost, model, item):
    """Raise an error that names the first cell without a number."""
    values = collected(frame.select(cost))[cost]
    bad = values.notna() & pd.to_numeric(values, errors="coerce").isna()
    if not bad.any():
        raise ValueError(f"Column {cost!r} has numbers as text. Convert it, as by astype(float).")
    raise ValueError(
        f"{cost!r} must be numeric, but has {_cell(frame, np.argmax(bad), cost, model, item)}. "
        "Write costs in one unit, without currency or thousands separators. Leave unknown costs "
        "empty."
    )


def _cell(frame, row, cost, model, item):
    """A cost and its row, model and item, as text."""
    names = list(dict.fromkeys([model, item, cost]))
    found = collected(frame.select(names)).iloc[row]
    return (
        f"{plain(found[cost])!r} in row {row} (model {plain(found[model])!r}, item "
        f"{plain(found[item])!r})"
    )


def _warn_of_zeros(table, cost):
    """Warn if only some costs of a model are 0."""
    zero, answered = np.sum(table.scores == 0, axis=0), np.sum(table.n_answers > 0, axis=0)
    partly = (zero > 0) & (zero < answered)
    if partly.any():
        m = int(np.argmax(partly))
        warn(
            f"{partly.sum()} of {len(partly)} models have a {cost!r} of 0 on some items, but not "
            f"on all, such as {plain(table.models[m])!r} ({zero[m]} of {answered[m]}). If these "
            "answers came from a cache or failed, leave their costs empty."
        )


def _warn_of_constants(models, fixed):
    """Warn if the costs of some models vary and those of others do not."""
    if fixed.any() and not fixed.all():
        name = plain(models[int(np.argmax(fixed))])
        warn(
            f"{fixed.sum()} of {len(fixed)} models, such as {name!r}, have the same cost on all "
            "items. It is taken as known exactly. If it is not a list price, rare expensive "
            "answers may be missing and verdicts on these models may be wrong."
        )


def costs_of(table, confidence_level, unrelated=False):
    """Return the `Costs` of a table; if `unrelated`, models need not share items."""
    pairs = mean_pair_table(table, unrelated)
    fits, n_topics = pairs.fits, len(pairs.fits)
    mean, own, own_df = _own(table, fits)
    influence = np.concatenate([np.nan_to_num(fit.influence) for fit in fits]) / n_topics
    # Keep a list price exact; least squares would change it if other models lack answers.
    present = np.where(np.isnan(table.scores), np.inf, table.scores)
    price = present.min(axis=0, initial=np.inf)
    fixed = np.nanmax(table.scores, axis=0) - price <= table.rounding
    fixed &= np.sum(table.n_answers > 0, axis=0) > 1
    _warn_of_constants(table.models, fixed)
    mean, own = np.where(fixed, price, mean), np.where(fixed, 0.0, own)
    own_df, influence = np.where(fixed, np.inf, own_df), np.where(fixed, 0.0, influence)
    either = fixed[:, None] | fixed
    # Equal differences do not show how other items would vary.
    variance = np.where(pairs.variance[0] > table.rounding**2, pairs.variance[0], np.nan)
    variance = np.where(either, own[:, None] + own, variance)
    low, high = skewed_ends(mean, own, influence, own_df, confidence_level)
    what = "mean of the items" if n_topics == 1 else f"mean of {n_topics} topics"
    what += ", clusters, CR2" if table.is_clustered else ", t"
    estimate = Estimate(
        value=mean,
        low=np.maximum(low, 0.0),
        high=high,
        standard_error=np.sqrt(own),
        confidence_level=confidence_level,
        labels=table.models,
        method=f"{what} with skewness correction",
        guarantee=UNLESS_SKEWED,
    )
    df = np.where(either, np.minimum(own_df[:, None], own_df), pairs.df[0])
    return Costs(estimate, influence, variance, df, fixed)


def _own(table, fits):
    """Mean, variance and degrees of freedom of each model's cost."""
    names = "mean", "variance", "df"
    mean, variance, df = (np.stack([getattr(fit, x) for fit in fits]) for x in names)
    if len(mean) == 1:
        return mean[0], variance[0], df[0]
    n = table.group_sums(table.n_answers > 0)
    groups = zip(variance, np.maximum(n, 1), df, np.ones(len(n)), strict=True)
    variance = mean_of_groups(groups).variance
    return mean.mean(axis=0), variance, np.where(np.isfinite(variance), np.inf, np.nan)
