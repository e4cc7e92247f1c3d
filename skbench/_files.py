"""The one way files are written: whole or not at all."""

import errno
import os
import secrets
import signal
import stat
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_DISK = errno.EINVAL, errno.ENOTSUP, errno.ENOSYS  # of what cannot be flushed, such as a pipe


@contextmanager
def whole_file(path):
    """A binary file to write to, which takes the place of the old one when it is whole.

    Until then, and after an error, the old file is as it was: the new one stands beside it under
    a name of its own, and reaches the disk first. It gets the mode of the old one. In the main
    thread SIGINT and SIGTERM wait meanwhile; SIGKILL or a crash may leave a hidden ``.half``.

    Parameters
    ----------
    path : str or path-like
        The file; its folder must exist. What a link leads to is replaced. Pipes and devices, and
        where stdout or stderr go, are written to as they are.

    Raises
    ------
    OSError
        Of the kind of the cause, with the names of file and cause.
    """
    with _named(path):
        if os.path.exists(path) and (not os.path.isfile(path) or _standard(path) is not None):
            with _opened(path, "wb") as file:
                yield file
        else:
            with _signals_waiting(), _replacing(Path(os.path.realpath(path))) as file:
                yield file


def write_whole(path, text):
    """Write text or bytes to a file, as `whole_file` does."""
    with whole_file(path) as file:
        file.write(_encoded(text) if isinstance(text, str) else text)


def append_whole(path, text):
    """Add text, in one go, to a file that others add to; after an error what is there is cut off.

    Those who append in this way wait for each other. If others have added to the file since, it
    is left. Errors are those of `whole_file`.
    """
    text = _encoded(text)
    rest = memoryview(text)
    with _named(path), _opened(path, "ab", buffering=0) as file:
        with suppress(ImportError, OSError):  # on Windows, and where a disk has no locks
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            while rest:  # a full disk takes a part, and tells the cause when asked again
                rest = rest[file.write(rest) :]
            _sync(file.fileno())
        except BaseException:
            with suppress(OSError):  # a pipe
                if file.tell() == os.fstat(file.fileno()).st_size:
                    file.truncate(file.tell() - len(text) + len(rest))
            raise


def _encoded(text):
    return text.encode(errors="backslashreplace")


@contextmanager
def _named(path):
    """Turn errors into such that name the file and the cause."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be the name of a file, got {path!r}.")
    try:
        if str(path).endswith(os.sep):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        yield
    except (OSError, ValueError) as error:
        # Of the kind of the cause, but nobody shall take a file for stdout that is read no more.
        kind = OSError if isinstance(error, BrokenPipeError) else type(error)
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, FileNotFoundError):
            reason = "its folder does not exist"
        kind = kind if isinstance(error, OSError) else ValueError
        raise kind(f"Cannot write {str(path)!r}: {reason.rstrip('.')}.") from error


@contextmanager
def _signals_waiting():
    """Let SIGINT and SIGTERM take effect at the end; only the main thread can."""
    came, before = [], {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not None:  # else it could not be set again
                before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in reversed(before.items()):
            signal.signal(number, handler)
        for number in sorted(came, reverse=True):  # SIGINT last, as it raises an error here
            signal.raise_signal(number)


@contextmanager
def _replacing(path):
    """A new file beside a regular one, or where there is none yet, that takes its place at last."""
    old = None
    with suppress(FileNotFoundError):
        old = path.stat()
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode)
    half = path.with_name(f".skbench-{secrets.token_hex(8)}.half")  # as short for any name
    try:
        with open(half, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if old is not None:
                with suppress(AttributeError, OSError):  # not on Windows, nor to others
                    os.chown(half, old.st_uid, old.st_gid)
                os.chmod(half, mode)
            yield file
            file.flush()
            _sync(file.fileno())
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)
    with suppress(OSError):  # not on Windows
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _sync(descriptor):
    """Wait until a file is on the disk, where it is on one."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_DISK:
            raise


def _standard(path):
    """The stream of the process, stdout or stderr, that goes to a file; or None."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # either is not there
            if os.path.samestat(os.stat(path), os.fstat(stream.fileno())):
                return stream
    return None


def _opened(path, mode, **options):
    """A file opened as it is; where stdout or stderr go, behind what they have written."""
    stream = _standard(path)
    if stream is None:
        return open(path, mode, **options)
    stream.flush()
    return open(os.dup(stream.fileno()), mode, **options)
