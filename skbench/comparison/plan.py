"""Plan a comparison of two models: items needed, and the minimum detectable effect."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from skbench._types import AtLeastOne, Count, Level, NonNegative, OpenShare, checked
from skbench.stats.ranking import power as formulas

_STEPS = 200  # effects tried if the power at the largest is too low


class NothingDetectable(ValueError):
    """No difference is detectable with the required power."""


@checked
def required_items(
    effect: float,
    *,
    omega2: NonNegative,
    sigma2_a: NonNegative = 0.0,
    sigma2_b: NonNegative = 0.0,
    n_repeats: Count = 1,
    design_effect: NonNegative = 1.0,
    cluster_size: AtLeastOne = 1.0,
    test: Literal["t", "mcnemar", "normal"] = "t",
    confidence_level: Level = 0.95,
    power: OpenShare = 0.8,
) -> int:
    """Return the number of shared items needed to detect a difference between two models.

    Parameters
    ----------
    effect : float
        Minimum difference to detect, in the units of the score.
    omega2 : float
        Variance over items of the difference between the models' expected scores:
        ``compare_models(...).omega2``, or `skbench.stats.aggregation.difference_variance`.
    sigma2_a, sigma2_b : float, default=0.0
        Variance of repeated answers to one item, averaged over items, for models a and b. Keep both
        at 0 if `omega2` comes from single answers, because `omega2` then includes this variance.
    n_repeats : int, default=1
        Number of answers of each model to each item.
    design_effect : float, default=1.0
        Design effect of clusters. It multiplies `omega2`.
        `skbench.stats.clustered.expected_design_effect` computes it. Keep 1 if `omega2` was
        estimated from such clusters.
    cluster_size : float, default=1.0
        Number of items per cluster. It determines the degrees of freedom.
    test : {"t", "mcnemar", "normal"}, default="t"
        "t" is the paired t test. "mcnemar" is McNemar's exact test. It requires independent items,
        each answered once by each model and scored 0 or 1. "normal" is the published formula, which
        gives too few items for either test.
    confidence_level : float, default=0.95
        Confidence level of the interval of the difference.
    power : float, default=0.8
        Probability that this interval excludes 0 if the true difference is `effect`.

    Returns
    -------
    int
        Number of items, each answered by both models.

    Raises
    ------
    ValueError
        If a number is out of range, or `effect` or all variances are 0. If "mcnemar" is combined
        with repeats or clusters, or `omega2` or `effect` is impossible for scores of 0 and 1.

    Notes
    -----
    "normal" is the sample size formula of [1]_,
    ``n = (z_{alpha/2} + z_{1-power})^2 (deff omega2 + (sigma2_a + sigma2_b) / K) / effect^2``,
    rounded up. "t" solves for the power of the noncentral t distribution with
    ``n / cluster_size - 1`` degrees of freedom. "mcnemar" returns the smallest n at which the exact
    test has this power. It assumes that the models disagree on a share ``omega2 + effect^2`` of
    the items (at least ``|effect|``). More answers per item reduce only ``sigma2_a + sigma2_b``.

    When not to use it: after the comparison, with the observed difference as `effect`. The
    result would only restate the p-value.

    References
    ----------
    .. [1] Miller (2024). Adding error bars to evals: a statistical approach to
       language model evaluations. arXiv 2411.00640.

    Examples
    --------
    >>> required_items(0.03, omega2=1 / 9)
    971
    >>> required_items(0.03, omega2=1 / 9, test="mcnemar")
    1027
    """
    if effect == 0:
        raise ValueError(
            "effect is 0, but no number of items can prove that there is no difference."
        )
    goal, noise = (confidence_level, power), (sigma2_a, sigma2_b, n_repeats)
    variance = _variance(test, omega2, noise, design_effect, cluster_size, goal, effect)
    if variance == 0 and test != "mcnemar":
        raise ValueError(
            "omega2, sigma2_a and sigma2_b are all 0, which means the same difference on every "
            "item. Take omega2 from a pilot, compare_models(...).omega2, or a guess from "
            "skbench.stats.aggregation.difference_variance."
        )
    if test == "mcnemar":
        return _first_n(effect, _disagreement(variance, effect), *goal)
    if test == "t":
        n = float(formulas.required_n_t(effect, variance, *goal, cluster_size))
    else:
        n = float(formulas.required_n(effect, variance, *goal))
    if not math.isfinite(n):
        raise ValueError(
            f"effect={effect:g} is so small that the number of items overflows. "
            "Pass the smallest difference that matters."
        )
    # Do not round up 969.0000000001.
    return math.ceil(n * (1 - 1e-9))


def _first_n(effect, disagreement, confidence_level, power):
    """Items for McNemar's exact test; an error if they are too many."""
    n = formulas.exact_n_mcnemar(effect, disagreement, confidence_level, power)
    if math.isinf(n):
        raise ValueError(
            f"effect={effect:g} needs too many items to compute. Pass the smallest difference that "
            "matters."
        )
    return n


