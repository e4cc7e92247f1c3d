"""Atomic writing of files."""

import errno
import os
import secrets
import signal
import stat
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_DISK = errno.EINVAL, errno.ENOTSUP, errno.ENOSYS  # fsync of a pipe, for example


@contextmanager
def whole_file(path):
    """Open a binary file for writing that replaces the old file only when it is complete.

    The new file is written under a temporary name in the same folder and flushed to disk first.
    It gets the mode of the old file. After an error, the old file is unchanged. In the main
    thread, SIGINT and SIGTERM take effect after writing. SIGKILL or a crash may leave a hidden
    file that ends in ``.half``.

    Parameters
    ----------
    path : str or path-like
        The file; its folder must exist. The target of a link is replaced. Pipes, devices and the
        targets of stdout and stderr are written to directly.

    Raises
    ------
    OSError
        A subclass for the cause, with the name of the file and the cause in its message.
    """
    with _named(path):
        if os.path.exists(path) and (not os.path.isfile(path) or _standard(path) is not None):
            with _opened(path, "wb") as file:
                yield file
        else:
            with _signals_waiting(), _replacing(Path(os.path.realpath(path))) as file:
                yield file


def write_whole(path, text):
    """Write text or bytes to a file atomically, with `whole_file`."""
    with whole_file(path) as file:
        file.write(_encoded(text) if isinstance(text, str) else text)


def append_whole(path, text):
    """Append text to a file that other processes also append to.

    A lock makes concurrent calls wait for each other. After an error, a partly written text is
    removed, unless another process has appended to the file since. Errors are those of
    `whole_file`.
    """
    text = _encoded(text)
    rest = memoryview(text)
    with _named(path), _opened(path, "ab", buffering=0) as file:
        with suppress(ImportError, OSError):  # Windows, and file systems without locks
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            while rest:  # a full disk accepts a part and fails at the next write
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
    """Raise errors again with the name of the file and the cause."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a file name, got {path!r}.")
    try:
        if str(path).endswith(os.sep):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        yield
    except (OSError, ValueError) as error:
        # Callers take a BrokenPipeError for a closed stdout, so it becomes a plain OSError.
        kind = OSError if isinstance(error, BrokenPipeError) else type(error)
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, FileNotFoundError):
            reason = "its folder does not exist"
        kind = kind if isinstance(error, OSError) else ValueError
        raise kind(f"Cannot write {str(path)!r}: {reason.rstrip('.')}.") from error


@contextmanager
def _signals_waiting():
    """Delay SIGINT and SIGTERM to the end of the block; only the main thread can do so."""
    came, before = [], {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not None:  # otherwise it could not be restored
                before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in reversed(before.items()):
            signal.signal(number, handler)
        for number in sorted(came, reverse=True):  # SIGINT last, because it raises an error here
            signal.raise_signal(number)


@contextmanager
def _replacing(path):
    """Write a temporary file in the same folder, then move it to the path."""
    old = None
    with suppress(FileNotFoundError):
        old = path.stat()
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode)
    half = path.with_name(
        f".skbench-{secrets.token_hex(8)}.half"
    )  # short enough for any file system
    try:
        with open(half, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if old is not None:
                with suppress(AttributeError, OSError):  # Windows, or the file of another user
                    os.chown(half, old.st_uid, old.st_gid)
                os.chmod(half, mode)
            yield file
            file.flush()
            _sync(file.fileno())
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)
    with suppress(OSError):  # Windows
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _sync(descriptor):
    """Flush a file to disk, if it is on one."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_DISK:
            raise


def _standard(path):
    """Return stdout or stderr if this stream writes to the path, or else None."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # the path or stream is missing
            if os.path.samestat(os.stat(path), os.fstat(stream.fileno())):
                return stream
    return None


def _opened(path, mode, **options):
    """Open a file directly; if stdout or stderr writes to it, continue after that output."""
    stream = _standard(path)
    if stream is None:
        return open(path, mode, **options)
    stream.flush()
    return open(os.dup(stream.fileno()), mode, **options)
