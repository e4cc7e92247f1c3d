"""JSON and JSON Lines on disk -> records, a line at a time, or a table of them."""

import bz2
import gzip
import io
import json
import lzma
import math
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path

import pandas as pd

from skbench._checks import listed

LONGEST_LINE = 64 * 2**20  # bytes; a record of an item is a thousandth of that
LARGEST_DOCUMENT = 2**30  # bytes of one JSON document, which must be held in memory
ALWAYS_FINE = 64 * 2**20  # bytes that a compressed file may always hold
MOST_EXPANSION = 500  # times its size; tables and logs shrink by a factor of 10 to 100
_BLOCK = 2**18  # bytes read at a time: what is parsed then stays in the processor's cache
# Errors of damaged data by name, as not all compressions need be installed.
_DAMAGE = ("BadZipFile", "EOFError", "LZMAError", "ZstdError", "error")
_GZIP = b"\x1f\x8b"  # how such files begin
_BOM = b"\xef\xbb\xbf"
_ABSENT = float("nan")
_LONGEST_LABEL = 300  # letters; what is longer is a prompt or an answer


def _standard_loads(text):
    """json's parser of bytes, without halves of surrogate pairs, which nobody could print."""
    value = json.loads(decoded(text))
    if b"\\ud" in text or b"\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair is no character") from None
    return value


@cache
def fast_loads():
    """orjson's parser, three times as fast, where it is installed."""
    try:
        from orjson import loads
    except ImportError:
        return _standard_loads
    return loads


def parse(text):
    """A JSON value from bytes; a ValueError names the byte or the column."""
    # orjson knows no NaN and no number beyond 64 bits: what it refuses gets a second chance.
    try:
        try:
            return fast_loads()(text)
        except ValueError:
            return _standard_loads(text)
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
    """A binary file, uncompressed by its suffix or as gzip; damage and bombs raise an OSError."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise OSError("it is a folder, a pipe or a device. Save what it gives in a file")
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        file = open(path, "rb")
        if file.peek(2)[:2] != _GZIP:
            return file
        file.close()
        opener = gzip.open
    return unpacked(opener(path), path.stat().st_size)


def beginning(path, size=64):
    """The first bytes of a file, without blanks; none where it is damaged."""
    try:
        with open_bytes(path) as file:
            return file.read(size).removeprefix(_BOM).lstrip()
    except OSError:
        return b""


def zstandard_stream(file, path):
    """What a file object holds, several frames of Zstandard one after the other."""
    unpacker = optional("zstandard", path).ZstdDecompressor()
    return unpacker.stream_reader(file, read_across_frames=True, closefd=True)


def optional(module, path):
    """A module that not everybody has installed, and that reading this file needs."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"Reading {str(path)!r} needs {package}: pip install 'skbench[readers]'."
        ) from None


def _open_zstandard(path):
    return zstandard_stream(open(path, "rb"), path)


_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": _open_zstandard}


def unpacked(source, size, most=math.inf):
    """A stream of what so many compressed bytes hold; damage and bombs raise an OSError."""
    most, done = min(most, max(ALWAYS_FINE, MOST_EXPANSION * size)), 0

    def look(chunk):
        nonlocal done
        done += len(chunk)
        if done > most:
            raise OSError(f"{size} bytes unpack to more than {most}: refused as a bomb")

    return io.BufferedReader(_LookedAt(source, look), _BLOCK)


def open_text(path, longest=LONGEST_LINE):
    """The same as `open_bytes` for text: NUL bytes and endless lines raise an OSError, too."""
    length, is_wide = 0, beginning(path, 2) in (b"\xff\xfe", b"\xfe\xff")

    def look(chunk):
        nonlocal length
        if b"\0" in chunk and not is_wide:  # parsers know the first wrong byte of UTF-16
            raise OSError("it holds NUL bytes: it is damaged, or no text in UTF-8")
        end = chunk.rfind(b"\n")
        length = len(chunk) - end - 1 + length * (end < 0)
        if length > longest:
            raise OSError(f"it has a line of more than {longest >> 20} MiB")

    return io.BufferedReader(_LookedAt(open_bytes(path), look), _BLOCK)


class _LookedAt(io.RawIOBase):
    """A stream of which something looks at each chunk before anybody gets it."""

    def __init__(self, source, look):
        self._source, self._look = source, look

    def readable(self):
        """It is read only."""
        return True

    def readinto(self, buffer):
        """Fill the buffer, as io.RawIOBase has it."""
        try:
            chunk = self._source.read(len(buffer))
        except Exception as error:
            if type(error).__name__ not in _DAMAGE:
                raise
            raise OSError(str(error)) from error
        self._look(chunk)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self):
        """Close the file."""
        self._source.close()
        super().close()


def records(path, bad):
    """Objects of a JSON Lines file, or of one JSON list, with the numbers of their lines."""
    for objects in _blocks(path, bad):
        yield from objects.items()


def _blocks(path, bad):
    """Objects by the numbers of their lines, some hundred thousand bytes of lines at a time."""
    if beginning(path)[:1] == b"[":
        yield _only_objects(path, enumerate(document(path), start=1), bad, "element {}")
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
    try:
        # No JSON has a line break within a string, so that commas may take their place.
        found = fast_loads()(b"[" + text.replace(b"\n", b",") + b"]")
        if len(found) == text.count(b"\n") + 1 and set(map(type, found)) == {dict}:
            return dict(enumerate(found, start=first))
    except (ValueError, RecursionError):
        pass
    return _only_objects(path, _one_by_one(path, first, block, bad), bad, "line {}")


