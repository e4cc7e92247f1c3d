"""Items answered, or answers judged, several times: pass@k, flips, and the share of noise."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import hypergeom
from scipy.stats import t as student_t

from skbench.stats.intervals.binomial import clopper_pearson_interval, wilson_interval_of_mean

_UNSEEN = 0.3  # items at the far end that were not drawn (test_intervals_cover)
# Share of the tails that is left, and of an answer judged at random (test_the_share_of_noise...).
_WIDER, _PSEUDO = 0.8, 0.5


def pass_at_k(n_correct, n_runs, k, all_of_them=False):
    """Chance that at least one, or that every one, of k answers to an item is right.

    Parameters
    ----------
    n_correct : array-like of int of shape (n_items,)
        Right answers to each item.
    n_runs : array-like of int of shape (n_items,)
        Answers to each item, at least `k`.
    k : int
        Answers that are looked at.
    all_of_them : bool, default=False
        Whether all `k` have to be right (pass^k), not just one (pass@k).

    Returns
    -------
    ndarray of shape (n_items,)
        ``1 - C(R - c, k) / C(R, k)``, or ``C(c, k) / C(R, k)``.

    Notes
    -----
    The share of all choices of k among R answers with c right ones (Chen et al. 2021, arXiv
    2107.03374), unbiased for ``1 - (1 - p)^k`` and ``p^k``. Answers must be drawn anew; those of
    greedy decoding are all alike.

    Examples
    --------
    >>> print(pass_at_k([2, 0], 8, 3).round(4), pass_at_k([2, 7], 8, 3, True).round(4))
    [0.6429 0.    ] [0.    0.625]
    """
    n_correct, n_runs = np.broadcast_arrays(n_correct, n_runs)
    chosen = n_correct if all_of_them else n_runs - n_correct
    steps = np.arange(k)
    parts = np.maximum(chosen[..., None] - steps, 0) / (n_runs[..., None] - steps)
    return parts.prod(axis=-1) if all_of_them else 1 - parts.prod(axis=-1)


def item_mean_interval(mean, variance, n_units, n_items, df=np.inf, confidence_level=0.95):
    """Interval of a mean over items of values in [0, 1], few of which may matter.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_groups,)
        Of the items drawn, and its sampling variance.
    n_units, n_items : ndarray of shape (n_groups,)
        Independent units (items, or clusters of them), and items.
    df : float or ndarray, default=inf
        Degrees of freedom of a variance by clusters.
    confidence_level : float, default=0.95
        Nominal level.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        nan where `df` is.

    Notes
    -----
    Wilson's interval for as many items as the variance is worth. Each end has 0.3 of an unseen item
    at 0 (at 1) in its variance, up to that of right and wrong answers.

    Examples
    --------
    >>> low, high = item_mean_interval(np.array([0.05]), np.array([0.0009]), 40, 40)
    >>> print(low.round(3), high.round(3))
    [0.016] [0.155]
    """
    tail, n = (1 + confidence_level) / 2, np.asarray(n_units, dtype=float)
    wider = (student_t.ppf(tail, df) / ndtri(tail)) ** 2
    ends = []
    for far in (mean, 1 - mean):
        unseen = n * _UNSEEN / (n + _UNSEEN) * far**2
        with np.errstate(divide="ignore", invalid="ignore"):
            smoothed = (n * (n - 1) * variance + unseen) / (n * (n - 1 + _UNSEEN))
            most = np.maximum(variance, mean * (1 - mean) / (n - 1))
        smoothed = np.minimum(smoothed, most) * wider
        ends.append(wilson_interval_of_mean(mean, smoothed, n_items, confidence_level))
    return ends[0][0], ends[1][1]


class Flips(NamedTuple):
    """What noise explains of items that one model solves and another does not.

    Attributes
    ----------
    p_value : ndarray of shape (n_items,)
        That both models answer the item equally well; two-sided, exact.
    flipped : ndarray of bool of shape (n_items,)
        Whether one model is right most of the time and the other is not.
    chance : ndarray of shape (n_items,)
        Of such a flip, were the two equally good at the item.
    """

    p_value: np.ndarray
    flipped: np.ndarray
    chance: np.ndarray


def flips(correct_a, runs_a, correct_b, runs_b):
    """Compare repeated answers of two models to each item.

    Parameters
    ----------
    correct_a, runs_a, correct_b, runs_b : array-like of int of shape (n_items,)
        Right answers and all answers of each model.

    Returns
    -------
    Flips

    Notes
    -----
    Fisher's exact test, its smaller tail doubled. The sum of `chance` is the number of flips that
    noise alone makes. Among 1,000 items without a change 50 have a p-value below .05.

    Examples
    --------
    >>> found = flips([8, 5], 8, [0, 3], 8)
    >>> print(found.p_value.round(4)[1], found.flipped, found.chance.round(2))
    0.6193 [ True  True] [0.62 0.62]
    """
    a, runs_a, b, runs_b = np.broadcast_arrays(correct_a, runs_a, correct_b, runs_b)
    law = hypergeom(runs_a + runs_b, a + b, runs_a)
    p_value = np.minimum(1, 2 * np.minimum(law.cdf(a), law.sf(a - 1)))
    # Right most of the time: 2 a >= runs. Given the total, b = a + b - a.
    least_a, least_b = -(-runs_a // 2), -(-runs_b // 2)
    most_without_b = a + b - least_b
    solved_by_a = law.sf(np.maximum(least_a - 1, most_without_b))
    solved_by_b = law.cdf(np.minimum(least_a - 1, most_without_b))
    flipped = (a >= least_a) != (b >= least_b)
    return Flips(p_value, flipped, solved_by_a + solved_by_b)


class RepeatNoise(NamedTuple):
    """How much of the variance of a mean score is noise of repeated verdicts.

    Attributes
    ----------
    within : float
        Variance of verdicts on the same answer, in squared units of the score.
    between : float
        Variance of one answer that more verdicts on it do not reduce: that of expected verdicts,
        times the design effect of clusters.
    share, low, high : float
        ``within / (between + within)``, the share of noise in the variance of a mean with one
        verdict per answer, and its interval; nan where all answers have the same mean verdict.
    """

    within: float
    between: float
    share: float
    low: float
    high: float


def repeat_noise(verdicts, codes, confidence_level=0.95):
    """Variance within and between answers that were judged several times.

    Parameters
    ----------
    verdicts : array-like of shape (n_answers, n_repeats)
        Scores; nan where there is none. Every answer has one, and some have two.
    codes : array-like of int of shape (n_answers,)
        Cluster of each answer, 0 to ``n_clusters - 1``.
    confidence_level : float, default=0.95
        Nominal level of the interval of the share.

    Returns
    -------
    RepeatNoise
        Ends are nan for fewer than three clusters, all but `within` for one.

    Notes
    -----
    The variance within is that of the one-way analysis of variance, pooled over answers. The
    variance between is n times that of the mean of the n answers' means (``G / (G - 1)`` times
    squared sums of G clusters), less what the noise adds to it: the analysis of unweighted means
    [1]_. It is at least 0. The interval is the t interval of the logarithm of the quotient of the
    two by leaving out clusters [2]_, with tails a fifth smaller and half a pseudo answer that is
    judged at random. The low end has one worst case more: an answer, or a cluster as large as that
    of an average answer, whose every verdict is the least or the greatest one seen; where no answer
    is a sure "no", such answers may be rare. The upper end is at least the Clopper-Pearson end of
    the share of clusters with a change, times the variance within them (of an answer judged at
    random, where nothing changes): few changes say little. Simulated coverage at level 0.95 with 5
    to 1,000 answers, rare verdicts, grades and clusters included: at least 0.93
    (test_the_share_of_noise_is_covered, test_rare_verdicts_are_covered). The worst case costs: in
    clusters of five that do not differ the interval is more than twice as wide.

    When not to use it: where grades far from all that were given may exist. Of grades 4 and 5 at
    random, where 1 to 3% of 20 to 200 answers always get a 1, the intervals cover 0.56 to 0.97.

    References
    ----------
    .. [1] Searle, Casella and McCulloch (1992). Variance Components, section 3.6.
    .. [2] Arvesen (1969). Jackknifing U-statistics. Annals of Mathematical Statistics 40.

    Examples
    --------
    >>> found = repeat_noise([[1, 1], [0, 1], [0, 0], [1, 1]], range(4))
    >>> print(round(found.within, 3), round(found.between, 3), round(found.share, 3))
    0.125 0.167 0.429
    """
    y = np.asarray(verdicts, dtype=float)
    there = np.isfinite(y)
    k = there.sum(axis=1)
    mean = np.where(there, y, 0).sum(axis=1) / k
    squares = (np.where(there, y - mean[:, None], 0) ** 2).sum(axis=1)
    spread = y[there].var(ddof=1)
    squares[squares < 1e-12 * spread] = 0  # rounding of equal verdicts
    columns = squares, k - 1, mean - mean.mean(), np.ones(k.size)
    parts = np.array([np.bincount(codes, x) for x in columns])
    inverse = np.mean(1 / k)
    within, total = (x[0] for x in _within_and_total(parts))
    between = np.maximum(total - within * inverse, 0.0)
    if not total > 0:
        return RepeatNoise(within, between, np.nan, np.nan, np.nan)
    bounds = np.array([y[there].min(), y[there].max()]) - mean.mean()
    n_verdicts = np.mean(k[k > 1])
    # From within / total to within / (between + within), which is 1 where nothing is between.
    ratio = within / total
    low, high = _ends(parts, spread, bounds, n_verdicts, confidence_level)
    x = np.minimum([ratio, np.minimum(low, ratio), np.maximum(high, ratio)], 1 / inverse)
    share, low, high = (x / (1 + x * (1 - inverse))).tolist()
    single = total + within * (1 - inverse)
    most = _most_by_changes(parts, np.ptp(bounds), n_verdicts, confidence_level)
    high = max(high, min(1.0, most / single))
    return RepeatNoise(within, between, share, low, high)


def _within_and_total(parts):
    """Variance within answers, and n times that of their mean: of all, and without each cluster."""
    _, _, means, n = parts
    columns = np.vstack([parts, means**2, means * n, n**2, n > 0])
    total = columns.sum(axis=1, keepdims=True)
    inside, df, means, n, squares, mixed, sizes, count = np.hstack([total, total - columns])
    with np.errstate(divide="ignore", invalid="ignore"):
        center = means / n
        spread = np.maximum(squares - 2 * center * mixed + center**2 * sizes, 0)
        return inside / df, np.where(count > 1, count / (count - 1) * spread / n, np.nan)


def _ends(parts, spread, bounds, n_verdicts, confidence_level):
    """Interval of the variance within over that of the mean, by leaving out clusters."""
    if parts.shape[1] < 3:
        return np.nan, np.nan
    if not parts[0].any():
        return 0.0, 0.0
    guess = _PSEUDO * np.array([spread * (n_verdicts - 1), n_verdicts - 1, 0, 1])
    seen = np.column_stack([parts, guess])
    size = np.sum(parts[3] ** 2) / np.sum(parts[3])  # of the cluster that an answer is in
    lows = [
        _by_leaving_out(np.column_stack([seen, [0, 0, size * bound, size]]), confidence_level)[0]
        for bound in bounds
    ]
    return min(lows), _by_leaving_out(seen, confidence_level)[1]


def _by_leaving_out(parts, confidence_level):
    """The t interval of the logarithm of the quotient of the two variances, of that quotient."""
    within, total = _within_and_total(parts)
    logs = np.log(within / total)
    n, around = parts.shape[1], logs[1:] - logs[1:].mean()
    error = np.sqrt(np.sum(around**2) * (n - 1) / n)
    half = student_t.isf(_WIDER * (1 - confidence_level) / 2, n - 2) * error
    return np.exp(logs[0] - half), np.exp(logs[0] + half)


def _most_by_changes(parts, reach, n_verdicts, confidence_level):
    """Upper end of the variance within by how many clusters hold a change, and how large it is."""
    changed, judged_again = parts[0] > 0, parts[1] > 0
    n_changed, n_clusters = changed.sum(), judged_again.sum()
    most = clopper_pearson_interval(n_changed, n_clusters, confidence_level)[1]
    if n_changed:
        return most * parts[0, changed].sum() / parts[1, changed].sum()
    # An answer judged at random between least and greatest; some such verdicts do not change.
    return most * reach**2 / 4 / (1 - 2 ** (1 - n_verdicts))
