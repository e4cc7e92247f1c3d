"""Files that are there whole or not at all."""

import os
from pathlib import Path


def write_whole(path, text):
    """Write text or bytes beside a file and put it in its place, so that nobody reads half of it.

    Parameters
    ----------
    path : str or path
        The file; one of this name is replaced, its folder must exist. What a link leads to
        is replaced, and what is no file, such as a pipe, is written to.
    text : str or bytes
        All it shall hold.
    """
    content = text.encode() if isinstance(text, str) else text
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} to."
        )
    half = path.with_name(f".{path.name}.{os.getpid()}.half")
    try:
        with open(half, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    except OSError as error:
        raise OSError(f"Cannot write {str(path)!r}: {error.strerror}.") from error
    finally:
        half.unlink(missing_ok=True)