def _one_by_one(path, first, block, bad):
    for number, line in enumerate(io.BytesIO(block), start=first):
        try:
            if line.strip():
                yield number, parse(line.removesuffix(b"\n"))
        except ValueError as error:
            cut = not line.endswith(b"\n")
            reason = f"the file ends in the middle of a record ({error})" if cut else str(error)
            bad.refuse(path, number, reason)


def _only_objects(path, numbered, bad, place):
    objects = {}
    for number, value in numbered:
        if isinstance(value, dict):
            objects[number] = value
        else:
            reason = f"holds {json.dumps(value)!r:.40}, not an object in braces"
            bad.refuse(path, place.format(number), reason)
    return objects


def document(path):
    """The value of a file that holds one JSON document, or a ValueError."""
    try:
        with open_text(path, LARGEST_DOCUMENT) as file:
            text = bytearray(file.read(_BLOCK).removeprefix(_BOM))
            while len(text) <= LARGEST_DOCUMENT and (block := file.read(_BLOCK)):
                text += block
    except OSError as error:
        raise ValueError(f"Cannot read {str(path)!r}: {error}.") from error
    if len(text) > LARGEST_DOCUMENT:
        raise ValueError(f"{str(path)!r} is one JSON document of over 1 GiB: too large to read.")
    try:
        return parse(text)
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


def read_json_table(path, bad):
    """A DataFrame with a column per field, dots for depth, and notes; lists are left out.

    A document of one object holds its records in a list somewhere; what stands beside the list
    is of all of them.
    """
    left_out = set()
    columns = _parts_of_table(path, bad, left_out)
    parts = [pd.DataFrame(part, index=range(n)) for part, n in columns]
    names = [name for name in dict.fromkeys(chain(*parts)) if name not in left_out]
    # A column without values takes its type from the other parts.
    known = [part.dropna(axis="columns", how="all") for part in parts]
    table = pd.concat(known or [pd.DataFrame()], ignore_index=True).reindex(columns=names)
    if not left_out:
        return table, []
    columns = f"{len(left_out)} column{'s' * (len(left_out) > 1)} of lists or long texts"
    return table, [f"left out {columns}: {listed(sorted(left_out), most=8)}"]


def _parts_of_table(path, bad, left_out):
    """Columns, and of how many records they are."""
    whole = object_of_lists(path)
    if whole is None:
        for objects in _blocks(path, bad):
            yield _columns(objects.values(), left_out), len(objects)
        return
    lists = dict(_lists_of_objects(whole))
    if len(lists) > 1:
        raise ValueError(
            f"{str(path)!r} holds {len(lists)} lists of records: {listed(lists)}. Save the one "
            "that has the results as a file of its own."
        )
    ((place, elements),) = lists.items()
    objects = _only_objects(path, enumerate(elements, start=1), bad, "element {}")
    beside = _columns([whole] * len(objects), set())
    yield beside | _columns(objects.values(), left_out, f"{place}."), len(objects)


def _columns(rows, left_out, place=""):
    """Columns by the dotted places of fields, with nan for those that a record lacks."""
    columns = {}
    for key, values in _fields(rows).items():
        name, kinds = f"{place}{key}", set(map(type, values))
        if dict in kinds:
            objects = [value if type(value) is dict else {} for value in values]
            columns |= _columns(objects, left_out, f"{name}.")
            values = [_ABSENT if type(value) is dict else value for value in values]
            if all(value is _ABSENT for value in values):
                continue
        if list in kinds or (str in kinds and _longest(values, kinds) > _LONGEST_LABEL):
            left_out.add(name)
        else:
            columns[name] = values
    return columns


def _fields(rows):
    keys = next(iter(rows), {})
    try:
        if max(map(len, rows), default=0) > len(keys):
            raise KeyError
        return {key: [row[key] for row in rows] for key in keys}
    except KeyError:  # not all have the fields of the first
        keys = dict.fromkeys(chain.from_iterable(rows))
        return {key: [row.get(key, _ABSENT) for row in rows] for key in keys}


def _longest(values, kinds):
    texts = values if kinds == {str} else [value for value in values if type(value) is str]
    return max(map(len, texts))


def has_an_object_per_line(path):
    """Whether the first of several lines is a whole object."""
    try:
        with open_bytes(path) as file:
            first, others = file.readline(LONGEST_LINE), file.read(_BLOCK)
        whole = parse(first.removeprefix(_BOM)) if others.strip() else None
    except (OSError, ValueError):
        return False
    return isinstance(whole, dict)


def object_of_lists(path):
    """The object that a file is, if lists of other objects stand in it, or None."""
    if beginning(path)[:1] != b"{" or has_an_object_per_line(path):
        return None
    try:
        whole = _with_records(document(path))
    except (OSError, ValueError):
        return None
    return whole if any(_lists_of_objects(whole)) else None


def _with_records(whole):
    """An object, with records where pandas or W&B wrote the rows of a table as lists of cells."""
    names, rows = whole.get("columns"), whole.get("data")
    if not (type(names) is type(rows) is list and {type(row) for row in rows} == {list}):
        return whole
    return {"data": [dict(zip(names, row, strict=True)) for row in rows]}


def _lists_of_objects(value, place=""):
    """Lists of objects by their dotted place, the outermost of each branch."""
    for key, part in value.items():
        if isinstance(part, dict):
            yield from _lists_of_objects(part, f"{place}{key}.")
        elif isinstance(part, list) and part and isinstance(part[0], dict):
            yield f"{place}{key}", part
