"""Items needed for a comparison of two models, power, and minimum detectable effect."""

import math

import numpy as np
from scipy.special import nctdtr, ndtri, stdtrit
from scipy.stats import binom

from skbench.stats.intervals.worst_case import end_variances

_MOST_ITEMS = 1e12  # limit of plans by an exact test
_TAIL = 1e-10  # probability of numbers of disagreements that is neglected


def item_variance(omega2, sigma2_a=0.0, sigma2_b=0.0, n_repeats=1, design_effect=1.0):
    """Variance that one item adds to the difference between two models.

    Parameters
    ----------
    omega2 : float
        Variance over items of the difference between the models' expected scores
        (`skbench.stats.aggregation.difference_variance`).
    sigma2_a, sigma2_b : float, default=0.0
        Variance of repeated answers to one item, averaged over items.
    n_repeats : int, default=1
        Answers of each model to each item.
    design_effect : float, default=1.0
        Design effect of clusters (`skbench.stats.clustered.expected_design_effect`).

    Returns
    -------
    float
        ``design_effect omega2 + (sigma2_a + sigma2_b) / n_repeats``.

    Notes
    -----
    Variance components of Miller (2024), Adding error bars to evals, arXiv 2411.00640. With one
    answer per item, pass the variance of the differences, ``omega2 + sigma2_a + sigma2_b``, as
    `omega2`.

    Examples
    --------
    >>> item_variance(1 / 9, 1 / 6, 1 / 6, n_repeats=3)
    0.2222222222222222
    """
    return design_effect * omega2 + (sigma2_a + sigma2_b) / n_repeats


def required_n(effect, variance, confidence_level=0.95, power=0.8):
    """Number of items at which a difference is detected with a given power.

    Parameters
    ----------
    effect : float
        True difference between the models, in the units of the score, not 0.
    variance : float
        Variance that one item adds (`item_variance`).
    confidence_level : float, default=0.95
        Confidence level of the two-sided interval that must exclude 0.
    power : float, default=0.8
        Probability that it does if the difference is `effect`.

    Returns
    -------
    float
        Not rounded.

    Notes
    -----
    ``n = (z_{alpha/2} + z_{1-power})^2 variance / effect^2`` (Miller 2024). The t test
    (`required_n_t`) and McNemar's exact test (`required_n_mcnemar`) need more items. Do not insert
    an observed difference: one that is just significant always has power 1/2.

    Examples
    --------
    >>> print(round(required_n(0.03, 1 / 9), 4))
    968.9975
    """
    return (_quantile_sum(confidence_level, power) / effect) ** 2 * variance


def detectable_effect(n_items, variance, confidence_level=0.95, power=0.8):
    """Smallest true difference that a number of items detects with a given power.

    Parameters
    ----------
    n_items : float
        Number of items.
    variance, confidence_level, power
        As in `required_n`.

    Returns
    -------
    float
        In the units of the score.

    Notes
    -----
    ``(z_{alpha/2} + z_{1-power}) sqrt(variance / n_items)``, the inverse of `required_n`.

    Examples
    --------
    >>> print(round(detectable_effect(968.9974980677886, 1 / 9), 6))
    0.03
    """
    return _quantile_sum(confidence_level, power) * np.sqrt(variance / n_items)


def power_t(effect, n_items, variance, confidence_level=0.95, cluster_size=1, distance=0.0):
    """Power of the paired t test, or of an interval with one added worst case.

    Parameters
    ----------
    effect : float or ndarray
        True difference.
    n_items, variance, confidence_level
        As in `detectable_effect`; float or ndarray.
    cluster_size : float or ndarray, default=1
        Items per cluster.
    distance : float or ndarray, default=0
        Distance of the difference from the bound at which the interval adds one item
        (`skbench.stats.worst_case`); 0 for the t test.

    Returns
    -------
    float or ndarray
        Probability of a significant difference with the correct sign.

    Notes
    -----
    The power follows from the noncentral t distribution with ``n / cluster_size - 1`` degrees of
    freedom (at least 1) and noncentrality ``|effect| / sqrt(variance / n)``. It is exact for normal
    differences in clusters of equal size. The worst case multiplies the critical value by the
    ratio of standard errors.

    Examples
    --------
    >>> print(power_t(0.5, 34, 1.0).round(3))
    0.808
    """
    n = np.asarray(n_items, dtype=float)
    df = np.maximum(n / cluster_size - 1, 1)
    critical = -stdtrit(df, (1 - confidence_level) / 2)
    own = variance / n
    if np.any(distance):
        critical = critical * np.sqrt(end_variances(0.0, own, n, -distance).low / own)
    effect = np.abs(effect) / np.sqrt(own)  # in standard errors
    below = nctdtr(df, effect, critical)
    # nan means almost 0 (test_every_effect_that_is_detectable_has_a_plan).
    return 1 - np.where(np.isnan(below) & np.isfinite(effect), 0.0, below)


