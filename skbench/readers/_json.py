"""Read records from JSON and JSON Lines, line by line."""

import bz2
import gzip
import io
import json
import lzma
import math
from functools import cache
from importlib import import_module
from pathlib import Path

LONGEST_LINE = 64 * 2**20  # bytes; the record of an item has about a thousandth
LARGEST_DOCUMENT = 2**30  # bytes of one JSON document, which must fit in memory
ALWAYS_FINE = 64 * 2**20  # bytes that any compressed file may unpack to
MOST_EXPANSION = 500  # unpacked size over compressed size; tables and logs have 10 to 100
_BLOCK = 2**18  # bytes read at a time, so that they stay in the processor's cache
# Errors of damaged data by name, because not all compressions need to be installed.
_DAMAGE = ("BadZipFile", "EOFError", "LZMAError", "ZstdError", "error")
_GZIP = b"\x1f\x8b"  # first bytes
_BOM = b"\xef\xbb\xbf"
# Classes of bytes: digits, minus signs, bytes that may precede a number, others.
_KINDS = bytes(
    b"0-A "[0 if b in b"0123456789" else 1 if b in b"-" else 2 if b in b"[:, \t\r\n" else 3]
    for b in range(256)
)
_DIGITS = b"0" * 19
_LONG_INTEGERS = b"A0" + _DIGITS, b"A-" + _DIGITS
_ESCAPED_COLON = b"\\u003"


class Complete(ValueError):
    """An error in a value whose syntax is complete, so that the file is not truncated."""


def record_of(pairs):
    """Return an object from its keys and values. Raise for a repeated key."""
    record = {}
    for key, value in pairs:
        if key in record:
            raise Complete(f"an object has the key {key!r} twice")
        record[key] = value
    return record


def _standard_loads(text):
    """Parse bytes by json. Raise for unpaired surrogates, which cannot be printed."""
    value = json.loads(decoded(text), object_pairs_hook=record_of)
    if b"\\ud" in text or b"\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Complete("a text contains an unpaired surrogate") from None
    return value


@cache
def _plain_loads():
    """Return orjson's parser, which is 3 times as fast, if it is installed."""
    try:
        from orjson import loads
    except ImportError:
        return _standard_loads
    return loads


@cache
def fast_loads():
    """Return the fast parser with checks for values that it would parse wrongly."""
    loads = _plain_loads()
    if loads is _standard_loads:
        return loads
    from orjson import dumps

    def sure_loads(text):
        value = loads(text)
        # orjson converts integers beyond 64 bits to floats, and keeps the last of equal keys.
        kinds = text.translate(_KINDS)
        if _DIGITS in kinds and any(long in kinds for long in _LONG_INTEGERS):
            raise ValueError("an integer is too long")
        # Texts may contain colons, so count those that are written again.
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
    """Parse a JSON value from bytes. A ValueError names the byte or the column."""
    # json accepts some values that orjson refuses, such as NaN.
    try:
        try:
            return fast_loads()(text)
        except ValueError:
            return _standard_loads(text)
    except RecursionError:
        raise Complete("the values are nested too deep") from None


