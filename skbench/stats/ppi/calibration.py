"""Scores of single rows whose mean is an estimate that was made without them."""

import numpy as np
from scipy.special import expit, logit

from skbench.stats.intervals.moments import divided

_HALVINGS = 70  # of a bracket some tens wide: down to the last digit


def shares_with_mean(shares, weights, mean):
    """Move shares up or down together, on the logit scale, until their mean is a given one.

    Parameters
    ----------
    shares : ndarray of shape (n_groups, n_values)
        Numbers above 0 and below 1, such as probabilities of a right answer by verdict.
    weights : ndarray of shape (n_groups, n_values)
        How many rows have each; at least 0.
    mean : ndarray of shape (n_groups,)
        Means to reach, from 0 to 1; nan where they are not known.

    Returns
    -------
    ndarray of shape (n_groups, n_values)
        ``expit(logit(shares) + c)``, one `c` per group: never outside the range, and in the same
        order. All 0 (or 1) where the mean is; nan where it is nan or nothing has a weight.

    Notes
    -----
    The intercept update of recalibration (Steyerberg et al. 2004, Statistics in Medicine 23), by
    halving a bracket.

    Examples
    --------
    >>> shares_with_mean(np.array([[0.9, 0.2]]), np.array([[1, 1]]), np.array([0.6])).round(3)
    array([[0.93, 0.27]])
    """
    share = divided(weights, weights.sum(axis=1, keepdims=True))
    inner = (mean > 0) & (mean < 1)
    target = np.where(inner, mean, 0.5)
    place = logit(np.where(inner[:, None], shares, 0.5))
    low, high = logit(target) - place.max(axis=1), logit(target) - place.min(axis=1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = (share * expit(place + middle[:, None])).sum(axis=1) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    moved = expit(place + ((low + high) / 2)[:, None])
    moved = np.where(inner[:, None], moved, mean[:, None])
    return np.where(np.isnan(share), np.nan, moved)
