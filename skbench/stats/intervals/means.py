"""Confidence intervals and sampling variances of means of scores."""

import numpy as np
from scipy.special import ndtri, rel_entr
from scipy.stats import t as student_t

from skbench.stats._arrays import floats

_HALVINGS = 60  # an interval of length 1 shrinks below the spacing of doubles
_TRUNCATION = 0.9  # share of the capital that one bet may lose, c of the paper
_BATCH_CELLS = 2**18  # scores held as one table, 2 MB


def t_interval(mean, standard_error, df, confidence_level=0.95):
    """Student t interval of a mean.

    Parameters
    ----------
    mean : array-like of shape (n_groups,)
        Means, in the units of the score.
    standard_error : array-like of shape (n_groups,)
        Their standard errors, same units.
    df : array-like of shape (n_groups,)
        Degrees of freedom, ``n - 1`` for the mean of `n` independent scores; need not be whole.
    confidence_level : float, default=0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval; nan if ``df < 1``.

    Notes
    -----
    ``mean -+ t standard_error`` with `t` the ``(1 + confidence_level) / 2`` quantile; exact for
    normal scores.

    **When not to use it.** Scores mostly at one end of their range may all be equal, which gives
    width 0; use `bounded_interval`.

    Examples
    --------
    >>> low, high = t_interval(0.78, 0.02739, 3)
    >>> print(f"{low:.3f} {high:.3f}")
    0.693 0.867
    """
    mean, standard_error, df = np.broadcast_arrays(mean, standard_error, df)
    enough = df >= 1
    quantile = student_t.ppf((1 + confidence_level) / 2, np.where(enough, df, 1))
    half_width = np.where(enough, quantile, np.nan) * standard_error
    return mean - half_width, mean + half_width


def normal_interval(mean, standard_error, confidence_level=0.95):
    """Normal interval of a mean with a known standard error.

    Parameters
    ----------
    mean, standard_error, confidence_level
        As in `t_interval`.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval.

    Notes
    -----
    ``mean -+ c standard_error`` with `c` the normal quantile.

    Examples
    --------
    >>> low, high = normal_interval(0.78, 0.02739)
    >>> print(f"{low:.3f} {high:.3f}")
    0.726 0.834
    """
    half_width = ndtri((1 + confidence_level) / 2) * np.asarray(standard_error, dtype=float)
    return mean - half_width, mean + half_width


def bounded_interval(mean, n, confidence_level=0.95, low=0.0, high=1.0):
    """Interval of a mean of bounded scores that is valid at every sample size.

    It needs only the mean and the number of scores, for any distribution within the bounds.

    Parameters
    ----------
    mean : array-like of shape (n_groups,)
        Means of independent scores.
    n : array-like of shape (n_groups,)
        Number of scores. Broadcasts against `mean`.
    confidence_level : float, default=0.95
        Minimum coverage in each group.
    low, high : float, default=0.0 and 1.0
        Bounds of the scores.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval, within the bounds.

    Notes
    -----
    With the scores scaled to [0, 1], the means `m` at which ``n kl(mean, m) <= log(2 / alpha)``,
    where ``kl(z, m) = z log(z / m) + (1 - z) log((1 - z) / (1 - m))``: Theorem 1 of Hoeffding
    (1963, JASA 58, 13-30).

    **When not to use it.** For binary scores, `skbench.stats.binomial.clopper_pearson_interval` has
    the same guarantee and is shorter.

    Examples
    --------
    >>> low, high = bounded_interval([0.5, 1.0], 10)
    >>> print(low.round(3), high.round(3))
    [0.139 0.692] [0.861 1.   ]
    """
    alpha = 1 - confidence_level
    scaled = (np.asarray(mean, dtype=float) - low) / (high - low)
    # Because of rounding, a mean of ones may lie just above 1.
    z, n = np.broadcast_arrays(np.clip(scaled, 0, 1), n)
    farthest = np.log(2 / alpha) / n
    ends = _divergence_low(z, farthest), 1 - _divergence_low(1 - z, farthest)
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def betting_interval(scores, codes, n_groups, confidence_level=0.95, low=0.0, high=1.0, rng=None):
    """Betting interval of the mean of bounded scores, valid at every sample size.

    A gambler bets on each score against each candidate mean. A candidate is rejected if the bets
    win enough. The interval adapts to the variance of the scores.

    Parameters
    ----------
    scores : array-like of shape (n_items,)
        Independent scores within the bounds, in an order that does not depend on their values.
    codes : array-like of int of shape (n_items,)
        Group of each score, 0 to ``n_groups - 1``.
    n_groups : int
        Number of groups. A group without scores gets the bounds.
    confidence_level : float, default=0.95
        Minimum coverage in each group.
    low, high : float, default=0.0 and 1.0
        Bounds of the scores.
    rng : numpy.random.Generator, default=None
        Shuffles the scores of each group, so that any input order is valid. None keeps the order.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval, within the bounds.

    Notes
    -----
    The hedged capital interval of Theorem 3 of [1]_ for a fixed number of scores, with theta = 1/2
    and intersected over time. With scores `x_t` scaled to [0, 1], the mean `m` is rejected once
    ``prod(1 + a_t (x_t - m))`` or ``prod(1 - b_t (x_t - m))`` reaches ``2 / alpha``, where ``a_t =
    min(l_t, c / m)``, ``b_t = min(l_t, c / (1 - m))``, ``l_t = sqrt(2 log(2 / alpha) / (n v_t))``.
    `v_t` is the variance of the scores before `t` and of a pseudo-score at 1/2 with variance 1/4.
    Each end is one root. The paper suggests c = 1/2 or 3/4; c = 0.9 makes intervals near an end a
    tenth to a third shorter at n = 10 to 30 (test_betting_is_shorter_on_skewed_scores).

    **When not to use it.** With fewer than about five scores, `bounded_interval` is shorter.

    References
    ----------
    .. [1] Waudby-Smith and Ramdas (2024). Estimating means of bounded random variables by betting.
       JRSS B 86, 1-27.

    Examples
    --------
    >>> scores = np.tile([0.45, 0.55, 0.5, 0.4, 0.6], 20)
    >>> low, high = betting_interval(scores, np.zeros(100, dtype=int), 1)
    >>> print(low.round(2), high.round(2))
    [0.48] [0.52]
    """
    log_goal = np.log(2 / (1 - confidence_level))
    x = (np.asarray(scores, dtype=float) - low) / (high - low)
    codes = np.asarray(codes)
    order = np.argsort(codes, kind="stable") if rng is None else _shuffled(codes, rng)
    x = x[order]
    sizes = np.bincount(codes, minlength=n_groups)
    starts = np.cumsum(sizes) - sizes
    ends = np.repeat([[0.0], [1.0]], n_groups, axis=1)
    for batch in _batches_of_like_size(sizes):
        x_t, there = _table(x, starts[batch], sizes[batch])
        bets = _plug_in_bets(x_t, sizes[batch], log_goal)
        ends[0, batch] = _capital_low(x_t, bets, there, log_goal)
        ends[1, batch] = 1 - _capital_low(1 - x_t, bets, there, log_goal)
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def _mean_variance(total, total_squares, n):
    """Sampling variances of group means, from sums."""
    total, total_squares, n = floats(total, total_squares, n)
    squares = _squares_around_mean(total, total_squares, n)
    variance = np.full(n.shape, np.nan)
    np.divide(squares, n * (n - 1), out=variance, where=n >= 2)
    return variance


