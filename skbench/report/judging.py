"""What `skbench judge` estimates from judged and labeled rows, and its tables."""

import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from skbench import EmpiricalBayes, Estimate
from skbench._numbers import score_form
from skbench._printed import NUMBERS
from skbench._warnings import warn
from skbench.items.ranges import bounds_of, different_units, scale_in_words
from skbench.ppi import ChainRulePPI, ClassicalMean, GroupedPPI, PPIMean
from skbench.ppi.agreement import mean_estimator
from skbench.report import tables
from skbench.report.table import Column, Table
from skbench.report.terminal import note

_FEWEST_GROUPS = 10  # with a label; fewer say too little of the spread between groups


def warn_of_units(data, columns):
    """Scores that look like shares beside labels that look like percents, or the reverse."""
    if data.has_words:
        return
    given = {columns["judge"]: data.scores, columns["human"]: data.human}
    told = different_units({name: np.nanmax(np.abs(x), initial=0) for name, x in given.items()})
    if told is not None:
        warn(told)


def known_bounds(data, given):
    """Range of the labels: given, or that of a scale that they show, which is said."""
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
    """Rows of numbers, the estimate that they come from, and the table for people."""
    if data.groups is None:
        rows, estimate = _of_all(data, bounds, confidence_level)
        return rows, estimate, _one_table(rows, estimate, columns["judge"])
    rows, estimate = _of_groups(data, bounds, confidence_level, seed)
    return rows, estimate, _group_table(rows, estimate, columns["judge"])


def _estimator(data, bounds):
    """The method for these rows: exact where each of few verdicts has labels enough."""
    found = mean_estimator(data.verdicts, data.human, _is_binary(data), data.clusters, data.groups)
    return found.set_params(bounds=bounds) if "bounds" in found.get_params() else found


def _is_binary(data):
    return bool(np.isin(data.human[data.labeled], (0, 1)).all())


def _scores_for(estimator, data):
    return data.verdicts if isinstance(estimator, ChainRulePPI) else data.numeric


