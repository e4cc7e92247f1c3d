"""JSON and JSON Lines on disk -> records, a line at a time."""

import bz2
import gzip
import io
import json
import lzma
import math
from functools import cache
from importlib import import_module
from pathlib import Path

LONGEST_LINE = 64 * 2**20  # bytes; a record of an item is a thousandth of that
LARGEST_DOCUMENT = 2**30  # bytes of one JSON document, which must be held in memory
ALWAYS_FINE = 64 * 2**20  # bytes that a compressed file may always hold
MOST_EXPANSION = 500  # times its size; tables and logs shrink by a factor of 10 to 100
_BLOCK = 2**18  # bytes read at a time: what is parsed then stays in the processor's cache
# Errors of damaged data by name, as not all compressions need be installed.
_DAMAGE = ("BadZipFile", "EOFError", "LZMAError", "ZstdError", "error")
_GZIP = b"\x1f\x8b"  # how such files begin
_BOM = b"\xef\xbb\xbf"
# Digits, minus signs, and what may stand before a number.
_KINDS = bytes(
    b"0-A "[0 if b in b"0123456789" else 1 if b in b"-" else 2 if b in b"[:, \t\r\n" else 3]
    for b in range(256)
)
_DIGITS = b"0" * 19
_LONG_INTEGERS = b"A0" + _DIGITS, b"A-" + _DIGITS
_ESCAPED_COLON = b"\\u003"


class Complete(ValueError):
    """What is wrong with a value that is no syntax, and not for want of its end."""


def record_of(pairs):
    """An object of its keys and values; a key that stands twice is an error."""
    record = {}
    for key, value in pairs:
        if key in record:
            raise Complete(f"an object has the key {key!r} twice")
        record[key] = value
    return record


def _standard_loads(text):
    """json's parser of bytes, without halves of surrogate pairs, which nobody could print."""
    value = json.loads(decoded(text), object_pairs_hook=record_of)
    if b"\\ud" in text or b"\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Complete("half of a surrogate pair is no character") from None
    return value


@cache
def _plain_loads():
    """A parser three times as fast, where orjson is installed."""
    try:
        from orjson import loads
    except ImportError:
        return _standard_loads
    return loads


@cache
def fast_loads():
    """The same, which refuses what is in doubt."""
    loads = _plain_loads()
    if loads is _standard_loads:
        return loads
    from orjson import dumps

    def sure_loads(text):
        value = loads(text)
        # orjson makes floats of integers beyond 64 bits, and the last of equal keys counts.
        kinds = text.translate(_KINDS)
        if _DIGITS in kinds and any(long in kinds for long in _LONG_INTEGERS):
            raise ValueError("an integer is too long")
        # A text may have colons, too, as often as it is written again.
        if b"\\" in text and _ESCAPED_COLON in text:
            raise ValueError("colons cannot be counted")
        n_keys = text.count(b":")
        if not (_are_objects(value) and sum(map(len, value)) == n_keys):
            try:
                n_keys -= dumps(value).count(b":")
            except TypeError:  # nested too deep
                pass
            if n_keys:
                raise ValueError("a key may stand twice")
        return value

    return sure_loads


def _are_objects(value):
    return type(value) is list and set(map(type, value)) == {dict}


def parse(text):
    """A JSON value from bytes; a ValueError names the byte or the column."""
    # What orjson refuses, such as NaN, gets a second chance.
    try:
        try:
            return fast_loads()(text)
        except ValueError:
            return _standard_loads(text)
    except RecursionError:
        raise Complete("the values are nested too deep") from None


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
    if not path.is_file() and path.exists():
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
    """Objects of a log in JSON Lines, or in one JSON list, with the numbers of their lines.

    A program wrote it: no key stands twice, no id is longer than 64 bits.
    """
    for objects in blocks(path, bad, _plain_loads()):
        yield from objects.items()


def blocks(path, bad, loads=None):
    """Objects by the numbers of their lines, some hundred thousand bytes of lines at a time."""
    loads = loads or fast_loads()
    if beginning(path)[:1] == b"[":
        yield only_objects(path, enumerate(document(path), start=1), bad, "element {}")
    else:
        for number, block in _lines(path, bad):
            yield _objects_of_lines(path, number, block, bad, loads)


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


def _objects_of_lines(path, first, block, bad, loads):
    text = block.removesuffix(b"\n")
    try:
        # No JSON has a line break within a string, so that commas may take their place.
        found = loads(b"[" + text.replace(b"\n", b",") + b"]")
        if len(found) == text.count(b"\n") + 1 and _are_objects(found):
            return dict(enumerate(found, start=first))
    except (ValueError, RecursionError):
        pass
    return only_objects(path, _one_by_one(path, first, block, bad), bad, "line {}")


def _one_by_one(path, first, block, bad):
    for number, line in enumerate(io.BytesIO(block), start=first):
        try:
            if line.strip():
                yield number, parse(line.removesuffix(b"\n"))
        except ValueError as error:
            cut = not line.endswith(b"\n") and not isinstance(error, Complete)
            reason = f"the file ends in the middle of a record ({error})" if cut else str(error)
            bad.refuse(path, number, reason)


def only_objects(path, numbered, bad, place):
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
    except Complete as error:
        raise Complete(f"Cannot read {str(path)!r}: {error}.") from None
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


def has_an_object_per_line(path):
    """Whether the first of several lines is a whole object."""
    try:
        with open_bytes(path) as file:
            first, others = file.readline(LONGEST_LINE), file.read(_BLOCK)
        whole = parse(first.removeprefix(_BOM)) if others.strip() else None
    except Complete:
        return True
    except (OSError, ValueError):
        return False
    return isinstance(whole, dict)
