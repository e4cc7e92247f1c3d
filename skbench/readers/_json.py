"""JSON and JSON Lines on disk -> records, a line at a time, or a table of them."""

import bz2
import gzip
import io
import json
import lzma
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path

import pandas as pd

from skbench._checks import listed

LONGEST_LINE = 64 * 2**20  # bytes; a record of an item is a thousandth of that
LARGEST_DOCUMENT = 2**30  # bytes of one JSON document, which must be held in memory
ALWAYS_FINE = 64 * 2**20  # bytes that a compressed file may always hold
MOST_EXPANSION = 500  # times its size; tables and logs shrink by a factor of 10 to 100
_BLOCK = 2**19  # bytes read at a time: what is parsed then stays in the processor's cache
_BOM = b"\xef\xbb\xbf"
_ABSENT = float("nan")
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
        try:
            return loads(text)
        except ValueError:
            return json.loads(decoded(text))
    except RecursionError:
        raise ValueError("the values are nested too deep") from None


def decoded(text):
    """Text from bytes; a ValueError names the first byte that is wrong."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = text[error.start]
        raise ValueError(f"byte {error.start + 1} (0x{byte:02x}) is not UTF-8") from None


def open_bytes(path):
    """A binary file, uncompressed by its suffix; damage and bombs raise an OSError."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _OPENERS:
        return open(path, "rb")
    return io.BufferedReader(_Capped(_OPENERS[suffix](path), path.stat().st_size), _BLOCK)


def zstandard_stream(file, path):
    """What a file object holds, several frames of Zstandard one after the other."""
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            f"Reading {str(path)!r} needs zstandard: pip install 'skbench[readers]'."
        ) from None
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)


_OPENERS = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: zstandard_stream(open(path, "rb"), path),
}


@contextmanager
def damage_as_os_error():
    """Raise what the compressions raise for damaged data as an OSError."""
    try:
        yield
    except Exception as error:  # known by name, as not all of them need be installed
        if type(error).__name__ not in ("EOFError", "LZMAError", "ZstdError", "error"):
            raise
        raise OSError(str(error)) from error


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
        with damage_as_os_error():
            chunk = self._source.read(len(buffer))
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
    for numbers, found in _blocks(path, bad):
        yield from zip(numbers, found, strict=True)


def _blocks(path, bad):
    """Numbers and objects of a JSON Lines file, some lines at a time, or of one JSON list."""
    if _first_letter(path) == b"[":
        yield _elements(path, document(path), bad)
    else:
        for number, block in _lines(path, bad):
            yield _objects_of_lines(path, number, block, bad)


def _lines(path, bad):
    """The number of a line, and the bytes of it and of many that follow; long ones are refused."""
    number = 1
    try:
        with open_bytes(path) as file:
            while block := file.read(_BLOCK):
                block += file.readline(LONGEST_LINE + 1)
                last = block.rfind(b"\n", 0, -1) + 1
                if len(block) - last > LONGEST_LINE:
                    place = number + block.count(b"\n", 0, last)
                    bad.refuse(path, place, f"is longer than {LONGEST_LINE >> 20} MiB")
                    rest, block = block, block[:last] + b"\n"
                    while rest and not rest.endswith(b"\n"):
                        rest = file.readline(LONGEST_LINE)
                yield number, block.removeprefix(_BOM) if number == 1 else block
                number += block.count(b"\n")
    except OSError as error:
        raise ValueError(f"Cannot read {str(path)!r}: {error}") from error


def _objects_of_lines(path, first, block, bad):
    text = block.removesuffix(b"\n")
    numbers = range(first, first + text.count(b"\n") + 1)
    try:
        # No JSON has a line break within a string, so that commas may take their place.
        found = fast_loads()(b"[" + text.replace(b"\n", b",") + b"]")
        if len(found) == len(numbers) and set(map(type, found)) == {dict}:
            return numbers, found
    except (ValueError, RecursionError):
        pass
    return _only_objects(path, _one_by_one(path, first, block, bad), bad, "line {}")


def _one_by_one(path, first, block, bad):
    for number, line in enumerate(io.BytesIO(block), start=first):
        try:
            if line.strip():
                yield number, parse(line.removesuffix(b"\n"), fast_loads())
        except ValueError as error:
            cut = not line.endswith(b"\n")
            reason = f"the file ends in the middle of a record ({error})" if cut else str(error)
            bad.refuse(path, number, reason)


