"""How far long loops are, for bars of progress."""

import itertools
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER = ContextVar("listener", default=None)


@contextmanager
def listening(listener):
    """Call ``listener(done, total, what)`` from the loops inside the block; total may be None."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def steps(things, what, total=None):
    """Yield things in their order, and report to the listener how many are done."""
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
    """A function to call after every step of a loop of unknown length; None without listener."""
    listener, numbers = _LISTENER.get(), itertools.count(1)
    return None if listener is None else lambda: listener(next(numbers), None, what)
