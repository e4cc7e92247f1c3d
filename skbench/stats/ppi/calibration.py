"""Calibrate scores of single rows so that their mean is a given estimate."""

import numpy as np
from scipy.special import expit, logit

from skbench.stats.intervals.moments import divided

_HALVINGS = 70  # of a bracket of width about 50, which reaches machine precision


def shares_with_mean(shares, weights, mean):
    """Shift proportions by one constant on the logit scale so that they have a given mean.

    Parameters
    ----------
    shares : ndarray of shape (n_groups, n_values)
        Proportions between 0 and 1, such as probabilities of a correct answer by verdict.
    weights : ndarray of shape (n_groups, n_values)
        Number of rows with each value, at least 0.
    mean : ndarray of shape (n_groups,)
        Target means, from 0 to 1; nan if unknown.

    Returns
    -------
    ndarray of shape (n_groups, n_values)
        ``expit(logit(shares) + c)`` with one `c` per group. The order does not change. All values
        are 0 (or 1) if the mean is, and nan if the mean is nan or all weights are 0.

    Notes
    -----
    This is the intercept update of recalibration (Steyerberg et al. 2004, Statistics in Medicine
    23), computed by bisection.

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
