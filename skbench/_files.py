"""Files that are there whole or not at all."""

import os
from pathlib import Path


def write_whole(path, text):
    """Write text beside a file and put it in its place, so that nobody reads half of it.

    Parameters
    ----------
    path : str or path
        The file; one of this name is replaced, its folder must exist.
    text : str
        All it shall hold.
    """
    path = Path(path)
    half = path.with_name(f".{path.name}.{os.getpid()}.half")
    try:
        with open(half, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)
