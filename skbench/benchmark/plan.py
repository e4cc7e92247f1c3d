"""How many items to collect before two models are compared, and what a number can show."""

import math
import numbers

from skbench._checks import check_confidence_level
from skbench.stats import power as formulas


def required_items(
    effect,
    *,
    omega2,
    sigma2_a=0.0,
    sigma2_b=0.0,
    n_repeats=1,
    design_effect=1.0,
    confidence_level=0.95,
    power=0.8,
):
    """Number of shared items that show a difference of two models.

    Parameters
    ----------
    effect : float
        True difference worth finding, in the units of the score.
    omega2 : float
        Variance over items of the difference of the models' expected scores, score
        units squared. `skbench.stats.aggregation.difference_variance` makes it of the
        models' own variances and their correlation; ``compare_models(...).omega2``
        of data.
    sigma2_a, sigma2_b : float, default=0.0
        Variance of repeated answers to one item, averaged over items. Leave both at
        0 if `omega2` comes from single answers, whose noise is in it.
    n_repeats : int, default=1
        Answers of each model to each item.
    design_effect : float, default=1.0
        What clusters of items multiply `omega2` by, see
        `skbench.stats.cluster_summary.expected_design_effect`; 1 where `omega2` was
        estimated from the same kind of clusters.
    confidence_level : float, default=0.95
        Level of the interval that has to leave out 0.
    power : float, default=0.8
        Chance that it does.

    Returns
    -------
    int
        Number of items, each answered by both models.

    Raises
    ------
    ValueError
        If a number is out of range, or `effect` is 0.

    Notes
    -----
    ``n = (z_{alpha/2} + z_{1-power})^2 (deff omega2 + (sigma2_a + sigma2_b) / K) / effect^2``,
    rounded up: the sample size formula of [1]_. More answers per item
    reduce the noise only; once it is small against `omega2`, items are what helps.
    The formula is normal: below 30 items, or 30 clusters, a few more are needed.

    When not to use it: after the comparison, with the observed difference as
    `effect`, to find out whether there were enough items; the interval says so.

    References
    ----------
    .. [1] Miller (2024). Adding error bars to evals: a statistical approach to
       language model evaluations. arXiv 2411.00640.

    Examples
    --------
    >>> required_items(0.03, omega2=1 / 9)
    969
    >>> from skbench.stats.aggregation import difference_variance
    >>> for correlation in (0.0, 0.5, 0.8):
    ...     print(required_items(0.03, omega2=difference_variance(0.21, 0.21, correlation)))
    3663
    1832
    733
    """
    _check_number("effect", effect)
    if effect == 0:
        raise ValueError("effect is 0: no number of items shows that there is no difference.")
    variance = _variance(
        omega2, sigma2_a, sigma2_b, n_repeats, design_effect, confidence_level, power
    )
    # Rounding up 969.0000000001 would be the rounding of the computer.
    return math.ceil(formulas.required_n(effect, variance, confidence_level, power) * (1 - 1e-12))


def minimum_detectable_effect(
    n_items,
    *,
    omega2,
    sigma2_a=0.0,
    sigma2_b=0.0,
    n_repeats=1,
    design_effect=1.0,
    confidence_level=0.95,
    power=0.8,
):
    """Smallest true difference of two models that a number of items shows.

    Parameters
    ----------
    n_items : int
        Number of items, each answered by both models.
    omega2, sigma2_a, sigma2_b, n_repeats, design_effect : float
        As in `required_items`.
    confidence_level, power : float, default=0.95 and 0.8
        As in `required_items`.

    Returns
    -------
    float
        In the units of the score.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    ``(z_{alpha/2} + z_{1-power}) sqrt((deff omega2 + (sigma2_a + sigma2_b) / K) / n)``,
    the inverse of `required_items`.

    When not to use it: as the smallest difference that can come out significant,
    which is 0.7 times as large at power 0.8, and found half of the time.

    Examples
    --------
    >>> print(round(minimum_detectable_effect(969, omega2=1 / 9), 4))
    0.03
    """
    _check_number("n_items", n_items, least=1)
    variance = _variance(
        omega2, sigma2_a, sigma2_b, n_repeats, design_effect, confidence_level, power
    )
    return float(formulas.detectable_effect(n_items, variance, confidence_level, power))


def _variance(omega2, sigma2_a, sigma2_b, n_repeats, design_effect, confidence_level, power):
    """Checked variance that one item adds."""
    check_confidence_level(confidence_level)
    _check_number("power", power)
    if not 1 - confidence_level < power < 1:
        raise ValueError(
            f"power must be below 1 and above {1 - confidence_level:.4g}, the chance of a false "
            f"alarm, got {power!r}. Write 0.8 for 80 %."
        )
    for name, value in [("omega2", omega2), ("sigma2_a", sigma2_a), ("sigma2_b", sigma2_b)]:
        _check_number(name, value, least=0)
    _check_number("n_repeats", n_repeats, least=1)
    _check_number("design_effect", design_effect, least=0)
    return formulas.item_variance(omega2, sigma2_a, sigma2_b, n_repeats, design_effect)


def _check_number(name, value, least=-math.inf):
    if not isinstance(value, numbers.Real) or not least <= value < math.inf:
        word = "a finite number" if least == -math.inf else f"at least {least:g}"
        raise ValueError(f"{name} must be {word}, got {value!r}.")
