"""Input validation of every room, and the words of its errors, in one place."""

import numbers

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype

DATES = ("datetime64", "datetime", "date", "time", "timedelta64", "timedelta", "period")

_REMEDIES = {
    "sigma2": " Leave the group out, or give it a variance pooled from the other groups.",
    "population": " Every group needs the number of all its items, run or not.",
    "y": " Leave out groups without a direct estimate: predict(X) gives their prior mean.",
    "z": " Leave z out to get the prior mean of groups without a direct estimate.",
}
LARGEST = 1e75  # fourth powers of larger numbers overflow
_LARGEST_POPULATION = 1e15  # whose whole numbers are exact
_COUNT_TOLERANCE = 1e-6  # k = z * n is off by rounding of z; printed rates have 6 digits or more


def refuse_huge(what, values):
    """Refuse numbers whose powers overflow; nan is passed over."""
    huge = np.abs(values) > LARGEST
    if np.any(huge):
        raise ValueError(
            f"{what} are at most {LARGEST:g}, as powers of larger numbers overflow, but "
            f"{int(np.sum(huge))} are beyond, such as {values[huge][0]:g}. Rescale them."
        )


def floats(what, values):
    """Numbers as an array of floats; anything else is refused in words."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        flat = pd.Series(np.asarray(values, dtype=object).ravel())
        bad = flat[pd.to_numeric(flat, errors="coerce").isna() & flat.notna()]
        shown = repr(bad.iloc[0]) if len(bad) else f"{values!r:.60}"
        raise ValueError(
            f"{what} must be numbers, but one is {shown}. Code words as numbers, such as correct "
            "as 1 and incorrect as 0."
        ) from None


def check_option(name, value, options):
    """Refuse a value that is not among the named options."""
    if value not in options:
        raise ValueError(f"{name} must be one of {sorted(options)}, got {value!r}.")


def check_confidence_level(confidence_level):
    """Refuse a level outside (0, 1); 95 is the usual slip for 0.95."""
    if not isinstance(confidence_level, numbers.Real) or not 0 < confidence_level < 1:
        raise ValueError(
            f"confidence_level must be strictly between 0 and 1, got {confidence_level!r}. "
            "Write 0.95 for 95%."
        )


def check_whole(name, value, least=1):
    """Refuse what is no whole number of at least 1, or another least one."""
    if not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def check_same_index(**columns):
    """Refuse pandas objects whose indexes differ: positions would be misaligned."""
    indexed = {
        name: column.index
        for name, column in columns.items()
        if isinstance(column, pd.DataFrame | pd.Series)
    }
    if len(indexed) < 2:
        return
    (first, index), *others = indexed.items()
    for name, other in others:
        if len(other) == len(index) and not other.equals(index):
            at = int(np.argmax(np.asarray(other != index)))
            raise ValueError(
                f"The indexes of {first} and {name} differ: row {at} is {plain(index[at])!r} in "
                f"{first} but {plain(other[at])!r} in {name}. Align them, or pass plain arrays "
                "to go by position."
            )


def check_named(what, names, labels=None):
    """Refuse missing names of models or topics: such rows would join rows of others."""
    given = names if hasattr(names, "dtype") else np.asarray(names, dtype=object)
    given = given.to_numpy() if isinstance(given, pd.MultiIndex) else given
    missing = np.asarray(pd.isna(given)).reshape(len(given), -1).any(axis=1)
    if missing.any():
        first = int(np.argmax(missing))
        row = first if labels is None or first >= len(labels) else plain(labels[first])
        raise ValueError(
            f"{what} has no name in {int(missing.sum())} of {len(missing)} rows, the first is row "
            f"{row!r}. Fill the names in, or leave the rows out."
        )


def check_rows(X):
    """Refuse a table without groups."""
    if len(X) == 0:
        raise ValueError("X has no rows: pass one row per group.")


def check_labels(X):
    """Labels of the groups: the index of a frame, else positions."""
    if hasattr(X, "index") and hasattr(X, "columns"):
        return X.index
    return pd.RangeIndex(len(X))


def check_column(
    name, values, labels, *, minimum=None, whole=False, allow_scalar=False, unit="group"
):
    """A finite float column with one entry per label; errors name the first offending `unit`."""
    column = np.asarray(values)
    if column.dtype.kind not in "buif":
        column = _as_float(name, column, labels, unit)
    column = column.astype(float)
    if allow_scalar and column.ndim == 0:
        column = np.full(len(labels), float(column))
    if column.shape != (len(labels),):
        raise ValueError(
            f"{name} has shape {column.shape}, but X has {len(labels)} rows: "
            f"pass one {name} per {unit}."
        )
    _refuse(~np.isfinite(column), name, "finite", column, labels, _REMEDIES.get(name, ""), unit)
    _refuse(np.abs(column) > LARGEST, name, f"at most {LARGEST:g}", column, labels,
            " Rescale the scores: powers of larger ones overflow.", unit)  # fmt: skip
    if minimum is not None:
        word = "non-negative" if minimum == 0 else f"at least {minimum:g}"
        _refuse(column < minimum, name, word, column, labels, unit=unit)
    if whole:
        _refuse(column != np.round(column), name, "a whole number", column, labels, unit=unit)
    return column


def check_sigma2(sigma2, sampling_variance, labels):
    """Sampling variances of the groups, from the call or the constructor."""
    if sigma2 is None:
        sigma2 = sampling_variance
    if sigma2 is None:
        raise ValueError(
            "sigma2 is missing: how noisy each direct estimate is cannot be guessed. Pass "
            "sigma2=... (summarize_items or stats.binomial.sampling_variance give it), or a known "
            "common variance as sampling_variance=... to the constructor."
        )
    return check_column("sigma2", sigma2, labels, minimum=0, allow_scalar=True)


def check_sizes(n, labels):
    """Group sizes: whole numbers of at least 1, or None where none were given."""
    if n is None:
        return None
    return check_column("n", n, labels, minimum=1, whole=True, allow_scalar=True)


def check_population(population, n, labels):
    """Numbers of all items of the groups: one, one per group, or a Series by label or level."""
    if isinstance(population, pd.Series):
        names = population.index
        own = names.equals(labels) or names.name not in labels.names
        if names.has_duplicates:
            twice = names[names.duplicated()][0]
            raise ValueError(f"population has several entries for {twice!r}. Pass one per label.")
        if own and names.nlevels < labels.nlevels:
            raise ValueError(
                "population has an entry per label, but its index is not named by one of: "
                f"{', '.join(map(str, labels.names))}. Name it, as in "
                f"population.rename_axis({labels.names[-1]!r})."
            )
        population = population.reindex(labels if own else labels.get_level_values(names.name))
    sizes = check_column("population", population, labels, allow_scalar=True)
    odd = (sizes != np.round(sizes)) | (sizes > _LARGEST_POPULATION)
    _refuse(odd, "population", f"whole and at most {_LARGEST_POPULATION:g}", sizes, labels)
    if np.any(sizes < n):
        first = int(np.argmax(sizes < n))
        raise ValueError(
            f"Group {plain(labels[first])!r} has {n[first]:g} items, but its population is "
            f"{sizes[first]:g}. Pass the number of all its items, asked or not."
        )
    return sizes


def check_unit_interval(name, values, why):
    """Refuse values outside [0, 1], and say what needs them there."""
    outside = (values < 0) | (values > 1)
    if np.any(outside):
        raise ValueError(
            f"{name} must be between 0 and 1 {why}, but "
            f"{int(outside.sum())} of {len(values)} are not, such as {values[outside][0]:g}."
        )


def are_counts(z, n):
    """Whether every `z * n` is a whole number of successes: binary scores."""
    if n is None or np.any((z < 0) | (z > 1)):
        return False
    k = z * n
    return bool(np.all(np.abs(k - np.round(k)) <= _COUNT_TOLERANCE * np.maximum(n, 1)))


def named_estimators(estimators):
    """Estimators by name, from a dict, a list of pairs or one alone (named by its class)."""
    if hasattr(estimators, "fit_predict") or hasattr(estimators, "fit"):
        estimators = {type(estimators).__name__.lower(): estimators}
    if isinstance(estimators, dict):
        estimators = list(estimators.items())
    if not are_named(estimators):
        raise TypeError(
            "estimators must be a dict of names and estimators, or a list of such pairs, as in "
            f'[("direct", DirectEstimator()), ...], got {type(estimators).__name__}.'
        )
    if not estimators:
        raise ValueError("estimators is empty: there are no estimators. Pass at least one.")
    names = [name for name, _ in estimators]
    if len(set(names)) < len(names):
        raise ValueError(f"Each estimator needs a name of its own, got {names}.")
    return dict(estimators)


def are_named(estimators):
    """Whether these are pairs of names and estimators."""
    return isinstance(estimators, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
        for pair in estimators
    )


def check_by(by):
    """Names of the columns that define the groups as a list: at least one, and each once."""
    names = [by] if isinstance(by, str) else list(by)
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"by must name at least one column, and each of them once, got {by!r}. "
            'Pass the columns that define the groups, such as by=["model", "topic"].'
        )
    return names


def check_within(what, scores, bounds, slack=0.0):
    """Refuse scores that lie outside bounds by more than this share of the range."""
    low, high = bounds
    slack = slack * (high - low)
    outside = scores[(scores < low - slack) | (scores > high + slack)]
    if len(outside):
        raise ValueError(
            f"{len(outside)} of {len(scores)} {what} outside bounds from {low:g} to {high:g}, such "
            f"as {outside[0]:g}. Pass the range that the score has by its definition as "
            "bounds=."
        )


def require_columns(frame_columns, wanted, what="items"):
    """Refuse names that a table lacks, listing those it has."""
    missing = [name for name in wanted if name not in frame_columns]
    if missing:
        raise ValueError(
            f"{what} has no column {', '.join(map(repr, missing))}. "
            f"Its columns are: {', '.join(map(str, frame_columns))}."
        )


def _as_float(name, column, labels, unit="group"):
    if column.dtype.kind in "mM":  # which turn into numbers of nanoseconds
        column = column.astype(str)
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        flat = column.ravel()
        bad = next(i for i, value in enumerate(flat) if not is_number(value))
        raise ValueError(
            f"{name} must be numeric, but {_group(labels, bad, unit)} has {plain(flat[bad])!r}."
        ) from None


def is_number(value):
    """Whether a value reads as a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _refuse(bad, name, word, column, labels, remedy="", unit="group"):
    if np.any(bad):
        first = int(np.argmax(bad))
        raise ValueError(
            f"{name} must be {word}, but {_group(labels, first, unit)} has {column[first]:g}."
            f"{remedy}"
        )


def _group(labels, position, unit="group"):
    if position >= len(labels):
        return f"row {position}"
    return f"{unit} {plain(labels[position])!r}"


def plain(value):
    """Python objects in place of numpy scalars, whose repr names their type; tuples of them too."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value


def listed(names, most=40, show=str):
    """Names separated by commas, the tail counted instead of printed."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(show(plain(name)) for name in names[:most]) + more


def of_one_type(labels):
    """A Series of labels, as text where they are of several types, such as 4 and "gpt"."""
    mixed = labels.dtype == object and labels.map(type).nunique() > 1
    return labels.astype(str) if mixed else labels


def kind_of(column):
    """What the values of a column are, missing ones aside, as `pandas.api.types.infer_dtype`."""
    return "number" if is_numeric_dtype(column) else infer_dtype(column, skipna=True)


def refuse_dates(name, column):
    """Raise a ValueError where a column that must hold numbers or words holds dates."""
    kind = kind_of(column)
    if kind in DATES:
        raise ValueError(
            f"{name} holds dates or durations ({kind}): code it as numbers, such as 1 and 0."
        )
