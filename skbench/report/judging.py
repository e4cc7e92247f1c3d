"""Estimates and tables of `skbench judge`."""

import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from skbench import EmpiricalBayes, Estimate
from skbench._numbers import number, score_form
from skbench._printed import NUMBERS
from skbench._warnings import warn
from skbench.items.ranges import bounds_of, different_units, scale_in_words
from skbench.ppi import ChainRulePPI, ClassicalMean, GroupedPPI, PPIMean
from skbench.ppi.agreement import mean_estimator
from skbench.report import tables
from skbench.report.table import Column, Table
from skbench.report.terminal import note

_FEWEST_GROUPS = 10  # labeled groups needed to estimate the variance between groups


def warn_of_units(data, columns):
    """Warn if scores look like shares and labels like percents, or the reverse."""
    if data.has_words:
        return
    given = {columns["judge"]: data.scores, columns["human"]: data.human}
    text = different_units({name: np.nanmax(np.abs(x), initial=0) for name, x in given.items()})
    if text is not None:
        warn(text)


def known_bounds(data, given):
    """Return the range of the labels, given or detected; note a detected scale."""
    labels = data.human[data.labeled]
    if given is not None:
        return bounds_of(labels, given=given)
    scores = [] if data.has_words else [data.scores]
    bounds = bounds_of(labels, *scores) or bounds_of(labels)
    scale = scale_in_words(bounds)
    if scale is not None:
        note(f"{scale.rstrip('.')} (--bounds)")
    return bounds


def estimated(data, columns, bounds, confidence_level, seed):
    """Return rows of numbers, the estimate behind them, and the table to print."""
    if data.groups is None:
        rows, estimate = _of_all(data, bounds, confidence_level)
        return rows, estimate, _one_table(rows, estimate, columns["judge"])
    rows, estimate = _of_groups(data, bounds, confidence_level, seed)
    return rows, estimate, _group_table(rows, estimate, columns["judge"])


def _estimator(data, bounds):
    """Return the method: the chain rule if each of few verdicts has enough labels."""
    found = mean_estimator(data.verdicts, data.human, _is_binary(data), data.clusters, data.groups)
    return found.set_params(bounds=bounds) if "bounds" in found.get_params() else found


def _is_binary(data):
    return bool(np.isin(data.human[data.labeled], (0, 1)).all())


def _scores_for(estimator, data):
    return data.verdicts if isinstance(estimator, ChainRulePPI) else data.numeric


