"""How far long loops are, for whoever wants to know."""

from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER = ContextVar("listener", default=None)


@contextmanager
def told_to(listener):
    """Tell a function how far the loops inside the block are.

    Parameters
    ----------
    listener : callable
        Called as ``listener(done, total, what)``.
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
