"""Input validation shared by the whole package, with its error messages."""

import numbers
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set
from decimal import Decimal

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_complex_dtype, is_hashable, is_numeric_dtype
from sklearn.utils.validation import check_is_fitted

DATES = ("datetime64", "datetime", "date", "time", "timedelta64", "timedelta", "period")

_REMEDIES = {
    "sigma2": " Drop the group, or give it a variance pooled from the other groups.",
    "population": " Pass the total number of items of every group, evaluated or not.",
    "y": " Drop the group (GroupSummary.dropna). For it, predict(X) returns the prior mean.",
    "z": " Omit z to get the prior mean of groups without a direct estimate.",
}
LARGEST = 1e75  # fourth powers of larger numbers overflow
_LARGEST_COUNT = 1e15  # floats represent whole numbers up to here exactly
_COUNT_TOLERANCE = 1e-6  # z may be rounded; printed rates have 6 digits or more
_PLAIN = "string", "floating", "integer", "mixed-integer-float", "boolean"  # kinds of cells


def refuse_huge(what, values):
    """Raise a ValueError for numbers whose powers overflow; nan is allowed."""
    huge = np.abs(values) > LARGEST
    if np.any(huge):
        raise ValueError(
            f"{what} must be at most {LARGEST:g}, but {int(np.sum(huge))} are larger, such as "
            f"{plain(values[huge][0])!r:.40}. Rescale them, because their powers overflow."
        )


def floats(what, values, row="row {}".format):
    """Convert to an array of floats with nan for missing values.

    Real numbers, fractions, decimals and numeric strings are converted. Other values raise an
    error. `row` maps a position to the name of its row in the error message.
    """
    array = as_array(values)
    if array.ndim == 0 and array.dtype.kind == "b":
        raise TypeError(f"{what} must be a number, or a column of them, got {array}.")
    if array.dtype.kind in "buif":
        return array.astype(float, copy=False)
    found = np.empty(array.shape)
    for at, value in enumerate(array.ravel()):
        try:
            found.flat[at] = _number(value)
        except (TypeError, ValueError, OverflowError):
            kind = ValueError if is_hashable(value) else TypeError
            raise kind(
                f"{what} must be numeric, but {row(at)} has {plain(value)!r:.60}. The argument "
                # scikit-learn's check of estimators expects these words.
                "must be a number or a string of a number. Encode words, such as correct as 1."
            ) from None
    return found


def as_array(values):
    """Convert to a dense array, or to an object array if cells hold lists of unequal lengths."""
    try:
        return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    except (TypeError, ValueError):
        return pd.Series(list(values), dtype=object).to_numpy()


def _number(value):
    if value is None or value is pd.NA or value is pd.NaT:
        return np.nan
    known = isinstance(value, numbers.Real | Decimal | str)
    if not known or isinstance(value, np.timedelta64):
        raise TypeError
    return float(value)


def check_option(name, value, options):
    """Raise a ValueError if a value is not among the options."""
    if value not in options:
        raise ValueError(f"{name} must be one of {sorted(options)}, got {value!r}.")


def check_same_index(**arrays):
    """Raise a ValueError if arrays passed together do not have matching rows.

    All arrays must be as long as the first one; a single number applies to all rows. Pandas
    objects must have equal indexes in the same order, also if an index is the default one. Other
    arrays are matched by position. Nothing is reordered.
    """
    first, rows = next(iter(arrays.items()))
    is_text = isinstance(rows, str | bytes)
    if (pd.api.types.is_scalar(rows) and not is_text) or (
        isinstance(rows, np.ndarray) and rows.ndim == 0
    ):
        raise ValueError(f"{first} must have rows, one per group or item, got {rows!r}.")
    given = {name: values for name, values in arrays.items() if values is not None}
    for name, values in given.items():
        _refuse_no_rows(name, values)
    lengths = {name: n_rows(values) for name, values in given.items()}
    (first, n), *others = [(k, n) for k, n in lengths.items() if n is not None] or [("", 0)]
    for name, length in others:
        if length != n:
            raise ValueError(
                f"{name} has {length} entries, but {first} has {n} rows. Pass one entry of {name} "
                f"for each row of {first}."
            )
    tables = {k: v for k, v in given.items() if isinstance(v, pd.DataFrame | pd.Series)}
    (first, index), *others = [(k, v.index) for k, v in tables.items()] or [("", None)]
    for name, other in others:
        if not other.equals(index):
            # Compare leading parts, because labels of mixed types cannot be compared one by one.
            at = bisect_left(
                range(n), True, key=lambda i, o=other: not o[: i + 1].equals(index[: i + 1])
            )
            raise ValueError(
                f"The indexes of {first} and {name} differ: row {at} is {plain(index[at])!r} in "
                f"{first} but {plain(other[at])!r} in {name}. Align them, or pass plain arrays "
                "to match rows by position."
            )


def n_rows(values):
    """Return the number of rows, or None for a scalar or a table that is not in memory."""
    shape = getattr(values, "shape", None)
    if shape is None and hasattr(values, "__len__"):
        return len(values)
    return shape[0] if shape and isinstance(shape[0], numbers.Integral) else None


