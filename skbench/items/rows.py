"""Item rows of any dataframe engine: opening, checking, collecting."""

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

SCORE = "_skbench_score"  # kept apart from the caller's own columns
CHANCE = "inclusion_probability"  # of an item being asked, as choose_items gives it
_NUMBER = "_skbench_number"
_TEXT = pd.Series(["text"]).dtype  # what pandas makes of a list of text
# A slash in a label that could be taken for the one between labels, and backslashes before it.
_SLASH = re.compile(r"(?<![^ ])\\*/|\\*/(?![^ ])")
_BELOW_MICROSECONDS = r"\.\d{6}\d*[1-9]"
_ROWS_OF_TEXT = 1000  # read to say what a column of text holds


def opened(items):
    """Items as a narwhals frame; the path of Parquet files is scanned lazily."""
    if isinstance(items, str | PathLike):
        from skbench.items._parquet import scanned

        items = scanned(items)
    return as_frame(items)


def as_frame(rows, in_memory=False):
    """Rows as a narwhals frame; refuses what is no dataframe, and two columns of one name.

    `in_memory`: lazy rows are collected.
    """
    if isinstance(rows, pd.DataFrame) and not set(rows.columns).isdisjoint(rows.index.names):
        # pandas would ask which of the two is meant: it is the column.
        rows = rows.set_axis(rows.index.set_names([None] * rows.index.nlevels))
    try:
        frame = nw.from_native(rows)
        return frame.collect() if in_memory and isinstance(frame, nw.LazyFrame) else frame
    except nw.exceptions.DuplicateError as error:
        names = pd.Index(getattr(rows, "columns", []))
        twice = names[names.duplicated()].tolist()
        raise ValueError(
            f"Several columns are called {', '.join(map(repr, twice)) or 'the same'}. Rename or "
            "drop all but one of them."
        ) from error
    except TypeError as error:
        remedy = "Make a frame of it, with one row per model and item."
        if isinstance(rows, str | PathLike):
            remedy = "Read the file first, as skbench.read_items(path) does."
        raise TypeError(
            f"Rows must be a dataframe (pandas, polars, pyarrow, DuckDB, Dask, PySpark), got "
            f"{'None' if rows is None else type(rows).__name__}. {remedy}"
        ) from error


def refuse_lists(frame, names):
    """Refuse lists and dicts as labels, and names that lack a part."""
    native, schema = nw.to_native(frame), frame.collect_schema()
    for name in names:
        if schema[name].is_nested():
            raise TypeError(
                f"Column {name!r} must hold names or numbers, but holds {schema[name]}. Turn it "
                "into text."
            )
        if isinstance(native, pd.DataFrame):
            refuse_unhashable(repr(name), native[name])
            refuse_unnamed(f"Column {name!r}", lacks_parts(native[name]))


def with_item_key(frame, item, topic, by=(), model=None):
    """The frame with ids of one type, and the columns that identify an item: topic and item.

    Columns of the topic are left out where groups go `by` them, and the default, "topic", where it
    is absent: ids are then taken for unique.
    """
    columns = frame.collect_schema().names()
    topics = list(dict.fromkeys(names_of(topic)))
    if topics != ["topic"]:
        require_columns(columns, topics)
        if {item, model} & set(topics):
            raise ValueError(
                f"topic={topic!r} names the column of the models, or of the items. Name columns of "
                "topics, or pass topic=None."
            )
    if item == model:
        raise ValueError(f"item={item!r} is the column of the models, too. Name one for each.")
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
    """One text per row from all of its columns: another text for every other row of labels."""
    parts = columns.astype(str)
    if parts.shape[1] > 1:
        parts = parts.apply(lambda part: part.str.replace(_SLASH, _escaped, regex=True))
    return [" / ".join(row) for row in zip(*parts.to_numpy(dtype=object).T, strict=True)]


def _escaped(slash):
    return 2 * slash[0][:-1] + "\\/"


