"""Read one table file into a DataFrame. Errors name the file."""

import os
import re
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench.readers._exact import exact_frame, exact_labels
from skbench.readers._found import BadLines
from skbench.readers._json import (
    MOST_EXPANSION,
    beginning,
    decoded,
    open_bytes,
    open_text,
    optional,
)
from skbench.readers._json_table import ignored_columns_note, read_json_table

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_LINES = (".jsonl", ".ndjson")
TABLES = (*_SEPARATORS, *_PARQUET, *_LINES)
READABLE = "Give a .csv or .tsv file (.gz, .bz2, .xz, .zst allowed), a .parquet or .jsonl file"
_BLANKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
_MOST_COLUMNS = 10_000
_LARGEST_PARQUET = 2**27  # values that any file may hold, however few bytes it has
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_UNCLOSED = re.compile(r"EOF inside string starting at row (\d+)")
_CLOSE_IT = "Close the quote, or double it if it is part of the text"
_SKIPPED = re.compile(r"Skipping line (\d+): ([^\n]+)")
_ENCODING = {"encoding": "utf-8-sig", "encoding_errors": "replace"}
_AS_TEXT = {**_ENCODING, "dtype": str, "na_filter": False}
# -0,5 is a decimal number, but 1,234 may be a decimal number or a thousand.
_NUMBER = r"-?[0-9]+(?:,[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_THOUSANDS = r"-?[1-9][0-9]{0,2},[0-9]{3}"
_INTEGER = re.compile("0|-?[1-9][0-9]*")


def load_table(path, label_columns, bad=None):
    """Return a CSV, TSV, Parquet or JSON file as a DataFrame, and notes. Labels stay text."""
    table, notes = load_categories(path, label_columns, bad)
    return without_categories(table), notes


def load_categories(path, label_columns, bad=None, version=None):
    """Do the same as `load_table`, but return text labels as categories, which are fast to check.

    The column `version` may hold floats.
    """
    path, bad = Path(path), bad or BadLines()
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    kind, head, notes = "" if path.is_dir() else kind_of(path), beginning(path), []
    if kind in _LINES or head[:1] in (b"{", b"["):
        frame, notes = read_json_table(path, bad)
    elif kind in _PARQUET or head[:4] == b"PAR1":
        frame, notes = _read_parquet(path)
    elif kind in _SEPARATORS:
        frame, notes = _read_text(path, _SEPARATORS[kind], label_columns, bad)
    else:
        raise ValueError(f"The format of {str(path)!r} is unknown. {READABLE}.")
    with _naming(path):
        _check_width(frame.columns)
    if frame.empty:
        raise ValueError(f"{str(path)!r} has column names but no rows.")
    for name in set(label_columns(frame.columns)).intersection(frame.columns):
        if name == version and frame[name].dtype.kind == "f":
            continue
        frame[name] = exact_labels(frame[name])
        if _is_text(frame[name]):
            frame[name] = _categories(*pd.factorize(frame[name]), frame.index)
    return frame, notes


def _categories(codes, values, index):
    return pd.Series(pd.Categorical.from_codes(codes, values), index)


def _check_width(columns):
    if len(columns) > _MOST_COLUMNS:
        raise ValueError(
            f"it has {len(columns)} columns, but at most {_MOST_COLUMNS} are allowed. Write one "
            "row per answer, with columns for the model, the item and the score."
        )


def kind_of(path):
    """Return the last suffix that is not a compression, in lower case."""
    suffixes = (suffix.lower() for suffix in reversed(path.suffixes))
    return next((suffix for suffix in suffixes if suffix not in COMPRESSIONS), "")


def without_suffixes(path):
    """Return a file name without the suffixes of table formats and compressions."""
    name = path.name
    for known in (COMPRESSIONS, (*TABLES, ".json", ".xml")):
        name = Path(name).stem if Path(name).suffix.lower() in known else name
    return name


