"""Progress of long loops, for progress bars."""

import itertools
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER = ContextVar("listener", default=None)


@contextmanager
def listening(listener):
    """Call ``listener(done, total, what)`` from loops inside the block; total may be None."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def steps(things, what, total=None):
    """Yield things in order, and report the number done to the listener."""
    listener = _LISTENER.get()
    if listener is None:
        yield from things
        return
    total = len(things) if total is None else total
    for done, thing in enumerate(things):
        listener(done, total, what)
        yield thing
    listener(total, total, what)


def counter(what):
    """Return a function to call after each step of a loop of unknown length, or None."""
    listener, numbers = _LISTENER.get(), itertools.count(1)
    return None if listener is None else lambda: listener(next(numbers), None, what)
