"""A trend of scores over ordered versions: weights of the slope and of the change."""

import numpy as np


def trend_contrasts(place):
    """Weights of the versions' scores in the slope and in the change from first to last.

    Parameters
    ----------
    place : array-like of shape (n_versions,)
        Where each version stands: its number, or its date in years; two of them differ.

    Returns
    -------
    ndarray of shape (2, n_versions)
        Rows of the slope and of the change, which sum to 0.

    Notes
    -----
    The least-squares slope is ``sum_v c_v theta_v``, ``c_v = (x_v - x) / sum (x_v - x)^2``. The
    change is the mean of the versions at the last place less the mean of those at the first.

    Examples
    --------
    >>> trend_contrasts([1, 2, 4]).round(3).tolist()
    [[-0.286, -0.071, 0.357], [-1.0, 0.0, 1.0]]
    """
    x = np.asarray(place, dtype=float)
    scale = np.ptp(x)
    centered = (x - x.mean()) / scale  # squares of small or large steps neither vanish nor overflow
    slope = centered / np.sum(centered**2) / scale
    last, first = x == x.max(), x == x.min()
    return np.array([slope, last / last.sum() - first / first.sum()])


def reach(contrasts, width):
    """The largest contrast of one item whose scores have a range of this width.

    Parameters
    ----------
    contrasts : array-like of shape (n_contrasts, n_versions)
        Weights that sum to 0.
    width : float
        Greatest less least possible score.

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