def readable(path):
    """Return a path with bytes that are not UTF-8 escaped, so that it can be printed."""
    return Path(os.fsencode(path).decode("utf-8", "backslashreplace"))


def n_shared(paths):
    """Count the leading parts that all paths share. The last part of a path does not count."""
    levels = list(zip(*(path[:-1] for path in paths), strict=False))
    return next((n for n, parts in enumerate(levels) if len(set(parts)) > 1), len(levels))


@contextmanager
def _naming(path):
    """Re-raise errors as one line that names the file and the reason."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise ValueError(f"Cannot read {str(path)!r}: {_reason(path, error)}") from error


def _reason(path, error):
    """Translate the parser's message into a reason and a remedy."""
    if isinstance(error, UnicodeDecodeError):
        return f"{_wrong_byte(path)}. Save it as UTF-8 ('CSV UTF-8' in a spreadsheet)."
    reason = " ".join(str(error).split())
    if found := _UNCLOSED.search(reason):
        return f"the quote that opens near line {int(found[1]) + 1} is not closed. {_CLOSE_IT}."
    found = _TOO_LONG.search(reason)
    if found is None:
        return reason
    header, line, fields = found.groups()
    return (
        f"line {line} has {fields} fields, but the header has {header}. Put double quotes around "
        "fields that contain the separator, and remove lines above the header. Pass "
        "skip_bad_lines=True to skip such lines."
    )


