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


def steps(things, what):
    """Go through a sequence, and tell how far one is.

    Parameters
    ----------
    things : sequence
        What is gone through.
    what : str
        What is done with each, in a word or two.

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
    for done, thing in enumerate(things):
        if listener is not None:
            listener(done, len(things), what)
        yield thing
    if listener is not None:
        listener(len(things), len(things), what)
