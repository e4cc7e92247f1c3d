"""A table file on disk -> a DataFrame, with errors that name the file."""

import re
import warnings
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench.readers._found import BadLines
from skbench.readers._json import MOST_EXPANSION, holds_json_lines, open_bytes, read_json_table

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_LINES = (".jsonl", ".ndjson")
_BLANKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
_LARGEST_PARQUET = 2**27  # values that a file may always hold, however small it is
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_AS_UTF8 = "Save it as UTF-8, in a spreadsheet as 'CSV UTF-8'."
# -0,5 is a decimal; of 1,234 nobody can tell whether it is a thousand or a decimal.
_DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+")
_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2},[0-9]{3}")
_WHOLE = re.compile(r"-?[0-9]+")
_INTEGER = re.compile("0|-?[1-9][0-9]*")


def load_table(path, label_columns, bad=None):
    """A CSV, TSV, Parquet or JSON file as a DataFrame, and notes; labels stay text."""
    table, notes = load_categories(path, label_columns, bad)
    return without_categories(table), notes


def load_categories(path, label_columns, bad=None):
    """The same, with labels that are text as categories: checks of their codes are quick."""
    path, bad = Path(path), bad or BadLines()
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = next((s for s in reversed(suffixes) if s not in _COMPRESSIONS), "")
    if path.is_dir() or not (kind in (*_SEPARATORS, *_PARQUET, *_LINES) or holds_json_lines(path)):
        raise ValueError(
            f"Cannot tell what {str(path)!r} is. Give a .csv or .tsv file "
            f"({', '.join(_COMPRESSIONS)} allowed), a .parquet or a .jsonl file."
        )
    notes = []
    if kind in _LINES or holds_json_lines(path):
        frame, notes = read_json_table(path, bad)
        for name in label_columns(frame.columns):
            if name in frame and _is_text(frame[name]):
                frame[name] = frame[name].astype("category")
    elif kind in _PARQUET or _head(path) == b"PAR1":
        frame = _read_parquet(path)
    else:
        frame, notes = _read_text(path, _SEPARATORS[kind], label_columns, bad)
    if frame.empty:
        raise ValueError(f"{str(path)!r} has column names but no rows.")
    return frame, notes


def without_suffixes(path):
    """The name of a file without the suffixes that say how a table is written in it."""
    name = path.name
    for known in (_COMPRESSIONS, (*_SEPARATORS, *_PARQUET, *_LINES, ".json", ".xml")):
        suffix = Path(name).suffix
        name = name.removesuffix(suffix) if suffix.lower() in known else name
    return name


def n_shared(paths):
    """With how many parts all paths begin; the last part of a path does not count."""
    levels = list(zip(*(path[:-1] for path in paths), strict=False))
    return next((n for n, parts in enumerate(levels) if len(set(parts)) > 1), len(levels))


@contextmanager
def _naming(path):
    """Say which file cannot be read, in one line."""
    try:
        yield
    except pd.errors.EmptyDataError:
        raise ValueError(f"{str(path)!r} is empty.") from None
    except UnicodeDecodeError:
        raise ValueError(f"Cannot read {str(path)!r}: {_place_of_wrong_byte(path)}") from None
    except pd.errors.ParserError as error:
        raise ValueError(f"Cannot read {str(path)!r}: {_plain_words(error)}") from error
    except (ValueError, OSError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"Cannot read {str(path)!r}: {reason}") from error


def _plain_words(error):
    """What is wrong with a line, and what to do about it, for the parser's words."""
    reason = " ".join(str(error).split())
    found = _TOO_LONG.search(reason)
    if found is None:
        return reason
    header, line, fields = found.groups()
    if header == "1":
        what = "If the first lines are no header, such as comments, remove them."
    else:
        what = (
            "Put fields that hold the separator in double quotes, or remove those that are too "
            "many, or pass skip_bad_lines=True (--skip-bad-lines) to go on without such lines."
        )
    return f"line {line} has {fields} fields, the header has {header}. {what}"


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
        _refuse_parquet_bomb(path)
        frame = pd.read_parquet(path, engine="pyarrow")
    # An index that pandas kept under a name of its own is a column like the others.
    levels = [name for name in frame.index.names if name is not None and name not in frame]
    return frame.reset_index(level=levels).reset_index(drop=True)


