"""Which files of a folder are read."""

import os
from pathlib import Path

from skbench.readers._find import NOTHING, files_of, recognize
from skbench.readers.loading import TABLES, kind_of


def is_read(file, folder):
    """Whether a file is read with the results of a folder, or would be once it is written there."""
    file, folder = Path(os.path.realpath(file)), Path(os.path.realpath(folder))
    if file.exists():
        inside = any(part.exists() and part.samefile(file) for part in files_of(folder))
        return inside and (kind_of(file) in TABLES or recognize(file) not in NOTHING)
    inside = folder in file.parents
    hidden = inside and any(part.startswith(".") for part in file.relative_to(folder).parts)
    return inside and not hidden and kind_of(file) in TABLES