def _refuse_no_rows(name, values):
    """Raise an error if a value has no ordered rows, or if numpy would misread its rows."""
    is_set = isinstance(values, str | bytes | Mapping | Set | Iterator)
    if is_set and not hasattr(values, "shape"):  # some sparse matrices are mappings
        raise TypeError(
            f"{name} must be an array, a list, a column or a table with one entry per row, got "
            f"{type(values).__name__}."
        )
    if isinstance(values, pd.DataFrame) and not values.columns.is_unique:
        twice = plain(values.columns[values.columns.duplicated()][0])
        raise ValueError(f"{name} has several columns named {twice!r}. Rename or drop all but one.")
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has {np.ma.count_masked(values)} masked entries. Drop these rows, or pass "
            "filled(np.nan)."
        )
    if not isinstance(values, np.ndarray):
        return
    is_dates = values.dtype.kind in "mM" and values.ndim == 2
    if values.ndim > 2 or values.dtype.kind == "V" or is_dates:
        raise ValueError(
            f"{name} is an array of shape {values.shape} and type {values.dtype}. Pass one column "
            "or a numeric table."
        )


def check_named(what, names, labels=None):
    """Return names of models, topics or groups as one column.

    Missing names raise an error, because their rows would be merged. Names with several parts
    become tuples.
    """
    if isinstance(names, pd.DataFrame) and names.shape[1] > 1:
        names = pd.MultiIndex.from_frame(names)
    names = one_column(what, names)

    def row(at):
        return at if labels is None or at >= len(labels) else plain(labels[at])

    refuse_unnamed(what, np.asarray(pd.isna(names)) | lacks_parts(names), row)
    refuse_unhashable(what, names, row)
    return names


def lacks_parts(names):
    """Return which names are tuples with a missing part."""
    if _is_plain(names):
        return np.zeros(len(names), dtype=bool)
    tuples = (name if isinstance(name, tuple) else () for name in names)
    return np.array([any(pd.isna(part) is True for part in name) for name in tuples], dtype=bool)


def refuse_unnamed(what, missing, row=int):
    """Raise a ValueError if rows have no name."""
    if missing.any():
        raise ValueError(
            f"{what} has no name in {int(missing.sum())} of {len(missing)} rows (first in row "
            f"{row(int(np.argmax(missing)))!r}). Fill in the names, or drop the rows."
        )


def _is_plain(names):
    """Whether all names are text or numbers, so that single cells need no check."""
    return names.dtype != object or pd.api.types.infer_dtype(names) in _PLAIN


def refuse_unhashable(what, names, row=int):
    """Raise a TypeError for lists, dicts and other values that cannot be names."""
    for at, name in enumerate(() if _is_plain(names) else names):
        if not is_hashable(name):
            raise TypeError(
                f"{what} must hold names or numbers, but row {row(at)!r} has {name!r:.60}. Convert "
                "it to text."
            )


def one_column(what, values):
    """Return a one-dimensional array of any type in native byte order."""
    if hasattr(values, "__array__") or not pd.api.types.is_list_like(values):
        array = np.asarray(values)
    else:
        array = pd.Series(list(values), dtype=object).to_numpy()
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        got = f"an array of shape {array.shape}" if array.ndim else repr(values)
        raise ValueError(f"{what} must be one column, got {got:.60}.")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check_rows(X):
    """Raise a ValueError if a table has no rows."""
    if len(X) == 0:
        raise ValueError("X has no rows. Pass one row per group.")


def check_labels(X):
    """Return the labels of the groups: the index of a DataFrame, or else positions."""
    if hasattr(X, "index") and hasattr(X, "columns"):
        return X.index
    return pd.RangeIndex(n_rows(X))


def check_column(
    name, values, labels, *, minimum=None, whole=False, allow_scalar=False, unit="group"
):
    """Return a finite float column with one entry per label; errors name the first bad `unit`."""
    column = floats(name, values, lambda at: _group(labels, at, unit))
    if allow_scalar and column.ndim == 0:
        column = np.full(len(labels), float(column))
    if column.shape != (len(labels),):
        raise ValueError(
            f"{name} has shape {column.shape}, but X has {len(labels)} rows. "
            f"Pass one {name} per {unit}."
        )
    _refuse(~np.isfinite(column), name, "finite", column, labels, _REMEDIES.get(name, ""), unit)
    _refuse(np.abs(column) > LARGEST, name, f"at most {LARGEST:g}", column, labels,
            " Rescale the scores, because their powers overflow.", unit)  # fmt: skip
    if minimum is not None:
        word = "non-negative" if minimum == 0 else f"at least {minimum:g}"
        _refuse(column < minimum, name, word, column, labels, unit=unit)
    if whole:
        _refuse(column != np.round(column), name, "a whole number", column, labels, unit=unit)
        most = f"at most {_LARGEST_COUNT:g}"
        _refuse(column > _LARGEST_COUNT, name, most, column, labels, unit=unit)
    return column


