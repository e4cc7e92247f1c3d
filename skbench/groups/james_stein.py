"""James-Stein: shrink every group toward one common value."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skbench._types import NonNegative
from skbench._warnings import warn
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._degenerate import refuse_noiseless, warn_of_noiseless
from skbench.stats import shrinkage


class JamesStein(GroupEstimator):
    """Shrink every direct estimate toward one value by a common factor.

    Parameters
    ----------
    center : "mean" or float, default="mean"
        Fixed value to shrink toward, or "mean" for the precision-weighted mean of the direct
        estimates.
    sampling_variance : float, default=None
        Known sampling variance of all groups, used if `fit` gets no `sigma2`.

    Attributes
    ----------
    center_ : float
        Value that estimates are shrunk toward.
    shrinkage_factor_ : float
        Weight of the direct estimates, between 0 and 1.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If `center` is neither "mean" nor a number, or every `sigma2` is 0.

    Warns
    -----
    UserWarning
        If there are too few groups to shrink: fewer than 4, or fewer than 3 for a fixed center.

    See Also
    --------
    EmpiricalBayes, FayHerriot : Shrink each group by its own sampling variance, with features.

    Notes
    -----
    The estimate is the positive-part rule of [1]_: ``center + w (z - center)`` with ``w = max(0, 1
    - (G - 3) / sum((z - center)^2 / sigma2))`` for `G` groups. The interval is that of [2]_ on the
    scale of ``z / sigma``: normal with the variance ``sigma2 (1 - B (G - 1) / G) + 2 B^2 (z -
    center)^2 / (G - 3)``, where ``B = 1 - w`` is at most ``(G - 3) / (G - 1)``. If models share
    topics, `G` in the last term is the number of topics. Groups with ``sigma2 = 0`` get the
    smallest positive variance.

    The guarantee is "model": coverage holds if performances are normal around the center, with
    variances proportional to `sigma2`.

    **When not to use it.** If features predict performance or group sizes differ widely, use
    `EmpiricalBayes` or `FayHerriot`. This method ignores features, and shrinks large groups by the
    same factor as small groups.

    References
    ----------
    .. [1] Efron and Morris (1975). Data analysis using Stein's estimator and its
       generalizations. Journal of the American Statistical Association 70.
    .. [2] Morris (1983). Parametric empirical Bayes inference: theory and
       applications. Journal of the American Statistical Association 78.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import JamesStein
    >>> js = JamesStein().fit(np.zeros((5, 1)), [0.1, 0.4, 0.5, 0.6, 0.9], sigma2=0.02)
    >>> js.estimate().value.round(3)
    array([0.147, 0.412, 0.5  , 0.588, 0.853])
    """

    _method = "James-Stein"
    _guarantee = "model"
    _watches_risk = True
    _ignores_numbers = True

    def __init__(
        self,
        center: Literal["mean"] | float = "mean",
        *,
        sampling_variance: NonNegative | None = None,
    ) -> None:
        self.center = center
        self.sampling_variance = sampling_variance

    def _fit(self, X, groups):
        refuse_noiseless(self.z_, self.sigma2_)
        self._n_independent = self._n_units(groups)
        noisy = self.sigma2_ > 0
        variance = np.maximum(self.sigma2_, self.sigma2_[noisy].min())
        fit = shrinkage.james_stein(self.z_, variance, self.center)
        self.center_, self.shrinkage_factor_, self._degrees = fit
        if self._degrees <= 0:
            warn(
                f"JamesStein needs at least {len(self.z_) + 1 - self._degrees} groups, got "
                f"{len(self.z_)}. It returns the direct estimates."
            )
            warn_of_noiseless(self.sigma2_)

    def _fitted_value(self):
        return self._value(None, self.z_, None, None)

    def _fitted_bounds(self, confidence_level):
        return self._bounds(None, self.z_, self.sigma2_, self.n_, confidence_level)

    def _value(self, X, z, sigma2, n):
        if z is None:
            return np.full(len(X), self.center_)
        return self.center_ + self.shrinkage_factor_ * (z - self.center_)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        if z is None:
            # The variance of new groups is proportional to a sigma2 that they do not have.
            unknown = np.full(len(X), np.nan)
            return Bounds(unknown, unknown, unknown)
        standard_error = np.sqrt(self._morris_variance(z, sigma2))
        return Bounds.normal(self._value(X, z, sigma2, n), standard_error, confidence_level)

    def _morris_variance(self, z, sigma2):
        n_groups = len(self.z_)
        degrees = max(self._degrees, 0)
        # Morris keeps B below 1, because B = 1 would leave no uncertainty.
        shrunk = min(1 - self.shrinkage_factor_, degrees / (degrees + 2))
        share = (n_groups - 1) / n_groups if self.center == "mean" else 1.0
        uncertainty = 2 * shrunk**2 / max(degrees - n_groups + self._n_independent, 1)
        return sigma2 * (1 - share * shrunk) + uncertainty * (z - self.center_) ** 2