def _wrong_byte(path):
    """Describe the first byte that is not UTF-8 by its line and position."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                decoded(line)
            except ValueError as error:
                return f"line {number}, {error}"


def n_rows_about(path):
    """Return the number of rows of a Parquet file, or estimate that of a text file."""
    head = beginning(path, 2**16)
    if head[:4] == b"PAR1":
        with _naming(path):
            return optional("pyarrow.parquet", path).read_metadata(path).num_rows
    return path.stat().st_size * head.count(b"\n") / max(len(head), 1)


def _read_parquet(path):
    parquet = optional("pyarrow.parquet", path)
    with _naming(path):
        about, size = parquet.read_metadata(path), path.stat().st_size
        schema = parquet.read_schema(path)
        values = about.num_rows * about.num_columns
        if values > _LARGEST_PARQUET and 8 * values > MOST_EXPANSION * size:
            raise ValueError(
                f"its {size} bytes unpack to {values} values, so it may be a decompression bomb"
            )
        frame = pd.read_parquet(path, engine="pyarrow")
    # pandas stores a named index as a column, so it is read as a column.
    levels = [name for name in frame.index.names if name is not None and name not in frame]
    frame = frame.reset_index(level=levels).reset_index(drop=True)
    types, lists = optional("pyarrow.types", path), []
    for name, kind in zip(schema.names, schema.types, strict=True):
        if types.is_nested(kind) and name in frame:
            lists.append(name)
        elif types.is_integer(kind) and name in frame and frame[name].dtype == float:
            cells = parquet.read_table(path, columns=[name]).column(name).to_pylist()
            frame[name] = exact_frame({name: cells}, len(frame))[name]
    return frame.drop(columns=lists), ignored_columns_note(lists)


def _read_text(path, separator, label_columns, bad):
    with _naming(path):
        separator, header = _header(path, separator)
        spare = _all_rows_end_in(path, separator)
    columns = [cell or f"Unnamed: {place}" for place, cell in enumerate(header)]
    labels = set(label_columns(columns)).intersection(columns)
    names = [*columns, *spare * ["after the last separator"]]
    read = partial(_parsed, path, bad, sep=separator)
    # With the header as a first row, pandas infers text for most columns, which reads fast.
    others = {columns[i]: str for i, cell in enumerate(header) if not cell[:1].isalpha()}
    read_texts = partial(read, header=None, names=names, dtype=others, na_values=[""])
    blanks = {name: [""] if name in labels else _BLANKS for name in names}
    kinds = dict.fromkeys(labels, "category")
    how = {"na_values": blanks, "dtype": kinds, "index_col": False}
    with _naming(path):
        # pandas would take the length of a first row that is too long as the width of the table.
        texts, skipped = read_texts(nrows=None if bad.skip else 2)
        frame, _ = read(header=0, names=names, skiprows=skipped, **how)
        numbers = [name for name in labels if not _is_text(frame[name].cat.categories)]
        if numbers and not bad.skip:
            texts, _ = read_texts(usecols=numbers, dtype=kinds | others)
    texts = texts.iloc[1:].reset_index(drop=True)
    frame = frame.drop(columns=names[len(columns) :])
    for name in labels:
        frame[name] = _as_written((texts if name in numbers else frame)[name])
    swallowed = _swallowed_rows(frame, separator)
    for cell in swallowed.values():
        start = cell.split("\n")[0][:40]
        reason = f"the quote before {start!r} closes some rows later, so one cell contains rows"
        bad.refuse(path, _line_of(path, cell), f"{reason}. {_CLOSE_IT}")
    frame = frame.drop(index=[*swallowed]).reset_index(drop=True)
    if bad.skip:
        texts = texts.drop(index=[*swallowed]).reset_index(drop=True)
        frame = _without_undecodable_rows(frame, texts, path, bad)
    decimals = [] if separator == "," else _with_decimal_points(frame, labels)
    if decimals:
        wholes = [name for name in frame if frame[name].dtype == float and name not in decimals]
        if not bad.skip:
            texts = read_texts(usecols=wholes)[0].iloc[1:]
        with _naming(path):
            _refuse_thousands(texts[wholes], decimals)
    notes = []
    if decimals:
        notes = [f"read decimal commas as decimal points in {listed(decimals, most=6)}"]
    return frame, notes


def _swallowed_rows(frame, separator):
    """Return cells that contain rows of the table because a quote is not closed, by row.

    Each line of such a cell has the separators of a row and a value that other rows have, too.
    """
    n, found = len(frame.columns) - 1, {}
    for place, name in enumerate(frame.columns):
        if pd.api.types.is_numeric_dtype(frame[name]):
            continue
        cells = pd.Series(frame[name].unique()).dropna().astype(str)
        long = cells[cells.str.contains("\n", regex=False)]
        for row, cell in frame[name][frame[name].isin(long)].items() if len(long) else ():
            first, *lines, last = (line.split(separator) for line in cell.split("\n"))
            like_rows = len(first) == n - place + 1 and all(len(line) == n + 1 for line in lines)
            if like_rows and len(last) <= n + 1:
                known = [*zip(frame.columns[place + 1 :], first[1:], strict=True)]
                known += zip(frame.columns, last[:-1], strict=False)
                others = frame.drop(index=row)
                if any((others[column].astype(str) == part).any() for column, part in known):
                    found[row] = cell
    return found


def _line_of(path, cell):
    """Return the line in which a quoted cell begins."""
    with open_bytes(path) as file:
        return 1 + file.read().partition(b'"' + cell.split("\n")[0].encode())[0].count(b"\n")


def _header(path, separator):
    """Return the separator, by the suffix or else by the header line, and the header's cells."""
    for candidate in (separator, ";", "\t", ",", separator):
        with open_text(path) as file:
            row = pd.read_csv(file, sep=candidate, header=None, nrows=1, **_AS_TEXT)
        header = row.iloc[0].tolist()
        if len(header) > 1:
            break
    _check_width(header)
    twice = next((cell for cell in header if cell and header.count(cell) > 1), None)
    if twice is not None:
        raise ValueError(f"several columns are named {twice!r}. Rename or remove all but one.")
    return candidate, header


def _all_rows_end_in(path, separator):
    """Return whether every row ends in a separator, and so has one empty cell too many."""
    with open_text(path) as file:
        first = pd.read_csv(file, sep=separator, **_ENCODING, nrows=1)
    # pandas makes an index of the surplus cells, one level for each.
    if isinstance(first.index, pd.RangeIndex) or first.index.nlevels > 1:
        return False
    with open_text(path) as file:
        lines = re.sub(rb'"[^"]*"', b"", file.read()).splitlines()
    _, *rows = (line for line in lines if line.strip())
    return all(row.endswith(separator.encode()) for row in rows)


