"""How many items a comparison of two models needs, and what a given number can show."""

import numpy as np
from scipy.special import ndtr, ndtri


def item_variance(omega2, sigma2_a=0.0, sigma2_b=0.0, n_repeats=1, design_effect=1.0):
    """Variance that one item adds to a difference of two models.

    Parameters
    ----------
    omega2 : float
        Variance over items of the difference of the models' expected scores;
        `skbench.stats.aggregation.difference_variance` makes it of the models' own
        variances and their correlation.
    sigma2_a, sigma2_b : float, default=0.0
        Variance of repeated answers to one item, averaged over items.
    n_repeats : int, default=1
        Answers of each model to each item.
    design_effect : float, default=1.0
        What clusters of items multiply `omega2` by; see
        `skbench.stats.cluster_summary.expected_design_effect`. Repeated answers
        are taken as independent, within clusters too.

    Returns
    -------
    float
        ``design_effect omega2 + (sigma2_a + sigma2_b) / n_repeats``.

    Notes
    -----
    The variance components of [1]_. The variance of the differences of single
    answers is ``omega2 + sigma2_a + sigma2_b``: from data with one answer per item
    take that as `omega2`, with the design effect of the differences, and leave
    `sigma2_a` and `sigma2_b` at 0.

    When not to use it: with the components of another kind of items. Hard and
    easy items vary little, those near 1/2 much.

    References
    ----------
    .. [1] Miller (2024). Adding error bars to evals: a statistical approach to
       language model evaluations. arXiv 2411.00640.

    Examples
    --------
    >>> item_variance(1 / 9, 1 / 6, 1 / 6, n_repeats=3)
    0.2222222222222222
    """
    return design_effect * omega2 + (sigma2_a + sigma2_b) / n_repeats


def required_n(effect, variance, confidence_level=0.95, power=0.8):
    """Number of items at which a difference is found with a given chance.

    Parameters
    ----------
    effect : float
        True difference of the models, in the units of the score, not 0.
    variance : float
        Variance that one item adds, see `item_variance`.
    confidence_level : float, default=0.95
        Of the two-sided interval that has to leave out 0.
    power : float, default=0.8
        Chance that it does, when the difference is `effect`.

    Returns
    -------
    float
        Not rounded.

    Notes
    -----
    ``n = (z_{alpha/2} + z_{1-power})^2 variance / effect^2``: the sample size formula of
    Miller (2024). Normal quantiles: some items more are needed where
    n comes out below 30.

    When not to use it: with the effect that was just observed, to excuse a
    result; a difference that just reaches significance always has power 1/2.

    Examples
    --------
    >>> print(round(required_n(0.03, 1 / 9), 4))
    968.9975
    """
    return (_quantile_sum(confidence_level, power) / effect) ** 2 * variance


def detectable_effect(n_items, variance, confidence_level=0.95, power=0.8):
    """Smallest true difference that so many items find with a given chance.

    Parameters
    ----------
    n_items : float
        Number of items.
    variance : float
        Variance that one item adds, see `item_variance`.
    confidence_level, power : float, default=0.95 and 0.8
        As in `required_n`, whose inverse this is.

    Returns
    -------
    float
        In the units of the score.

    Notes
    -----
    ``(z_{alpha/2} + z_{1-power}) sqrt(variance / n_items)``.

    When not to use it: as the smallest difference that can come out significant;
    that is smaller, and found half of the time at most.

    Examples
    --------
    >>> print(round(detectable_effect(968.9974980677886, 1 / 9), 6))
    0.03
    """
    return _quantile_sum(confidence_level, power) * np.sqrt(variance / n_items)


def power_at(effect, n_items, variance, confidence_level=0.95):
    """Chance that an interval leaves out 0 on the right side, given a true difference.

    Parameters
    ----------
    effect : float
        True difference, in the units of the score.
    n_items : float
        Number of items.
    variance : float
        Variance that one item adds, see `item_variance`.
    confidence_level : float, default=0.95
        Of the two-sided interval.

    Returns
    -------
    float

    Notes
    -----
    ``Phi(|effect| / sqrt(variance / n_items) - z_{alpha/2})``; the chance of a
    significant difference of the wrong sign is not counted.

    When not to use it: after the fact, with the observed difference as `effect`.

    Examples
    --------
    >>> print(round(power_at(0.03, 968.9974980677886, 1 / 9), 6))
    0.8
    """
    alpha = 1 - confidence_level
    return ndtr(np.abs(effect) / np.sqrt(variance / n_items) + ndtri(alpha / 2))


def _quantile_sum(confidence_level, power):
    alpha = 1 - confidence_level
    return ndtri(power) - ndtri(alpha / 2)
