"""Tables of results of groups: how many of how many were right, or a mean with its error."""

import re

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench.items.roles import find_roles, normal
from skbench.readers._scores import is_numeric

_SIZES = (
    "n total n_items num_items n_questions n_examples num_examples n_samples num_samples n_test "
    "n_total num_total trials count size support"
).split()
_VAGUE_SIZES = ("count", "size", "support")  # of an image, too
_SURE_SIZES = tuple(name for name in _SIZES if name not in _VAGUE_SIZES)
_COUNTS = (
    "k correct n_correct num_correct right n_right hits successes n_passed passed wins"
).split()
_MEANS = (
    "acc accuracy mean score value estimate exact_match em acc_norm pass_rate f1 rate average"
).split()
# Means of nothing but right and wrong answers.
_SHARES = ("acc", "accuracy", "exact_match", "em", "acc_norm", "pass_rate", "rate")
_ERRORS = ("stderr", "se", "std_err", "std_error", "standard_error", "sem")
_FILTER = re.compile(r"_(none|strict_match|flexible_extract|get_answer)$")
_MOST = 0.5  # share of the rows that show what two columns are; the others are then wrong
_MOST_ROWS = 2_000_000  # answers that counts are unfolded to


def group_columns(table, named):
    """Columns of n, k, mean or standard_error if rows are results of groups, else None."""
    numeric = {normal(name): name for name in table if is_numeric(table[name])}
    score = named.get("score")
    n = next((numeric[name] for name in _SIZES if name in numeric and name != score), None)
    if n is not None and not _are_sizes(table[n]):
        n = None
    if n is not None:
        table = table[table[n] != 0]
    k = next((numeric[name] for name in _COUNTS if name in numeric and numeric[name] != n), None)
    if n is not None and k is not None and score is None:
        _refuse_more_right_than_there_are(table, k, n)
    if n is not None and k is not None and _are_counts(table, k, n, named):
        # A named score that is no mean of these counts is something else.
        if score in (None, k, n) or _is_mean(table[score], table[k] / table[n]):
            if _are_possible(table, k, n, refuse=score is None):
                return {"n": n, "k": k}
    means = [score] if score is not None else [numeric[m] for m in _MEANS if m in numeric]
    for mean in means:
        error = _error_of(mean, numeric)
        if error is not None and (table[error].dropna() >= 0).all():
            return {"mean": mean, "standard_error": error} | ({"n": n} if n else {})
    for mean in means:
        if n is not None and normal(mean) in _SHARES and not table[mean].isin((0, 1)).all():
            if _is_mean(table[mean], _nearest_share(table[mean], table[n])):
                return {"n": n, "mean": mean}
    return None


def _are_sizes(column):
    values = column.to_numpy(dtype=float, na_value=np.nan)
    fit = (values >= 0) & (values == np.round(values))
    return bool(fit.mean() >= _MOST and np.nanmax(values) > 1)


def _are_counts(table, k, n, named):
    if not ((table[k] >= 0) & (table[k] <= table[n])).mean() >= _MOST:
        return False
    return table[k].max() > 1 or _has_one_row_per_group(table, k, n, named)


def _has_one_row_per_group(table, k, n, named):
    """Whether 0 and 1 beside a size are few right of many, and no single answers."""
    if normal(n) not in _SURE_SIZES or table[n].min() < 2:
        return False
    others = table.columns.drop([k, n])
    roles, _ = find_roles(others, named)
    labels = [name for name in others if not is_numeric(table[name])]
    return "item" not in roles and bool(labels) and not table.duplicated(labels).any()


def _refuse_more_right_than_there_are(table, k, n):
    """Refuse counts of which most are impossible: as scores they would mean something else."""
    most = ((table[k] > table[n]) & (table[k] == table[k].round())).mean() > 1 - _MOST
    if most and normal(n) in _SURE_SIZES:
        _are_possible(table, k, n, refuse=True)


def _are_possible(table, k, n, refuse):
    """Whether counts are whole and k of n in every row, or an error that names the first other."""
    right, size = (table[name].to_numpy(dtype=float, na_value=np.nan) for name in (k, n))
    fit = (right >= 0) & (right <= size) & (right == np.round(right)) & (size == np.round(size))
    if refuse and not fit.all():
        row = table[~fit].iloc[0]
        raise ValueError(
            f"{n!r} and {k!r} look like counts, but row {row.name + 1} has {row[k]:g} right of "
            f"{row[n]:g}. Counts are whole numbers, k of n: correct the file, or name the column "
            "of scores, score= (--score)."
        )
    return bool(fit.all())


def _is_mean(mean, share):
    """Whether a column is this share, as a fraction or in percent, but for rounding."""
    if not is_numeric(mean):
        return False
    mean = mean.to_numpy(dtype=float, na_value=np.nan)
    return any(np.allclose(mean, unit * share, atol=unit * 6e-4) for unit in (1, 100))


def _nearest_share(mean, n):
    unit = 100 if mean.max() > 1 else 1
    return np.round(mean / unit * n) / n


