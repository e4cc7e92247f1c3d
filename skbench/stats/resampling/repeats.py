"""Repeated answers to items, or repeated verdicts on answers: pass@k, flips, share of noise."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import hypergeom
from scipy.stats import t as student_t

from skbench.stats.intervals.binomial import clopper_pearson_interval, wilson_interval_of_mean

_UNSEEN = 0.3  # pseudo-items at the far end (test_intervals_cover)
# Ratio of tail probabilities, and weight of the pseudo-answer (test_the_share_of_noise...).
_WIDER, _PSEUDO = 0.8, 0.5


def pass_at_k(n_correct, n_runs, k, all_of_them=False):
    """Probability that at least one, or all, of k answers to an item are correct.

    Parameters
    ----------
    n_correct : array-like of int of shape (n_items,)
        Number of correct answers to each item.
    n_runs : array-like of int of shape (n_items,)
        Number of answers to each item, at least `k`.
    k : int
        Number of answers in the definition of pass@k.
    all_of_them : bool, default=False
        Whether all `k` answers must be correct (pass^k), instead of at least one (pass@k).

    Returns
    -------
    ndarray of shape (n_items,)
        Estimates ``1 - C(R - c, k) / C(R, k)`` of pass@k or ``C(c, k) / C(R, k)`` of pass^k.

    Notes
    -----
    The result is the proportion of subsets of k among R answers with c correct ones (Chen et al.
    2021, arXiv 2107.03374). It is unbiased for ``1 - (1 - p)^k`` or ``p^k``.

    When not to use it: for answers of greedy decoding, which are all equal.

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
    """Interval of a mean over items of values in [0, 1], also if few values differ.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_groups,)
        Mean over the items and its sampling variance.
    n_units, n_items : ndarray of shape (n_groups,)
        Numbers of independent units (items or clusters) and of items.
    df : float or ndarray, default=inf
        Degrees of freedom of a cluster-robust variance.
    confidence_level : float, default=0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval; nan if `df` is nan.

    Notes
    -----
    This is Wilson's interval at the effective number of items. The variance of each end includes
    0.3 pseudo-items at 0 or at 1. It is at most that of binary answers.

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
    """Items that one model solves and another does not, with the part that noise explains.

    Attributes
    ----------
    p_value : ndarray of shape (n_items,)
        Two-sided exact p-value of equal accuracy on the item.
    flipped : ndarray of bool of shape (n_items,)
        Whether exactly one model answers the item correctly at least half of the time.
    chance : ndarray of shape (n_items,)
        Probability of such a flip if both models have the same accuracy on the item.
    """

    p_value: np.ndarray
    flipped: np.ndarray
    chance: np.ndarray


def flips(correct_a, runs_a, correct_b, runs_b):
    """Compare repeated answers of two models to each item.

    Parameters
    ----------
    correct_a, runs_a, correct_b, runs_b : array-like of int of shape (n_items,)
        Numbers of correct answers and of all answers of each model.

    Returns
    -------
    Flips

    Notes
    -----
    The p-value is twice the smaller tail of Fisher's exact test. The sum of `chance` is the
    expected number of flips by noise. Of 1,000 items without a change, up to 50 have a p-value
    below 0.05.

    Examples
    --------
    >>> found = flips([8, 5], 8, [0, 3], 8)
    >>> print(found.p_value.round(4)[1], found.flipped, found.chance.round(2))
    0.6193 [ True  True] [0.62 0.62]
    """
    a, runs_a, b, runs_b = np.broadcast_arrays(correct_a, runs_a, correct_b, runs_b)
    given_total = hypergeom(runs_a + runs_b, a + b, runs_a)
    p_value = np.minimum(1, 2 * np.minimum(given_total.cdf(a), given_total.sf(a - 1)))
    # A model solves the item if 2 a >= runs. Given the total, b is determined by a.
    least_a, least_b = -(-runs_a // 2), -(-runs_b // 2)
    most_without_b = a + b - least_b
    solved_by_a = given_total.sf(np.maximum(least_a - 1, most_without_b))
    solved_by_b = given_total.cdf(np.minimum(least_a - 1, most_without_b))
    flipped = (a >= least_a) != (b >= least_b)
    return Flips(p_value, flipped, solved_by_a + solved_by_b)


class RepeatNoise(NamedTuple):
    """Noise of repeated verdicts in the variance of a mean score.

    Attributes
    ----------
    within : float
        Variance of verdicts on the same answer, in squared units of the score.
    between : float
        Variance of expected verdicts between answers, times the design effect of clusters. More
        verdicts per answer do not reduce it.
    share, low, high : float
        Share of noise in the variance of a mean with one verdict per answer,
        ``within / (between + within)``, and its interval; nan if all answers have the same mean
        verdict.
    """

    within: float
    between: float
    share: float
    low: float
    high: float


def repeat_noise(verdicts, codes, confidence_level=0.95):
    """Variance within and between answers with repeated verdicts.

    Parameters
    ----------
    verdicts : array-like of shape (n_answers, n_repeats)
        Scores; nan if missing. Every answer has a verdict, and some answers have two or more.
    codes : array-like of int of shape (n_answers,)
        Cluster of each answer, 0 to ``n_clusters - 1``.
    confidence_level : float, default=0.95
        Nominal coverage of the interval of the share.

    Returns
    -------
    RepeatNoise
        Variances and the share of noise. The ends of its interval are nan with fewer than three
        clusters. With one cluster only `within` is known.

    Notes
    -----
    The variance within answers is the pooled one of the one-way analysis of variance. The variance
    between is n times the variance of the mean of the n answers' means minus the part due to noise
    (the analysis of unweighted means [1]_), and at least 0. The variance of the mean is
    ``G / (G - 1)`` times the squared sums of G clusters.

    The interval is a jackknife t interval by clusters [2]_ of the log ratio of the two variances.
    Its tails are smaller by a fifth, and half a pseudo-answer has random verdicts. The lower end
    adds one worst case: an answer, or a cluster of average size, whose verdicts all have the
    smallest or all the largest value, because such answers may be missing from the sample. The
    upper end is at least the Clopper-Pearson end of the proportion of clusters with a change, times
    the variance within these clusters (or that of random verdicts without changes). Simulated
    coverage of 95% intervals with 5 to 1,000 answers was at least 0.93, including rare verdicts,
    grades and clusters (test_the_share_of_noise_is_covered, test_rare_verdicts_are_covered).
    Because of the worst case, in clusters of five equal answers the interval is more than twice as
    wide.

    When not to use it: if grades far from all observed grades may exist. If grades are 4 and 5 at
    random and 1% to 3% of 20 to 200 answers always get a 1, the intervals cover 0.56 to 0.97.

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
    # Convert within / total to within / (between + within), which is 1 if `between` is 0.
    ratio = within / total
    low, high = _ends(parts, spread, bounds, n_verdicts, confidence_level)
    x = np.minimum([ratio, np.minimum(low, ratio), np.maximum(high, ratio)], 1 / inverse)
    share, low, high = (x / (1 + x * (1 - inverse))).tolist()
    single = total + within * (1 - inverse)
    most = _most_by_changes(parts, np.ptp(bounds), n_verdicts, confidence_level)
    high = max(high, min(1.0, most / single))
    return RepeatNoise(within, between, share, low, high)


