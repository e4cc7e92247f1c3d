"""Robust empirical Bayes intervals: kurtosis, critical values, lengths, non-coverage.

The posterior mean ``f + w (z - f)`` over its noise ``w sigma`` is normal around a bias
``b = (1 / w - 1) (f - mu) / sigma``, of second moment ``m2 = (1 / w - 1) ** 2 A / sigma2`` and the
kurtosis of ``mu - f``. A robust interval is wide enough for every distribution of ``b`` with these
moments, a parametric one for a normal distribution. Both cover ON AVERAGE over the groups.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, expit, ndtr, ndtri

from skbench.stats._arrays import floats
from skbench.stats.intervals.moments import divided
from skbench.stats.shrinkage._critical_values import capped, critical_values, optimal_logits
from skbench.stats.shrinkage._normal import shrinkage_factor
from skbench.stats.shrinkage._worst_case import worst_case

_MIDPOINTS = (np.arange(32) + 0.5) / 32  # probabilities of equally likely quantiles
_FAR_BELOW_0 = -1e3  # below, the series is exact and the closed form loses 10 digits


class PriorMoments(NamedTuple):
    """Variance and kurtosis of the true performances around their prior means."""

    prior_variance: float
    kurtosis: float


def cva(m2, kurtosis, confidence_level=0.95):
    """Critical value of an interval that allows for a random bias.

    The smallest ``chi`` with ``P(|N(b, 1)| > chi) <= 1 - confidence_level`` for every distribution
    of ``b`` over groups with ``E b^2 = m2`` and ``E b^4 <= kurtosis * m2^2``.

    Parameters
    ----------
    m2 : array-like of shape (n_groups,)
        Second moments of the standardized bias, 0 to infinity.
    kurtosis : array-like of shape (n_groups,)
        Kurtosis of the bias, 1 to infinity; infinite if only `m2` is known. Broadcasts.
    confidence_level : float, default=0.95
        One minus the largest probability of non-coverage.

    Returns
    -------
    ndarray of shape (n_groups,)
        The normal quantile if ``m2 = 0``, infinite if `m2` is infinite, nan if an argument is nan.

    Notes
    -----
    The critical value of [1]_, for all groups at once by Newton's method. Relative error below
    1e-12 on the gold values (test_gold_critical_values), 1e-10 at `m2` to 1e8 and levels .5 to
    .9999 (test_critical_value_attains_its_level), 1e-7 at any `m2`.

    References
    ----------
    .. [1] Armstrong, Kolesar and Plagborg-Moller (2022). Robust Empirical Bayes Confidence
       Intervals. Econometrica 90(6), 2567-2602.

    Examples
    --------
    >>> cva([0.0, 4.0, 4.0], [3.0, 3.0, float("inf")]).round(6)
    array([1.959964, 4.619513, 7.216351])
    """
    alpha = 1 - confidence_level
    m2, kurtosis = floats(m2, kurtosis)
    critical = np.full(m2.shape, np.nan)
    known = ~(np.isnan(m2) | np.isnan(kurtosis))
    pairs = np.empty(m2[known].shape, dtype=complex)
    pairs.real, pairs.imag = m2[known], kurtosis[known]
    pairs, member = np.unique(pairs, return_inverse=True)
    critical[known] = critical_values(pairs.real, pairs.imag, alpha)[member]
    return critical[()]


def noncoverage(chi, m2, kurtosis):
    """Largest probability that a normal estimate with a random bias is off by `chi`.

    Parameters
    ----------
    chi : array-like of shape (n_groups,)
        Half-widths of the intervals in standard errors, non-negative.
    m2, kurtosis : array-like of shape (n_groups,)
        Second moment and kurtosis of the standardized bias, as in `cva`.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``sup P(|N(b, 1)| > chi)`` over all distributions of ``b`` with these moments, the supremum
        behind `cva`; nan if an argument is nan or `chi` and `m2` are both infinite.

    Examples
    --------
    >>> noncoverage(1.959964, [0.0, 1.0], 3.0).round(4)
    array([0.05  , 0.1715])
    """
    chi, m2, kurtosis = floats(chi, m2, kurtosis)
    probability = np.where(np.isinf(m2), 1.0, 0.0)
    probability[np.isnan(chi + m2 + kurtosis) | (np.isinf(chi) & np.isinf(m2))] = np.nan
    finite = np.isfinite(chi) & np.isfinite(m2) & ~np.isnan(kurtosis)
    m2, scale = capped(m2[finite])
    probability[finite] = worst_case(chi[finite] / scale, m2, kurtosis[finite]).probability
    return probability[()]


def prior_moments(residuals, sigma2, weights=None, correction="pmt", noise=None):
    """Variance and kurtosis of the true performances around their prior means.

    Parameters
    ----------
    residuals : ndarray of shape (..., n_groups)
        Direct estimates minus prior means that do not depend on them.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of the direct estimates.
    weights : ndarray of shape (..., n_groups), optional
        Weights ``omega`` of the groups, equal by default.
    correction : {"pmt", "fplib", "none"}, default="pmt"
        Correction that keeps the estimates feasible; see Notes.
    noise : ndarray of shape (n_groups,), optional
        Unbiased sampling variances for ``W2`` and ``W4`` if `sigma2` is smoothed.

    Returns
    -------
    PriorMoments
        ``A`` and the kurtosis, of shape (...).

    Notes
    -----
    The estimates of Armstrong, Kolesar and Plagborg-Moller (2022, see `cva`). With
    ``W2 = e^2 - sigma2``, ``W4 = e^4 - 6 sigma2 e^2 + 3 sigma2^2``, unbiased for the moments of
    ``mu - f``, and ``m2``, ``m4`` their weighted means:

    - "none": ``A = max(m2, 0)``, ``kurtosis = max(m4 / A^2, 1)``;
    - "pmt": ``A >= 2 sum(omega^2 sigma2^2) / (sum(omega) sum(omega sigma2))`` and ``kurtosis >= 1 +
      32 sum(omega^2 sigma2^4) / (A^2 sum(omega) sum(omega sigma2^2))``;
    - "fplib": mean of a normal distribution with the estimate's mean and variance, truncated at 0.
      It is positive unless the squared residuals minus `noise` all equal one number of at most 0.

    The kurtosis ``E (mu - f)^4 / A^2`` is nan if ``A = 0``. If it may vary with `sigma2` or the
    features, use infinity instead.

    Examples
    --------
    >>> found = prior_moments(np.array([0.2, -0.1, 0.0, 0.3]), np.full(4, 0.01))
    >>> print(round(found.prior_variance, 6), round(found.kurtosis, 6))
    0.025 2.28
    """
    weights = np.ones_like(residuals) if weights is None else weights
    noise = sigma2 if noise is None else np.where(weights > 0, noise, 0.0)
    square = residuals**2
    second = square - noise
    fourth = square**2 - 6 * noise * square + 3 * noise**2
    mean2, mean4 = _weighted_mean(second, weights), _weighted_mean(fourth, weights)
    raw = np.maximum(mean2, 0.0)
    if correction == "none":
        A, kurtosis = raw, np.maximum(divided(mean4, raw**2), 1)
    elif correction == "pmt":
        A = np.maximum(raw, _floor(sigma2, weights, 2))
        excess = divided(_floor(sigma2**2, weights, 32), A**2)
        kurtosis = np.maximum(divided(mean4, A**2), 1 + excess)
    else:
        A = _truncated_mean(mean2, _variance_of_mean(second, weights))
        square_of_mean = 2 * A[..., None] * second
        excess = _truncated_mean(
            mean4 - mean2**2, _variance_of_mean(fourth - square_of_mean, weights)
        )
        kurtosis = 1 + divided(excess, A**2)
    return PriorMoments(A, kurtosis)


def robust_half_width(prior_variance, sigma2, kurtosis, confidence_level=0.95):
    """Half-width of the robust empirical Bayes interval around the posterior mean.

    Parameters
    ----------
    prior_variance : float or ndarray of shape (n_groups,)
        Variance `A` of the true performances around their prior means.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of the direct estimates.
    kurtosis : float or ndarray of shape (n_groups,)
        Kurtosis of the true performances around their prior means, 1 to infinity.
    confidence_level : float, default=0.95
        Average coverage over the groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``cva(sigma2 / A, kurtosis) * w * sigma``, in score units; 0 at ``A = 0``.

    Notes
    -----
    Armstrong, Kolesar and Plagborg-Moller (2022). Coverage holds ON AVERAGE over the groups, for
    any distribution of the true performances, if `prior_variance` and `kurtosis` are right.

    Examples
    --------
    >>> robust_half_width(0.01, np.array([0.0, 0.01, 0.04]), 3.0).round(4)
    array([0.    , 0.1406, 0.1848])
    """
    A, sigma2, kurtosis = floats(prior_variance, sigma2, kurtosis)
    m2 = np.divide(sigma2, A, out=np.zeros_like(A), where=A > 0)
    critical = cva(m2, _known(kurtosis, A), confidence_level)
    return critical * shrinkage_factor(A, sigma2) * np.sqrt(sigma2)


def parametric_half_width(prior_variance, sigma2, confidence_level=0.95):
    """Half-width of the normal-prior interval around the posterior mean.

    Parameters
    ----------
    prior_variance, sigma2
        As in `robust_half_width`.
    confidence_level : float, default=0.95
        Posterior probability if true performances are normal around prior means.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``quantile * sqrt(w) * sigma`` with ``w = A / (A + sigma2)``, in score units.

    Notes
    -----
    Morris (1983). If true performances are not normal, the worst-case non-coverage is
    ``noncoverage(quantile / sqrt(w), sigma2 / A, kurtosis)``.

    Examples
    --------
    >>> parametric_half_width(0.01, np.array([0.0, 0.01, 0.04])).round(4)
    array([0.    , 0.1386, 0.1753])
    """
    alpha = 1 - confidence_level
    return -ndtri(alpha / 2) * np.sqrt(shrinkage_factor(prior_variance, sigma2) * sigma2)


def shrinkage_length_optimal(signal_to_noise, kurtosis, confidence_level=0.95):
    """Shrinkage factor that makes the robust interval shortest.

    Parameters
    ----------
    signal_to_noise : array-like of shape (n_groups,)
        ``A / sigma2``, 0 to infinity.
    kurtosis, confidence_level
        As in `robust_half_width`.

    Returns
    -------
    ndarray of shape (n_groups,)
        The ``w`` that minimizes ``w * cva((1 / w - 1)^2 signal_to_noise, kurtosis)``.

    Notes
    -----
    ``1 - w`` is twice the elasticity of `cva` in `m2`. Below 1e-4 where no ``w > 0`` is best.

    Examples
    --------
    >>> shrinkage_length_optimal([0.0, 0.25, 1.0, 4.0], 3.0).round(3)
    array([0.   , 0.245, 0.533, 0.804])
    """
    alpha = 1 - confidence_level
    signal, kurtosis = floats(signal_to_noise, kurtosis)
    w = np.where(np.isinf(signal), 1.0, 0.0)
    w[np.isnan(signal) | np.isnan(kurtosis)] = np.nan
    inner = np.isfinite(signal) & (signal > 0) & ~np.isnan(kurtosis)
    w[inner] = expit(optimal_logits(np.log(signal[inner]), kurtosis[inner], alpha))
    return w[()]


def length_optimal(prior_variance, sigma2, kurtosis, confidence_level=0.95):
    """Shrinkage factors and half-widths of the shortest robust intervals.

    Parameters
    ----------
    prior_variance, sigma2, kurtosis, confidence_level
        As in `robust_half_width`.

    Returns
    -------
    w, half_width : ndarray of shape (n_groups,)
        Shrinkage factors (1 where ``sigma2 = 0``) and half-widths around ``f + w (z - f)``.

    Examples
    --------
    >>> w, half_width = length_optimal(0.01, np.array([0.0, 0.01, 0.04]), 3.0)
    >>> half_width.round(4)
    array([0.    , 0.1402, 0.1821])
    """
    A, sigma2, kurtosis = floats(prior_variance, sigma2, kurtosis)
    signal = np.divide(A, sigma2, out=np.full_like(A, np.inf), where=sigma2 > 0)
    kurtosis = _known(kurtosis, A)
    w = shrinkage_length_optimal(signal, kurtosis, confidence_level)
    noisy = (sigma2 > 0) & (A > 0)
    m2 = np.zeros_like(A)
    m2[noisy] = ((1 / w[noisy] - 1) * np.sqrt(signal[noisy])) ** 2
    return w, w * cva(m2, kurtosis, confidence_level) * np.sqrt(sigma2)


def plausible_prior_variances(prior_variance, sigma2, n_units):
    """Plausible values of a prior variance that was estimated from few groups.

    Parameters
    ----------
    prior_variance : float or ndarray of shape (..., n_groups)
        Estimates `A` of the prior variance, for every group.
    sigma2 : float or ndarray of shape (..., n_groups)
        Sampling variances of the groups it was estimated from.
    n_units : int
        Number of independent units: topics if models share topics.

    Returns
    -------
    ndarray of shape (n_values, ..., n_groups)
        Equally likely values: quantiles of a normal distribution around `A`, truncated at 0.

    Notes
    -----
    The variance of `A` is ``2 / sum(1 / (A + sigma2)^2)`` in independent groups (Rao and Molina
    2015, Small Area Estimation, section 6.1), here times ``n_groups / n_units``.

    Examples
    --------
    >>> plausible_prior_variances(0.0, [0.01] * 8, 8).mean(axis=0)[:2].round(4)
    array([0.004, 0.004])
    """
    A, sigma2 = (np.atleast_1d(part).astype(float) for part in (prior_variance, sigma2))
    shape = np.broadcast_shapes(A.shape, sigma2.shape)
    A, _ = np.broadcast_arrays(A, sigma2[..., :1])  # keep a single value for all groups
    with np.errstate(divide="ignore"):  # A = 0 and sigma2 = 0 give an error of 0
        information = np.sum(1 / (A + sigma2) ** 2, axis=-1, keepdims=True)
    error = np.sqrt(2 * shape[-1] / n_units / information)
    below = ndtr(-np.divide(A, error, out=np.full_like(A, np.inf), where=error > 0))
    shares = _MIDPOINTS.reshape(-1, *np.ones(A.ndim, dtype=int))
    values = A + error * ndtri(below + (1 - below) * shares)
    return np.array(np.broadcast_to(values, (len(shares), *shape)))


def posterior_variance(residuals, sigma2, prior_variances):
    """Posterior variance of true performances, averaged over several prior variances.

    Parameters
    ----------
    residuals : ndarray of shape (n_groups,)
        Direct estimates minus prior means; 0 if there is no direct estimate.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of the direct estimates.
    prior_variances : ndarray of shape (n_values, ..., n_groups)
        Equally likely values, as of `plausible_prior_variances`.

    Returns
    -------
    ndarray of shape (..., n_groups)
        ``mean(w) sigma2 + var(w) residual^2`` with ``w = A / (A + sigma2)``.

    Examples
    --------
    >>> posterior_variance(np.array([0.2]), np.array([0.01]), np.array([[0.0], [0.01]])).round(4)
    array([0.005])
    """
    w = shrinkage_factor(prior_variances, sigma2)
    return w.mean(axis=0) * sigma2 + w.var(axis=0) * residuals**2


def _known(kurtosis, A):
    """The kurtosis; 1 if A = 0, where it is unknown and has no effect."""
    return np.where(A > 0, kurtosis, 1)


def _weighted_mean(values, weights):
    return np.sum(weights * values, axis=-1) / np.sum(weights, axis=-1)


def _floor(variances, weights, factor):
    """Smallest credible mean of `variances` times a nonnegative quantity."""
    weighted = weights * variances
    total = np.sum(weights, axis=-1) * np.sum(weighted, axis=-1)
    largest = factor * np.sum(weighted**2, axis=-1)
    return np.divide(largest, total, out=np.zeros_like(total), where=total > 0)


def _variance_of_mean(values, weights):
    """Variance of a weighted mean of independent values."""
    mean, total = _weighted_mean(values, weights), np.sum(weights, axis=-1)
    distance, squares = values - mean[..., None], np.sum(weights**2, axis=-1)
    # sum(weights^2 (values^2 - mean^2)), without the cancellation of nearly equal values.
    uneven = weights * (weights - (squares / total)[..., None])
    variation = np.sum((weights * distance) ** 2, axis=-1)
    variation += 2 * mean * np.sum(uneven * distance, axis=-1)
    return divided(np.maximum(variation, 0.0), total**2 - squares)


def _truncated_mean(mean, variance):
    """Mean of a normal variable truncated at 0; its limit if the variance is 0."""
    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = mean / deviation
        far = deviation * (1 - 2 / z**2 + 10 / z**4) / -z
        hazard = np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))  # density / P((-inf, z])
        near = np.where(z < _FAR_BELOW_0, far, mean + deviation * hazard)
    return np.where(variance == 0, np.maximum(mean, 0.0), near)