def _of_all(data, bounds, confidence_level):
    """One row of numbers, and the estimate they come from."""
    estimator = _estimator(data, bounds)
    estimator.fit(_scores_for(estimator, data), data.human, cluster=data.clusters)
    estimate = estimator.estimate(confidence_level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would say the same again
        alone = ClassicalMean(bounds=bounds).fit(data.verdicts, data.human, cluster=data.clusters)
        alone = alone.estimate(confidence_level)
    columns = {
        "group": [None],
        "n_rows": [len(data.human)],
        "n_labeled": [int(data.labeled.sum())],
        "judge": [pd.Series(data.scores).mean()],
        "labels_only": alone.value,
        "labels_only_low": alone.low,
        "labels_only_high": alone.high,
    }
    bias = _bias(data, bounds, None, confidence_level)
    return _table(columns, estimate, [estimator.effective_sample_size_], bias, data), estimate


def _bias(data, bounds, seed, confidence_level):
    """Mean of score minus label, to which scores of rows without a label add; or None."""
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
        warnings.simplefilter("ignore")  # it would say the same again
        estimator.fit(data.numeric, data.scores - data.human, cluster=data.clusters, **groups)
    return estimator.estimate(confidence_level)


def _of_groups(data, bounds, confidence_level, seed):
    """One row of numbers per group, and the estimate they come from."""
    rows = pd.DataFrame({"group": data.groups, "score": data.scores, "human": data.human})
    by_group = rows.groupby("group", sort=True)
    n_labeled = by_group["human"].count()
    shrinks = (n_labeled > 0).sum() >= _FEWEST_GROUPS
    estimator = _estimator(data, bounds)
    if shrinks and not isinstance(estimator, ClassicalMean):
        estimator = PPIMean(bounds=bounds)
    # The table tells of groups without labels.
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
    # Drawn to other groups, an estimate is no longer paired with the labels of its own.
    bias = None if shrinks else _bias(data, bounds, seed, confidence_level)
    return _table(columns, estimate, grouped.effective_sample_size_, bias, data), estimate


def _shrunk(grouped, bounds, confidence_level, seed):
    """Empirical Bayes on the corrected groups; those without a label are predicted."""
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
    """The numbers of a report, how far off the autorater is among them."""
    table = pd.DataFrame(columns)
    for name in NUMBERS:
        table[name] = getattr(estimate, name)
    comparable = _on_one_scale(data)
    table["bias"] = table["judge"] - table["value"] if comparable else np.nan
    if bias is not None:
        # Score and label are of the same answer, and vary together.
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
    """Whether scores lie within the range of the labels, and can be right or wrong."""
    labels = data.human[data.labeled]
    low, high = (0, 1) if _is_binary(data) else (labels.min(), labels.max())
    scores = data.scores[~np.isnan(data.scores)]
    return bool(scores.size and (scores >= low).all() and (scores <= high).all())


def _one_table(rows, estimate, judge):
    """A line for the autorater, the labels, both together, and their difference."""
    (row,) = rows.itertuples()
    only_labels = row.n_labeled == row.n_rows
    lines = [(f"{judge} says", row.judge, None, None)]
    if not only_labels:
        alone = row.labels_only, row.labels_only_low, row.labels_only_high
        lines.append(("labels alone say", *alone))
    lines.append(("labels say" if only_labels else "corrected", row.value, row.low, row.high))
    if not np.isnan(row.bias):
        lines.append((f"{judge} is off by", row.bias, row.bias_low, row.bias_high))
    form = score_form([row.judge, row.value, row.high])
    names, *numbers = zip(*lines, strict=True)
    ends = zip(("value", "low", "high"), numbers, strict=True)
    columns = [Column("", names), *(Column(name, cells, form) for name, cells in ends)]
    head = f"{judge} judged {row.n_rows:,} answers, of which {row.n_labeled:,} have a human label."
    worth = _worth(judge, row.effective_sample_size, row.n_labeled, only_labels)
    notes = ["", _how(estimate), worth]
    return Table(columns, [head, ""], tables.method_and_promise(estimate), notes)


def _group_table(rows, estimate, judge):
    """One line per group, and what the autorater is worth in all."""
    n_labeled = rows["n_labeled"]
    least, most = n_labeled.min(), n_labeled.max()
    each = f"{least}" if least == most else f"{least} to {most}"
    head = [
        f"{judge} judged {rows['n_rows'].sum():,} answers in {len(rows)} groups, of which "
        f"{n_labeled.sum():,} have a human label, {each} per group.",
        _how(estimate),
        "",
    ]
    shrunk = not np.allclose(rows["value"], rows["corrected"], equal_nan=True)
    notes = ["", *_on_groups(rows, shrunk)]
    effective = rows["effective_sample_size"]
    only_labels = bool((n_labeled == rows["n_rows"]).all())
    n_worth = n_labeled[effective.notna()].sum()
    notes.append(_worth(judge, effective.sum(min_count=1), n_worth, only_labels))
    promise = tables.method_and_promise(estimate)
    return Table(_group_columns(rows, judge, shrunk), head, promise, notes)


def _group_columns(rows, judge, shrunk):
    """The columns for people; narrow terminals lack the steps in between."""
    form = score_form(rows[["judge", "value", "high"]].to_numpy())
    columns = [
        Column("group", rows["group"]),
        Column("answers", rows["n_rows"], ",d", narrow=False),
        Column("labels", rows["n_labeled"], ",d"),
        Column(judge, rows["judge"], form),
        Column("labels alone", rows["labels_only"], form, narrow=False),
        Column("corrected", rows["corrected"], form, narrow=not shrunk),
    ]
    ends = {"estimate": "value", "low": "low", "high": "high", "off by": "bias"}
    if not shrunk:
        ends.pop("estimate")  # is the corrected one
    if rows["bias"].isna().all():
        ends.pop("off by")
    return [*columns, *(Column(heading, rows[name], form) for heading, name in ends.items())]


def _on_groups(rows, shrunk):
    """How far groups learn from one another, and which have no label."""
    has_label = rows["n_labeled"] > 0
    if shrunk:
        width = rows["high"] - rows["low"]
        alone = rows["corrected_high"] - rows["corrected_low"]
        yield (
            f"Intervals are on average {width[has_label].mean() / alone.mean():.2f} times as wide "
            "as those of each group corrected by itself (column corrected)."
        )
    elif len(rows) > 1:
        yield f"Fewer than {_FEWEST_GROUPS} groups with labels: each is corrected by itself alone."
    if not has_label.all():
        known = "estimated from what the autorater says of it" if shrunk else "without an estimate"
        yield f"Groups without a human label: {int((~has_label).sum())}, each {known}."


def _how(estimate):
    return f"Estimated by {estimate.method}. {tables.promise(estimate).capitalize()}."


def _worth(judge, effective, n_labeled, only_labels):
    """How many labels the autorater saved, in a sentence."""
    if only_labels:
        return (
            f"Every answer that {judge} judged has a human label, so the labels say it all, and "
            f"{judge} was only checked against them."
        )
    if np.isnan(effective):
        return f"What {judge} is worth cannot be told from so few labels."
    saved = effective - n_labeled
    if saved < 1:
        return f"{judge} saved no labels: the {n_labeled:,} there are say as much without it."
    return (
        f"{judge} saved {saved:,.0f} labels: without it, {effective:,.0f} would be needed for "
        f"these standard errors, and there are {n_labeled:,}."
    )