def kinds_of_features(features):
    """Item columns, and the table to join: one of the two is empty."""
    are_names = isinstance(features, str | list | tuple | np.ndarray | pd.Index)
    return (names_of(features), None) if are_names else ([], features)


def one_below_the_other(frames, labels):
    """Rows of several tables, their labels of one type: 4, 4.0 and "4" are alike."""
    labels = set(labels).intersection(*frames)
    # As floats, integers of two types would be rounded.
    differ = [name for name in labels if len({frame[name].dtype for frame in frames}) > 1]
    frames = [frame.astype(dict.fromkeys(differ, object)) for frame in frames]
    both = pd.concat(frames, ignore_index=True)
    return both.assign(**{name: of_one_type(both[name]) for name in labels})


def check_cluster_weight(cluster_weight, cluster):
    """Refuse a weight of clusters where there are none."""
    if cluster is None and cluster_weight == "cluster":
        raise ValueError('cluster_weight="cluster" needs cluster=..., their column.')


def refuse_missing(rows):
    """Refuse a pandas frame without rows, or with blank cells."""
    if rows.empty:
        raise ValueError("There are no rows or no columns, so there is nothing to take.")
    for name in rows:
        missing = int(rows[name].isna().sum())
        if missing:
            raise ValueError(
                f"{missing} of {len(rows)} rows have no {name!r}. Fill them in, or leave the "
                "rows out."
            )


def deferred(frame):
    """A polars frame as a lazy one: it then reads the columns that count, and no copies."""
    is_polars = isinstance(frame, nw.DataFrame) and frame.implementation is nw.Implementation.POLARS
    return frame.lazy() if is_polars else frame


def with_score(frame, score):
    """Add the score as a float column, and refuse text."""
    dtype = frame.collect_schema()[score]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        _refuse_text(frame, score)
    return frame.with_columns(nw.col(score).cast(nw.Float64).alias(SCORE))


