"""One way from a user's ``random_state`` to a numpy Generator."""

import numpy as np
from sklearn.utils import check_random_state


def as_generator(random_state):
    """Return a `numpy.random.Generator` for scikit-learn's ``random_state``.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None gives fresh entropy; an int always gives the same stream; a
        RandomState is advanced by one draw, as scikit-learn does; a Generator
        is returned as it is.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> bool(as_generator(0).random() == as_generator(0).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(check_random_state(random_state).randint(2**31))
    return np.random.default_rng(random_state)
