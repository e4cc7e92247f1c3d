"""Keep labels exact: float64 cannot hold all integers beyond 2**53."""

import pandas as pd
from pandas.api.types import infer_dtype, is_integer_dtype

from skbench._checks import as_text, of_one_type

_MOST = 2**53  # float64 rounds integers beyond it
_INT64 = 2**63


def exact_labels(labels):
    """Return labels as int64 (Int64 with missing ones) if all are such integers, else as text."""
    if infer_dtype(labels, skipna=True) not in ("integer", "floating", "mixed-integer-float"):
        return of_one_type(labels)
    known = labels.dropna()
    whole = is_integer_dtype(labels) or all(
        isinstance(x, int) or x.is_integer() for x in known.astype(object)
    )
    if whole and (known.empty or (known.min() >= -_INT64 and known.max() < _INT64)):
        return labels.astype("Int64" if len(known) < len(labels) else "int64")
    return labels.astype(object).map(as_text, na_action="ignore")


def exact_frame(columns, n):
    """Return a DataFrame of lists. Columns that float64 would round have dtype object."""
    frame = pd.DataFrame(columns, index=range(n))
    for name, dtype in zip(columns, frame.dtypes, strict=True):
        is_large = dtype.kind == "f" and (abs(frame[name].to_numpy()) >= _MOST).any()
        if is_large and int in map(type, columns[name]):
            frame[name] = pd.Series(columns[name], index=frame.index, dtype=object)
    return frame


def concatenated(frames):
    """Concatenate frames. A column of several types keeps integers that float64 would round."""
    types = {}
    for frame in frames:
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
            types.setdefault(name, []).append(dtype)
    mixed = {n for n, found in types.items() if len(set(found)) > 1 or len(found) < len(frames)}
    large = {
        name
        for frame in frames
        for name in mixed.intersection(frame)
        if is_integer_dtype(frame[name]) and frame[name].abs().max() >= _MOST
    }
    if large:
        frames = [frame.astype({n: object for n in large if n in frame}) for frame in frames]
    return pd.concat(frames or [pd.DataFrame()], ignore_index=True)