def _parsed(path, bad, **how):
    """Parse a text file. Return the table and the lines that were skipped as too long."""
    how["encoding_errors"] = "replace" if bad.skip else "strict"
    how["on_bad_lines"] = "warn" if bad.skip else "error"
    with open_text(path) as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        frame = pd.read_csv(
            file, encoding="utf-8-sig", keep_default_na=False, low_memory=False, **how
        )
    skipped = _SKIPPED.findall("\n".join(str(warning.message) for warning in caught))
    for line, reason in skipped:
        bad.refuse(path, int(line), reason.strip())
    return frame, [int(line) - 1 for line, _ in skipped]


def _without_undecodable_rows(frame, texts, path, bad):
    """Drop rows that contain bytes that are not UTF-8."""
    wrong = [texts[name].astype(str).str.contains("\ufffd", regex=False) for name in texts]
    wrong = np.any(wrong, axis=0)
    for row in np.flatnonzero(wrong):
        bad.refuse(path, f"row {row + 1}", "is not UTF-8")
    return frame[~wrong].reset_index(drop=True)


def _as_written(labels):
    """Return labels as categories of text, or as integers if no label's text changes."""
    codes, texts = pd.factorize(labels)
    texts = texts.astype(str)
    try:
        integers = texts.astype("int64")
    except (ValueError, OverflowError):
        integers = texts[:0]
    if len(integers) < len(texts) or not (integers.astype(str) == texts).all():
        return _categories(codes, texts, labels.index)
    integers = pd.Series(integers, dtype="Int64").array.take(codes, allow_fill=True)
    return pd.Series(integers if (codes < 0).any() else integers.astype("int64"), labels.index)


def _with_decimal_points(frame, labels):
    """Convert columns of numbers such as 0,5 in place. Return their names."""
    changed = []
    for name in frame.columns.difference(labels, sort=False):
        if pd.api.types.is_numeric_dtype(frame[name]):
            continue
        words = frame[name].dropna().astype(str).str.strip()
        commas = words[words.str.contains(",", regex=False)]
        numbers = len(commas) and words.str.fullmatch(_NUMBER).all()
        if numbers and not commas.str.fullmatch(_THOUSANDS).all():
            frame[name] = words.str.replace(",", ".").astype(float).reindex(frame.index)
            changed.append(name)
    return changed


def _refuse_thousands(texts, decimals):
    """Raise for cells such as 1.000 beside decimal commas, because they may be thousands."""
    for name, cells in texts.items():
        points = cells[cells.str.contains(".", regex=False, na=False)]
        if len(points) and points.str.fullmatch(_THOUSANDS.replace(",[", "[.][")).all():
            raise ValueError(
                f"{points.iloc[0]!r} in {name!r} may be a thousand or a decimal number, because "
                f"{decimals[0]!r} has decimal commas. Write thousands without a point, and the "
                "same decimal sign everywhere."
            )


def is_integer(text):
    """Return whether a text is an integer as Python prints it: 8, not 08."""
    return _INTEGER.fullmatch(text) is not None


def _is_text(column):
    """Return whether all cells are text."""
    known = isinstance(column.dtype, pd.StringDtype) or column.isna().all()
    return known or pd.api.types.infer_dtype(column, skipna=True) == "string"


def without_categories(table):
    """Return the table with its categories replaced by plain labels."""
    names = {}
    for name, column in table.select_dtypes("category").items():
        labels = column.cat.categories.array.take(column.array.codes, allow_fill=True)
        names[name] = pd.Series(labels, index=table.index)
    return table.assign(**names)


def plain(rows):
    """Return `ItemRows` with categories replaced by plain labels."""
    return rows.changed(without_categories)
