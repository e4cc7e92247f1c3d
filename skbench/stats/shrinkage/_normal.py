"""Normal-normal shrinkage: prior variance, shrinkage factor, posterior mean, risk.

The model of every function here is ``z_g ~ N(mu_g, sigma2_g)`` and ``mu_g ~ N(prior_mean_g, A)``,
with `A` the prior variance.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

_NO_WIDTH = np.finfo(float).tiny  # absolute tolerance; the relative one decides
_GRID_SIZE = 80  # log-spaced values of A; the criteria have few, wide modes


def shrinkage_factor(prior_variance, sigma2):
    """Weight of the direct estimate in the posterior mean.

    Parameters
    ----------
    prior_variance : float or ndarray of shape (n_groups,)
        Variance `A` of the true performances around their prior means.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of the direct estimates (score units squared).

    Returns
    -------
    ndarray of shape (n_groups,)
        ``A / (A + sigma2)``; 1 if both are 0, because there is no noise to remove.

    Examples
    --------
    >>> shrinkage_factor(0.01, np.array([0.03, 0.0]))
    array([0.25, 1.  ])
    """
    total = np.asarray(prior_variance + sigma2, dtype=float)
    numerator = np.broadcast_to(prior_variance, total.shape)
    return np.divide(numerator, total, out=np.ones_like(total), where=total > 0)


def posterior_mean(z, prior_mean, sigma2, prior_variance):
    """Normal-normal posterior mean of each group's performance.

    Parameters
    ----------
    z : ndarray of shape (n_groups,)
        Direct estimates, in the units of the score.
    prior_mean : ndarray of shape (n_groups,)
        Regression estimate of each group, same units as `z`.
    sigma2, prior_variance
        As in `shrinkage_factor`.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``prior_mean + w * (z - prior_mean)`` with ``w = A / (A + sigma2)``.

    Notes
    -----
    Equation (2) of [1]_; `w` is the shrinkage factor. A group with ``sigma2 = 0`` keeps its direct
    estimate, even when ``A = 0``.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model Benchmarking with Only a Few
       Observations.

    Examples
    --------
    >>> posterior_mean(np.array([0.9, 0.5]), 0.6, np.array([0.02, 0.0]), 0.01)
    array([0.7, 0.5])
    """
    return prior_mean + shrinkage_factor(prior_variance, sigma2) * (z - prior_mean)


class _Fit(NamedTuple):
    """Generalized least squares at one value of A."""

    residuals: np.ndarray
    precision: np.ndarray
    beta: np.ndarray
    covariance: np.ndarray


def generalized_least_squares(z, sigma2, X, prior_variance):
    """Regression of `z` on `X` with variances ``A + sigma2``."""
    precision = 1 / (prior_variance + sigma2)
    covariance = np.linalg.inv(X.T @ (precision[:, None] * X))
    beta = covariance @ (X.T @ (precision * z))
    return _Fit(z - X @ beta, precision, beta, covariance)


def prior_variance(z, sigma2, method, X=None):
    """Variance of the true performances around a prior mean.

    Parameters
    ----------
    z : ndarray of shape (n_groups,)
        Direct estimates. If the prior mean is known independently of them, pass the residuals
        ``z - prior_mean`` and ``X=None``.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of `z`.
    method : {"moments", "prasad-rao", "fay-herriot", "paule-mandel", "ml", \
"reml", "adjusted-ml"}
        Estimator, see Notes.
    X : ndarray of shape (n_groups, n_features), default=None
        Design of a linear prior mean that is estimated along with `A`.

    Returns
    -------
    float
        The estimate of `A`, at least 0; positive for "adjusted-ml".

    Notes
    -----
    With p columns in `X`, residuals r of least squares and r(A) of generalized least squares, and
    ``v = A + sigma2``:

    - "moments": ``max(0, mean(r^2 - sigma2))``, equation (7) of Fogliato et al. (2024, see
      `posterior_mean`).
    - "prasad-rao": ``max(0, (sum r^2 - sum sigma2 (1 - h)) / (G - p))`` with the leverages h.
    - "fay-herriot": the root of ``sum r(A)^2 / v = G - p``; Paule and Mandel (1982) proposed the
      same equation, so "paule-mandel" is another name for it.
    - "ml", "reml": the maximum of the (restricted) likelihood.
    - "adjusted-ml": the maximum of A times the likelihood (Li and Lahiri 2010).

    Without `X`, the prior mean uses no degrees of freedom: "reml" equals "ml" and "prasad-rao"
    equals "moments". The likelihood may have several modes; a grid over A finds the best one, and
    root finding refines it.

    Examples
    --------
    >>> round(prior_variance(np.array([0.2, -0.2]), np.array([0.01, 0.01]), "moments"), 12)
    0.03
    """
    X = np.empty((len(z), 0)) if X is None else X
    return float(_ESTIMATORS[method](z, sigma2, X))


def _least_squares(z, X):
    """Residuals and leverages of unweighted least squares."""
    Q = np.linalg.qr(X)[0]
    return z - Q @ (Q.T @ z), np.sum(Q**2, axis=1)


def _moments(z, sigma2, X):
    residuals, _ = _least_squares(z, X)
    return max(0.0, np.mean(residuals**2 - sigma2))


def _prasad_rao(z, sigma2, X):
    residuals, leverages = _least_squares(z, X)
    excess = np.sum(residuals**2) - np.sum(sigma2 * (1 - leverages))
    return max(0.0, excess / (len(z) - X.shape[1]))


def _fay_herriot(z, sigma2, X):
    degrees = len(z) - X.shape[1]

    def excess(A):
        fit = generalized_least_squares(z, sigma2, X, A)
        return np.sum(fit.residuals**2 * fit.precision) - degrees

    upper = np.sum(_least_squares(z, X)[0] ** 2) / degrees
    tiny = smallest_prior_variance(upper, sigma2)
    # The left side decreases in A, and at `upper` it is at most G - p.
    if upper <= tiny or excess(tiny) <= 0:
        return 0.0
    return brentq(excess, tiny, upper * (1 + 1e-9), xtol=_NO_WIDTH, rtol=1e-14)


def _maximum_likelihood(z, sigma2, X, restricted, adjusted):
    """Maximize the profile likelihood over a grid of A, then solve its score."""

    def fitted(A):
        fit = generalized_least_squares(z, sigma2, X, A)
        return fit, fit.residuals**2 * fit.precision

    def criterion(A):
        fit, scaled = fitted(A)
        value = np.sum(np.log(fit.precision)) - np.sum(scaled)
        if restricted:
            value += np.linalg.slogdet(fit.covariance)[1]
        return value + 2 * np.log(A) if adjusted else value

    def score(A):
        fit, scaled = fitted(A)
        slope = np.sum(fit.precision * (scaled - 1))
        if restricted:
            slope += trace_of_design(fit, X)
        return slope + 2 / A if adjusted else slope

    upper = 100 * np.max(_least_squares(z, X)[0] ** 2) + 100 * np.max(sigma2) * adjusted
    return _best_on_grid(criterion, score, upper, sigma2, zero_allowed=not adjusted)


def trace_of_design(fit, X):
    """tr((X' V^-1 X)^-1 X' V^-2 X), the term of the REML score beyond ML."""
    return np.sum(fit.covariance * (X.T @ (fit.precision[:, None] ** 2 * X)))


def _best_on_grid(criterion, score, upper, sigma2, zero_allowed):
    """Global maximum over A > 0: best of a log grid, refined by a root of the score."""
    tiny = smallest_prior_variance(upper, sigma2)
    if upper <= tiny:
        return 0.0
    grid = np.geomspace(tiny, upper, _GRID_SIZE)
    best = int(np.argmax([criterion(A) for A in grid]))
    if best == 0 and zero_allowed and score(tiny) <= 0:
        return 0.0
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, _GRID_SIZE - 1)]
    if score(low) * score(high) > 0:  # a plateau wider than the grid step
        return grid[best]
    return brentq(score, low, high, xtol=_NO_WIDTH, rtol=1e-14)


def smallest_prior_variance(scale, sigma2):
    """Stand-in for A = 0, at which a group without noise has infinite weight."""
    return 1e-10 * max(scale, np.mean(sigma2))


_ESTIMATORS = {
    "moments": _moments,
    "prasad-rao": _prasad_rao,
    "fay-herriot": _fay_herriot,
    "paule-mandel": _fay_herriot,
    "ml": lambda z, sigma2, X: _maximum_likelihood(z, sigma2, X, False, False),
    "reml": lambda z, sigma2, X: _maximum_likelihood(z, sigma2, X, True, False),
    "adjusted-ml": lambda z, sigma2, X: _maximum_likelihood(z, sigma2, X, False, True),
}
PRIOR_VARIANCE_METHODS = tuple(_ESTIMATORS)


class JamesSteinFit(NamedTuple):
    """Result of `james_stein`."""

    center: float
    shrinkage_factor: float
    degrees_of_freedom: int


def james_stein(z, sigma2, center="mean"):
    """Positive-part James-Stein shrinkage toward one value.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances, all positive.
    center : "mean" or float, default="mean"
        Shrink toward the precision-weighted mean, or toward a fixed value.

    Returns
    -------
    JamesSteinFit
        NamedTuple: center, shrinkage_factor ``w`` in [0, 1] and degrees_of_freedom; the estimate is
        ``center + w (z - center)``.

    Notes
    -----
    ``w = max(0, 1 - (G - 3) / S)`` with ``S = sum (z - center)^2 / sigma2``, and G - 2 for a fixed
    center (Efron and Morris 1975, JASA 70). With unequal variances this is the rule for
    ``z / sigma``. With too few groups, the shrinkage factor is 1.

    Examples
    --------
    >>> james_stein(np.array([0.1, 0.4, 0.5, 0.6, 0.9]), np.full(5, 0.02)).shrinkage_factor
    0.882...
    """
    if center == "mean":
        degrees = len(z) - 3
        center = np.average(z, weights=1 / sigma2)
    else:
        degrees = len(z) - 2
    distance = np.sum((z - center) ** 2 / sigma2)
    if degrees <= 0:
        return JamesSteinFit(float(center), 1.0, degrees)
    factor = 1 - degrees / distance if distance > degrees else 0.0
    return JamesSteinFit(float(center), float(factor), degrees)
