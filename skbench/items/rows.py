"""Open, check and collect item rows of any dataframe engine."""

import re
from functools import reduce
from operator import or_
from os import PathLike

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import (
    LARGEST,
    lacks_parts,
    names_of,
    of_one_type,
    plain,
    refuse_unhashable,
    refuse_unnamed,
    require_columns,
)
from skbench._warnings import warn

SCORE = "_skbench_score"  # does not collide with the caller's columns
CHANCE = "inclusion_probability"  # of an item, as choose_items returns it
_NUMBER = "_skbench_number"
_TEXT = pd.Series(["text"]).dtype  # what pandas makes of a list of text
# A slash in a label that looks like a separator between labels, and backslashes before it.
_SLASH = re.compile(r"(?<![^ ])\\*/|\\*/(?![^ ])")
_BELOW_MICROSECONDS = r"\.\d{6}\d*[1-9]"
_ROWS_OF_TEXT = 1000  # read for an error message about a column of text


def opened(items):
    """Return items as a narwhals frame. Parquet files are scanned lazily."""
    if isinstance(items, str | PathLike):
        from skbench.items._parquet import scanned

        items = scanned(items)
    return as_frame(items)


def as_frame(rows, in_memory=False):
    """Return rows as a narwhals frame. Raise for other types and for repeated column names.

    If `in_memory`, collect lazy rows.
    """
    if isinstance(rows, pd.DataFrame) and not set(rows.columns).isdisjoint(rows.index.names):
        # A name of both a column and an index level is ambiguous for pandas. Keep the column.
        rows = rows.set_axis(rows.index.set_names([None] * rows.index.nlevels))
    try:
        frame = nw.from_native(rows)
        return frame.collect() if in_memory and isinstance(frame, nw.LazyFrame) else frame
    except nw.exceptions.DuplicateError as error:
        names = pd.Index(getattr(rows, "columns", []))
        twice = names[names.duplicated()].tolist()
        raise ValueError(
            f"Several columns are named {', '.join(map(repr, twice)) or 'the same'}. Rename or "
            "drop all but one."
        ) from error
    except TypeError as error:
        remedy = "Convert it to a dataframe with one row per model and item."
        if isinstance(rows, str | PathLike):
            remedy = "Read the file first with skbench.read_items(path)."
        raise TypeError(
            f"Rows must be a dataframe (pandas, polars, pyarrow, DuckDB, Dask, PySpark), got "
            f"{'None' if rows is None else type(rows).__name__}. {remedy}"
        ) from error


def refuse_lists(frame, names):
    """Raise for lists and dicts as labels, and for tuples with a missing part."""
    native, schema = nw.to_native(frame), frame.collect_schema()
    for name in names:
        if schema[name].is_nested():
            raise TypeError(
                f"Column {name!r} must contain names or numbers, but has type {schema[name]}. "
                "Convert it to text."
            )
        if isinstance(native, pd.DataFrame):
            refuse_unhashable(repr(name), native[name])
            refuse_unnamed(f"Column {name!r}", lacks_parts(native[name]))


def with_item_key(frame, item, topic, by=(), model=None):
    """Return the frame with ids of one type, and the key of an item: topics and item.

    The key excludes topic columns that are also in `by`, and the default "topic" if there is no
    such column. Then ids count as unique.
    """
    columns = frame.collect_schema().names()
    topics = list(dict.fromkeys(names_of(topic)))
    if topics != ["topic"]:
        require_columns(columns, topics)
        if {item, model} & set(topics):
            raise ValueError(
                f"topic={topic!r} is the model column or the item column. Name topic columns, or "
                "pass topic=None."
            )
    if item == model:
        raise ValueError(f"item={item!r} is also the model column. Name different columns.")
    own = (*by, model, item)
    key = [name for name in topics if name in columns and name not in own] + [item]
    native = nw.to_native(frame)
    if not isinstance(native, pd.DataFrame):
        return frame, key
    own = [name for name in key if name in columns]
    refuse_lists(frame, own)
    old = {name: native[name] for name in own}
    new = {name: of_one_type(ids) for name, ids in old.items()}
    changed = {name: ids for name, ids in new.items() if ids is not old[name]}
    return nw.from_native(native.assign(**changed)) if changed else frame, key


def joined(columns):
    """Join the columns of each row to one text. Different rows have different texts."""
    parts = columns.astype(str)
    if parts.shape[1] > 1:
        parts = parts.apply(lambda part: part.str.replace(_SLASH, _escaped, regex=True))
    return [" / ".join(row) for row in zip(*parts.to_numpy(dtype=object).T, strict=True)]


def _escaped(slash):
    return 2 * slash[0][:-1] + "\\/"


def kinds_of_features(features):
    """Return item columns and a table to join. One of them is empty."""
    are_names = isinstance(features, str | list | tuple | np.ndarray | pd.Index)
    return (names_of(features), None) if are_names else ([], features)