def _error_of(mean, numeric):
    base = normal(mean)
    bases = dict.fromkeys([base, _FILTER.sub("", base)])
    names = [f"{b}_{error}" for b in bases for error in _ERRORS]
    names += [f"{error}_{b}" for b in bases for error in _ERRORS] + list(_ERRORS)
    return next(
        (numeric[name] for name in names if name in numeric and numeric[name] != mean), None
    )


def group_results(table, columns, roles, notes):
    """One row per group: model, topic, score (the mean), n and k or standard_error, others."""
    used = dict.fromkeys(columns.values())
    others = table.drop(columns=[name for name in used if name in table])
    for name in ("score", "n", "k", "standard_error"):
        others = others.rename(columns={name: f"{name}_in_file"})
    given = {what: table[name].to_numpy(dtype=float) for what, name in columns.items()}
    if "standard_error" in given:
        _refuse_unknown(given, table, columns)
        new = {"score": given["mean"], "standard_error": given["standard_error"]}
        if "n" in given:
            new["n"] = given["n"].astype(int)
        how = f"mean {columns['mean']!r}, standard error {columns['standard_error']!r}"
    else:
        n = given["n"]
        k = given["k"] if "k" in given else _nearest_share(table[columns["mean"]], n) * n
        new = {"score": k / n, "n": n.astype(int), "k": np.round(k).astype(int)}
        right = columns.get("k", columns.get("mean"))
        how = f"{right!r} of {columns['n']!r}"
        if "k" in given:
            same = [name for name in others if _is_mean(others[name], given["k"] / n)]
            others = others.drop(columns=same)
    notes.append(f"every row is the result of a group, not of an item: {how}")
    result = pd.concat([others.reset_index(drop=True), pd.DataFrame(new)], axis=1)
    _refuse_repeated(result, roles)
    return result


def _refuse_unknown(given, table, columns):
    for what in ("mean", "standard_error"):
        unknown = ~np.isfinite(given[what])
        if unknown.any():
            raise ValueError(
                f"Row {int(np.argmax(unknown)) + 1} of {len(table)} has no {columns[what]!r}. "
                "Fill it in, or leave the row out."
            )


def _refuse_repeated(result, roles):
    keys = [name for name in ("model", "topic") if name in result]
    keys += [name for name in roles.get("topic", []) if name in result]
    keys = list(dict.fromkeys(keys))
    if not keys:
        if len(result) > 1:
            raise ValueError(
                f"{len(result)} rows are results of groups, but no column has a usual name for "
                f"the model or the topic. Pass --model or --by; the columns are: {listed(result)}."
            )
        return
    repeated = result.duplicated(keys)
    if repeated.any():
        row = result[repeated].iloc[0]
        where = ", ".join(f"{key} {str(row[key])!r}" for key in keys)
        numbers = ["score", "n", "k", "standard_error"]
        apart = [
            c
            for c in result.columns.difference([*keys, *numbers], sort=False)
            if result[c].dtype.kind != "f" and not result.duplicated([*keys, c]).any()
        ]
        hint = f" They differ in {listed(apart)}: name what is compared by --by." if apart else ""
        raise ValueError(
            f"{int(repeated.sum())} of {len(result)} rows repeat a group that is already there, "
            f"first {where}.{hint} Keep one row per group, or name all topic columns by topic= "
            "(--by a,b)."
        )


def added_up(rows, by):
    """The same results with one row per group of `by`, whose counts are those of all its rows."""
    groups = rows.groups
    repeated = groups.duplicated(by)
    if not repeated.any():
        return rows
    if "k" not in groups:
        first = ", ".join(f"{name} {str(groups[repeated][name].iloc[0])!r}" for name in by)
        raise ValueError(
            f"Several rows are of {first}: means with standard errors are not added up, counts of "
            "right answers (n and k) are. Pass --by with all columns that tell the rows apart."
        )
    sums = groups.groupby(by, sort=False)[["n", "k"]].sum().reset_index()
    sums.insert(len(by), "score", sums["k"] / sums["n"])
    return rows._replace(items=sums, groups=sums)


def unfolded(rows):
    """Item rows of counts: as many rows per group as it has answers, without names of items."""
    if rows.groups is None:
        return rows
    groups = rows.groups
    if "k" not in groups:
        raise ValueError(
            "The file holds means with standard errors, and no scores of items that models could "
            "be compared by. `skbench estimate` takes it; or give the scores of single items."
        )
    n, k = groups["n"].to_numpy(), groups["k"].to_numpy()
    if n.sum() > _MOST_ROWS:
        raise ValueError(
            f"{n.sum():,} answers in {len(n)} groups are too many to unfold, at most "
            f"{_MOST_ROWS:,}. `skbench estimate` takes their counts as they are."
        )
    place = np.repeat(np.arange(len(n)), n)
    items = groups.drop(columns=["score", "n", "k"]).iloc[place].reset_index(drop=True)
    number = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    items["score"] = (number < k[place]) * 1.0
    return rows._replace(items=items)
