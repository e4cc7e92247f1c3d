"""Intervals of means of bounded scores that allow for one unobserved worst score."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t


class EndVariances(NamedTuple):
    """Variances of a mean for the low and high ends of its interval."""

    low: np.ndarray
    high: np.ndarray


def end_variances(mean, variance, n, low=0.0, high=1.0):
    """Variances of means of bounded scores, with one more score at either bound.

    Parameters
    ----------
    mean : array-like of shape (n_groups,)
        Mean of the scores.
    variance : array-like of shape (n_groups,)
        Sampling variance of the mean, in squared score units: the sample variance over `n` for
        independent scores, a cluster-robust variance for clustered scores.
    n : array-like of shape (n_groups,)
        Number of independent scores. For clustered scores, the number of clusters, or the degrees
        of freedom of `variance` plus 1; the additional score is then a cluster.
    low, high : float or array-like of shape (n_groups,), default=0, 1
        Smallest and largest possible score. An infinite bound does not change the variance.

    Returns
    -------
    EndVariances
        Each of shape (n_groups,); nan if the variance is nan or there are fewer than two scores.

    Notes
    -----
    The sum of squares around the mean with one more score at the bound `b`, divided by
    ``n + 1``, is the variance of a score, and that divided by ``n - 1`` the variance of the mean:
    ``n / (n + 1) variance + n / ((n + 1)^2 (n - 1)) (b - mean)^2``.

    **When not to use it.** Correct and incorrect answers have binomial intervals
    (`skbench.stats.binomial`). To weight or shrink groups, use the scores of other groups, which
    show how rare failures are.

    Examples
    --------
    Thirty scores of .9 do not exclude rare scores of 0:

    >>> [end.round(5).tolist() for end in end_variances(0.9, 0.0, 30)]
    [0.00087, 1e-05]
    """
    mean, variance, n = (np.asarray(x, dtype=float) for x in (mean, variance, n))
    several = np.where(n > 1, n, np.nan)
    own = several / (several + 1) * variance
    one_more = several / ((several + 1) ** 2 * (several - 1))
    return EndVariances(
        *(
            np.where(np.isfinite(bound), own + one_more * (bound - mean) ** 2, variance)
            for bound in (np.asarray(low, dtype=float), np.asarray(high, dtype=float))
        )
    )


def worst_case_interval(mean, variance, n, df, confidence_level=0.95, low=0.0, high=1.0):
    """Intervals of means of bounded scores that allow for an unobserved rare score.

    Parameters
    ----------
    mean, variance, n : array-like of shape (n_groups,)
        As in `end_variances`.
    df : array-like of shape (n_groups,)
        Degrees of freedom of the variance; ``n - 1`` for independent scores.
    confidence_level : float, default=0.95
    low, high : float or array-like of shape (n_groups,), default=0, 1
        Smallest and largest possible score.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        ``mean - t sqrt(v_low)`` and ``mean + t sqrt(v_high)``, clipped to the bounds; nan if the
        variance is nan.

    Notes
    -----
    The lower limit uses the standard error that the sample would have with one more score at the
    lowest possible value. The upper limit does the same with the highest possible value. The
    interval thus allows for rare scores that the sample missed. The estimate does not change. If
    scores vary, the cost is small: the width grows from .41 to .45 for 20 differences of binary
    scores, 10% in each direction. If few scores are all alike, a t interval ignores unobserved
    failures. For example, take 10 to 40 clusters of five scores near .97, of which 2 to 10% fail
    entirely. t covers .19 to .92, with one more score .43 to 1, and with one more cluster .92 to 1
    (test_direct_intervals_cover_where_whole_passages_fail). For clusters that vary, one more
    cluster adds 12 to 45% to the width.

    **When not to use it.** See `end_variances`.

    Examples
    --------
    >>> ends = worst_case_interval(0.9, 0.0001, 20, 19)
    >>> [end.round(3).tolist() for end in ends]
    [0.806, 0.923]
    """
    ends = end_variances(mean, variance, n, low, high)
    df = np.asarray(df, dtype=float)
    quantile = student_t.ppf((1 + confidence_level) / 2, np.where(df > 0, df, np.nan))
    return (
        np.maximum(mean - quantile * np.sqrt(ends.low), low),
        np.minimum(mean + quantile * np.sqrt(ends.high), high),
    )
