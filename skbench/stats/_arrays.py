"""What formulas do first with the arguments that users give them."""

import numpy as np


def floats(*arrays):
    """Float arrays, broadcast against each other."""
    return np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in arrays))