def _refuse_parquet_bomb(path):
    import pyarrow.parquet as pq

    about = pq.read_metadata(path)
    values, size = about.num_rows * about.num_columns, path.stat().st_size
    if values > _LARGEST_PARQUET and 8 * values > MOST_EXPANSION * size:
        raise ValueError(f"{size} bytes unpack to {values} values: refused as a bomb")


def _head(path):
    with open(path, "rb") as file:
        return file.read(4)


def _read_text(path, separator, label_columns, bad):
    with _naming(path):
        separator, columns = _separator_and_columns(path, separator)
    labels = set(label_columns(columns)) & set(columns)
    how = {
        "sep": separator,
        "encoding": "utf-8-sig",
        "encoding_errors": "replace" if bad.skip else "strict",
        "on_bad_lines": "warn" if bad.skip else "error",
    }
    with _naming(path):
        too_long = _too_long_from_the_first(path, bad, how)
    how |= {
        "skiprows": [line - 1 for line in too_long],
        "keep_default_na": False,
        "na_values": {c: [""] if c in labels else list(_BLANKS) for c in columns},
        "low_memory": False,
    }
    with _naming(path), _counting(path, bad), open_bytes(path) as file:
        frame = pd.read_csv(file, **how, index_col=False)
    # Reading text is quick where pandas may choose the type; numbers lose their spelling then.
    numbers = [name for name in columns if name in labels and not _is_text(frame[name])]
    if numbers:
        with warnings.catch_warnings(), open_bytes(path) as file:
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # told above
            spelled = pd.read_csv(file, **how, index_col=False, dtype=dict.fromkeys(numbers, str))
        frame[numbers] = spelled[numbers]
    for name in labels:
        frame[name] = _as_written(frame[name])
    frame = _without_foreign_letters(frame, path, bad) if bad.skip else frame
    decimals = [] if separator == "," else _with_decimal_points(frame, labels)
    notes = [f"decimal commas, read as points: {listed(decimals, most=6)}"] if decimals else []
    return frame, notes


def _with_decimal_points(frame, labels):
    """Read columns of numbers such as 0,5 in place; the names of those."""
    changed = []
    for name in frame.columns.difference(labels, sort=False):
        if pd.api.types.is_numeric_dtype(frame[name]):
            continue
        words = frame[name].map(lambda cell: str(cell).strip(), na_action="ignore")
        present = words.dropna()
        decimal = present.map(_DECIMAL_COMMA.fullmatch).notna()
        whole = present.map(_WHOLE.fullmatch).notna()
        thousands = present.map(_THOUSANDS.fullmatch).notna()
        if (decimal | whole).all() and decimal.any() and not thousands[decimal].all():
            frame[name] = words.str.replace(",", ".").astype(float)
            changed.append(name)
    return changed


def is_integer(text):
    """Whether a text is what an integer prints as: 8, not 08."""
    return _INTEGER.fullmatch(text) is not None


def _is_text(column):
    """Whether all cells are text, as they stand in the file."""
    known = isinstance(column.dtype, pd.StringDtype) or column.isna().all()
    return known or pd.api.types.infer_dtype(column, skipna=True) == "string"


def _as_written(labels):
    """Labels that were read as text: integers if this changes the text of none, else categories."""
    codes, names = pd.factorize(labels)
    if not all(map(is_integer, names)):
        return pd.Series(pd.Categorical.from_codes(codes, names), index=labels.index)
    try:
        integers = pd.Series(np.asarray(names).astype("int64"), dtype="Int64").reindex(codes)
    except OverflowError:
        return pd.Series(pd.Categorical.from_codes(codes, names), index=labels.index)
    whole = "int64" if (codes >= 0).all() else "Int64"
    return integers.astype(whole).set_axis(labels.index)