def concatenated(frames, labels):
    """Concatenate tables, with labels of one type: 4, 4.0 and "4" are equal."""
    labels = set(labels).intersection(*frames)
    # pandas would convert two integer types to floats, which rounds large integers.
    differ = [name for name in labels if len({frame[name].dtype for frame in frames}) > 1]
    frames = [frame.astype(dict.fromkeys(differ, object)) for frame in frames]
    both = pd.concat(frames, ignore_index=True)
    return both.assign(**{name: of_one_type(both[name]) for name in labels})


def check_cluster_weight(cluster_weight, cluster):
    """Raise for a cluster weight without clusters."""
    if cluster is None and cluster_weight == "cluster":
        raise ValueError('cluster_weight="cluster" needs cluster=... with the cluster column.')


def refuse_missing(rows):
    """Raise for a pandas frame without rows or with missing values."""
    if rows.empty:
        raise ValueError("The table has no rows or no columns.")
    for name in rows:
        missing = int(rows[name].isna().sum())
        if missing:
            raise ValueError(
                f"{missing} of {len(rows)} rows have no {name!r}. Fill in the values, or remove "
                "the rows."
            )


def deferred(frame):
    """Return a polars frame as a lazy one, so that unused columns are not copied."""
    is_polars = isinstance(frame, nw.DataFrame) and frame.implementation is nw.Implementation.POLARS
    return frame.lazy() if is_polars else frame


def with_score(frame, score):
    """Add the score as a float column. Raise for text."""
    dtype = frame.collect_schema()[score]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        _refuse_text(frame, score)
    return frame.with_columns(nw.col(score).cast(nw.Float64).alias(SCORE))


def checked_scores(frame, labels, score):
    """Add the float score. Raise for rows that cannot be summarized.

    Parameters
    ----------
    frame : narwhals frame
        Item rows.
    labels : list of str
        Columns without missing values.
    score : str
        The score column.

    Returns
    -------
    narwhals frame

    Raises
    ------
    ValueError
        If the table is empty, or scores or labels are missing.
    """
    refuse_lists(frame, labels)
    frame = with_score(frame, score)
    flags = frame.select(
        (nw.col(SCORE).abs() > LARGEST).cast(nw.Float64).alias("huge"),
        (nw.col(SCORE).is_null() | ~nw.col(SCORE).is_finite()).cast(nw.Float64).alias("bad"),
        *[nw.col(c).is_null().cast(nw.Float64).alias(f"missing {c}") for c in labels],
    )
    flags = flags.select(nw.len().cast(nw.Float64).alias("rows"), nw.all().sum())
    counts = collected(flags).iloc[0]
    if counts["rows"] == 0:
        raise ValueError("items has no rows, so there is nothing to summarize.")
    if counts["bad"]:
        raise ValueError(
            f"{int(counts['bad'])} of {int(counts['rows'])} rows have a missing or infinite "
            f"{score!r}. Remove items that were not run, or score them (0 if incorrect)."
        )
    if counts["huge"]:
        raise ValueError(
            f"{int(counts['huge'])} of {int(counts['rows'])} values of {score!r} exceed "
            f"{LARGEST:g}, so sums of their squares would overflow. Rescale the scores."
        )
    for name in labels:
        if counts[f"missing {name}"]:
            raise ValueError(
                f"{int(counts[f'missing {name}'])} of {int(counts['rows'])} rows have no {name!r}. "
                "Fill in the labels, or remove the rows."
            )
    return frame


def warn_of_unequal_probabilities(frame, by=()):
    """Warn of unequal inclusion probabilities in a group, which direct estimates ignore."""
    if CHANCE not in frame.collect_schema():
        return
    by, chance = list(dict.fromkeys(by)), nw.col(_NUMBER)
    rows = _with_numeric_probabilities(frame.select(*dict.fromkeys([*by, CHANCE])))
    ends = [chance.min().alias("least"), chance.max().alias("most"), chance.count().alias("known")]
    ends.append(nw.len().alias("rows"))
    found = collected(rows.group_by(by).agg(*ends) if by else rows.select(*ends))
    least, most, known = found["least"], found["most"], found["known"]
    # A group without any probabilities is valid, because all its items were asked.
    if ((least <= 0) | (most > 1) | ((known > 0) & (known < found["rows"]))).any():
        warn(
            f"{_first_invalid_probability(rows, isinstance(frame, nw.DataFrame))}, but an "
            "inclusion probability must be above 0 and at most 1. Unequal probabilities cannot be "
            "detected. Direct means ignore them."
        )
    elif (most > (1 + 1e-9) * least).any():
        warn(
            f"Items had unequal probabilities of being asked ({CHANCE!r}). Direct means ignore "
            "them, so likely items count too much. Estimates with an item bank use them."
        )


