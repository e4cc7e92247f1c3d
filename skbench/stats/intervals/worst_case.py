"""Intervals of means of bounded scores: each end allows for one worst score that was not seen."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t


class EndVariances(NamedTuple):
    """Variances of a mean for the low and the high end of its interval."""

    low: np.ndarray
    high: np.ndarray


def end_variances(mean, variance, n, low=0.0, high=1.0):
    """Variances of means of bounded scores, with one more score at either bound.

    Parameters
    ----------
    mean : array-like of shape (n_groups,)
        Mean of the scores.
    variance : array-like of shape (n_groups,)
        Sampling variance of the mean, squared units of the score; of independent scores the sample
        variance divided by `n`, of clustered ones a cluster-robust variance.
    n : array-like of shape (n_groups,)
        Number of independent scores. Of clustered ones that of clusters, or the degrees of freedom
        of `variance` plus 1: the worst case is then a cluster that fails as a whole.
    low, high : float or array-like of shape (n_groups,), default=0, 1
        Least and largest score there can be. An infinite bound leaves the variance as it is.

    Returns
    -------
    EndVariances
        Each of shape (n_groups,); nan where the variance is, or where there are fewer than two
        scores.

    Notes
    -----
    The sum of squares around the mean with one more score at the bound `b`, divided by
    ``n + 1``, is the variance of a score, and that divided by ``n - 1`` the variance of the mean:
    ``n / (n + 1) variance + n / ((n + 1)^2 (n - 1)) (b - mean)^2``.

    When not to use it: for right and wrong answers, which have binomial intervals
    (`skbench.stats.binomial`); to weight or shrink groups, since the scores of other groups tell
    how rare failures are.

    Examples
    --------
    Thirty scores of .9 cannot tell how many others are 0:

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
    """Intervals of means of bounded scores that allow for a rare score not seen.

    Parameters
    ----------
    mean, variance, n : array-like of shape (n_groups,)
        As in `end_variances`.
    df : array-like of shape (n_groups,)
        Degrees of freedom of the variance; ``n - 1`` for independent scores.
    confidence_level : float, default=0.95
    low, high : float or array-like of shape (n_groups,), default=0, 1
        Least and largest score there can be.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        ``mean - t sqrt(v_low)`` and ``mean + t sqrt(v_high)``, cut to the bounds. nan where the
        variance is.

    Notes
    -----
    Each end has the variance of the sample plus one score at the bound on its side, around the
    mean as it is. Where scores vary the cost is small (.41 to .45 of width for 20 differences of
    right and wrong answers, 10% each way); where few are seen and all are alike, a t interval
    forgets what it cannot have seen. In clusters of five scores near .97, of 10 to 40 of which 2 to
    10% fail as a whole, t covers .19 to .92, with one score more .43 to 1, with one cluster more
    .92 to 1 (test_direct_intervals_cover_where_whole_passages_fail); in clusters that vary that
    costs 12 to 45% of width.

    When not to use it: as `end_variances`.

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