def _elements(path, elements, bad):
    return _only_objects(path, enumerate(elements, start=1), bad, "element {}")


def _only_objects(path, numbered, bad, place):
    """Numbers and objects; other values are refused or counted."""
    numbers, found = [], []
    for number, value in numbered:
        if isinstance(value, dict):
            numbers.append(number)
            found.append(value)
        else:
            reason = f"holds {json.dumps(value)!r:.40}, not an object in braces"
            bad.refuse(path, place.format(number), reason)
    return numbers, found


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
    except ValueError as error:
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


def holds_json_lines(path):
    """Whether a file begins with an object or a list of them."""
    return _first_letter(path) in (b"{", b"[")


def _first_letter(path):
    try:
        with open_bytes(path) as file:
            return file.read(64).removeprefix(_BOM).lstrip()[:1]
    except OSError:
        return b""


def read_json_table(path, bad):
    """A DataFrame with a column per field, dots for depth, and notes; lists are left out.

    A document of one object holds its records in a list somewhere; what stands beside the list
    is of all of them.
    """
    left_out = set()
    parts = list(_parts_of_table(path, bad, left_out))
    names = [name for name in dict.fromkeys(chain(*parts)) if name not in left_out]
    # A column without values takes its type from the other parts.
    known = [part.dropna(axis="columns", how="all") for part in parts]
    table = pd.concat(known or [pd.DataFrame()], ignore_index=True).reindex(columns=names)
    if not left_out:
        return table, []
    shown = listed(sorted(left_out), most=8)
    columns = f"{len(left_out)} column{'s' * (len(left_out) > 1)}"
    return table, [f"left out {columns} of lists or long texts: {shown}"]


def _parts_of_table(path, bad, left_out):
    whole = object_of_lists(path)
    if whole is None:
        for _, found in _blocks(path, bad):
            yield pd.DataFrame(_columns(found, left_out), index=range(len(found)))
        return
    (place, elements), *others = _lists_of_objects(whole)
    if others:
        raise ValueError(
            f"{str(path)!r} holds {len(others) + 1} lists of records: "
            f"{listed([place, *(place for place, _ in others)])}. Save the one that has the "
            "results as a file of its own."
        )
    _, found = _elements(path, elements, bad)
    beside = _columns([whole] * len(found), set())
    yield pd.DataFrame(beside | _columns(found, left_out, f"{place}."), index=range(len(found)))


def _columns(rows, left_out, place=""):
    """Columns by the dotted places of fields, with nan for those that a record lacks."""
    columns = {}
    for key in dict.fromkeys(chain.from_iterable(rows)):
        name, values = f"{place}{key}", [row.get(key, _ABSENT) for row in rows]
        kinds = set(map(type, values))
        if dict in kinds:
            objects = [value if type(value) is dict else {} for value in values]
            columns |= _columns(objects, left_out, f"{name}.")
            values = [_ABSENT if type(value) is dict else value for value in values]
            if all(value is _ABSENT for value in values):
                continue
        if list in kinds or (str in kinds and _longest(values) > _LONGEST_LABEL):
            left_out.add(name)
        else:
            columns[name] = values
    return columns


def _longest(values):
    return max(len(value) for value in values if type(value) is str)


def has_an_object_per_line(path):
    """Whether the first of several lines is a whole object."""
    try:
        with open_bytes(path) as file:
            first, others = file.readline(LONGEST_LINE), file.read(_BLOCK)
        whole = parse(first.removeprefix(_BOM), fast_loads()) if others.strip() else None
    except (OSError, ValueError):
        return False
    return isinstance(whole, dict)


def object_of_lists(path):
    """The object that a file is, if lists of other objects stand in it, or None."""
    if _first_letter(path) != b"{" or has_an_object_per_line(path):
        return None
    try:
        whole = document(path)
    except (OSError, ValueError):
        return None
    return whole if any(_lists_of_objects(whole)) else None


def _lists_of_objects(value, place=""):
    """Lists of objects by their dotted place, the outermost of each branch."""
    for key, part in value.items():
        if isinstance(part, dict):
            yield from _lists_of_objects(part, f"{place}{key}.")
        elif isinstance(part, list) and part and isinstance(part[0], dict):
            yield f"{place}{key}", part
