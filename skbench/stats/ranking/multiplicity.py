"""Levels and p-values that allow for several comparisons."""

import numpy as np


def bonferroni_level(confidence_level, n_comparisons):
    """Level of each interval at which all of them hold together.

    Parameters
    ----------
    confidence_level : float
        Probability that all intervals cover at once.
    n_comparisons : int
        Number of intervals, fixed before looking.

    Returns
    -------
    float
        ``1 - (1 - confidence_level) / n_comparisons``.

    Notes
    -----
    Valid under any dependence between the intervals. The number is that of all comparisons one
    might have reported.

    Examples
    --------
    >>> print(round(bonferroni_level(0.95, 3), 4))
    0.9833
    """
    return 1 - (1 - confidence_level) / n_comparisons


def holm(p_values):
    """Holm's adjusted p-values.

    Parameters
    ----------
    p_values : array-like of shape (..., n_comparisons)
        p-values of one family on the last axis.

    Returns
    -------
    ndarray of shape (..., n_comparisons)
        Adjusted p-values: comparing them with alpha keeps the probability of any false rejection in
        the family below alpha.

    Notes
    -----
    With the p-values of a family sorted, ``p_(1) <= ... <= p_(m)``, the i-th becomes
    ``min(1, max over k <= i of (m - k + 1) p_(k))`` (Holm 1979, Scandinavian Journal of Statistics
    6, 65-70). Valid under any dependence, and never less powerful than Bonferroni, ``min(1, m p)``.
    `bonferroni_level` gives intervals too.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, axis=-1)
    multiplier = np.arange(p_values.shape[-1], 0, -1)
    ascending = multiplier * np.take_along_axis(p_values, order, axis=-1)
    adjusted = np.minimum(np.maximum.accumulate(ascending, axis=-1), 1)
    result = np.empty_like(adjusted)
    np.put_along_axis(result, order, adjusted, axis=-1)
    return result
