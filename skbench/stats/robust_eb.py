"""Robust empirical Bayes intervals: kurtosis, critical values, lengths, non-coverage.

The posterior mean ``f + w (z - f)`` of a group, divided by its noise ``w sigma``, is
normal with unit variance around a bias ``b = (1 / w - 1) (f - mu) / sigma``. Across
groups ``b`` has second moment ``m2 = (1 / w - 1) ** 2 A / sigma2`` and the kurtosis of
``mu - f``. A robust interval is wide enough for every law of ``b`` with these two
moments; a parametric one is right if the law is normal. Both promise coverage ON
AVERAGE over the groups, not for each of them: a group whose truth lies far from
its prior mean is covered less often.
"""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator
from scipy.special import expit, log_expit, log_ndtr, ndtri

from skbench.stats._worst_case import falling_root, worst_case
from skbench.stats.shrinkage import shrinkage_factor

# Groups that share a kurtosis and are at least this many start from an interpolation.
_TABLE_FROM = 2000
_TABLE_STEP = 0.08  # in log m2; the start is then right to about 1e-7
_LENGTH_TABLE_STEP = 0.05  # in log A / sigma2; w is then right to about 1e-5
_SMALLEST_M2 = 1e-8  # of a table; the critical value hardly moves below
# Noise is 1e-8 of the bias beyond: cva grows as sqrt(m2), to 1e-7 (test_huge_m2).
_LARGEST_M2 = 1e16


class PriorMoments(NamedTuple):
    """Variance and kurtosis of the true performances around their prior means."""

    prior_variance: float
    kurtosis: float
    uncorrected_prior_variance: float
    uncorrected_kurtosis: float


class LengthOptimal(NamedTuple):
    """Shrinkage factors of the shortest robust intervals, and their half-widths."""

    shrinkage_factor: np.ndarray
    half_width: np.ndarray


def cva(m2, kurtosis, confidence_level=0.95):
    """Critical value of an interval that allows for a random bias.

    The smallest ``chi`` with ``P(|N(b, 1)| > chi) <= 1 - confidence_level`` for every
    law of the bias ``b`` that has ``E b^2 = m2`` and ``E b^4 <= kurtosis * m2^2``.

    Parameters
    ----------
    m2 : array-like of shape (n_groups,)
        Second moments of the standardised bias, 0 to infinity.
    kurtosis : array-like of shape (n_groups,)
        Kurtosis of the bias, 1 to infinity; infinite if only `m2` is known. The two
        arguments broadcast, so that one number serves all groups.
    confidence_level : float, default=0.95
        One minus the largest probability of a miss.

    Returns
    -------
    ndarray of shape (n_groups,)
        Critical values: the normal quantile where ``m2 = 0``, infinite where `m2` is
        infinite, nan where an argument is nan.

    Notes
    -----
    Equations (5) and (11) of [1]_. The worst law has two points at most; the supremum
    is differentiable in ``chi`` and `m2`, and Newton's method needs four or five
    evaluations for all groups at once, or one where a table over ``log m2`` supplies
    the start (from 2000 groups with the same kurtosis). Relative error below 1e-11
    at kurtosis 1 to infinity, `m2` to 1e8 and levels .5 to .9999 (test_gold_critical_values,
    test_critical_value_attains_its_level), and below 1e-7 for any `m2`.

    When not to use it: where each single group must be covered. The law of ``b`` is
    taken over groups, so the guarantee is average coverage.

    References
    ----------
    .. [1] Armstrong, Kolesar and Plagborg-Moller (2022). Robust Empirical Bayes
       Confidence Intervals. Econometrica 90(6), 2567-2602.

    Examples
    --------
    >>> cva([0.0, 4.0, 4.0], [3.0, 3.0, float("inf")]).round(6)
    array([1.959964, 4.619513, 7.216351])
    """
    alpha = 1 - confidence_level
    m2, kurtosis = _broadcast(m2, kurtosis)
    critical = np.full(m2.shape, np.nan)
    known = ~(np.isnan(m2) | np.isnan(kurtosis))
    critical[known] = _critical_values(m2[known], kurtosis[known], alpha)
    return critical[()]


