"""The Fay-Herriot model: best linear unbiased prediction and its mean squared error."""

from typing import NamedTuple

import numpy as np

from skbench.stats.shrinkage._normal import (
    generalized_least_squares,
    posterior_mean,
    prior_variance,
    shrinkage_factor,
    smallest_prior_variance,
    trace_of_design,
)


class FayHerriotFit(NamedTuple):
    """Result of `fay_herriot`."""

    prior_variance: float
    beta: np.ndarray
    covariance: np.ndarray
    prior_mean: np.ndarray
    value: np.ndarray
    mse: np.ndarray


def fay_herriot(z, sigma2, X, method="reml"):
    """Empirical best linear unbiased prediction and its mean squared error.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.
    X : ndarray of shape (n_groups, n_features)
        Design with its intercept, of full column rank.
    method : str, default="reml"
        Estimator of the prior variance, see `prior_variance`.

    Returns
    -------
    FayHerriotFit
        NamedTuple: prior_variance `A`, beta and its covariance, prior_mean ``X beta``, value (the
        EBLUP) and mse, the last three of shape (n_groups,).

    Notes
    -----
    The mean squared error is ``g1 + g2 + 2 g3 - bias(A) (sigma2 / v)^2`` with ``v = A + sigma2``,
    of second order: Prasad and Rao (1990), Datta and Lahiri (2000), Datta, Rao and Smith (2005). g1
    is the posterior variance; g2 accounts for the estimation of beta and g3 for that of A.

    References
    ----------
    .. [1] Fay and Herriot (1979). Estimates of income for small places. Journal of the American
       Statistical Association 74.
    .. [2] Rao and Molina (2015). Small Area Estimation, section 6.2. Wiley.

    Examples
    --------
    >>> fit = fay_herriot(np.array([0.2, 0.5, 0.9]), np.full(3, 0.01), np.ones((3, 1)))
    >>> fit.value.round(3)
    array([0.227, 0.503, 0.87 ])
    """
    A = prior_variance(z, sigma2, method, X)
    fit = generalized_least_squares(z, sigma2, X, _positive(A, sigma2))
    prior_mean = X @ fit.beta
    return FayHerriotFit(
        A,
        fit.beta,
        fit.covariance,
        prior_mean,
        posterior_mean(z, prior_mean, sigma2, A),
        fay_herriot_mse(sigma2, X, A, method, sigma2, X),
    )


def _positive(A, sigma2):
    """A, or a small positive value if A = 0 and a group has no noise."""
    return A if np.all(A + sigma2 > 0) else smallest_prior_variance(0.0, sigma2)


def fay_herriot_mse(sigma2, X, prior_variance, method, fitted_sigma2, fitted_X):
    """Second-order mean squared error of the EBLUP in given groups.

    Parameters
    ----------
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of the predicted groups; infinite for a group without direct estimate.
    X : ndarray of shape (n_groups, n_features)
        Design of the predicted groups.
    prior_variance : float
        The `A` of the model.
    method : str
        Estimator of `A`, which determines its variance and bias.
    fitted_sigma2, fitted_X : ndarray
        Sampling variances and design of the fitted groups.

    Returns
    -------
    ndarray of shape (n_groups,)

    Notes
    -----
    See `fay_herriot`. The result is never below g1, the error with known beta and `A`.

    Examples
    --------
    >>> X, sigma2 = np.ones((4, 1)), np.full(4, 0.01)
    >>> fay_herriot_mse(np.array([np.inf]), X[:1], 0.05, "reml", sigma2, X).round(4)
    array([0.065])
    """
    A = prior_variance
    nothing_observed = np.zeros_like(fitted_sigma2)
    fit = generalized_least_squares(
        nothing_observed, fitted_sigma2, fitted_X, _positive(A, fitted_sigma2)
    )
    variance, bias = _variance_and_bias(A, fit, method, fitted_X)
    w = np.where(np.isinf(sigma2), 0.0, shrinkage_factor(A, sigma2))
    g1 = np.where(np.isinf(sigma2), A, w * np.where(w > 0, sigma2, 0))
    g2 = (1 - w) ** 2 * np.einsum("ij,jk,ik->i", X, fit.covariance, X)
    total = np.maximum(A + sigma2, np.finfo(float).tiny)
    g3 = (1 - w) ** 2 / total * variance
    return np.maximum(g1 + g2 + 2 * g3 - bias * (1 - w) ** 2, g1)


def _variance_and_bias(A, fit, method, X):
    """Asymptotic variance and bias of the estimate of A."""
    p1, p2, n = np.sum(fit.precision), np.sum(fit.precision**2), len(fit.precision)
    if method in ("fay-herriot", "paule-mandel"):
        return 2 * n / p1**2, 2 * (n * p2 - p1**2) / p1**3
    if method in ("prasad-rao", "moments"):
        return 2 * np.sum(fit.precision**-2) / n**2, 0.0
    if method in ("ml", "adjusted-ml"):
        adjustment = 2 / A if method == "adjusted-ml" else 0.0
        return 2 / p2, (adjustment - trace_of_design(fit, X)) / p2
    return 2 / p2, 0.0