def _of_all(data, bounds, confidence_level):
    """Return one row of numbers, and the estimate behind it."""
    estimator = _estimator(data, bounds)
    estimator.fit(_scores_for(estimator, data), data.human, cluster=data.clusters)
    estimate = estimator.estimate(confidence_level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same warnings were raised above
        direct = ClassicalMean(bounds=bounds).fit(data.verdicts, data.human, cluster=data.clusters)
        direct = direct.estimate(confidence_level)
    columns = {
        "group": [None],
        "n_rows": [len(data.human)],
        "n_labeled": [int(data.labeled.sum())],
        "judge": [pd.Series(data.scores).mean()],
        "labels_only": direct.value,
        "labels_only_low": direct.low,
        "labels_only_high": direct.high,
    }
    bias = _bias(data, bounds, None, confidence_level)
    return _table(columns, estimate, [estimator.effective_sample_size_], bias, data), estimate


def _bias(data, bounds, seed, confidence_level):
    """Return the estimate of the mean of score minus label, or None."""
    if data.has_words or not _on_one_scale(data):
        return None
    if bounds is not None:
        bounds = bounds[0] - bounds[1], bounds[1] - bounds[0]
    if data.labeled.all():
        estimator = ClassicalMean("t", bounds=bounds)
    else:
        estimator = PPIMean(bounds=bounds)
    groups = {}
    if data.groups is not None:
        estimator, groups = GroupedPPI(estimator, random_state=seed), {"by": data.groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same warnings were raised before
        estimator.fit(data.numeric, data.scores - data.human, cluster=data.clusters, **groups)
    return estimator.estimate(confidence_level)


def _of_groups(data, bounds, confidence_level, seed):
    """Return one row of numbers per group, and the estimate behind them."""
    rows = pd.DataFrame({"group": data.groups, "score": data.scores, "human": data.human})
    by_group = rows.groupby("group", sort=True)
    n_labeled = by_group["human"].count()
    shrinks = (n_labeled > 0).sum() >= _FEWEST_GROUPS
    estimator = _estimator(data, bounds)
    if shrinks and not isinstance(estimator, ClassicalMean):
        estimator = PPIMean(bounds=bounds)
    # The table counts groups without labels.
    warnings.filterwarnings("ignore", message=".* have no human label")
    grouped = GroupedPPI(estimator, random_state=seed)
    X = _scores_for(estimator, data)
    grouped.fit(X, data.human, data.groups, cluster=data.clusters)
    corrected = estimate = grouped.estimate(confidence_level)
    if shrinks:
        estimate = _shrunk(grouped, bounds, confidence_level, seed)
    columns = {
        "group": n_labeled.index,
        "n_rows": by_group.size().to_numpy(),
        "n_labeled": n_labeled.to_numpy(),
        "judge": by_group["score"].mean().to_numpy(),
        "labels_only": by_group["human"].mean().to_numpy(),
        "corrected": corrected.value,
        "corrected_low": corrected.low,
        "corrected_high": corrected.high,
    }
    # A shrunken estimate is no longer paired with the labels of its own group.
    bias = None if shrinks else _bias(data, bounds, seed, confidence_level)
    return _table(columns, estimate, grouped.effective_sample_size_, bias, data), estimate


def _shrunk(grouped, bounds, confidence_level, seed):
    """Shrink the corrected groups by empirical Bayes; predict those without a label."""
    eb = EmpiricalBayes(LinearRegression(), random_state=seed)
    known = eb.fit(**grouped.summary_.fit_args).estimate(confidence_level)
    value, low, high, error = np.full((4, len(grouped.labels_)), np.nan)
    labeled = grouped.n_labeled_ > 0
    value[labeled], low[labeled], high[labeled] = known.value, known.low, known.high
    error[labeled] = known.standard_error
    if not labeled.all():
        others = grouped.features_[~labeled]
        value[~labeled] = eb.predict(others)
        low[~labeled], high[~labeled] = eb.predict_interval(
            others, confidence_level=confidence_level
        ).T
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        standard_error=error,
        confidence_level=confidence_level,
        labels=grouped.labels_,
        method=f"{known.method} on {grouped.estimator_._method}",
        guarantee=known.guarantee,
    )
    return estimate if bounds is None else estimate.within(*bounds)


def _table(columns, estimate, effective_sample_size, bias, data):
    """Return all numbers, with the bias of the judge."""
    table = pd.DataFrame(columns)
    for name in NUMBERS:
        table[name] = getattr(estimate, name)
    comparable = _on_one_scale(data)
    table["bias"] = table["judge"] - table["value"] if comparable else np.nan
    if bias is not None:
        # The interval is that of score minus label, because both rate the same answer.
        low, high = (table["bias"] + end - bias.value for end in (bias.low, bias.high))
        cut = (-1, 1) if _is_binary(data) else (None, None)
        table["bias_low"], table["bias_high"] = low.clip(*cut), high.clip(*cut)
    else:
        unknown = 0 if comparable else np.nan
        table["bias_low"] = table["judge"] - table["high"] + unknown
        table["bias_high"] = table["judge"] - table["low"] + unknown
    table["effective_sample_size"] = effective_sample_size
    return table


def _on_one_scale(data):
    """Whether all scores lie within the range of the labels."""
    labels = data.human[data.labeled]
    low, high = (0, 1) if _is_binary(data) else (labels.min(), labels.max())
    scores = data.scores[~np.isnan(data.scores)]
    return bool(scores.size and (scores >= low).all() and (scores <= high).all())


def _one_table(rows, estimate, judge):
    """Return a table with rows for the judge, the labels, the corrected mean and the bias."""
    (row,) = rows.itertuples()
    only_labels = row.n_labeled == row.n_rows
    lines = [(f"LLM judge {judge}", row.judge, None, None)]
    if not only_labels:
        direct = row.labels_only, row.labels_only_low, row.labels_only_high
        lines.append(("human labels only", *direct))
    best = "human labels" if only_labels else "judge corrected by labels"
    lines.append((best, row.value, row.low, row.high))
    if not np.isnan(row.bias):
        lines.append(("bias of the judge", row.bias, row.bias_low, row.bias_high))
    form = score_form([row.judge, row.value, row.high])
    names, *numbers = zip(*lines, strict=True)
    ends = zip(("value", "low", "high"), numbers, strict=True)
    columns = [Column("", names), *(Column(name, cells, form) for name, cells in ends)]
    value, low, high = (number(x, form) for x in (row.value, row.low, row.high))
    level = f"{100 * estimate.confidence_level:g}%"
    conclusion = [
        f"The estimated mean human label of all {row.n_rows:,} answers is {value} "
        f"({level} interval {low} to {high}).",
        f"The LLM judge {judge} scored all of them, and {row.n_labeled:,} have a human label.",
    ]
    worth = _worth(judge, row.effective_sample_size, row.n_labeled, only_labels)
    promise = tables.method_and_promise(estimate)
    return Table(columns, promise=promise, notes=[worth], conclusion=conclusion)


def _group_table(rows, estimate, judge):
    """Return a table with one row per group."""
    n_labeled = rows["n_labeled"]
    least, most = n_labeled.min(), n_labeled.max()
    each = f"{least}" if least == most else f"{least} to {most}"
    conclusion = [
        f"The LLM judge {judge} scored {rows['n_rows'].sum():,} answers in {len(rows)} groups. "
        f"{n_labeled.sum():,} of them have a human label, {each} per group.",
    ]
    shrunk = not np.allclose(rows["value"], rows["corrected"], equal_nan=True)
    notes = [*_on_groups(rows, shrunk)]
    effective = rows["effective_sample_size"]
    only_labels = bool((n_labeled == rows["n_rows"]).all())
    n_worth = n_labeled[effective.notna()].sum()
    notes.append(_worth(judge, effective.sum(min_count=1), n_worth, only_labels))
    promise = tables.method_and_promise(estimate)
    columns = _group_columns(rows, judge, shrunk)
    return Table(columns, promise=promise, notes=notes, conclusion=conclusion)


def _group_columns(rows, judge, shrunk):
    """Return the columns to print; narrow terminals skip intermediate steps."""
    form = score_form(rows[["judge", "value", "high"]].to_numpy())
    columns = [
        Column("group", rows["group"]),
        Column("answers", rows["n_rows"], ",d", narrow=False),
        Column("human\nlabels", rows["n_labeled"], ",d"),
        Column("LLM\njudge", rows["judge"], form),
        Column("human\nlabels\nonly", rows["labels_only"], form, narrow=False),
        Column("judge\ncorrected\nby labels", rows["corrected"], form, narrow=not shrunk),
    ]
    ends = {"shrunken\nestimate": "value", "low": "low", "high": "high", "bias of\njudge": "bias"}
    if not shrunk:
        ends.pop("shrunken\nestimate")  # it equals the corrected one
    if rows["bias"].isna().all():
        ends.pop("bias of\njudge")
    return [*columns, *(Column(heading, rows[name], form) for heading, name in ends.items())]


def _on_groups(rows, shrunk):
    """Describe the effect of shrinkage, and count groups without labels."""
    has_label = rows["n_labeled"] > 0
    if shrunk:
        width = rows["high"] - rows["low"]
        separate = rows["corrected_high"] - rows["corrected_low"]
        ratio = width[has_label].mean() / separate.mean()
        yield f"Shrinkage makes intervals on average {ratio:.2f} times as wide."
    elif len(rows) > 1:
        yield (
            f"Fewer than {_FEWEST_GROUPS} groups have labels, so each estimate uses only the "
            "labels of its own group."
        )
    if not has_label.all():
        known = "predicted from the judge's scores" if shrunk else "skipped"
        yield f"Groups without a human label ({known}): {int((~has_label).sum())}."


def _worth(judge, effective, n_labeled, only_labels):
    """Describe how many labels the judge saves."""
    if only_labels:
        return (
            f"All answers have a human label, so the estimate does not use the LLM judge {judge}."
        )
    if np.isnan(effective):
        return f"There are too few labels to estimate how many labels the LLM judge {judge} saves."
    saved = effective - n_labeled
    if saved < 1:
        return (
            f"The LLM judge {judge} saves no labels. The {n_labeled:,} human labels alone give "
            "the same standard error."
        )
    return (
        f"The LLM judge {judge} saves {saved:,.0f} labels. Without the judge, the same standard "
        f"error requires {effective:,.0f} human labels instead of {n_labeled:,}."
    )
