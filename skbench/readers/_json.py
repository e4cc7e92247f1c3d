"""JSON and JSON Lines on disk -> records, a line at a time, or a table of them."""

import bz2
import gzip
import io
import json
import lzma
import zlib
from functools import cache, partial
from itertools import islice
from pathlib import Path

import pandas as pd

from skbench._checks import listed

LONGEST_LINE = 64 * 2**20  # bytes; a record of an item is a thousandth of that
LARGEST_DOCUMENT = 2**30  # bytes of one JSON document, which must be held in memory
ALWAYS_FINE = 64 * 2**20  # bytes that a compressed file may always hold
MOST_EXPANSION = 500  # times its size; tables and logs shrink by a factor of 10 to 100
_BLOCK = 2**20  # bytes read at a time
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_BOM = b"\xef\xbb\xbf"
_ROWS_PER_CHUNK = 20_000
_LINES_AT_ONCE = 4 * 2**20  # bytes
_LONGEST_LABEL = 300  # letters; what is longer is a prompt or an answer


@cache
def fast_loads():
    """orjson's parser, three times as fast, where it is installed."""
    try:
        from orjson import loads
    except ImportError:
        return json.loads
    return loads


def parse(text, loads=json.loads):
    """A JSON value from bytes; a ValueError names the byte or the column."""
    # orjson knows no NaN and no number beyond 64 bits: what it refuses gets a second chance.
    try:
        return loads(text)
    except ValueError:
        return json.loads(_decoded(text))
    except RecursionError:
        raise ValueError("the values are nested too deep") from None


def _decoded(text):
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = text[error.start]
        raise ValueError(f"byte {error.start + 1} (0x{byte:02x}) is not UTF-8") from None