def pooled_mean_variance(total, total_squares, n):
    """Sampling variances of group means, pooled for groups without a variance of their own.

    Parameters
    ----------
    total : array-like of shape (n_groups,)
        Sum of the scores of each group.
    total_squares : array-like of shape (n_groups,)
        Sum of their squares.
    n : array-like of shape (n_groups,)
        Number of scores, at least 1.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``s^2 / n``. A group with fewer than two scores, or with equal scores, gets the pooled
        variance divided by `n`: the sum of squares around group means over ``sum(n - 1)``. nan if
        no group has a variance.

    Examples
    --------
    >>> pooled_mean_variance([6.0, 5.0], [14.0, 25.0], [3, 1])
    array([0.33333333, 1.        ])
    """
    total, total_squares, n = floats(total, total_squares, n)
    squares = _squares_around_mean(total, total_squares, n)
    freedom = np.maximum(n - 1, 0).sum()
    pooled = squares.sum() / freedom if squares.any() else np.nan
    own = _mean_variance(total, total_squares, n)
    return np.where(own > 0, own, pooled / n)


def _divergence_low(z, farthest):
    """Smallest m with kl(z, m) <= farthest, rounded down."""

    def too_far(m):
        return rel_entr(z, m) + rel_entr(1 - z, 1 - m) > farthest

    return _bisect(too_far, z)  # kl decreases in m from 0 to z


def _bisect(rejected, top):
    """Largest value in [0, top] below which all values are rejected, rounded down."""
    bottom = np.zeros_like(top)
    for _ in range(_HALVINGS):
        middle = (bottom + top) / 2
        out = rejected(middle)
        bottom = np.where(out, middle, bottom)
        top = np.where(out, top, middle)
    return bottom


def _shuffled(codes, rng):
    """Order sorted by group and random within groups, independent of other groups."""
    place = np.empty(codes.size, dtype=int)
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
    place[order] = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.lexsort((rng.random(sizes.max(initial=0))[place], codes))


def _batches_of_like_size(sizes):
    """Groups with scores, in batches of similar size and limited area."""
    by_size = np.argsort(sizes, kind="stable")
    by_size = by_size[sizes[by_size] > 0]
    start = 0
    while start < by_size.size:
        stop = start + 1
        while stop < by_size.size and (stop + 1 - start) * sizes[by_size[stop]] <= _BATCH_CELLS:
            stop += 1
        yield by_size[start:stop]
        start = stop


def _table(x, starts, sizes):
    """Scores as one row per group, and a mask of the cells with a score."""
    column = np.arange(sizes.max())
    there = column < sizes[:, None]
    position = np.where(there, starts[:, None] + column, 0)
    return x[position], there


def _plug_in_bets(x, sizes, log_goal):
    """Bets before truncation; each uses only earlier scores."""
    seen = np.arange(1, x.shape[1] + 1)
    mean = (0.5 + np.cumsum(x, axis=1)) / (seen + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2, axis=1)) / (seen + 1)
    before = np.column_stack([np.full(len(x), 0.25), variance[:, :-1]])
    return np.sqrt(2 * log_goal / (sizes[:, None] * before))


def _capital_low(x, bets, there, log_goal):
    """Smallest mean of each row that bets on higher scores do not reject."""

    def rejected(m):
        m = m[:, None]
        gain = np.log1p(np.minimum(bets, _TRUNCATION / m) * (x - m))
        return np.cumsum(np.where(there, gain, 0.0), axis=1).max(axis=1) >= log_goal

    return _bisect(rejected, np.ones(len(x)))


def _squares_around_mean(total, total_squares, n):
    squares = total_squares - np.divide(total**2, n, out=np.zeros_like(n), where=n > 0)
    rounding = 4 * n * np.finfo(float).eps * total_squares
    return np.where(squares > rounding, squares, 0.0)