def _disagreement(variance, effect):
    """Share of items on which two models disagree."""
    return min(max(variance + effect**2, abs(effect)), 1.0)  # rounding may exceed 1


@checked
def minimum_detectable_effect(
    n_items: Count,
    *,
    omega2: NonNegative,
    sigma2_a: NonNegative = 0.0,
    sigma2_b: NonNegative = 0.0,
    n_repeats: AtLeastOne = 1,
    design_effect: NonNegative = 1.0,
    cluster_size: AtLeastOne = 1.0,
    test: Literal["t", "mcnemar", "normal"] = "t",
    confidence_level: Level = 0.95,
    power: OpenShare = 0.8,
) -> float:
    """Return the smallest true difference between two models that a number of items can detect.

    Parameters
    ----------
    n_items : int
        Number of items, each answered by both models.
    omega2, sigma2_a, sigma2_b, n_repeats, design_effect, cluster_size : float
        As in `required_items`.
    test : {"t", "mcnemar", "normal"}, default="t"
        As in `required_items`.
    confidence_level, power : float, default=0.95 and 0.8
        As in `required_items`.

    Returns
    -------
    float
        Minimum detectable effect, in the units of the score.

    Raises
    ------
    ValueError
        As in `required_items`. Also if there are fewer than two clusters, or fewer items than
        McNemar's test needs (6 at confidence level 0.95).

    Notes
    -----
    This function is the inverse of `required_items`. "normal" is
    ``(z_{alpha/2} + z_{1-power}) sqrt((deff omega2 + (sigma2_a + sigma2_b) / K) / n)``.

    When not to use it: to find the smallest observed difference that is significant. That
    difference is smaller.

    Examples
    --------
    >>> print(round(minimum_detectable_effect(971, omega2=1 / 9), 4))
    0.03
    """
    goal, noise = (confidence_level, power), (sigma2_a, sigma2_b, n_repeats)
    variance = _variance(test, omega2, noise, design_effect, cluster_size, goal)
    normal = float(formulas.detectable_effect(n_items, variance, confidence_level, power))
    if test == "normal" or (test == "t" and variance == 0):
        return normal
    if test == "t":
        if n_items < 2 * cluster_size:
            raise NothingDetectable(
                f"{n_items} items in clusters of {cluster_size:g} are fewer than two clusters, so "
                "the t test has no power."
            )
        known = n_items, variance, confidence_level, cluster_size
        return _solved(lambda x: formulas.power_t(x, *known), power, 1e3 * normal)

    def power_of(x):
        return formulas.power_mcnemar(x, n_items, _disagreement(variance, x), confidence_level)

    return _solved(power_of, power, math.sqrt(1 - variance))


def _solved(power_of, power, largest):
    """Smallest effect with the required power."""
    least = 1e-9 * largest
    if power_of(largest) < power:
        # The power of an exact test is not monotone.
        steps = np.linspace(least, largest, _STEPS)
        step = next((k for k, x in enumerate(steps) if power_of(x) >= power), 0)
        if step == 0:
            raise NothingDetectable(
                f"No difference is detectable with power={power:g}. Use more items."
            )
        least, largest = steps[step - 1 : step + 1]
    return float(brentq(lambda x: power_of(x) - power, least, largest, xtol=1e-12))


def _variance(test, omega2, noise, design_effect, cluster_size, goal, effect=0.0):
    """Variance that one item adds to the difference, after checks."""
    confidence_level, power = goal
    if not 1 - confidence_level < power < 1:
        raise ValueError(
            f"power must be below 1 and above {1 - confidence_level:.4g}, the probability of a "
            f"false positive, got {power!r}. Write 0.8 for 80%."
        )
    variance = formulas.item_variance(omega2, *noise, design_effect)
    if test == "mcnemar":
        _check_mcnemar(variance, effect, noise[2], design_effect, cluster_size)
    return variance


def _check_mcnemar(variance, effect, n_repeats, design_effect, cluster_size):
    """Raise an error if McNemar's test does not apply."""
    if n_repeats > 1 or design_effect != 1 or cluster_size > 1:
        raise ValueError(
            'test="mcnemar" is for single answers to independent items. Pass test="t" for '
            "repeats or clusters."
        )
    if variance + effect**2 > 1 or abs(effect) > 1:
        raise ValueError(
            f"Scores of 0 and 1 cannot differ by effect={effect:g} with omega2={variance:g}, "
            f"because the models would disagree on a share {variance + effect**2:.3g} of the "
            "items. Pass "
            'test="t", or smaller values.'
        )