def open_bytes(path):
    """A binary file, uncompressed by its suffix; reading a bomb raises an OSError."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".zst":
        source = zstandard_stream(open(path, "rb"), path)
    elif suffix in _OPENERS:
        source = _OPENERS[suffix](path, "rb")
    else:
        return open(path, "rb")
    return io.BufferedReader(_Capped(source, path.stat().st_size), _BLOCK)


def zstandard_stream(file, path):
    """What a file object holds, several frames of Zstandard one after the other."""
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            f"Reading {str(path)!r} needs zstandard: pip install 'skbench[readers]'."
        ) from None
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)


class _Capped(io.RawIOBase):
    """What a compressed file holds, as far as its size on disk explains it."""

    def __init__(self, source, size):
        self._source, self._size, self._done = source, size, 0
        self._most = max(ALWAYS_FINE, MOST_EXPANSION * size)

    def readable(self):
        """It is read only."""
        return True

    def readinto(self, buffer):
        """Fill the buffer, as io.RawIOBase has it."""
        try:
            chunk = self._source.read(len(buffer))
        except (EOFError, lzma.LZMAError, zlib.error) as error:
            raise OSError(str(error)) from error
        except Exception as error:  # zstandard's own, which may not be installed
            if type(error).__name__ != "ZstdError":
                raise
            raise OSError(str(error)) from error
        self._done += len(chunk)
        if self._done > self._most:
            raise OSError(f"{self._size} bytes unpack to more than {self._most}: refused as a bomb")
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self):
        """Close the file."""
        self._source.close()
        super().close()


def records(path, bad):
    """Objects of a JSON Lines file, or of one JSON list, with the numbers of their lines."""
    loads = fast_loads()
    for number, line, whole in _lines(path, bad):
        try:
            record = loads(line)
        except (ValueError, RecursionError):
            if number == 1 and line.lstrip()[:1] == b"[":
                yield from _elements(path, bad)
                return
            record = _second_try(path, number, line, whole, loads, bad)
            if record is None:
                continue
        if isinstance(record, list) and number == 1:
            yield from _elements(path, bad)
            return
        if isinstance(record, dict):
            yield number, record
        else:
            bad.refuse(path, number, f"holds {_shortened(line)}, not an object in braces")


def _second_try(path, number, line, whole, loads, bad):
    try:
        return parse(line, loads)
    except (ValueError, RecursionError) as error:
        reason = str(error) or "the values are nested too deep"
        if not whole:
            reason = f"the file ends in the middle of a record ({reason})"
        bad.refuse(path, number, reason)


def _elements(path, bad):
    for number, record in enumerate(document(path), start=1):
        if isinstance(record, dict):
            yield number, record
        else:
            bad.refuse(path, f"element {number}", "is not an object in braces")


def _lines(path, bad):
    """Lines that are not blank, their numbers, and whether they end; long ones are refused."""
    with open_bytes(path) as file:
        number = 0
        while line := _line(file, path):
            number += 1
            text = line.removesuffix(b"\n")
            if len(text) > LONGEST_LINE:
                bad.refuse(path, number, f"is longer than {LONGEST_LINE >> 20} MiB")
                while line and not line.endswith(b"\n"):
                    line = _line(file, path)
                continue
            text = text.removeprefix(_BOM) if number == 1 else text
            if text and not text.isspace():
                yield number, text, line.endswith(b"\n")


def _line(file, path):
    try:
        return file.readline(LONGEST_LINE + 1)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"Cannot read {str(path)!r}: {error}") from error


def document(path):
    """The value of a file that holds one JSON document, or a ValueError."""
    with open_bytes(path) as file:
        text = file.read(LARGEST_DOCUMENT + 1).removeprefix(_BOM)
    if len(text) > LARGEST_DOCUMENT:
        raise ValueError(f"{str(path)!r} is one JSON document of over 1 GiB: too large to read.")
    if not text.strip():
        raise ValueError(f"{str(path)!r} is empty.")
    try:
        return parse(text, fast_loads())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} is no JSON: {error}.") from None


def value_at(record, path):
    """What stands in a record under dotted keys such as ``doc.subject``, or None."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def label_at(record, path):
    """The label under dotted keys, None without a path, a ValueError where there is none."""
    if path is None:
        return None
    label = value_at(record, path)
    if label is None or isinstance(label, (dict, list)):
        raise ValueError(f"has no label in field {path!r}")
    return label


def _shortened(text, most=40):
    text = text.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= most else text[: most - 3] + "...")


def holds_json_lines(path):
    """Whether a file begins with an object or a list of them."""
    try:
        with open_bytes(path) as file:
            return file.read(64).removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")
    except (OSError, EOFError):
        return False


def read_json_table(path, bad):
    """A DataFrame with a column per field, dots for depth, and notes; lists are left out.

    A document of one object holds its records in a list somewhere; what stands beside the list
    is of all of them.
    """
    left_out = set()
    try:
        if is_one_object(path):
            raise ValueError("is no JSON Lines")
        chunks = [pd.DataFrame(_columns(block, left_out)) for block in _plain_blocks(path)]
    except (KeyError, ValueError, TypeError, OSError, EOFError):
        left_out = set()  # a record unlike the others, or a line to be told of: one by one
        flat = _flat_records(path, bad, left_out)
        some = iter(lambda: list(islice(flat, _ROWS_PER_CHUNK)), [])
        chunks = [pd.DataFrame(chunk) for chunk in some]
    table = pd.concat(chunks or [pd.DataFrame()], ignore_index=True)
    table = table.drop(columns=[name for name in left_out if name in table])
    if not left_out:
        return table, []
    shown = listed(sorted(left_out), most=8)
    columns = f"{len(left_out)} column{'s' * (len(left_out) > 1)}"
    return table, [f"left out {columns} of lists or long texts: {shown}"]