def _with_numeric_probabilities(rows):
    """Add the inclusion probabilities as floats, as `probabilities_of` does."""
    if rows.collect_schema()[CHANCE].is_numeric():
        chance = nw.col(CHANCE).cast(nw.Float64)
        return rows.with_columns(nw.when(chance.is_finite()).then(chance).alias(_NUMBER))
    table = collected(rows.unique() if isinstance(rows, nw.LazyFrame) else rows)
    return nw.from_native(table.assign(**{_NUMBER: probabilities_of(table[CHANCE])}))


def probabilities_of(values):
    """Return a column of probabilities as floats, nan if missing and -1 if not a number."""
    numbers = values.astype(object).map(_as_probability, na_action="ignore")
    return pd.to_numeric(numbers, errors="coerce").to_numpy(dtype=float)


def _as_probability(value):
    try:
        return float(value) if str(value).strip() else np.nan
    except (TypeError, ValueError):
        return -1.0


def _first_invalid_probability(rows, in_order):
    """Describe the first value that is not a positive probability, and its row."""
    is_valid = (nw.col(_NUMBER) > 0) & (nw.col(_NUMBER) <= 1)
    if isinstance(rows, nw.DataFrame):
        rows = rows.with_row_index("_skbench_row")
    first = collected(rows.filter(nw.col(_NUMBER).is_null() | ~is_valid).head(1)).iloc[0]
    where = f" in row {first['_skbench_row']}" if in_order else ""
    missing = pd.isna(first[_NUMBER])
    return f"{CHANCE!r}{where} is {'missing' if missing else repr(plain(first[CHANCE]))}"


def _refuse_text(frame, score):
    values = collected(frame.select(nw.col(score)).head(_ROWS_OF_TEXT))[score]
    bad = values[pd.to_numeric(values, errors="coerce").isna()]
    if len(bad) == 0:
        dtype = frame.collect_schema()[score]
        kind = "text" if dtype == nw.String else f"type {dtype}"
        raise ValueError(
            f"{score!r} has numbers as {kind}. Convert the column, for example with astype(float)."
        )
    raise ValueError(
        f"{score!r} must be numeric, but row {bad.index[0]} has {bad.iloc[0]!r}. "
        "Convert outcomes to numbers, for example correct to 1 and incorrect to 0."
    )


def any_null(columns):
    """Return an expression for whether any of the columns is missing."""
    return reduce(or_, (nw.col(name).is_null() for name in columns))


def fetched(frame):
    """Return a narwhals frame in memory."""
    if not isinstance(frame, nw.LazyFrame):
        return frame
    # Without streaming, polars loads all rows of a scan.
    streams = frame.implementation is nw.Implementation.POLARS
    return frame.collect(**({"engine": "streaming"} if streams else {}))


def collected(frame, keys=()):
    """Return a narwhals result as a pandas frame, sorted by its keys."""
    frame = fetched(frame)
    table = pd.DataFrame({name: _plain(frame.get_column(name)) for name in frame.columns})
    return sorted_by(table, keys) if len(keys) else table


def sorted_by(table, keys):
    """Sort a pandas frame by some columns, with labels of one type."""
    return table.sort_values(list(keys), ignore_index=True, key=of_one_type)


def _plain(column):
    """Return the values of a column in the same form for every engine."""
    values = column.to_native()
    is_numpy = isinstance(values, pd.Series) and isinstance(values.dtype, np.dtype)
    if is_numpy and values.dtype.kind in "biuf":
        return values.to_numpy()
    if isinstance(_TEXT, pd.StringDtype) and getattr(values, "dtype", None) == _TEXT:
        return values.array
    if column.dtype.is_decimal() or (_counts_or_flags(column) and column.null_count()):
        return column.cast(nw.Float64).to_numpy()
    is_polars = column.implementation is nw.Implementation.POLARS
    if is_polars and _counts_nanoseconds(column.dtype):
        # A list would lose nanoseconds.
        counts = column.cast(nw.Int64).fill_null(np.iinfo(np.int64).min).to_numpy()
        times = pd.Series(counts.view("m8[ns]" if column.dtype == nw.Duration else "M8[ns]"))
        zone = getattr(column.dtype, "time_zone", None)
        return times.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else times
    if column.dtype == nw.Time:
        text = column.dt.to_string("%H:%M:%S%.9f") if is_polars else column.cast(nw.String)
        if text.str.contains(_BELOW_MICROSECONDS).any():
            return text.to_list()
    return column.to_list()


def _counts_nanoseconds(dtype):
    return dtype in (nw.Datetime, nw.Duration) and dtype.time_unit == "ns"


def _counts_or_flags(column):
    return column.dtype.is_numeric() or column.dtype == nw.Boolean


def group_labels(table, by):
    """Return the index of the groups: flat for one column, else one level per column."""
    if len(by) == 1:
        return pd.Index(table[by[0]], name=by[0])
    return pd.MultiIndex.from_frame(table[by])
