"""Tables of results of groups: counts of correct answers, or means with standard errors."""

import re

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._undecided import Undecided
from skbench.items.roles import columns_of, find_roles, normal
from skbench.readers._scores import as_numbers, is_numeric, percents

_SIZES = (
    "n total n_items num_items n_questions n_examples num_examples n_samples num_samples n_test "
    "n_total num_total trials"
).split()
_VAGUE_SIZES = ["count", "size", "support"]  # may also be the size of an image
_COUNTS = (
    "k correct n_correct num_correct right n_right hits successes n_passed passed wins"
).split()
# Means of binary scores; other means need a standard error.
_SHARES = ("acc accuracy exact_match em acc_norm pass_rate rate").split()
_MEANS = [*_SHARES, "mean", "score", "value", "estimate", "f1", "average"]
_ERRORS = ("stderr", "se", "std_err", "std_error", "standard_error", "sem")
_FILTER = re.compile(r"_(none|strict_match|flexible_extract|get_answer)$")
_NUMBERS = ("score", "n", "k", "standard_error")  # of a group, as they are returned
_MOST = 0.5  # share of consistent rows from which the others count as mistakes
_MOST_ROWS = 2_000_000  # answers that counts are expanded to


def group_columns(table, named, notes, refuse):
    """Return the columns of n, k, mean or standard_error if rows are groups, else None."""
    known = {normal(name): name for name in table}
    for usual, name in known.items():
        numbers = usual in _MEANS or usual.startswith(_ERRORS) or usual.endswith(_ERRORS)
        if numbers and percents(table[name]).all():
            table[name] = as_numbers(table[name], name, notes, refuse)
    numeric = {usual: name for usual, name in known.items() if is_numeric(table[name])}
    score = named["score"]
    n = _first([*_SIZES, *_VAGUE_SIZES], numeric, score)
    n = n if n is not None and _are_sizes(table[n]) else None
    run = table if n is None else table[table[n] != 0]
    k = _first(_COUNTS, numeric, n)
    if n is not None and k is not None and _are_counts(run, k, n, named):
        # If the named score is not k / n, then these counts are not its counts.
        if score in (None, k, n) or _is_mean(run[score], run[k] / run[n]):
            return {"n": n, "k": k}
    means = [score] if score is not None else [numeric[m] for m in _MEANS if m in numeric]
    for mean in means:
        error = _error_of(mean, numeric)
        if error is not None:
            if (run[error] < 0).any():
                raise ValueError(
                    f"Column {error!r} has {run[error].min():g}, but a standard error cannot be "
                    "negative."
                )
            return {"mean": mean, "standard_error": error} | ({"n": n} if n else {})
    for mean in means:
        if n is not None and normal(mean) in _SHARES and not run[mean].isin((0, 1)).all():
            if _is_mean(run[mean], _nearest_share(run[mean], run[n])):
                return {"n": n, "mean": mean}
    return None


def _first(names, numeric, taken):
    return next((numeric[name] for name in names if numeric.get(name) not in (None, taken)), None)


def _are_sizes(column):
    values = column.to_numpy(dtype=float, na_value=np.nan)
    fit = (values >= 0) & (values == np.round(values))
    return bool(fit.mean() >= _MOST and np.nanmax(values) > 1)


def _are_counts(table, k, n, named):
    """Return whether k counts correct answers of n. Raise if their names fit but values do not."""
    right, size = (table[name].to_numpy(dtype=float, na_value=np.nan) for name in (k, n))
    fit = (right >= 0) & (right <= size) & (right == np.round(right)) & (size == np.round(size))
    sure = normal(n) in _SIZES
    if np.nanmax(right) <= 1:  # small counts, or single answers beside another number
        labels = [name for name in table if name not in (k, n) and not is_numeric(table[name])]
        has_items = "item" in find_roles(table.columns.drop([k, n]), named)[0]
        single = has_items or not labels or table.duplicated(labels).any() or size.min() < 2
        return bool(sure and not single and fit.all())
    if named["score"] is None and not fit.all() and (sure or fit.mean() >= _MOST):
        row = table[~fit].iloc[0]
        raise ValueError(
            f"{n!r} and {k!r} look like counts, but row {row.name + 1} has {row[k]:g} correct of "
            f"{row[n]:g}. Correct the file, or pass score= with the score column."
        )
    return bool(fit.all())


def _is_mean(mean, share):
    """Return whether a column is this share as a fraction or percentage, up to rounding."""
    if not is_numeric(mean):
        return False
    mean = mean.to_numpy(dtype=float, na_value=np.nan)
    return any(np.allclose(mean, unit * share, atol=unit * 6e-4) for unit in (1, 100))


def _nearest_share(mean, n):
    unit = 100 if mean.max() > 1 else 1
    return np.round(mean / unit * n) / n


