"""How far long loops are, for whoever wants to know."""

import itertools
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER = ContextVar("listener", default=None)


@contextmanager
def told_to(listener):
    """Tell a function how far the loops inside the block are.

    Parameters
    ----------
    listener : callable
        Called as ``listener(done, total, what)``; `total` is None where it is not known.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def steps(things, what, total=None):
    """Go through things, and tell how far one is.

    Parameters
    ----------
    things : iterable
        What is gone through.
    what : str
        What they are, in a word or two.
    total : int, default=None
        How many there are, where they have no length.

    Yields
    ------
    object
        The things, in their order.

    Examples
    --------
    >>> with told_to(print):
    ...     total = sum(steps([1, 2], "adding"))
    0 2 adding
    1 2 adding
    2 2 adding
    """
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
    """A function to call after every step of a loop whose end nobody knows.

    Parameters
    ----------
    what : str
        What the loop does, in a word or two.

    Returns
    -------
    callable or None
        Without arguments; None where nobody listens.

    Examples
    --------
    >>> with told_to(print):
    ...     tell = counter("fitting")
    >>> tell()
    1 None fitting
    """
    listener, numbers = _LISTENER.get(), itertools.count(1)
    return None if listener is None else lambda: listener(next(numbers), None, what)