def checked_scores(frame, labels, score):
    """Add the float score, and refuse rows that cannot be summarized.

    Parameters
    ----------
    frame : narwhals frame
        Item rows.
    labels : list of str
        Columns in which no value may be missing.
    score : str
        Column of scores.

    Returns
    -------
    narwhals frame

    Raises
    ------
    ValueError
        For an empty table, and for scores or labels that are missing.
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
        raise ValueError("items has no rows: there is nothing to summarize.")
    if counts["bad"]:
        raise ValueError(
            f"{int(counts['bad'])} of {int(counts['rows'])} rows have a missing or infinite "
            f"{score!r}. Leave out items that were not run, or score them (0 for a wrong answer)."
        )
    if counts["huge"]:
        raise ValueError(
            f"{int(counts['huge'])} of {int(counts['rows'])} values of {score!r} are beyond "
            f"{LARGEST:g}, and sums of their squares would overflow. Rescale the scores."
        )
    for name in labels:
        if counts[f"missing {name}"]:
            raise ValueError(
                f"{int(counts[f'missing {name}'])} of {int(counts['rows'])} rows have no {name!r}. "
                "Fill in the labels, or leave the rows out."
            )
    return frame


def warn_of_chances(frame, by=()):
    """Warn of items that had unequal chances within a group, which direct estimates ignore."""
    if CHANCE not in frame.collect_schema():
        return
    by, chance = list(dict.fromkeys(by)), nw.col(_NUMBER)
    rows = _with_chances_as_numbers(frame.select(*dict.fromkeys([*by, CHANCE])))
    ends = [chance.min().alias("least"), chance.max().alias("most"), chance.count().alias("known")]
    ends.append(nw.len().alias("rows"))
    found = collected(rows.group_by(by).agg(*ends) if by else rows.select(*ends))
    least, most, known = found["least"], found["most"], found["known"]
    # A group may have no chances at all: its items are all that there are.
    if ((least <= 0) | (most > 1) | ((known > 0) & (known < found["rows"]))).any():
        warn(
            f"{_first_no_chance(rows, isinstance(frame, nw.DataFrame))}: no chance of being asked, "
            "which is above 0 and at most 1. Whether items had unequal chances cannot be told, and "
            "direct means ignore them."
        )
    elif (most > (1 + 1e-9) * least).any():
        warn(
            f"Items had unequal chances of being asked ({CHANCE!r}). Direct means ignore them, and "
            "lean toward the likely items. Estimates with a bank of earlier models use them."
        )


def _with_chances_as_numbers(rows):
    """Rows with their chances as floats, as `chances_of` tells them."""
    if rows.collect_schema()[CHANCE].is_numeric():
        chance = nw.col(CHANCE).cast(nw.Float64)
        return rows.with_columns(nw.when(chance.is_finite()).then(chance).alias(_NUMBER))
    table = collected(rows.unique() if isinstance(rows, nw.LazyFrame) else rows)
    return nw.from_native(table.assign(**{_NUMBER: chances_of(table[CHANCE])}))


def chances_of(values):
    """A column of chances as floats: nan where blank, -1 where they are no number."""
    numbers = values.astype(object).map(_as_chance, na_action="ignore")
    return pd.to_numeric(numbers, errors="coerce").to_numpy(dtype=float)


def _as_chance(value):
    try:
        return float(value) if str(value).strip() else np.nan
    except (TypeError, ValueError):
        return -1.0


def _first_no_chance(rows, in_order):
    """Where the first value that is no chance stands, and what it is."""
    is_chance = (nw.col(_NUMBER) > 0) & (nw.col(_NUMBER) <= 1)
    if isinstance(rows, nw.DataFrame):
        rows = rows.with_row_index("_skbench_row")
    odd = collected(rows.filter(nw.col(_NUMBER).is_null() | ~is_chance).head(1)).iloc[0]
    where = f" in row {odd['_skbench_row']}" if in_order else ""
    blank = pd.isna(odd[_NUMBER])
    return f"{CHANCE!r}{where} is {'blank' if blank else repr(plain(odd[CHANCE]))}"


def _refuse_text(frame, score):
    values = collected(frame.select(nw.col(score)).head(_ROWS_OF_TEXT))[score]
    bad = values[pd.to_numeric(values, errors="coerce").isna()]
    if len(bad) == 0:
        dtype = frame.collect_schema()[score]
        kind = "text" if dtype == nw.String else f"type {dtype}"
        raise ValueError(
            f"{score!r} holds numbers as {kind}. Convert the column, for example with "
            "astype(float)."
        )
    raise ValueError(
        f"{score!r} must be numeric, but row {bad.index[0]} has {bad.iloc[0]!r}. "
        "Map the outcomes to numbers, for example correct to 1 and incorrect to 0."
    )


def any_null(columns):
    """An expression: whether one of the columns is missing."""
    return reduce(or_, (nw.col(name).is_null() for name in columns))


def fetched(frame):
    """A narwhals frame in memory."""
    if not isinstance(frame, nw.LazyFrame):
        return frame
    # polars would otherwise hold all rows of a scan in memory.
    streams = frame.implementation is nw.Implementation.POLARS
    return frame.collect(**({"engine": "streaming"} if streams else {}))


def collected(frame, keys=()):
    """A narwhals result as a pandas frame, sorted by its keys."""
    frame = fetched(frame)
    table = pd.DataFrame({name: _plain(frame.get_column(name)) for name in frame.columns})
    return sorted_by(table, keys) if len(keys) else table


def sorted_by(table, keys):
    """A pandas frame sorted by some columns, their labels of one type."""
    return table.sort_values(list(keys), ignore_index=True, key=of_one_type)


def _plain(column):
    """Values that mean the same from every engine; numpy's own need no unpacking."""
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
        # A list would end at microseconds.
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
    """Index of the groups: flat for one column, else one level per column."""
    if len(by) == 1:
        return pd.Index(table[by[0]], name=by[0])
    return pd.MultiIndex.from_frame(table[by])