def decoded(text):
    """Decode UTF-8. A ValueError names the first invalid byte."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = text[error.start]
        raise ValueError(f"byte {error.start + 1} (0x{byte:02x}) is not UTF-8") from None


def open_bytes(path):
    """Open a binary file and decompress it. Raise an OSError for damage and bombs."""
    path = Path(path)
    if not path.is_file() and path.exists():
        raise OSError("it is a folder, a pipe or a device. Save its contents to a file")
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        file = open(path, "rb")
        if file.peek(2)[:2] != _GZIP:
            return file
        file.close()
        opener = gzip.open
    return unpacked(opener(path), path.stat().st_size)


def beginning(path, size=64):
    """Return the first bytes of a file without leading blanks, or none if it is damaged."""
    try:
        with open_bytes(path) as file:
            return file.read(size).removeprefix(_BOM).lstrip()
    except OSError:
        return b""


def zstandard_stream(file, path):
    """Return a stream that decompresses all Zstandard frames of a file."""
    unpacker = optional("zstandard", path).ZstdDecompressor()
    return unpacker.stream_reader(file, read_across_frames=True, closefd=True)


def optional(module, path):
    """Import an optional module that reading this file needs."""
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
    """Return a stream that limits how far `size` bytes may expand. Raise an OSError beyond it."""
    most, done = min(most, max(ALWAYS_FINE, MOST_EXPANSION * size)), 0

    def check(chunk):
        nonlocal done
        done += len(chunk)
        if done > most:
            raise OSError(
                f"its {size} bytes unpack to more than {most}, so it may be a decompression bomb"
            )

    return io.BufferedReader(_CheckedStream(source, check), _BLOCK)


def open_text(path, longest=LONGEST_LINE):
    """Open a text file as `open_bytes` does, but also raise for NUL bytes and endless lines."""
    length, is_wide = 0, beginning(path, 2) in (b"\xff\xfe", b"\xfe\xff")

    def check(chunk):
        nonlocal length
        if b"\0" in chunk and not is_wide:  # for UTF-16, parsers name the first invalid byte
            raise OSError("it contains NUL bytes, so it is damaged or not UTF-8 text")
        end = chunk.rfind(b"\n")
        length = len(chunk) - end - 1 + length * (end < 0)
        if length > longest:
            raise OSError(f"it has a line of more than {longest >> 20} MiB")

    return io.BufferedReader(_CheckedStream(open_bytes(path), check), _BLOCK)


class _CheckedStream(io.RawIOBase):
    """A stream that calls a function on each chunk before it returns the chunk."""

    def __init__(self, source, check):
        self._source, self._check = source, check

    def readable(self):
        """Return True."""
        return True

    def readinto(self, buffer):
        """Fill the buffer."""
        try:
            chunk = self._source.read(len(buffer))
        except Exception as error:
            if type(error).__name__ not in _DAMAGE:
                raise
            raise OSError(str(error)) from error
        self._check(chunk)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self):
        """Close the file."""
        self._source.close()
        super().close()


def records(path, bad):
    """Yield the objects of a log (JSON Lines or one JSON list) with their line numbers.

    Repeated keys and integers beyond 64 bits are not checked, because programs do not write them.
    """
    for objects in blocks(path, bad, _plain_loads()):
        yield from objects.items()


def blocks(path, bad, loads=None):
    """Yield dicts of line number -> object, for about 260,000 bytes of lines at a time."""
    loads = loads or fast_loads()
    if beginning(path)[:1] == b"[":
        yield only_objects(path, enumerate(document(path), start=1), bad, "element {}")
    else:
        for number, block in _lines(path, bad):
            yield _objects_of_lines(path, number, block, bad, loads)


def _lines(path, bad):
    """Yield blocks of lines with the number of the first line. Refuse lines that are too long."""
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
        # JSON strings contain no line breaks, so commas can replace line breaks.
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
            reason = f"has {json.dumps(value)!r:.40}, not a JSON object"
            bad.refuse(path, place.format(number), reason)
    return objects


def document(path):
    """Return the value of a file with one JSON document. Raise a ValueError if it is invalid."""
    try:
        with open_text(path, LARGEST_DOCUMENT) as file:
            text = bytearray(file.read(_BLOCK).removeprefix(_BOM))
            while len(text) <= LARGEST_DOCUMENT and (block := file.read(_BLOCK)):
                text += block
    except OSError as error:
        raise ValueError(f"Cannot read {str(path)!r}: {error}.") from error
    if len(text) > LARGEST_DOCUMENT:
        raise ValueError(f"{str(path)!r} is one JSON document of over 1 GiB, which is too large.")
    try:
        return parse(text)
    except Complete as error:
        raise Complete(f"Cannot read {str(path)!r}: {error}.") from None
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is not JSON: {error}.") from None


def value_at(record, path):
    """Return the value under dotted keys such as ``doc.subject``, or None."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def label_at(record, path):
    """Return the label under dotted keys, or None without a path. Raise if there is no label."""
    if path is None:
        return None
    label = value_at(record, path)
    if label is None or isinstance(label, (dict, list)):
        raise ValueError(f"has no label in field {path!r}")
    return label


def has_an_object_per_line(path):
    """Return whether there are several lines and the first is a complete object."""
    try:
        with open_bytes(path) as file:
            first, others = file.readline(LONGEST_LINE), file.read(_BLOCK)
        whole = parse(first.removeprefix(_BOM)) if others.strip() else None
    except Complete:
        return True
    except (OSError, ValueError):
        return False
    return isinstance(whole, dict)