def noncoverage(chi, m2, kurtosis):
    """Largest probability that a normal estimate with a random bias is off by `chi`.

    Parameters
    ----------
    chi : array-like of shape (n_groups,)
        Half-widths of the intervals in standard errors, non-negative.
    m2, kurtosis : array-like of shape (n_groups,)
        Second moment and kurtosis of the standardised bias, as in `cva`.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``sup P(|N(b, 1)| > chi)`` over all laws of ``b`` with these moments; nan
        where an argument is nan or `chi` and `m2` are both infinite.

    Notes
    -----
    Equation (11) of [1]_. `cva` is its inverse in `chi`.

    References
    ----------
    .. [1] Armstrong, Kolesar and Plagborg-Moller (2022). Robust Empirical Bayes
       Confidence Intervals. Econometrica 90(6), 2567-2602.

    Examples
    --------
    >>> noncoverage(1.959964, [0.0, 1.0], 3.0).round(4)
    array([0.05  , 0.1741])
    """
    chi, m2, kurtosis = _broadcast(chi, m2, kurtosis)
    probability = np.where(np.isinf(m2), 1.0, 0.0)
    probability[np.isnan(chi + m2 + kurtosis) | (np.isinf(chi) & np.isinf(m2))] = np.nan
    finite = np.isfinite(chi) & np.isfinite(m2) & ~np.isnan(kurtosis)
    m2, scale = _tame(m2[finite])
    probability[finite] = worst_case(chi[finite] / scale, m2, kurtosis[finite]).probability
    return probability[()]


def prior_moments(residuals, sigma2, weights=None, correction="pmt"):
    """Variance and kurtosis of the true performances around their prior means.

    Parameters
    ----------
    residuals : ndarray of shape (n_groups,)
        Direct estimates minus prior means that do not depend on them.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of the direct estimates.
    weights : ndarray of shape (n_groups,), optional
        Weights ``omega`` of the groups, equal by default; ``1 / sigma2`` is usual in
        economics.
    correction : {"pmt", "fplib", "none"}, default="pmt"
        What keeps the two estimates away from their impossible values: truncation at
        a posterior mean, the posterior mean itself under a flat prior on the possible
        values, or only ``A >= 0`` and ``kurtosis >= 1``.

    Returns
    -------
    PriorMoments
        `prior_variance` ``A`` and `kurtosis`, with and without the correction.

    Notes
    -----
    Section 4.2 and Appendix A of [1]_. With ``W2 = e^2 - sigma2`` and
    ``W4 = e^4 - 6 sigma2 e^2 + 3 sigma2^2``, unbiased for the second and fourth moment
    of ``mu - f``, and ``m2``, ``m4`` their weighted means:

    - "none": ``A = max(m2, 0)``, ``kurtosis = max(m4 / A^2, 1)``;
    - "pmt": ``A >= 2 sum(omega^2 sigma2^2) / (sum(omega) sum(omega sigma2))`` and
      ``kurtosis >= 1 + 32 sum(omega^2 sigma2^4) / (A^2 sum(omega) sum(omega sigma2^2))``;
    - "fplib": mean of a normal with the estimate's own mean and variance, cut at 0.

    ``A = 0`` says nothing about the shape of what does not vary: the kurtosis is then
    nan, under "none" and where all `sigma2` are 0.

    The kurtosis is an estimate of ``E (mu - f)^4 / A^2`` in every group alike; if it may
    vary with `sigma2` or the features, take infinity instead.

    References
    ----------
    .. [1] Armstrong, Kolesar and Plagborg-Moller (2022). Robust Empirical Bayes
       Confidence Intervals. Econometrica 90(6), 2567-2602.

    Examples
    --------
    >>> import numpy as np
    >>> found = prior_moments(np.array([0.2, -0.1, 0.0, 0.3]), np.full(4, 0.01))
    >>> round(found.prior_variance, 6), round(found.kurtosis, 6)
    (0.025, 1.128)
    """
    weights = np.ones_like(residuals) if weights is None else weights
    second = residuals**2 - sigma2
    fourth = residuals**4 - 6 * sigma2 * residuals**2 + 3 * sigma2**2
    mean2, mean4 = _mean(second, weights), _mean(fourth, weights)
    raw = max(mean2, 0.0)
    raw_kurtosis = max(_ratio(mean4, raw**2), 1.0) if raw > 0 else np.nan
    if correction == "none":
        return PriorMoments(raw, raw_kurtosis, raw, raw_kurtosis)
    if correction == "pmt":
        A = max(raw, _floor(sigma2, weights, 2))
        kurtosis = max(_ratio(mean4, A**2), 1 + _ratio(_floor(sigma2**2, weights, 32), A**2))
        return PriorMoments(A, kurtosis, raw, raw_kurtosis)
    A = _truncated_mean(mean2, _variance_of_mean(second, weights))
    spread = _variance_of_mean(fourth - 2 * A * second, weights)
    kurtosis = 1 + _ratio(_truncated_mean(mean4 - mean2**2, spread), A**2)
    return PriorMoments(A, kurtosis, raw, raw_kurtosis)