def _within_and_total(parts):
    """Variance within answers and n times that of the mean: of all and without each cluster."""
    _, _, means, n = parts
    columns = np.vstack([parts, means**2, means * n, n**2, n > 0])
    total = columns.sum(axis=1, keepdims=True)
    inside, df, means, n, squares, mixed, sizes, count = np.hstack([total, total - columns])
    with np.errstate(divide="ignore", invalid="ignore"):
        center = means / n
        spread = np.maximum(squares - 2 * center * mixed + center**2 * sizes, 0)
        return inside / df, np.where(count > 1, count / (count - 1) * spread / n, np.nan)


def _ends(parts, spread, bounds, n_verdicts, confidence_level):
    """Jackknife interval of the ratio of the variance within to that of the mean."""
    if parts.shape[1] < 3:
        return np.nan, np.nan
    if not parts[0].any():
        return 0.0, 0.0
    pseudo_answer = _PSEUDO * np.array([spread * (n_verdicts - 1), n_verdicts - 1, 0, 1])
    seen = np.column_stack([parts, pseudo_answer])
    size = np.sum(parts[3] ** 2) / np.sum(parts[3])  # mean cluster size of an answer
    lows = [
        _jackknife(np.column_stack([seen, [0, 0, size * bound, size]]), confidence_level)[0]
        for bound in bounds
    ]
    return min(lows), _jackknife(seen, confidence_level)[1]


def _jackknife(parts, confidence_level):
    """Interval of the ratio of two variances from the jackknife t interval of its logarithm."""
    within, total = _within_and_total(parts)
    logs = np.log(within / total)
    n, around = parts.shape[1], logs[1:] - logs[1:].mean()
    error = np.sqrt(np.sum(around**2) * (n - 1) / n)
    half = student_t.isf(_WIDER * (1 - confidence_level) / 2, n - 2) * error
    return np.exp(logs[0] - half), np.exp(logs[0] + half)


def _most_by_changes(parts, reach, n_verdicts, confidence_level):
    """Upper end of the variance within, from the number of clusters with a change and its size."""
    changed, judged_again = parts[0] > 0, parts[1] > 0
    n_changed, n_clusters = changed.sum(), judged_again.sum()
    most = clopper_pearson_interval(n_changed, n_clusters, confidence_level)[1]
    if n_changed:
        return most * parts[0, changed].sum() / parts[1, changed].sum()
    # Variance of random verdicts at both ends, given that some of them do not change.
    return most * reach**2 / 4 / (1 - 2 ** (1 - n_verdicts))
