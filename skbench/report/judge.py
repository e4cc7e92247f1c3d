"""`skbench judge`: what an autorater says, and what is true by a few human labels."""

import warnings

import click
import numpy as np
import pandas as pd

from skbench.report import tables
from skbench.report.formats import format_options, print_form
from skbench.report.labeled_rows import read_judged
from skbench.report.markup import Cells
from skbench.report.options import Names, level_option
from skbench.report.terminal import in_one_line, print_prose, print_table, working

_FEWEST_GROUPS = 10  # with a label; fewer say too little of the spread between groups


@click.command()
@click.argument("file")
@click.option(
    "--judge",
    required=True,
    help="Column of the autorater: scores or verdicts; several for --card.",
)
@click.option("--human", required=True, help="Column of human labels, blank where there is none.")
@click.option("--by", type=Names(), help="Column(s) of groups: correct each by itself.")
@click.option("--labels", help="A second file that has the human labels.")
@click.option("--id", "ids", type=Names(), help="Column(s) by which to join it.")
@click.option("--cluster", help="Column of clusters: answers in one are not independent.")
@click.option("--event", help="The verdict and label that counts, where there are others than yes.")
@click.option(
    "--card", is_flag=True, help="How far judges agree with people, and how many they are."
)
@click.option("--first", help="For --card: column that says who of two was shown first.")
@level_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@format_options
def judge(file, confidence_level, seed, form, escape_formulas, card, first, **columns):
    """Correct the verdicts of an autorater in FILE by human labels of some rows.

    FILE is CSV, TSV, JSON Lines or Parquet, one row per answer: a column of verdicts
    (numbers, or words such as y, n and u) and, in the same file or another, human
    labels of a random part of them. With --by every group is corrected by itself; ten
    groups or more are drawn to what the autorater predicts for them, as far as they
    agree.

    With --card: kappa, alpha, TPR, TNR, bias and calibration of one or several judges
    (--judge a,b), how many independent ones they are worth, and their best vote.
    """
    if not card and first:
        raise click.UsageError("--first goes with --card.")
    if (columns["labels"] is None) != (columns["ids"] is None):
        raise click.UsageError("--labels and --id go together.")
    if card:
        with in_one_line():
            from skbench.report.card import print_card

            names = Names().convert(columns["judge"], None, None)
            columns |= {"first": first, "escape_formulas": escape_formulas}
            print_card(file, names, columns, confidence_level, seed, form)
        return
    with in_one_line():
        data = read_judged(file, **columns)
        _warn_of_units(data, columns)
        with working("estimating"):
            if data.groups is None:
                table, estimate = _of_all(data, confidence_level)
            else:
                table, estimate = _of_groups(data, confidence_level, seed)
        if form != "text":
            head = {"judge": columns["judge"], "human": columns["human"]}
            cells = _cells(table, columns["judge"], data.groups is not None)
            print_form(form, table, estimate, head, "groups", cells, escape_formulas)
        elif data.groups is None:
            _print_one(table.iloc[0], estimate, columns)
        else:
            _print_groups(table, estimate, columns)


def _warn_of_units(data, columns):
    """Scores that look like shares beside labels that look like percents, or the reverse."""
    from skbench.items.ranges import unlike_units

    if data.has_words:
        return
    given = {columns["judge"]: data.scores, columns["human"]: data.human}
    told = unlike_units({name: np.nanmax(np.abs(x), initial=0) for name, x in given.items()})
    if told is not None:
        warnings.warn(told, stacklevel=2)


def _estimator(data):
    """The method for these rows: exact where each of few verdicts has labels enough."""
    from skbench.ppi.agreement import mean_estimator

    discrete = _is_binary(data)
    return mean_estimator(data.verdicts, data.human, discrete, data.clusters, data.groups)


def _is_binary(data):
    return bool(np.isin(data.human[data.labeled], (0, 1)).all())


def _scores_for(estimator, data):
    from skbench.ppi import ChainRulePPI

    return data.verdicts if isinstance(estimator, ChainRulePPI) else data.numeric


