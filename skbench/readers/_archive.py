"""Members of a zip archive with Zstandard members, read without trust."""

import struct
import zipfile
import zlib

from skbench.readers._json import ALWAYS_FINE, MOST_EXPANSION, zstandard_stream

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_LARGEST = 512 * 2**20  # bytes: summaries of about a million samples
_CHUNK = 2**20


class Archive:
    """A zip file of which single members are read into memory, never unpacked."""

    def __init__(self, path):
        self.path = str(path)
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise ValueError(f"{self.path!r} is no zip file, or is cut off: {error}.") from None
        for member in members:
            parts = member.orig_filename.replace("\\", "/").split("/")
            if ".." in parts or parts[0] == "" or ":" in parts[0]:
                raise ValueError(
                    f"{self.path!r}, member {member.orig_filename!r}: the name leads out of the "
                    f"archive. No evaluation program writes this; refused."
                )
        self._members = {member.filename: member for member in members}

    def names(self):
        """Names of all members."""
        return list(self._members)

    def read(self, name):
        """Contents of a member; refused where damaged, encrypted or a zip bomb."""
        member = self._members[name]
        if member.flag_bits & 1:
            raise ValueError(f"{self.path!r}, member {name!r} is encrypted.")
        most = max(ALWAYS_FINE, MOST_EXPANSION * member.compress_size)
        content, check = bytearray(), 0
        try:
            for chunk in self._chunks(member):
                content += chunk
                check = zlib.crc32(chunk, check)
                if len(content) > min(most, _LARGEST):
                    raise ValueError(
                        f"{self.path!r}, member {name!r}: {member.compress_size} bytes unpack to "
                        f"more than {len(content) - 1}. Refused as a zip bomb."
                    )
        except (OSError, EOFError, zlib.error, struct.error) as error:
            raise ValueError(f"{self.path!r}, member {name!r} is damaged: {error}.") from None
        if check != member.CRC:
            raise ValueError(f"{self.path!r}, member {name!r} is damaged: its checksum is wrong.")
        return bytes(content)

    def _chunks(self, member):
        with open(self.path, "rb") as file:
            file.seek(member.header_offset)
            signature, name_size, extra_size = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            if signature != b"PK\x03\x04":
                raise OSError("no member begins where the directory says")
            file.seek(name_size + extra_size, 1)
            source = _Part(file, member.compress_size)
            if member.compress_type == _ZSTANDARD:
                yield from _unpacked(zstandard_stream(source, self.path))
            elif member.compress_type == zipfile.ZIP_DEFLATED:
                yield from _deflated(source)
            elif member.compress_type == zipfile.ZIP_STORED:
                yield from _unpacked(source)
            else:
                raise OSError(f"it is compressed by unknown method {member.compress_type}")


class _Part:
    """The next so many bytes of a file."""

    def __init__(self, file, size):
        self._file, self._left = file, size

    def read(self, size=-1):
        size = self._left if size < 0 else min(size, self._left)
        self._left -= size
        return self._file.read(size)


def _unpacked(reader):
    try:
        yield from iter(lambda: reader.read(_CHUNK), b"")
    except Exception as error:  # zstandard's own, which may not be installed
        if type(error).__name__ != "ZstdError":
            raise
        raise OSError(str(error)) from None


def _deflated(source):
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    pending = source.read(_CHUNK)
    while pending:
        yield decompressor.decompress(pending, _CHUNK)
        pending = decompressor.unconsumed_tail or source.read(_CHUNK)
    yield decompressor.flush()