def check_sigma2(sigma2, sampling_variance, labels):
    """Return the sampling variances of the groups, from the call or the constructor."""
    if sigma2 is None:
        sigma2 = sampling_variance
    if sigma2 is None:
        raise ValueError(
            "sigma2 is missing. Pass the sampling variances of the direct estimates as sigma2=... "
            "(from summarize_items or stats.binomial.sampling_variance), or pass a known common "
            "variance to the constructor as sampling_variance=..."
        )
    return check_column("sigma2", sigma2, labels, minimum=0, allow_scalar=True)


def check_weights(weights, labels):
    """Return the weights of the rows, or None; all weights 0 raise a ValueError."""
    if weights is None:
        return None
    weights = check_column("sample_weight", weights, labels, minimum=0, unit="row")
    if not weights.any():
        raise ValueError("sample_weight is 0 in every row. Give some rows a weight above 0.")
    return weights


def check_sizes(n, labels):
    """Return group sizes as whole numbers of at least 1, or None."""
    if n is None:
        return None
    return check_column("n", n, labels, minimum=1, whole=True, allow_scalar=True)


def refuse_repeats(what, names):
    """Raise a ValueError if a label occurs twice."""
    if names.has_duplicates:
        twice = plain(names[names.duplicated()][0])
        raise ValueError(f"{what} has several entries for {twice!r}. Pass one entry per label.")


def numbers_by_topic(what, values):
    """Return a Series or dict of item counts by topic as a Series."""
    given = pd.Series(values)
    refuse_repeats(what, given.index)
    numbers = check_column(what, given, given.index, minimum=0, whole=True, unit="topic")
    return pd.Series(numbers, given.index)


def refuse_unknown_topics(names, topics):
    """Raise a ValueError if a population has a topic that no item has."""
    unknown = [name for name in names if name not in topics]
    if unknown:
        raise ValueError(
            f"population has the topic {plain(unknown[0])!r}, but no item belongs to it."
        )


def are_counts(z, n):
    """Whether every `z * n` is a whole number, as for binary scores."""
    if n is None or np.any((z < 0) | (z > 1)):
        return False
    k = z * n
    return bool(np.all(np.abs(k - np.round(k)) <= _COUNT_TOLERANCE * np.maximum(n, 1)))


def check_bank(bank):
    """Raise an error if an object is not a fitted `ItemBank`."""
    if all(kind.__name__ != "ItemBank" for kind in type(bank).__mro__):
        raise TypeError(
            f"bank must be a fitted ItemBank, got {bank!r:.60}. Fit one with "
            "ItemBank().fit(items), or load a saved one with ItemBank.load(path)."
        )
    check_is_fitted(bank)


def names_of(names):
    """Return column names as a list; the argument is one name, several names or None."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [plain(name) for name in names]


def check_by(by):
    """Return the columns that define the groups as a list of distinct names."""
    names = names_of(by)
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"by must name at least one column, and each column only once, got {by!r}. "
            'Pass the columns that define the groups, such as by=["model", "topic"].'
        )
    return names


def check_within(what, scores, bounds, slack=0.0):
    """Raise a ValueError if scores exceed bounds by more than this share of the range."""
    low, high = bounds
    if not -np.inf < low < high < np.inf:
        raise ValueError(
            f"bounds must be a low and a higher number, both finite, got {low:g} and {high:g}."
        )
    slack = slack * (high - low)
    outside = scores[(scores < low - slack) | (scores > high + slack)]
    if len(outside):
        raise ValueError(
            f"{len(outside)} of {len(scores)} {what} outside bounds from {low:g} to {high:g}, such "
            f"as {outside[0]:g}. Pass the range of possible scores as bounds=."
        )


def require_columns(frame_columns, wanted, what="items"):
    """Raise a ValueError that lists the columns of a table if it lacks some."""
    missing = [name for name in wanted if name not in frame_columns]
    if missing:
        raise ValueError(
            f"{what} has no column {', '.join(map(repr, missing))}. "
            f"Its columns are: {', '.join(map(str, frame_columns))}."
        )


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
    """Convert numpy scalars, also within tuples, to Python objects with a shorter repr."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value


def listed(names, most=40, show=str):
    """Join names by commas; count those beyond `most`."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(show(plain(name)) for name in names[:most]) + more


def of_one_type(labels):
    """Convert labels of mixed types to text, so that 4, 4.0 and "4" are equal."""
    if infer_dtype(getattr(labels.dtype, "categories", labels)) not in ("mixed", "mixed-integer"):
        return labels
    if labels.dropna().map(type).nunique() < 2:
        return labels
    return labels.astype(object).map(as_text, na_action="ignore")


def as_text(label):
    """Convert a label to text; whole numbers of all types give the same text."""
    whole = isinstance(label, float | np.floating) and label.is_integer()
    return str(int(label) if whole else label)


def kind_of(column):
    """Return the kind of the non-missing values of a column, as `pandas.api.types.infer_dtype`."""
    is_number = is_numeric_dtype(column) and not is_complex_dtype(column)
    return "number" if is_number else infer_dtype(column, skipna=True)
