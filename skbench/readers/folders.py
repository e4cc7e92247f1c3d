"""Check whether a file is among those that are read from a folder."""

import os
from pathlib import Path

from skbench.readers._find import NOTHING, files_of, recognize
from skbench.readers.loading import TABLES, kind_of


def is_read(file, folder):
    """Return whether a file is, or once written would be, read with the results of a folder."""
    file, folder = Path(os.path.realpath(file)), Path(os.path.realpath(folder))
    if kind_of(file) not in TABLES and recognize(file) in NOTHING:
        return False
    if file.exists():
        return any(part.exists() and part.samefile(file) for part in files_of(folder))
    inside = folder in file.parents
    return inside and not any(part.startswith(".") for part in file.relative_to(folder).parts)