def _plain_blocks(path):
    """Lists of records of some megabytes of lines each; a ValueError where a line is not plain."""
    loads, rest = fast_loads(), b""
    with open_bytes(path) as file:
        while block := file.read(_LINES_AT_ONCE):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if len(rest) > LONGEST_LINE:
                raise ValueError("is a long line")
            if newline:
                yield _records_of(whole, loads)
    if rest.strip():
        yield _records_of(rest, loads)


def _records_of(lines, loads):
    """Records of lines that all hold one: no JSON has a line break within a string."""
    lines = lines.removeprefix(_BOM)
    found = loads(b"[" + lines.replace(b"\n", b",") + b"]")
    if len(found) != lines.count(b"\n") + 1 or set(map(type, found)) != {dict}:
        raise ValueError("not one record per line")
    return found


def _columns(rows, left_out, place=""):
    """Columns of records that have the same fields; a KeyError where one has others."""
    columns = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        kinds, name = set(map(type, values)), f"{place}{key}"
        if kinds == {dict}:
            columns |= _columns(values, left_out, f"{name}.")
        elif dict in kinds:
            raise KeyError(key)
        elif list in kinds or (str in kinds and _longest(values, kinds) > _LONGEST_LABEL):
            left_out.add(name)
        else:
            columns[name] = values
    if max(map(len, rows)) > len(rows[0]):
        raise KeyError("a field that the first record lacks")
    return columns


def _longest(values, kinds):
    texts = values if kinds == {str} else [value for value in values if isinstance(value, str)]
    return max(map(len, texts))


def _flat_records(path, bad, left_out):
    if not is_one_object(path):
        for _, record in records(path, bad):
            yield _flat(record, left_out)
        return
    whole = document(path)
    lists = dict(_lists_of_objects(whole, ""))
    if len(lists) != 1:
        raise ValueError(
            f"{str(path)!r} holds {f'{len(lists)} lists' if lists else 'no list'} of records"
            f"{f': {listed(lists)}. Save the one that has the results' if lists else ''}"
            f"{' as a file of its own' if lists else ', one for each answer'}."
        )
    ((place, found),) = lists.items()
    of_all = {
        key: value for key, value in _flat(whole, set()).items() if not key.startswith(f"{place}.")
    }
    for number, record in enumerate(found, start=1):
        if isinstance(record, dict):
            yield of_all | {f"{place}.{k}": v for k, v in _flat(record, left_out).items()}
        else:
            bad.refuse(path, f"element {number}", "is not an object in braces")


def _lists_of_objects(value, place):
    """Lists of objects by their dotted place, the outermost of each branch."""
    for key, part in value.items():
        inner = f"{place}.{key}" if place else key
        if isinstance(part, dict):
            yield from _lists_of_objects(part, inner)
        elif isinstance(part, list) and part and isinstance(part[0], dict):
            yield inner, part


def is_one_object(path):
    """Whether a file is one JSON object that holds a list of others, and not one per line."""
    try:
        with open_bytes(path) as file:
            lines = (
                line for line in iter(partial(file.readline, LONGEST_LINE), b"") if line.strip()
            )
            first, second = next(lines, b""), next(lines, b"")
    except (OSError, EOFError):
        return False
    if not first.removeprefix(_BOM).lstrip().startswith(b"{"):
        return False
    if second and _is_object(first):
        return False
    try:
        return bool(dict(_lists_of_objects(document(path), "")))
    except ValueError:
        return False


def _is_object(line):
    try:
        return isinstance(parse(line.removeprefix(_BOM), fast_loads()), dict)
    except (ValueError, RecursionError):
        return False


def _flat(record, left_out, place=""):
    """Fields of labels and numbers by their dotted place."""
    row = {}
    for name, value in record.items():
        key = f"{place}{name}"
        if isinstance(value, dict):
            row |= _flat(value, left_out, f"{key}.")
        elif isinstance(value, list) or _is_long(value):
            left_out.add(key)
        elif key not in left_out:
            row[key] = value
    return row


def _is_long(value):
    return isinstance(value, str) and len(value) > _LONGEST_LABEL