def required_n_t(effect, variance, confidence_level=0.95, power=0.8, cluster_size=1, distance=0.0):
    """Number of items at which `power_t` reaches a given power.

    Parameters
    ----------
    effect, variance, confidence_level, power
        As in `required_n`; an effect of 0 needs infinitely many items.
    cluster_size, distance
        As in `power_t`.

    Returns
    -------
    ndarray
        Not rounded, at least two clusters; nan if the variance is nan.

    Notes
    -----
    Solves ``power_t(n) = power`` by Newton's method within brackets, because with few clusters the
    power changes abruptly (test_every_t_plan_is_the_first_that_has_the_power).

    Examples
    --------
    >>> print(required_n_t(0.03, 1 / 9).round(1))
    970.9
    """
    given = effect, variance, cluster_size, distance
    effect, variance, size, distance = np.broadcast_arrays(*map(np.asarray, given))
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.asarray(required_n(np.abs(effect), variance, confidence_level, power), dtype=float)
    n, least = n.copy(), np.broadcast_to(2.0 * size, n.shape)
    solve = np.isfinite(n) & (n > 0)
    n[solve] = np.maximum(n[solve], least[solve])
    with np.errstate(divide="ignore", invalid="ignore"):
        two_do = solve & (
            power_t(effect, least, variance, confidence_level, size, distance) >= power
        )
    n[two_do] = least[two_do]
    solve &= ~two_do
    parts = [x[solve] for x in (effect, variance, size, distance)]
    x, low, high = n[solve], least[solve], np.full(n[solve].shape, np.inf)
    for _ in range(60):
        found, beyond = (
            power_t(parts[0], y, parts[1], confidence_level, *parts[2:]) for y in (x, 1.001 * x)
        )
        enough = found >= power
        low, high = np.where(enough, low, x), np.where(enough, x, high)
        slope = np.maximum((beyond - found) / 0.001, 1e-12)  # of the power in log(x)
        new = x * np.clip(1 + (power - found) / slope, 0.5, 2)
        middle = np.where(np.isfinite(high), (low + high) / 2, 2 * x)
        new = np.where(((new > low) & (new < high)) | (new == x), new, middle)
        step, x = np.abs(new / x - 1), new
        if step.max(initial=0) < 1e-8:
            break
    n[solve] = x
    return n


def power_mcnemar(effect, n_items, disagreement, confidence_level=0.95):
    """Power of McNemar's exact test at a true difference.

    Parameters
    ----------
    effect : float
        True difference of the shares of correct answers.
    n_items : int
        Number of items, each answered once by both models.
    disagreement : float
        Share of items that only one model answers correctly, at least ``|effect|``.
    confidence_level : float, default=0.95
        1 minus the significance level of the two-sided test.

    Returns
    -------
    float
        Probability of a significant difference with the correct sign.

    Notes
    -----
    The number of disagreements is binomial with probability `disagreement`. Each one favors the
    better model with probability ``(1 + effect / disagreement) / 2``. Items must be independent.

    Examples
    --------
    >>> print(power_mcnemar(0.1, 200, 0.3).round(3))
    0.703
    """
    ends = binom.ppf([_TAIL, 1 - _TAIL], n_items, disagreement)
    number = np.arange(ends[0], ends[1] + 1)
    lost = binom.ppf((1 - confidence_level) / 2, number, 0.5) - 1  # most losses that reject
    share = (1 - np.abs(effect) / disagreement) / 2
    rejects = np.where(lost >= 0, binom.cdf(lost, number, share), 0.0)
    return np.sum(binom.pmf(number, n_items, disagreement) * rejects)


def required_n_mcnemar(effect, disagreement, confidence_level=0.95, power=0.8):
    """Approximate number of items at which McNemar's exact test detects a difference.

    Parameters
    ----------
    effect, disagreement, confidence_level, power
        As in `power_mcnemar` and `required_n`; an effect of 0 needs infinitely many items.

    Returns
    -------
    ndarray
        Not rounded.

    Notes
    -----
    ``(z_{alpha/2} sqrt(m) + z_{1-power} sqrt(m - effect^2))^2 / effect^2 + 1 /
    |effect|`` with the disagreement `m`. The number is within 5% of the exact one if the effect is
    at most half of the disagreement (test_mcnemar_formula). It is up to a third too large if all
    disagreements favor one model.

    Examples
    --------
    >>> print(required_n_mcnemar(0.1, 0.3).round(1))
    243.1
    """
    effect, m = np.abs(effect), np.asarray(disagreement, dtype=float)
    alpha = 1 - confidence_level
    with np.errstate(divide="ignore", invalid="ignore"):
        root = -ndtri(alpha / 2) * np.sqrt(m) + ndtri(power) * np.sqrt(np.maximum(m - effect**2, 0))
        return np.where(effect > 0, (root / effect) ** 2 + 1 / effect, np.inf)


def exact_n_mcnemar(effect, disagreement, confidence_level=0.95, power=0.8):
    """Number of items at which McNemar's exact test has a given power, but not with one fewer.

    Parameters
    ----------
    effect, disagreement : float
        As in `power_mcnemar`; an effect of 0 needs infinitely many items.
    confidence_level, power
        As in `required_n`.

    Returns
    -------
    float
        An integer, or inf above 1e12. The power is not monotone in n, so other n may also qualify.

    Examples
    --------
    >>> n = exact_n_mcnemar(0.1, 0.3)
    >>> n, bool(power_mcnemar(0.1, n, 0.3) >= 0.8 > power_mcnemar(0.1, n - 1, 0.3))
    (249, True)
    """
    disagreement = max(disagreement, abs(effect))  # corrects rounding
    start = required_n_mcnemar(effect, disagreement, confidence_level, power)
    if not start < _MOST_ITEMS:
        return np.inf

    def enough(n):
        return power_mcnemar(effect, n, disagreement, confidence_level) >= power

    low, high = 0, math.ceil(start)
    while not enough(high):
        low, high = high, math.ceil(1.1 * high) + 1
    low = max(low, math.floor(0.5 * high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _quantile_sum(confidence_level, power):
    alpha = 1 - confidence_level
    return ndtri(power) - ndtri(alpha / 2)
