"""Exact sequential tests of a proportion, with a largest number of trials."""

import math

import numpy as np

SPENDING = 2  # power of the share of trials (test_spending_is_a_good_compromise)
_TOLERANCE = 1e-12


def least_trials(reference, confidence_level=0.95, aim="above"):
    """Smallest number of trials that can be significant, if all of them agree.

    Parameters
    ----------
    reference, confidence_level, aim
        As in `stopping_points`.

    Returns
    -------
    int
        Smallest n with ``reference^n < alpha / 2``, or ``(1 - reference)^n`` for "below".

    Examples
    --------
    >>> least_trials(0.8), least_trials(0.8, aim="below")
    (17, 3)
    """
    goal = (1 - confidence_level) / 2
    log_chance = math.log(reference) if aim == "above" else math.log1p(-reference)
    n = max(int(math.log(goal) / log_chance), 1)
    return n + (math.exp(n * log_chance) >= goal)


def stopping_points(n_max, reference, confidence_level=0.95, aim="above"):
    """Compute the stopping points of a sequential test, from lowest to highest evidence.

    Parameters
    ----------
    n_max : int
        Largest number of trials, at least `least_trials`.
    reference : float
        Proportion that is tested, between 0 and 1.
    confidence_level : float, default=0.95
        Level of the two-sided interval; each error has probability below ``alpha / 2``.
    aim : {"above", "below"}, default="above"
        Direction of interest. The test also stops if this result is certain or impossible.

    Returns
    -------
    n, k : ndarray of shape (n_points,), int
        Trials and successes.
    chance : ndarray of shape (n_points,)
        Probability of stopping at each point if the reference is true; they sum to 1.

    Notes
    -----
    After n trials, the test stops at the largest (or smallest) number of successes that is still
    possible, if the probability under the reference of having stopped on that side stays below

    ``alpha / 2 * (n / n_max)^2``

    (error spending: Kim and DeMets 1987, Biometrika 74, 149-154). Probabilities are exact, from the
    paths that have not stopped. Error probability that is unused because counts are integers is
    used later. Points have the stage-wise order: earlier upper stops are higher, and earlier lower
    stops are lower (Jennison and Turnbull 2000, Group Sequential Methods, section 8.4).

    With at most 100 trials and reference 0.8, a proportion of 0.9 is significantly above with
    probability 0.75, after 70 trials on average. With linear spending this would be 0.70 and 65,
    and with a test only at the end 0.77 and 93 (test_spending_is_a_good_compromise). 1,000 trials
    take 0.01 s to compute.

    When not to use it: without a largest number of trials, or for scores between 0 and 1 (use
    `skbench.stats.betting.confidence_sequence`).

    Examples
    --------
    >>> n, k, chance = stopping_points(20, 0.8)
    >>> print(n[:3], k[:3], "to", n[-1], k[-1])
    [1 2 3] [0 1 2] to 18 18
    """
    n, k, chance = _points(n_max, reference, confidence_level, n_max + 1, n_max + 1)
    goal = (1 - confidence_level) / 2
    if aim == "above":
        fails = (n - k)[np.cumsum(chance[::-1])[::-1] < goal].max()
        enough = n_max - fails, fails + 1
    else:
        successes = k[np.cumsum(chance) < goal].max()
        enough = successes + 1, n_max - successes
    return _points(n_max, reference, confidence_level, *enough)


def _points(n_max, reference, confidence_level, most_successes, most_fails):
    """Points of a test that stops at these numbers of successes or failures at the latest."""
    goal = (1 - confidence_level) / 2
    low, high, spent_low, spent_high = [], [], 0.0, 0.0
    ahead, fewest = np.ones(1), 0  # probabilities of `fewest`, `fewest` + 1, ... successes
    for n in range(1, n_max):
        ahead = np.convolve(ahead, [1 - reference, reference])
        budget, most = goal * (n / n_max) ** SPENDING, fewest + ahead.size - 1
        if most >= most_successes or spent_high + ahead[-1] < budget:
            high.append((n, most, ahead[-1]))
            spent_high += ahead[-1]
            ahead = ahead[:-1]
        if ahead.size and (n - fewest >= most_fails or spent_low + ahead[0] < budget):
            low.append((n, fewest, ahead[0]))
            spent_low += ahead[0]
            ahead, fewest = ahead[1:], fewest + 1
        if not ahead.size:
            break
    else:
        ahead = np.convolve(ahead, [1 - reference, reference])
    last = [(n_max, fewest + i, chance) for i, chance in enumerate(ahead)]
    n, k, chance = np.array(low + last + high[::-1]).T
    return n.astype(int), k.astype(int), chance


def chances(points, reference, proportion):
    """Probabilities of the stopping points at another proportion.

    Parameters
    ----------
    points : tuple of three arrays
        As returned by `stopping_points`.
    reference : float
        Proportion for which `points` were computed.
    proportion : float
        Another proportion, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_points,)
        ``chance (p / p0)^k ((1 - p) / (1 - p0))^(n - k)``, as all paths to a point are equally
        likely.

    Examples
    --------
    >>> points = stopping_points(100, 0.8)
    >>> print(round(chances(points, 0.8, 0.9) @ points[0], 1), "trials on average")
    70.0 trials on average
    """
    n, k, chance = points
    up, down = math.log(proportion / reference), math.log((1 - proportion) / (1 - reference))
    return chance * np.exp(k * up + (n - k) * down)


def stopped_interval(points, reference, at, confidence_level=0.95):
    """Exact interval of a proportion after a test has stopped.

    Parameters
    ----------
    points, reference
        As in `chances`.
    at : int
        Index of the point where the test stopped.
    confidence_level : float, default=0.95
        Minimum coverage at every proportion.

    Returns
    -------
    low, high : float
        The interval contains the proportions at which both this point and higher ones, and this
        point and lower ones, have probability at least ``alpha / 2``. With all points at one n,
        it is the Clopper-Pearson interval.

    Notes
    -----
    In the stage-wise order, higher proportions make higher points more probable. So the one-sided
    tests are monotone and the interval covers (Jennison and Turnbull 2000, section 8.5). The search
    starts at the reference, so an end excludes it exactly if the test is significant.

    Examples
    --------
    >>> points = stopping_points(20, 0.8)
    >>> low, high = stopped_interval(points, 0.8, at=len(points[0]) - 1)  # 18 of 18
    >>> print(round(low, 3), round(high, 3))
    0.815 1.0
    """
    goal = (1 - confidence_level) / 2
    low = _last(lambda p: chances(points, reference, p)[at:].sum() < goal, reference)
    high = _last(lambda p: chances(points, reference, p)[: at + 1].sum() >= goal, reference)
    return low[0], high[1]


def _last(holds, first):
    """Numbers in (0, 1) between which a condition stops holding."""
    bottom, top, middle = 0.0, 1.0, first
    while top - bottom > _TOLERANCE:
        bottom, top = (middle, top) if holds(middle) else (bottom, middle)
        middle = (bottom + top) / 2
    return bottom, top