def _error_of(mean, numeric):
    base = normal(mean)
    names = [
        name
        for b in dict.fromkeys([base, _FILTER.sub("", base)])
        for error in _ERRORS
        for name in (f"{b}_{error}", f"{error}_{b}")
    ]
    return _first([*names, *_ERRORS], numeric, mean)


def group_results(table, columns, notes):
    """Return one row per group: model, topic, score (the mean), n and k or standard_error."""
    others = table.drop(columns=[name for name in set(columns.values()) if name in table])
    others = others.rename(
        columns={c: f"{c}_in_file" for c in ("score", "n", "k", "standard_error")}
    )
    given = {what: table[name].to_numpy(dtype=float) for what, name in columns.items()}
    if "standard_error" in given:
        for what in ("mean", "standard_error"):
            unknown = ~np.isfinite(given[what])
            if unknown.any():
                raise ValueError(
                    f"Row {int(np.argmax(unknown)) + 1} of {len(table)} has no {columns[what]!r}. "
                    "Fill it in, or remove the row."
                )
        new = {"score": given["mean"], "standard_error": given["standard_error"]}
        new |= {"n": given["n"].astype(int)} if "n" in given else {}
        how = f"mean {columns['mean']!r}, standard error {columns['standard_error']!r}"
    else:
        n = given["n"]
        k = given["k"] if "k" in given else _nearest_share(table[columns["mean"]], n) * n
        new = {"score": k / n, "n": n.astype(int), "k": np.round(k).astype(int)}
        how = f"{columns.get('k', columns.get('mean'))!r} of {columns['n']!r}"
        if "k" in given:
            others = others.drop(columns=[c for c in others if _is_mean(others[c], k / n)])
    notes.append(f"each row is the result of a group, not of an item ({how})")
    return pd.concat([others.reset_index(drop=True), pd.DataFrame(new)], axis=1)


def refuse_repeated_groups(result, topics, named):
    """Raise if a group has several rows. `named` are the topic columns of the file."""
    keys = [name for name in ("model", *topics) if name in result]
    if not keys and len(result) > 1:
        raise ValueError(
            f"{len(result)} rows are results of groups, but no column has a usual name for the "
            f"model or the topic. Pass model= or topic=. The columns are: {listed(result)}."
        )
    repeated = result.duplicated(keys) if keys else np.zeros(len(result), dtype=bool)
    if not repeated.any():
        return
    row = result[repeated].iloc[0]
    where = ", ".join(f"{key} {str(row[key])!r}" for key in keys)
    apart = [
        c
        for c in result.columns.difference([*keys, *_NUMBERS], sort=False)
        if result[c].dtype.kind != "f" and not result.duplicated([*keys, c]).any()
    ]
    usual = [name for name in columns_of("topic", apart) if len(named) == 1]
    text = f"{int(repeated.sum())} of {len(result)} rows repeat a group (first {where})."
    if not apart:
        raise ValueError(f"{text} Keep one row per group, or pass topic= with all topic columns.")
    choices = [{"topic": name} for name in usual]
    choices += [{"topic": [*named, name]} for name in apart[:3] if name not in usual]
    raise Undecided(f"{text} Such rows differ in {listed(apart)}.", choices)


def added_up(rows, by):
    """Return results with one row per group of `by`, with the sums of its counts."""
    groups = rows.groups
    repeated = groups.duplicated(by)
    if not repeated.any():
        return rows
    if "k" not in groups:
        first = ", ".join(f"{name} {str(groups[repeated][name].iloc[0])!r}" for name in by)
        raise ValueError(
            f"Several rows are of {first}. Counts of correct answers (n and k) can be added up, "
            "but means with standard errors cannot. Pass topic= with all columns that "
            "distinguish the rows."
        )
    sums = groups.groupby(by, sort=False)[["n", "k"]].sum().reset_index()
    sums.insert(len(by), "score", sums["k"] / sums["n"])
    return rows._replace(items=sums, groups=sums)


def expanded(rows):
    """Return one row per answer from counts of groups, without item ids."""
    if rows.groups is None:
        return rows
    groups = rows.groups
    if "k" not in groups:
        raise ValueError(
            "The file has means with standard errors, but comparing models needs scores per item. "
            "Use `skbench estimate`, or pass scores per item."
        )
    n, k = groups["n"].to_numpy(), groups["k"].to_numpy()
    if n.sum() > _MOST_ROWS:
        raise ValueError(
            f"{len(n)} groups have {n.sum():,} answers, more than the {_MOST_ROWS:,} that can be "
            "expanded to rows. Use `skbench estimate`, which reads counts directly."
        )
    place = np.repeat(np.arange(len(n)), n)
    items = groups.drop(columns=["score", "n", "k"]).iloc[place].reset_index(drop=True)
    number = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    items["score"] = (number < k[place]) * 1.0
    return rows._replace(items=items)
