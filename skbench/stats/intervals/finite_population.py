"""The mean over all items of a finite benchmark, given some of them."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm


class FinitePopulationMean(NamedTuple):
    """Estimates of means over all items, with intervals; arrays of shape (n_groups,)."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    standard_error: np.ndarray


def finite_population_mean(
    z,
    n,
    size,
    value,
    low,
    high,
    standard_error,
    item_variance,
    confidence_level=0.95,
    bounds=(-np.inf, np.inf),
):
    """Mean over all items of a finite population, from the expected score of its items.

    Parameters
    ----------
    z, n : ndarray of shape (n_groups,)
        Mean score and number of the observed items.
    size : ndarray of shape (n_groups,)
        Number of all items; at least `n`.
    value, low, high, standard_error : ndarray of shape (n_groups,)
        Estimate of the expected score of an item of the group, ends of its interval and standard
        error, in score units.
    item_variance : ndarray of shape (n_groups,)
        Variance of the scores of single items of a group, in squared score units.
    confidence_level : float, default=0.95
        Confidence level of the interval.
    bounds : tuple of float, default=(-inf, inf)
        Smallest and largest score of an item. They limit the mean over the unobserved items.

    Returns
    -------
    FinitePopulationMean

    Notes
    -----
    With ``f = n / size``, the mean over all items is ``f z + (1 - f) r``. The mean `r` of the
    unobserved items has the variance ``item_variance / (size - n)`` around the expected score. The
    estimate is ``f z + (1 - f) value`` with error variance
    ``(1 - f)^2 (standard_error^2 + item_variance / (size - n))`` [1]_, [2]_. For the direct
    estimate this is the classical ``item_variance / n (1 - f)`` [3]_. If all items were observed,
    the mean is known.

    **When not to use it.** If the benchmark is a sample of a larger set of questions and you care
    about that set, use the estimate itself.

    References
    ----------
    .. [1] Ericson (1969). Subjective Bayesian models in sampling finite populations. Journal of the
       Royal Statistical Society B 31.
    .. [2] Ghosh and Meeden (1986). Empirical Bayes estimation in finite population sampling.
       Journal of the American Statistical Association 81.
    .. [3] Cochran (1977). Sampling Techniques, section 2.6. Wiley.

    Examples
    --------
    >>> mean = finite_population_mean(
    ...     *map(np.array, [[0.4], [10], [40], [0.5], [0.3], [0.7], [0.1], [0.25]]))
    >>> mean.value
    array([0.475])
    >>> (mean.high - mean.low).round(3)
    array([0.403])
    """
    unseen = 1 - n / size
    noise = item_variance / np.maximum(size - n, 1)
    center = z + unseen * (value - z)
    reach = norm.ppf((1 + confidence_level) / 2) * np.sqrt(noise)

    def of_unseen(side, more):
        # Without unobserved items the error is 0, even if a side is nan.
        return np.where(unseen > 0, unseen * np.hypot(side, more), 0.0)

    # 1 if all items were observed, because 0 times an infinite bound is nan.
    part = np.where(unseen > 0, unseen, 1.0)
    least, largest = (np.where(unseen > 0, n / size * z + part * end, z) for end in bounds)
    return FinitePopulationMean(
        center,
        np.maximum(center - of_unseen(value - low, reach), least),
        np.minimum(center + of_unseen(high - value, reach), largest),
        of_unseen(standard_error, np.sqrt(noise)),
    )
