"""Trend of scores over ordered versions: contrasts of the slope and of the change."""

import numpy as np


def trend_contrasts(place):
    """Weights of the versions' scores in the slope, and in the change from first to last.

    Parameters
    ----------
    place : array-like of shape (n_versions,)
        Number of each version, or its date in years; at least two must differ.

    Returns
    -------
    ndarray of shape (2, n_versions)
        Weights of the slope and of the change. Each row sums to 0.

    Notes
    -----
    The least-squares slope is ``sum_v c_v theta_v``, with
    ``c_v = (x_v - mean(x)) / sum (x_v - mean(x))^2``. The change is the mean of the versions at the
    last place minus the mean of those at the first.

    Examples
    --------
    >>> trend_contrasts([1, 2, 4]).round(3).tolist()
    [[-0.286, -0.071, 0.357], [-1.0, 0.0, 1.0]]
    """
    x = np.asarray(place, dtype=float)
    scale = np.ptp(x)
    centered = (x - x.mean()) / scale  # avoids underflow and overflow of squares
    slope = centered / np.sum(centered**2) / scale
    last, first = x == x.max(), x == x.min()
    return np.array([slope, last / last.sum() - first / first.sum()])


def reach(contrasts, width):
    """Largest possible contrast of one item if its scores have a range of this width.

    Parameters
    ----------
    contrasts : array-like of shape (n_contrasts, n_versions)
        Weights that sum to 0.
    width : float
        Largest minus smallest possible score.

    Returns
    -------
    ndarray of shape (n_contrasts,)
        ``width sum_v max(c_v, 0)``.

    Examples
    --------
    >>> reach([[-1, 0, 1], [-0.5, 0, 0.5]], 1.0)
    array([1. , 0.5])
    """
    return width * np.maximum(contrasts, 0).sum(axis=1)
