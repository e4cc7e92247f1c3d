"""A table file on disk -> a DataFrame, with errors that name the file."""

import zlib
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_BLANKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")


def load_table(path, label_columns):
    """Read a CSV, TSV or Parquet file.

    Parameters
    ----------
    path : str or path-like
        The kind is told by the extension; CSV and TSV may be compressed.
    label_columns : callable
        Takes the column names and returns those that hold labels. A label
        may well be called "NA" or "None", so there only an empty cell counts as
        blank.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the extension is unknown, the file is empty or cannot be parsed.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = next((s for s in reversed(suffixes) if s not in _COMPRESSIONS), "")
    if path.is_dir() or kind not in (*_SEPARATORS, *_PARQUET):
        raise ValueError(
            f"Cannot tell what {str(path)!r} is. Give a .csv or .tsv file "
            f"({', '.join(_COMPRESSIONS)} allowed) or a .parquet file."
        )
    if kind in _PARQUET:
        frame = _read_parquet(path)
    else:
        frame = _read_text(path, _SEPARATORS[kind], label_columns)
    if frame.empty:
        raise ValueError(f"{str(path)!r} has column names but no rows.")
    return frame


@contextmanager
def _naming(path):
    """Say which file cannot be read, in one line."""
    try:
        yield
    except pd.errors.EmptyDataError:
        raise ValueError(f"{str(path)!r} is empty.") from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"Cannot read {str(path)!r}: {reason}") from error


def _read_parquet(path):
    if path.stat().st_size == 0:
        raise ValueError(f"{str(path)!r} is empty.")
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "Reading Parquet needs pyarrow: pip install 'skbench[cli]', or save the table as CSV."
        ) from None
    with _naming(path):
        return pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)


def _read_text(path, separator, label_columns):
    with _naming(path):
        separator, columns = _separator_and_columns(path, separator)
    labels = set(label_columns(columns))
    with _naming(path):
        return pd.read_csv(
            path,
            sep=separator,
            encoding="utf-8-sig",
            keep_default_na=False,
            na_values={c: [""] if c in labels else list(_BLANKS) for c in columns},
            low_memory=False,
            index_col=False,
        )


def _separator_and_columns(path, separator):
    """The separator the extension promises, or the one the header line shows."""
    for candidate in (separator, ";", "\t", ","):
        columns = pd.read_csv(path, sep=candidate, encoding="utf-8-sig", nrows=0).columns
        if len(columns) > 1:
            return candidate, list(columns)
    return separator, list(columns)
