"""Levels and p-values that allow for several comparisons, and for reading overlaps."""

import numpy as np
from scipy.special import ndtr, ndtri


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
    Bonferroni's inequality: valid under any dependence between the intervals, and nearly sharp for
    few of them. The number is that of all comparisons one might have reported, not only of those
    one does.

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
    ``min(1, max over k <= i of (m - k + 1) p_(k))`` [1]_. Valid under any dependence, and never
    less powerful than Bonferroni, ``min(1, m p)``. `bonferroni_level` gives intervals too.

    References
    ----------
    .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian
       Journal of Statistics 6, 65-70.

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


def overlap_level(confidence_level=0.95, standard_error_ratio=1.0):
    """Level at which two intervals just touch when their difference is significant.

    Readers take two intervals that do not overlap for a significant difference. At this level,
    about 83.4 %, they are right.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Level of the two-sided test that non-overlap should stand for.
    standard_error_ratio : float or ndarray, default=1.0
        Larger over smaller standard error of the two estimates, or the reverse.

    Returns
    -------
    float or ndarray
        Level of each of the two normal intervals.

    Notes
    -----
    Intervals ``x -+ c s`` of two independent estimates with standard errors `s` and ``r s`` touch
    when the estimates differ by ``c s (1 + r)``; the test rejects beyond ``z s sqrt(1 + r^2)``.
    Hence ``c = z sqrt(1 + r^2) / (1 + r)``, which is ``z / sqrt 2`` for equal standard errors [1]_
    and grows to `z` as they differ.

    References
    ----------
    .. [1] Goldstein and Healy (1995). The graphical presentation of a collection of means. Journal
       of the Royal Statistical Society A 158, 175-177.

    Examples
    --------
    >>> print(round(overlap_level(), 4))
    0.8342
    """
    ratio = np.asarray(standard_error_ratio, dtype=float)
    quantile = ndtri((1 + confidence_level) / 2) * np.sqrt(1 + ratio**2) / (1 + ratio)
    return (2 * ndtr(quantile) - 1)[()]