def without_categories(table):
    """The table with names in place of categories, which are for quick checks."""
    names = {}
    for name in table:
        column = table[name].array
        if isinstance(column, pd.Categorical):
            labels = column.categories.array.take(column.codes, allow_fill=True)
            names[name] = pd.Series(labels, index=table.index)
    return table.assign(**names) if names else table


def plain(rows):
    """`ItemRows` with names in place of categories."""
    frames = {name: getattr(rows, name) for name in ("items", "groups", "blank")}
    known = {name: frame for name, frame in frames.items() if frame is not None}
    return rows._replace(**{name: without_categories(frame) for name, frame in known.items()})


@contextmanager
def _counting(path, bad):
    """Count lines with too many cells, which pandas skips with a warning; yields their numbers."""
    lines = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        yield lines
    for warning in caught:
        for line, reason in re.findall(r"Skipping line (\d+): ([^\n]+)", str(warning.message)):
            bad.refuse(path, int(line), reason.strip())
            lines.append(int(line))


def _too_long_from_the_first(path, bad, how):
    """Numbers of lines to skip where the first row has more cells than the header."""
    # pandas would take that row for the rule, and drop what is beyond the header.
    try:
        with open_bytes(path) as file:
            pd.read_csv(file, **how | {"on_bad_lines": "error"}, header=None, nrows=2, dtype=str)
        return []
    except pd.errors.ParserError as error:
        found = _TOO_LONG.search(str(error))
        if found and int(found[3]) == int(found[1]) + 1 and _all_rows_end_in(how["sep"], path):
            return []
        if not bad.skip:
            raise
    with _counting(path, bad) as lines, open_bytes(path) as file:
        pd.read_csv(file, **how, header=None, dtype=object)
    return lines


def _all_rows_end_in(separator, path):
    """Whether all rows but the header have a last cell that is empty."""
    quoted, rows = False, 0
    with open_bytes(path) as file:
        for line in file:
            quoted ^= line.count(b'"') % 2 == 1
            if quoted or line.isspace():
                continue
            rows += 1
            if rows > 1 and not line.rstrip(b"\r\n").endswith(separator.encode()):
                return False
    return True


def _without_foreign_letters(frame, path, bad):
    """Rows without letters that were not UTF-8."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    wrong = np.zeros(len(frame), dtype=bool)
    for name in texts:
        wrong |= texts[name].astype(str).str.contains("\ufffd", regex=False).to_numpy()
    for row in np.flatnonzero(wrong):
        bad.refuse(path, f"row {row + 1}", "is not UTF-8")
    return frame[~wrong].reset_index(drop=True)


def _place_of_wrong_byte(path):
    """The first line that is not UTF-8, in words, and what to do."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                if number == 1 and line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                    return f"it is UTF-16, not UTF-8. {_AS_UTF8}"
                byte = line[error.start]
                place = f"line {number}, byte {error.start + 1} (0x{byte:02x})"
                return f"{place} is not UTF-8. {_AS_UTF8}"
    return f"it is not UTF-8. {_AS_UTF8}"


def _separator_and_columns(path, separator):
    """The separator the extension promises, or the one the header line shows."""
    for candidate in (separator, ";", "\t", ","):
        how = {"sep": candidate, "encoding": "utf-8-sig", "encoding_errors": "replace"}
        with open_bytes(path) as file:
            columns = list(pd.read_csv(file, **how, nrows=0).columns)
        if len(columns) > 1:
            _refuse_columns_of_one_name(path, how)
            return candidate, columns
    return separator, columns


def _refuse_columns_of_one_name(path, how):
    """Which of two columns called 'score' is meant nobody can tell."""
    with open_bytes(path) as file:
        names = pd.read_csv(file, **how, header=None, nrows=1, dtype=str).iloc[0].dropna()
    if not names.is_unique:
        raise ValueError(
            f"{str(path)!r} has several columns called {names[names.duplicated()].iloc[0]!r}. "
            "Name them apart, or leave all but one out."
        )
