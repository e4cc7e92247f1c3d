"""Is a candidate not worse than a baseline by more than a margin: intervals and power."""

import math

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom, nct, norm
from scipy.stats import t as student_t

from skbench.stats.clusters.paired import mcnemar_exact_less

_HALVINGS = 60
_TAIL = 1e-9  # probability of pairs of counts that the exact power leaves out, per side
_MOST_CELLS = 3_000_000  # pairs of counts; beyond, counts are as good as normal
_MOST_ITEMS = 10**9  # nobody asks more


def score_interval(only_a, only_b, n, confidence_level=0.95):
    """Score interval of the difference of two proportions of right answers to the same items.

    Parameters
    ----------
    only_a, only_b : array-like of int of shape (n_groups,)
        Items that only the one and only the other answered correctly.
    n : array-like of int of shape (n_groups,)
        All items, at least 1.
    confidence_level : float, default=0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval of a minus b, in [-1, 1].

    Notes
    -----
    The differences D at which ``|T(D)| <= z`` [1]_, with `T` the statistic
    ``(only_a - only_b - n D) / sqrt(n (2 q + D (1 - D)))`` and `q` the probability of
    an item for b alone that is most likely given D, a root of a quadratic. At D = 0 it
    is McNemar's statistic without correction. Unlike the t interval it has a width
    where no item tells the models apart: ``z^2 / (n + z^2)`` on either side.

    When not to use it: for items in clusters, or answered several times.

    References
    ----------
    .. [1] Tango (1998). Equivalence test and confidence interval for the difference in
       proportions for the paired-sample design. Statistics in Medicine 17, 891-908.

    Examples
    --------
    >>> low, high = score_interval([1, 0], [0, 0], [44, 60])
    >>> print(low.round(3), high.round(3))
    [-0.059 -0.06 ] [0.118 0.06 ]
    """
    a, b, n = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (only_a, only_b, n)))
    z = ndtri((1 + confidence_level) / 2)
    return -_score_end(b, a, n, z), _score_end(a, b, n, z)


def gate_interval(only_a, only_b, n, confidence_level=0.95):
    """Score interval that leaves out 0 only where the exact test does so too.

    Parameters
    ----------
    only_a, only_b, n, confidence_level
        As in `score_interval`.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)

    Notes
    -----
    Four items that one model loses, and none that it wins, are outside the score interval
    and have an exact McNemar p-value of .125: with so few, the end is moved to 0. So gate
    and comparison of the same items agree.

    Examples
    --------
    >>> print(gate_interval(0, 4, 300)[1], gate_interval(0, 6, 300)[1].round(4))
    0.0 -0.0071
    """
    low, high = score_interval(only_a, only_b, n, confidence_level)
    tail = (1 - confidence_level) / 2
    low = np.where(mcnemar_exact_less(only_b, only_a) > tail, np.minimum(low, 0), low)
    return low, np.where(mcnemar_exact_less(only_a, only_b) > tail, np.maximum(high, 0), high)


def _score_end(a, b, n, z):
    """The difference above the observed one at which the statistic is -z."""
    bottom, top = (a - b) / n, np.ones_like(n)
    for _ in range(_HALVINGS):
        middle = (bottom + top) / 2
        inside = _statistic(a, b, n, middle) >= -z
        bottom, top = np.where(inside, middle, bottom), np.where(inside, top, middle)
    return bottom


def disagreement(only_a, only_b, n, difference):
    """Most likely probability that one model alone is right, given their difference.

    Parameters
    ----------
    only_a, only_b, n : array-like of shape (n_groups,)
        As in `score_interval`.
    difference : float or array-like
        Of the proportions of right answers, a minus b.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``2 q + difference``, at least the difference itself.

    Examples
    --------
    >>> print(disagreement([10, 0], [20, 0], 100, -0.1).round(3))
    [0.3 0.1]
    """
    a, b, n = (np.asarray(x, dtype=float) for x in (only_a, only_b, n))
    return 2 * _only_b(a, b, n, difference) + difference


def _only_b(a, b, n, difference):
    linear = (2 * n - a + b) * difference - a - b
    root = np.sqrt(np.maximum(linear**2 + 8 * n * b * difference * (1 - difference), 0))
    return (root - linear) / (4 * n)


def _statistic(a, b, n, difference):
    variance = n * (2 * _only_b(a, b, n, difference) + difference * (1 - difference))
    above, root = np.broadcast_arrays(a - b - n * difference, np.sqrt(np.maximum(variance, 0)))
    return np.divide(above, root, where=root > 0, out=np.zeros(above.shape))