def _of_all(data, confidence_level):
    """One row of numbers, and the estimate they come from."""
    from skbench.ppi import ClassicalMean

    estimator = _estimator(data)
    estimator.fit(_scores_for(estimator, data), data.human, clusters=data.clusters)
    estimate = estimator.estimate(confidence_level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would say the same again
        alone = ClassicalMean().fit(data.verdicts, data.human, clusters=data.clusters)
        alone = alone.estimate(confidence_level)
    columns = {
        "group": [None],
        "n_rows": [len(data.human)],
        "n_labeled": [int(data.labeled.sum())],
        "judge": [_mean_score(data.scores)],
        "labels_alone": alone.value,
        "labels_alone_low": alone.low,
        "labels_alone_high": alone.high,
    }
    bias = _bias(data, None, confidence_level)
    return _table(columns, estimate, [estimator.effective_sample_size_], bias, data), estimate


def _bias(data, seed, confidence_level):
    """Mean of score minus label, to which scores of rows without a label add; or None."""
    from skbench.ppi import ClassicalMean, GroupedPPI, PPIMean

    if data.has_words or not _on_one_scale(data):
        return None
    bounds = (-1, 1) if _is_binary(data) else None
    if data.labeled.all():
        estimator = ClassicalMean("t", bounds=bounds)
    else:
        estimator = PPIMean(bounds=bounds)
    groups = {}
    if data.groups is not None:
        estimator, groups = GroupedPPI(estimator, random_state=seed), {"groups": data.groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would say the same again
        estimator.fit(data.numeric, data.scores - data.human, clusters=data.clusters, **groups)
    return estimator.estimate(confidence_level)


def _of_groups(data, confidence_level, seed):
    """One row of numbers per group, and the estimate they come from."""
    from skbench.ppi import ClassicalMean, GroupedPPI, PPIMean

    rows = pd.DataFrame({"group": data.groups, "score": data.scores, "human": data.human})
    by_group = rows.groupby("group", sort=True)
    n_labeled = by_group["human"].count()
    shrinks = (n_labeled > 0).sum() >= _FEWEST_GROUPS
    estimator = _estimator(data)
    if shrinks and not isinstance(estimator, ClassicalMean):
        estimator = PPIMean()
    # The table tells of groups without labels.
    warnings.filterwarnings("ignore", message=".* have no human label")
    grouped = GroupedPPI(estimator, random_state=seed)
    X = _scores_for(estimator, data)
    grouped.fit(X, data.human, data.groups, clusters=data.clusters)
    corrected = estimate = grouped.estimate(confidence_level)
    if shrinks:
        estimate = _shrunk(grouped, _is_binary(data), confidence_level, seed)
    columns = {
        "group": n_labeled.index,
        "n_rows": by_group.size().to_numpy(),
        "n_labeled": n_labeled.to_numpy(),
        "judge": by_group["score"].mean().to_numpy(),
        "labels_alone": by_group["human"].mean().to_numpy(),
        "corrected": corrected.value,
        "corrected_low": corrected.low,
        "corrected_high": corrected.high,
    }
    # Drawn to other groups, an estimate is no longer paired with the labels of its own.
    bias = None if shrinks else _bias(data, seed, confidence_level)
    return _table(columns, estimate, grouped.effective_sample_size_, bias, data), estimate


def _shrunk(grouped, is_binary, confidence_level, seed):
    """Empirical Bayes on the corrected groups; those without a label are predicted."""
    from sklearn.linear_model import LinearRegression

    from skbench import EmpiricalBayes, Estimate

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
    cut = (0, 1) if is_binary else (-np.inf, np.inf)
    return Estimate(
        value=np.clip(value, *cut),
        low=np.clip(low, *cut),
        high=np.clip(high, *cut),
        standard_error=error,
        confidence_level=confidence_level,
        labels=grouped.labels_,
        method=f"{known.method} on {grouped.estimator_._method}",
        guarantee=known.guarantee,
    )


def _table(columns, estimate, effective_sample_size, bias, data):
    """The numbers of a report, how far off the autorater is among them."""
    table = pd.DataFrame(columns)
    for name in ("value", "low", "high"):
        table["estimate" if name == "value" else name] = getattr(estimate, name)
    table["standard_error"] = estimate.standard_error
    comparable = _on_one_scale(data)
    table["bias"] = table["judge"] - table["estimate"] if comparable else np.nan
    for name, end, other in (("bias_low", "low", "high"), ("bias_high", "high", "low")):
        if bias is not None:
            # Score and label are of the same answer, and vary together.
            table[name] = table["bias"] + getattr(bias, end) - bias.value
            if _is_binary(data):
                table[name] = table[name].clip(-1, 1)
        else:
            table[name] = table["judge"] - table[other] if comparable else np.nan
    table["effective_sample_size"] = effective_sample_size
    return table


def _on_one_scale(data):
    """Whether scores lie within the range of the labels, and can be right or wrong."""
    labels = data.human[data.labeled]
    low, high = (0, 1) if _is_binary(data) else (labels.min(), labels.max())
    scores = data.scores[~np.isnan(data.scores)]
    return bool(scores.size and (scores >= low).all() and (scores <= high).all())


def _mean_score(scores):
    known = scores[~np.isnan(scores)]
    return known.mean() if known.size else np.nan


def _print_one(row, estimate, columns):
    """What the autorater says, what is true, how far apart they are, what it is worth."""
    judge = columns["judge"]
    print_prose(
        f"{judge} judged {row.n_rows:,} answers, of which {row.n_labeled:,} have a human label.\n"
    )
    print_table(tables.plain_table(*_one_cells(row, judge)))
    click.echo()
    print_prose(f"{_how(estimate)}. {tables.promise(estimate).capitalize()}.")
    only_labels = row.n_labeled == row.n_rows
    print_prose(_worth(judge, row.effective_sample_size, row.n_labeled, only_labels))


def _one_cells(row, judge):
    """A line for the autorater, the labels, both together, and their difference."""
    only_labels = row.n_labeled == row.n_rows
    lines = [(f"{judge} says", (row.judge,))]
    if not only_labels:
        lines.append(
            ("labels alone say", (row.labels_alone, row.labels_alone_low, row.labels_alone_high))
        )
    name = "labels say" if only_labels else "corrected"
    lines.append((name, (row.estimate, row.low, row.high)))
    if not np.isnan(row.bias):
        lines.append((f"{judge} is off by", (row.bias, row.bias_low, row.bias_high)))
    decimals = tables.decimals_for([row.judge, row.estimate, row.high])
    rows = [
        [name, *_numbers(numbers, decimals), *[""] * (3 - len(numbers))] for name, numbers in lines
    ]
    return Cells(["", "value", "low", "high"], rows, 1)


def _cells(table, judge, by_group):
    """The table for people, of all rows or of groups."""
    if not by_group:
        return _one_cells(table.iloc[0], judge)
    return _group_cells(table, judge, _is_shrunk(table))


def _is_shrunk(table):
    return not np.allclose(table["estimate"], table["corrected"], equal_nan=True)


def _print_groups(table, estimate, columns):
    """One line per group, and what the autorater is worth in all."""
    judge = columns["judge"]
    n_labeled = table["n_labeled"]
    least, most = n_labeled.min(), n_labeled.max()
    each = f"{least}" if least == most else f"{least} to {most}"
    print_prose(
        f"{judge} judged {table['n_rows'].sum():,} answers in {len(table)} groups, of which "
        f"{n_labeled.sum():,} have a human label, {each} per group."
    )
    print_prose(f"{_how(estimate)}. {tables.promise(estimate).capitalize()}.\n")
    shrunk = _is_shrunk(table)
    only_labels = bool((n_labeled == table["n_rows"]).all())
    print_table(
        *(
            tables.plain_table(*_group_cells(table, judge, shrunk, narrow))
            for narrow in (False, True)
        )
    )
    if shrunk:
        width, alone = (
            table["high"] - table["low"],
            table["corrected_high"] - table["corrected_low"],
        )
        ratio = width[n_labeled > 0].mean() / alone.mean()
        print_prose(
            f"\nIntervals are on average {ratio:.2f} times as wide as those of each group "
            "corrected by itself (column corrected)."
        )
    elif len(table) > 1:
        print_prose(
            f"\nFewer than {_FEWEST_GROUPS} groups with labels: each is corrected by itself alone."
        )
    if (n_labeled == 0).any():
        print_prose(_of_unlabeled(int((n_labeled == 0).sum()), shrunk))
    effective = table["effective_sample_size"]
    print_prose(
        _worth(judge, effective.sum(min_count=1), n_labeled[effective.notna()].sum(), only_labels)
    )


def _group_cells(table, judge, shrunk, narrow=False):
    """The table for people; the narrow one without the steps in between."""
    decimals = tables.decimals_for(table[["judge", "estimate", "high"]].to_numpy())
    columns = {
        "group": table["group"].astype(str).tolist(),
        "answers": [f"{n:,}" for n in table["n_rows"]],
        "labels": [f"{n:,}" for n in table["n_labeled"]],
        judge: _numbers(table["judge"], decimals),
        "labels alone": _numbers(table["labels_alone"], decimals),
        "corrected": _numbers(table["corrected"], decimals),
        "estimate": _numbers(table["estimate"], decimals),
        "low": _numbers(table["low"], decimals),
        "high": _numbers(table["high"], decimals),
        "off by": _numbers(table["bias"], decimals),
    }
    dropped = ["answers", "labels alone", "corrected"] if narrow else []
    if not shrunk:
        dropped.append("estimate" if not narrow else "corrected")
    if table["bias"].isna().all():
        dropped.append("off by")
    columns = {name: cells for name, cells in columns.items() if name not in dropped}
    return Cells(list(columns), list(zip(*columns.values(), strict=True)), 1)


def _how(estimate):
    return f"Estimated by {estimate.method}"


def _of_unlabeled(count, shrunk):
    known = "estimated from what the autorater says of it" if shrunk else "without an estimate"
    return f"Groups without a human label: {count}, each {known}."


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


def _numbers(values, decimals):
    return [_number(value, decimals) for value in values]


def _number(value, decimals):
    # Rounded before it is printed, and 0 added, so that nothing is "-0.000".
    return "unknown" if np.isnan(value) else f"{round(value, decimals) + 0.0:.{decimals}f}"
