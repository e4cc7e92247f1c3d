"""Read members of untrusted zip archives, including Zstandard members."""

import copy
import struct
import zipfile
import zlib

from skbench.readers._json import unpacked, zstandard_stream

_ZSTANDARD = 93
_LARGEST = 512 * 2**20  # bytes: summaries of about a million samples


class Archive:
    """A zip file whose members are read into memory and never unpacked to disk."""

    def __init__(self, path):
        self.path = str(path)
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise ValueError(f"{self.path!r} is not a zip file or is truncated: {error}.") from None
        for member in self._archive.infolist():
            parts = member.orig_filename.replace("\\", "/").split("/")
            if ".." in parts or parts[0] == "" or ":" in parts[0]:
                raise ValueError(
                    f"{self.path!r}, member {member.orig_filename!r} has a path outside the "
                    f"archive. Evaluation programs do not write such names, so the file is refused."
                )

    def names(self):
        """Return the names of all members."""
        return self._archive.namelist()

    def read(self, name):
        """Return the contents of a member. Raise if it is damaged, encrypted or a zip bomb."""
        member = self._archive.getinfo(name)
        try:
            with unpacked(self._open(member), member.compress_size, _LARGEST) as stream:
                content = stream.read()
        except (OSError, RuntimeError, zipfile.BadZipFile, struct.error) as error:
            raise ValueError(
                f"{self.path!r}, member {name!r} is damaged, encrypted or too large: {error}."
            ) from None
        if zlib.crc32(content) != member.CRC:
            raise ValueError(f"{self.path!r}, member {name!r} is damaged (wrong checksum).")
        return content

    def _open(self, member):
        if member.compress_type != _ZSTANDARD:
            return self._archive.open(member)
        # zipfile reads Zstandard since Python 3.14. Before, read the stored bytes.
        stored = copy.copy(member)
        stored.compress_type, stored.file_size = zipfile.ZIP_STORED, member.compress_size
        stored.CRC = None
        return zstandard_stream(self._archive.open(stored), self.path)
