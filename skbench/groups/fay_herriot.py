"""Fay-Herriot: the linear mixed model of small area estimation."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from scipy.linalg import qr

from skbench._columns import (
    indicator_encoder,
    nominal_columns,
    refuse_unreadable,
    warn_of_numbered_names,
)
from skbench._types import NonNegative
from skbench._warnings import warn
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._degenerate import refuse_noiseless, warn_of_noiseless
from skbench.stats import shrinkage
from skbench.stats.intervals.means import normal_interval
from skbench.stats.shrinkage import fay_herriot, robust_eb

_RANK_TOLERANCE = 1e-10  # for columns of length 1


class FayHerriot(GroupEstimator):
    """Combine direct estimates with a linear regression (Fay-Herriot model, EBLUP).

    The Fay-Herriot model is the standard area-level model of small area estimation. It shrinks each
    direct estimate toward a linear regression on the features and estimates the mean squared error
    of each result.

    Parameters
    ----------
    method : {"reml", "ml", "adjusted-ml", "fay-herriot", "paule-mandel", "prasad-rao", \
    "moments"}, default="reml"
        Estimator of the prior variance; see `skbench.stats.shrinkage.prior_variance`.
    sampling_variance : float, default=None
        Known sampling variance of all groups, used if `sigma2` is not passed to `fit`.

    Attributes
    ----------
    prior_variance_ : float
        Variance `A` of the true values around the regression.
    intercept_ : float
        Intercept of the regression.
    coef_ : ndarray of shape (n_columns,)
        Coefficients, one per column of the design. A text column is coded as one indicator column
        for each level except the first. Redundant columns have the coefficient 0.
    mse_ : ndarray of shape (n_groups,)
        Estimated mean squared error of each estimate.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If there are not more groups than columns, a column is not numeric, every sampling
        variance is 0, or a new group has a level of a text column that `fit` did not have.

    Warns
    -----
    UserWarning
        If the prior variance is estimated as 0, a group has ``sigma2 = 0``, or columns are
        collinear.

    See Also
    --------
    EmpiricalBayes : Any regression instead of a linear one, with cross-fitting.

    Notes
    -----
    The model is ``z = X beta + u + e`` with ``u ~ N(0, A)`` and ``e ~ N(0, sigma2)`` [1]_. The
    estimate is ``X beta + A / (A + sigma2) (z - X beta)``. The interval is the estimate ``+- c
    sqrt(mse)``, where `c` is the normal quantile and `mse` is the second-order mean squared error.
    Its formula depends on `method`: ``g1 + g2 + 2 g3`` for REML, with an additional bias term for
    ML and Fay-Herriot moments (Prasad and Rao 1990, Datta and Lahiri 2000, Datta, Rao and Smith
    2005; [2]_, section 6.2). To allow for the error in the estimate of `A`, `mse` is computed both
    for this estimate and for the mean of the plausible values of `A`
    (`skbench.stats.robust_eb.plausible_prior_variances`). The interval uses the larger result.

    The guarantee is "model": coverage is asymptotic in the number of groups and requires that `u`
    and `e` are normal. If `A` is far below the sampling variances, its estimate is imprecise and
    coverage is too low: about 0.89 instead of 0.95 if `A` is a sixth of their mean, with 60 to 200
    groups. The coverage of "adjusted-ml" is affected least.

    **When not to use it.** Do not use it with many features and few groups. If models share items,
    the regression also fits their common errors. Use `EmpiricalBayes` with folds by topic, or
    `MixedModel`.

    References
    ----------
    .. [1] Fay and Herriot (1979). Estimates of income for small places.
       Journal of the American Statistical Association 74.
    .. [2] Rao and Molina (2015). Small Area Estimation. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import FayHerriot
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> fh = FayHerriot().fit(X, [0.1, 0.35, 0.4, 0.75, 0.8], sigma2=0.004)
    >>> fh.coef_.round(3)
    array([0.18])
    """

    _method = "Fay-Herriot"
    _guarantee = "model"
    _watches_risk = True

    def __init__(
        self,
        method: Literal[
            "reml", "ml", "adjusted-ml", "fay-herriot", "paule-mandel", "prasad-rao", "moments"
        ] = "reml",
        *,
        sampling_variance: NonNegative | None = None,
    ) -> None:
        self.method = method
        self.sampling_variance = sampling_variance

    def _fit(self, X, groups):
        refuse_noiseless(self.z_, self.sigma2_)
        self._encoder = _design_encoder(X, groups)
        design = self._design(X)
        self._kept = _independent_columns(design)
        self._fitted_design = design[:, self._kept]
        self._check_size(*self._fitted_design.shape, 1 + np.sum(np.ptp(design, axis=0) > 0))
        warn_of_noiseless(self.sigma2_)
        fit = fay_herriot.fay_herriot(self.z_, self.sigma2_, self._fitted_design, self.method)
        self.prior_variance_ = fit.prior_variance
        self.mse_ = fit.mse
        self._degrees = min(len(design) - len(self._kept), self._n_units(groups))
        coefficients = np.zeros(design.shape[1])
        coefficients[self._kept] = fit.beta
        self.intercept_, self.coef_ = float(coefficients[0]), coefficients[1:]
        if self.prior_variance_ == 0:
            warn(
                f"The prior variance (method={self.method!r}) is estimated as 0, so every estimate "
                'equals the regression. Use method="adjusted-ml", which is never 0.'
            )

    def _check_size(self, n_groups, n_kept, n_columns):
        if n_groups <= n_kept:
            raise ValueError(
                f"FayHerriot needs more groups than columns, got n_samples = {n_groups} groups "
                f"and {n_kept} columns (with the intercept). Use fewer features, or "
                "EmpiricalBayes with a regularized regressor."
            )
        if n_kept < n_columns:
            warn(
                f"{n_columns - n_kept} of {n_columns} design columns are collinear with "
                "other columns and get the coefficient 0."
            )

    def _fitted_value(self):
        return self._combined(self._prior_mean(self._fitted_design), self.z_, self.sigma2_)

    def _fitted_bounds(self, confidence_level):
        return self._around(
            self._fitted_value(), self.sigma2_, self._fitted_design, confidence_level
        )

    def _posterior_errors(self, bounds):
        return np.sqrt(
            shrinkage.shrinkage_factor(self.prior_variance_, self.sigma2_) * self.sigma2_
        )

    def _value(self, X, z, sigma2, n):
        prior_mean = self._prior_mean(self._design(X)[:, self._kept])
        return prior_mean if z is None else self._combined(prior_mean, z, sigma2)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        design = self._design(X)[:, self._kept]
        sigma2 = np.full(len(design), np.inf) if z is None else sigma2
        return self._around(self._value(X, z, sigma2, n), sigma2, design, confidence_level)

    def _around(self, value, sigma2, design, confidence_level):
        """Intervals with the larger mean squared error: at `A`, or at its mean plausible value."""
        A, fitted = self.prior_variance_, (self.sigma2_, self._fitted_design)
        likely = robust_eb.plausible_prior_variances(A, self.sigma2_, self._degrees)[:, 0].mean()
        mse, cautious = (
            fay_herriot.fay_herriot_mse(sigma2, design, each, self.method, *fitted)
            for each in (A, likely)
        )
        ends = normal_interval(value, np.sqrt(np.maximum(mse, cautious)), confidence_level)
        return Bounds(*ends, np.sqrt(mse))

    def _prior_mean(self, kept_design):
        return kept_design @ np.concatenate([[self.intercept_], self.coef_])[self._kept]

    def _combined(self, prior_mean, z, sigma2):
        return shrinkage.posterior_mean(z, prior_mean, sigma2, self.prior_variance_)

    def _design(self, X):
        refuse_unreadable(X)
        if isinstance(X, pd.DataFrame):
            _refuse_other_columns(X if self._encoder is None else X[self._encoder.others])
        if self._encoder is not None:
            self._encoder.refuse_new_levels(X)
            X = self._encoder.transform(X)
        return np.column_stack([np.ones(len(X)), np.asarray(X, dtype=float)])


def _design_encoder(X, groups):
    warn_of_numbered_names(X)
    nominal = nominal_columns(X)
    return indicator_encoder(X, groups, nominal, drop="first").fit(X) if nominal else None


def _refuse_other_columns(X):
    for name in X.columns:
        if not pd.api.types.is_numeric_dtype(X[name]):
            raise ValueError(
                f"FayHerriot needs numeric or text columns, but column {name!r} has dtype "
                f"{X[name].dtype}. Convert it or remove it."
            )
        if not np.all(np.isfinite(X[name].to_numpy(dtype=float))):
            raise ValueError(
                f"FayHerriot needs finite features, but column {name!r} has missing or infinite "
                "values. Impute them inside an IntervalPipeline."
            )


def _independent_columns(design):
    """Positions of a maximal set of independent columns; the intercept comes first."""
    scale = np.linalg.norm(design, axis=0)
    columns = design / np.where(scale > 0, scale, 1)
    # Centering removes the intercept first, so the intercept is always kept.
    columns -= columns.mean(axis=0)
    R, pivots = qr(columns, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.sum(size > _RANK_TOLERANCE))
    return np.concatenate([[0], np.sort(pivots[:rank])]).astype(int)
