"""Intervals that cover every group and are short if a prior is right.

"FAB" (frequentist, assisted by Bayes) selects, among all families of level-alpha tests, the one
with the shortest interval on average under a prior. A wrong prior makes intervals longer but does
not affect coverage, provided that it was learned without the group's own data.
"""

import numpy as np
from scipy.special import betainc, betaln, expit, ndtri, stdtrit

from skbench.stats._arrays import floats

_MAX_SIZE = 1e7  # of a Beta prior; beyond it betaln loses too many digits
_MIN_SIZE = 0.1
_EDGE = 1e-6  # prior means are kept this far from 0 and 1
_STEPS = 80  # halvings: 1e-21 of the first bracket
_STEEPEST = 1e300  # slope for a prior without information
_CHUNK = 30_000  # groups at once
_WINDOW = 64  # counts tried near the end of an interval
_FLATTEST = 1e-12  # smallest ratio of prior to sampling variance


def beta_prior(mean, variance):
    """Beta distribution with a given mean and variance, or the nearest one.

    Parameters
    ----------
    mean, variance : array-like of shape (n_groups,)
        Prior mean and variance of a proportion; broadcast against each other.

    Returns
    -------
    alpha, beta : ndarray of shape (n_groups,)
        Parameters. Means are clipped to [1e-6, 1 - 1e-6]. ``alpha + beta`` is clipped to
        [0.1, 1e7] if the variance is 0 or too large for a Beta distribution.

    Examples
    --------
    >>> beta_prior([0.5], [1 / 12])
    (array([1.]), array([1.]))
    """
    mean = np.clip(np.asarray(mean, dtype=float), _EDGE, 1 - _EDGE)
    variance = np.asarray(variance, dtype=float)
    with np.errstate(divide="ignore"):
        size = np.clip(mean * (1 - mean) / variance - 1, _MIN_SIZE, _MAX_SIZE)
    return mean * size, (1 - mean) * size


def fab_binomial_interval(k, n, alpha, beta, confidence_level=0.95):
    """Exact interval of a proportion, shortest on average under a Beta prior.

    Parameters
    ----------
    k, n : array-like of shape (n_groups,)
        Successes and trials.
    alpha, beta : array-like of shape (n_groups,)
        Positive parameters of the prior, from data other than `k`. All arguments broadcast.
    confidence_level : float, default=0.95
        Minimum coverage at every true proportion and every `n`.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)

    Notes
    -----
    The test of a proportion ``p`` accepts the counts with the largest ratio of
    ``Binomial(k | n, p)`` to the prior predictive probability of ``k``, until they hold
    ``1 - alpha`` or more ([1]_; for groups [2]_). The ratio has one mode in ``k``, so the ends are
    exact. Gaps inside the interval are filled. Coverage is at least the confidence level at every
    ``p`` and ``n`` (test_exact_at_every_truth). The prior must not depend on `k`.

    **When not to use it.** Without a prior from other data, use
    `skbench.stats.binomial.clopper_pearson_interval`.

    References
    ----------
    .. [1] Pratt (1961). Length of confidence intervals. JASA 56.
    .. [2] Yu and Hoff (2018). Adaptive multigroup confidence intervals with constant coverage.
       Biometrika 105.

    Examples
    --------
    >>> low, high = fab_binomial_interval([7, 7], 10, [1, 14], [1, 6])
    >>> print(low.round(3), high.round(3))
    [0.381 0.393] [0.913 0.913]
    """
    k, n, alpha, beta = floats(k, n, alpha, beta)
    low, high = np.zeros(k.shape), np.ones(k.shape)
    for first in range(0, k.size, _CHUNK):
        part = slice(first, first + _CHUNK)
        k_, n_, a, b = (array.ravel()[part] for array in (k, n, alpha, beta))
        low.ravel()[part] = _low_end(k_, n_, a, b, confidence_level)
        high.ravel()[part] = 1 - _low_end(n_ - k_, n_, b, a, confidence_level)
    return low, high


def fab_normal_interval(
    z, standard_error, prior_mean, prior_variance, confidence_level=0.95, df=None, sigma2=None
):
    """Exact interval of a normal mean, shortest on average under a normal prior.

    Parameters
    ----------
    z, standard_error : array-like of shape (n_groups,)
        Direct estimates and their standard errors.
    prior_mean, prior_variance : array-like of shape (n_groups,)
        The prior, from data other than `z`. An infinite variance gives the usual interval. All
        arguments broadcast.
    confidence_level : float, default=0.95
        Coverage at every true mean.
    df : array-like of shape (n_groups,), default=None
        Degrees of freedom of the standard errors; None means known standard errors.
    sigma2 : array-like of shape (n_groups,), default=None
        With `df`: sampling variances from other groups' data. The split of alpha may depend on
        them, but not on the group's own standard error. None uses ``standard_error**2``, which is
        exact only if it is known.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)

    Notes
    -----
    All ``theta`` with ``z`` between ``theta - s q(1 - alpha w)`` and
    ``theta - s q(alpha (1 - w))``, where ``w`` grows from 0 to 1 with ``theta`` as
    ``g(w) = 2 sigma (theta - prior_mean) / prior_variance``,
    ``g(w) = ndtri(alpha w) - ndtri(alpha (1 - w))`` ([1]_, section 2). The prior must not depend on
    `z`.

    References
    ----------
    .. [1] Yu and Hoff (2018). Adaptive multigroup confidence intervals with constant coverage.
       Biometrika 105.

    Examples
    --------
    >>> low, high = fab_normal_interval([0.0, 0.0], 1.0, 0.0, [float("inf"), 1.0])
    >>> print(low.round(3), high.round(3))
    [-1.96  -1.645] [1.96  1.645]
    """
    sigma2 = np.square(standard_error) if sigma2 is None else sigma2
    df = np.inf if df is None else df
    z, error, mean, variance, df, sigma2 = floats(
        z, standard_error, prior_mean, prior_variance, df, sigma2
    )
    sigma = np.sqrt(sigma2)
    variance = np.maximum(variance, _FLATTEST * sigma2)
    high = _high_end(z - mean, error, sigma, variance, df, confidence_level)
    low = -_high_end(mean - z, error, sigma, variance, df, confidence_level)
    return mean + low, mean + high