def decide(low, high, margin, fail="worse"):
    """Verdicts of intervals of candidate minus baseline.

    Parameters
    ----------
    low, high : array-like of shape (n_groups,)
        Ends of the intervals; nan is undecided.
    margin : float
        Loss that is put up with, above 0.
    fail : {"worse", "margin"}, default="worse"
        Whether it fails where a loss is shown, or only where one beyond the margin is.

    Returns
    -------
    ndarray of str of shape (n_groups,)
        "pass" where ``low > -margin``, else "fail" where ``high < 0`` (or
        ``high < -margin``), else "undecided".

    Examples
    --------
    >>> decide([-0.01, -0.05, -0.05], [0.03, -0.01, 0.01], 0.02).tolist()
    ['pass', 'fail', 'undecided']
    """
    worst = 0.0 if fail == "worse" else -margin
    passes = np.greater(low, -margin)
    return np.select([passes, np.less(high, worst)], ["pass", "fail"], "undecided")


def power_of_counts(n, disagreement, margin, confidence_level=0.95, fail="worse"):
    """Chance that a gate on right and wrong answers decides what its margin is for.

    Parameters
    ----------
    n : int
        Items.
    disagreement : float
        Probability that one model alone answers an item correctly, see `disagreement`;
        at least the margin is taken.
    margin, confidence_level, fail
        As in `decide` and `gate_interval`.

    Returns
    -------
    float
        For ``fail="worse"`` the chance to fail a candidate that is worse by the
        margin, else the chance to pass one that is as good.

    Notes
    -----
    The sum of the trinomial probabilities of all pairs of counts for which
    `gate_interval` and `decide` say so, but for tails of 1e-9; normal where the pairs
    are more than three million.

    When not to use it: for items in clusters, with `power_of_t`.

    Examples
    --------
    >>> print(round(power_of_counts(400, 0.2, 0.05), 3))
    0.569
    """
    n, shift = int(n), -margin if fail == "worse" else 0.0
    both = min(max(disagreement, margin), 1.0)
    only_a, only_b = (both + shift) / 2, (both - shift) / 2
    ends = [binom.ppf((_TAIL, 1 - _TAIL), n, p).astype(int) for p in (only_a, only_b)]
    a, b = (np.arange(low, high + 1) for low, high in ends)
    z = ndtri((1 + confidence_level) / 2)
    if a.size * b.size > _MOST_CELLS:
        return norm.cdf(margin / math.sqrt((both - shift**2) / n) - z)
    rest = np.minimum(only_b / (1 - only_a), 1) if only_a < 1 else 0.0
    chance = binom.pmf(a, n, only_a)[:, None] * binom.pmf(b, n - a[:, None], rest)
    a, b = (x.astype(float) for x in np.broadcast_arrays(a[:, None], b))
    passes = _statistic(a, b, n, -margin) > z
    if fail == "margin":
        return float(chance[passes].sum())
    exact = mcnemar_exact_less(a, b) <= (1 - confidence_level) / 2
    return float(chance[~passes & exact & (_statistic(a, b, n, 0.0) < -z)].sum())


def power_of_t(standard_error, df, margin, confidence_level=0.95, fail="worse"):
    """Chance that a gate by a t interval decides what its margin is for.

    Parameters
    ----------
    standard_error : float
        Of the difference, in score units.
    df : float
        Its degrees of freedom.
    margin, confidence_level, fail
        As in `decide`.

    Returns
    -------
    float
        As from `power_of_counts`; nan where the standard error or `df` is.

    Notes
    -----
    ``P(t' < -t)`` with `t'` noncentral, at ``-margin / standard_error``. A candidate
    that is worse by just the margin passes with chance ``alpha / 2``, so no gate fails
    it more often than ``1 - alpha / 2``.

    When not to use it: for right and wrong answers to independent items, with
    `power_of_counts`, which is exact.

    Examples
    --------
    >>> print(round(power_of_t(0.01, 60, 0.03), 3))
    0.839
    """
    if not (np.isfinite(standard_error) and df >= 1):
        return np.nan
    alpha = 1 - confidence_level
    far = margin / standard_error if standard_error > 0 else np.inf
    if far > 30:  # the noncentral t law of scipy is nan somewhere beyond
        power = 1.0
    else:
        power = float(nct.sf(student_t.ppf(1 - alpha / 2, df), df, far))
    return min(power, 1 - alpha / 2) if fail == "worse" else power


def items_for_power(power_at, guess, power=0.8):
    """Smallest number of items with this power.

    Parameters
    ----------
    power_at : callable
        From a number of items to a power that grows with it, but for small steps.
    guess : float
        About the number, such as that of `skbench.stats.power.required_n`.
    power : float, default=0.8
        What is asked for.

    Returns
    -------
    int
        At most a billion.

    Notes
    -----
    By bisection to the number at which the power last was too small; counts make
    it go up in little saw teeth.

    Examples
    --------
    >>> items_for_power(lambda n: power_of_counts(n, 0.2, 0.05), 600)
    658
    """
    low, high = 1, max(2, math.ceil(guess))
    while power_at(high) < power:
        low, high = high, 2 * high
        if high > _MOST_ITEMS:
            return _MOST_ITEMS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high
