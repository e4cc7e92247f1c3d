"""Order versions by a column of numbers or dates, by a list, or by dates in their names."""

from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype

from skbench._checks import LARGEST, kind_of, listed, plain, require_columns
from skbench.items.roles import check_model
from skbench.items.rows import as_frame, collected, refuse_lists

_YEAR = pd.Timedelta(days=365.25)
_MOST_LISTED = 12  # versions in an error
_NUMBER = r"-?(0|[1-9][0-9]*)([.][0-9]+)?"
_ISO = (
    r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?"
)
_ZONE = r":.*(?:Z|[+-][0-9]{2}:?[0-9]{2})$"
_AS_NUMBER = r"(19|20)[0-9]{2}(0[1-9]|1[0-2])((0[1-9]|[12][0-9]|3[01]))?"  # 202405, 20240513
_LOOKS_LIKE_DATE = (
    r"(?i)\b(?:19|20)[0-9]{2}\b|[0-9]/[0-9]|(?<![a-z])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|"
    r"apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?)(?![a-z])"
)
_SINCE_1970 = 1e9, 2.2e9  # seconds, from 2001 to 2039
_UNITS = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
# A version in a name whose rest is the same for all versions.
_IN_NAMES = (
    r"(?P<rest>.* \| )(?P<version>.+)",
    r"(?P<rest>.*?)(?<![0-9])(?P<version>20[0-9]{2}-?[01][0-9](-?[0-3][0-9])?)(?![0-9])(?P<end>.*)",
    r"(?P<rest>.*?)(?<![A-Za-z0-9])[vV](?P<version>[0-9]+)(?![0-9.])(?P<end>.*)",
)


class Versions(NamedTuple):
    """Versions of a model and their places in order."""

    items: object  # rows of these versions
    model: str  # column with their names
    value: pd.Series  # number or date (UTC) of each version
    unit: str  # a slope is per this unit
    notes: tuple = ()

    @property
    def place(self):
        """Numbers of the versions, or years since the first date."""
        if self.unit != "year":
            return self.value.astype(float)
        return (self.value - self.value.min()) / _YEAR


def ordered_versions(items, order, model):
    """Return `Versions` by a column of numbers or dates, or by a list of names in order."""
    frame = as_frame(items)
    columns = frame.collect_schema().names()
    if not isinstance(order, str):
        if not hasattr(order, "__len__"):
            raise TypeError(
                f"order must be a column name or a list of versions, got {type(order).__name__}."
            )
        if not len(order):
            raise ValueError("order is an empty list. Name the versions from first to last.")
        return _by_list(frame, columns, list(order), model)
    if order == "version" and order not in columns:
        return _by_names(frame, columns, model)
    if model == "model" and model not in columns:
        model = order
    require_columns(columns, [model, order])
    refuse_lists(frame, [model, order])
    pairs = collected(frame.select(list(dict.fromkeys([model, order]))).unique())
    _refuse_empty(pairs)
    for name in pairs:
        if pairs[name].isna().any():
            raise ValueError(f"Some rows have no {name!r}. Fill it in, or remove the rows.")
    if model != order:
        several = pairs.groupby(model)[order].nunique()
        if len(several) == 1:  # one model in several versions
            model, pairs = order, pairs[[order]]
        elif several.max() > 1:
            name = several.idxmax()
            own = listed(pairs.loc[pairs[model] == name, order], most=3, show=repr)
            raise ValueError(
                f"Model {plain(name)!r} has several values of {order!r}: {own}. Keep the rows of "
                f"one model, or give each of its versions a different name in {model!r}."
            )
    values = pairs.set_index(model, drop=False)[order]
    parsed = _parsed(values, order)
    if parsed is None:
        _refuse(values, order, frame)
    value, unit, notes = parsed
    return _several(Versions(items, model, value, unit, notes), order)


def _by_list(frame, columns, names, model):
    """Return versions in the order of a list, one step apart. Others are skipped."""
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"order names {plain(twice[0])!r} twice. Name each version once.")
    if model == "model" and "version" in columns and not _holds(frame, columns, model, names):
        model = "version"
    require_columns(columns, [model])
    known = collected(frame.select(model).unique())[model]
    for name in names:
        check_model(name, sorted(known, key=str))
    others = [name for name in known if name not in names]
    notes = ()
    if others:
        frame = frame.filter(nw.col(model).is_in(names))
        notes = (f"Skipped versions not in order=: {listed(sorted(map(str, others)), most=3)}.",)
    value = pd.Series(np.arange(len(names)), pd.Index(names, name=model))
    return _several(Versions(nw.to_native(frame), model, value, "version", notes), names)


def _holds(frame, columns, model, names):
    """Return whether a column contains one of these models."""
    return model in columns and collected(frame.select(model).unique())[model].isin(names).any()


def _by_names(frame, columns, model):
    """Order versions by dates or numbers in their names."""
    require_columns(columns, [model if model in columns else "version"])
    refuse_lists(frame, [model])
    known = collected(frame.select(model).unique())[model].dropna()
    _refuse_empty(known)
    own = pd.Series(known.array, pd.Index(known, name=model))
    found = _parsed(own, model) or _in_names(known.astype(str), known)
    if found is None:
        _refuse_one(own.index)
        raise ValueError(
            "There is no column 'version', and the names contain no dates or numbers. Name a "
            f"column of numbers or dates. {_remedy(own, frame)}"
        )
    value, unit, notes = found
    return _several(Versions(nw.to_native(frame), model, value, unit, notes), model)