def _low_end(k, n, alpha, beta, confidence_level):
    """Smallest p whose test accepts k, for each group of a chunk."""
    low = np.zeros(k.shape)
    inner = np.flatnonzero(k > 0)
    if not inner.size:
        return low
    k, n, alpha, beta = (array[inner] for array in (k, n, alpha, beta))
    begin = _begin(k, n, alpha, beta, confidence_level)
    counts = np.minimum(k - begin, _WINDOW).astype(int)
    group = np.repeat(np.arange(k.size), counts)
    first = np.cumsum(counts) - counts
    j = np.arange(group.size) - first[group] + begin[group]
    # Below tie[j], the count j has a larger ratio than k, and so have the counts between them.
    # At a p in [tie[j - 1], tie[j]), these are the counts j, ..., k - 1.
    tie = expit(_tie(j, k[group], n[group], alpha[group], beta[group]))
    start = np.roll(tie, 1)
    start[first] = np.where(begin == 0, 0.0, tie[first])
    at_start = _run_probability(start, j, k[group], n[group])
    at_end = _run_probability(tie, j, k[group], n[group])
    accepted = (at_start < confidence_level) | (at_end < confidence_level)
    entry = np.full(k.size, -1)
    hits = np.flatnonzero(accepted)
    entry[group[hits[::-1]]] = hits[::-1]
    # At the last tie, no count has a larger ratio than k, so k is accepted.
    last = first + counts - 1
    found = entry >= 0
    at = np.where(found, entry, last)
    end = np.where(found, start[at], tie[last])
    cross = found & (at_start[at] >= confidence_level)
    end[cross] = _crossing(
        start[at[cross]], tie[at[cross]], j[at[cross]], k[cross], n[cross], confidence_level
    )
    low[inner] = end
    return low


def _begin(k, n, alpha, beta, confidence_level):
    """First count to try, just before the end, by bisection (test_only_counts_near_an_end_count).

    Rounding in betaln gives errors of 3e-8 with 1e15 trials, and 1e-10 with 1e12.
    """
    low, high = np.zeros(k.shape), k - 1
    while np.any(high - low > _WINDOW // 4):
        j = np.floor((low + high) / 2)
        p = expit(_tie(j, k, n, alpha, beta))
        above = _run_probability(p, j, k, n) >= confidence_level
        low, high = np.where(above, j, low), np.where(above, high, j)
    return np.maximum(low - _WINDOW // 4, 0)


def _tie(j, k, n, alpha, beta):
    """Log odds p at which the counts j and k have the same ratio to the prior predictive."""
    change = betaln(k + alpha, n - k + beta) - betaln(j + alpha, n - j + beta)
    return change / (k - j)


def _run_probability(p, j, k, n):
    """Probability of a count in j, ..., k - 1 of n."""
    below_j = np.where(j > 0, betainc(np.maximum(j, 1), n - j + 1, p), 1.0)
    return below_j - betainc(k, n - k + 1, p)


def _crossing(low, high, j, k, n, confidence_level):
    """Where the probability of the run falls to the confidence level, between low and high."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = _run_probability(middle, j, k, n) >= confidence_level
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return low


def _high_end(z, error, sigma, variance, df, confidence_level):
    """Upper ends for a prior mean of 0, by bisection over the log odds of w."""
    alpha = 1 - confidence_level
    low, high = np.full(z.shape, -700.0), np.full(z.shape, 700.0)
    steep = np.divide(variance, 2 * sigma, out=np.full_like(sigma, _STEEPEST), where=sigma > 0)
    slope = np.minimum(steep, _STEEPEST)
    for _ in range(_STEPS):
        logit_w = (low + high) / 2
        theta = _center(logit_w, alpha) * slope
        reach = z - error * _quantile(alpha * expit(logit_w), df)
        low, high = np.where(theta < reach, logit_w, low), np.where(theta < reach, high, logit_w)
    return z - error * _quantile(alpha * expit(low), df)


def _center(logit_w, alpha):
    """g(w), increasing, 0 at w = 1/2."""
    return ndtri(alpha * expit(logit_w)) - ndtri(alpha * expit(-logit_w))


def _quantile(probability, df):
    return np.where(np.isinf(df), ndtri(probability), stdtrit(df, probability))
