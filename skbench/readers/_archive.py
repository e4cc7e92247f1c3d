"""Members of a zip archive with Zstandard members, read without trust."""

import copy
import struct
import zipfile
import zlib

from skbench.readers._json import unpacked, zstandard_stream

_ZSTANDARD = 93
_LARGEST = 512 * 2**20  # bytes: summaries of about a million samples


class Archive:
    """A zip file of which single members are read into memory, never unpacked."""

    def __init__(self, path):
        self.path = str(path)
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise ValueError(f"{self.path!r} is no zip file, or is cut off: {error}.") from None
        for member in self._archive.infolist():
            parts = member.orig_filename.replace("\\", "/").split("/")
            if ".." in parts or parts[0] == "" or ":" in parts[0]:
                raise ValueError(
                    f"{self.path!r}, member {member.orig_filename!r}: the name leads out of the "
                    f"archive. No evaluation program writes this; refused."
                )

    def names(self):
        """Names of all members."""
        return self._archive.namelist()

    def read(self, name):
        """Contents of a member; refused where damaged, encrypted or a zip bomb."""
        member = self._archive.getinfo(name)
        try:
            with unpacked(self._open(member), member.compress_size, _LARGEST) as stream:
                content = stream.read()
        except (OSError, RuntimeError, zipfile.BadZipFile, struct.error) as error:
            raise ValueError(
                f"{self.path!r}, member {name!r} is damaged, encrypted or too large: {error}."
            ) from None
        if zlib.crc32(content) != member.CRC:
            raise ValueError(f"{self.path!r}, member {name!r} is damaged: its checksum is wrong.")
        return content

    def _open(self, member):
        if member.compress_type != _ZSTANDARD:
            return self._archive.open(member)
        # Python 3.14 knows Zstandard; before, its members are taken as they are stored.
        stored = copy.copy(member)
        stored.compress_type, stored.file_size = zipfile.ZIP_STORED, member.compress_size
        stored.CRC = None
        return zstandard_stream(self._archive.open(stored), self.path)