def _refuse_empty(rows):
    if rows.empty:
        raise ValueError("items has no rows, so there is nothing to compare.")


def _in_names(names, labels):
    """Return dates or numbers in names that are otherwise the same, or None.

    >>> names = pd.Series(["ada-2024-05-13", "ada-2024-11-20"])
    >>> _in_names(names, names)[0].dt.month.tolist()
    [5, 11]
    """
    for pattern in _IN_NAMES:
        parts = names.str.extract(f"^{pattern}$")
        rest = parts.drop(columns="version")[[c for c in ("rest", "end") if c in parts]]
        if parts["version"].isna().any() or len(rest.drop_duplicates()) > 1:
            continue
        text = parts["version"].str.replace(
            r"^(20\d\d)([01]\d)([0-3]\d)?$",
            lambda found: "-".join(filter(None, found.groups())),
            regex=True,
        )
        parsed = _parsed(text.set_axis(pd.Index(labels)), "version number")
        if parsed is not None:
            what = "dates" if parsed[1] == "year" else "numbers"
            unit = parsed[1].removeprefix("unit of ")
            return parsed[0], unit, (f"Versions are ordered by the {what} in their names.",)
    return None


def _parsed(values, name):
    """Return numbers or dates, their unit, and notes, or None for values without an order."""
    kind = "boolean" if is_bool_dtype(values) else kind_of(values)
    if kind in ("number", "integer", "floating", "decimal"):
        return _numbers(values.astype(float), name), _unit_of(name), ()
    if kind in ("date", "datetime", "datetime64"):
        aware = [getattr(value, "tzinfo", None) is not None for value in values]
        return _dates(values, name, aware), "year", ()
    if kind != "string":
        return None
    text = values.astype(str).str.strip()
    # 1.9 and 1.10 are version numbers, not decimal numbers.
    if text.str.fullmatch(_NUMBER).all() and text.str.partition(".")[2].str.len().nunique() == 1:
        note = f"Text in {name!r} was read as numbers."
        return _numbers(text.astype(float), name), _unit_of(name), (note,)
    if text.str.fullmatch(_ISO).all():
        try:
            dates = _dates(text, name, text.str.contains(_ZONE, regex=True))
        except pd.errors.OutOfBoundsDatetime:
            raise
        except ValueError as error:
            if "time zone" in str(error):
                raise
            return None  # not a day of the calendar
        return dates, "year", (f"Text in {name!r} was read as ISO dates (UTC).",)
    return None


def _unit_of(name):
    return f"unit of {name}"


def _numbers(values, name):
    """Return numbers. Raise if they are not finite or look like dates."""
    if not (values.abs() <= LARGEST).all():
        raise ValueError(f"{name!r} must contain finite numbers up to {LARGEST:g}.")
    whole = values[values % 1 == 0].map("{:.0f}".format)
    if len(whole) == len(values) and whole.str.fullmatch(_AS_NUMBER).all():
        raise ValueError(
            f"{name!r} contains {whole.iloc[0]}, which looks like a date written as a number. "
            "Write dates as 2024-05-13, or pass the versions in order as a list."
        )
    for per_second, unit in _UNITS.items():
        low, high = (end * per_second for end in _SINCE_1970)
        if values.between(low, high).all():
            first = values.iloc[0]
            day = pd.Timestamp(first / per_second, unit="s").date()
            raise ValueError(
                f"{name!r} contains {first:.0f}, which may be {unit} since 1970. If so, write "
                f"dates, here {day}. If not, divide the numbers by {low:g}."
            )
    return values


def _dates(values, name, aware):
    """Return dates in UTC. All values must have a time zone, or none."""
    if np.any(aware) and not np.all(aware):
        raise ValueError(
            f"Some dates of {name!r} have a time zone, but others have none. Give all dates one."
        )
    how = {"format": "ISO8601"} if kind_of(values) == "string" else {}
    dates = pd.to_datetime(values.to_numpy(dtype=object), utc=True, **how)
    return pd.Series(dates.tz_localize(None), values.index)


def _refuse(values, order, frame):
    """Raise for values whose order is unknown."""
    _refuse_one(values.index)
    what = "text" if kind_of(values) == "string" else f"values of type {kind_of(values)}"
    raise ValueError(
        f"The order of {what} such as {str(values.iloc[0])!r} in {order!r} is unknown. "
        f"{_remedy(values, frame)}"
    )


def _remedy(values, frame):
    """Return what to pass instead: ISO dates, or the versions as a list."""
    if values.astype(str).str.contains(_LOOKS_LIKE_DATE, regex=True).any():
        return "Write dates as 2024-05-13, or pass order=, the versions from first to last."
    names = collected(frame.select(values.index.name))[values.index.name].drop_duplicates()
    return (
        "Pass order=, the versions from first to last. In the order of the rows, they are: "
        f"{listed(names.dropna(), most=_MOST_LISTED)}."
    )


def _refuse_one(names):
    if len(names) < 2:
        raise ValueError(
            f"There is only one version, {plain(names[0])!r}. A trend needs several versions."
        )


def _several(versions, order):
    """Return the versions. Raise if all have the same place."""
    if versions.value.nunique() > 1:
        return versions
    _refuse_one(versions.value.index)
    raise ValueError(
        f"All {len(versions.value)} versions have the same value of {order!r}, "
        f"{versions.value.iloc[0]}. Name another column, or pass the versions in order."
    )
