"""The direct estimator: every group by its own items."""

import warnings

import numpy as np

from skbench._checks import are_counts, check_option, check_unit_interval, check_within
from skbench.groups._base import Bounds, GroupEstimator
from skbench.stats import binomial, means

_COUNT_INTERVALS = {
    "wilson": binomial.wilson_interval,
    "clopper-pearson": binomial.clopper_pearson_interval,
    "jeffreys": binomial.jeffreys_interval,
    "agresti-coull": binomial.agresti_coull_interval,
    "wald": binomial.wald_interval,
}
_NAMES = {
    "wilson": "Wilson",
    "clopper-pearson": "Clopper-Pearson",
    "jeffreys": "Jeffreys",
    "agresti-coull": "Agresti-Coull",
    "wald": "Wald",
}
INTERVALS = ("auto", *_COUNT_INTERVALS, "t", "normal", "bounded")
_ROUNDING = 1e-9  # of the range: a mean of ones may lie just above 1
_FEW_ITEMS = 20  # below, t intervals of skewed bounded scores under-cover badly


class DirectEstimator(GroupEstimator):
    """Estimate each group by its own mean: the baseline of everything else.

    Parameters
    ----------
    interval : {"auto", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald", \
"t", "normal", "bounded"}, default="auto"
        "auto" takes Wilson where every ``z * n`` is a whole number (binary
        scores), Student's t where `n` is known, and normal intervals otherwise.
    bounds : tuple of two floats, default=(0, 1)
        Range of the scores, for ``interval="bounded"``.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.

    Attributes
    ----------
    z_, sigma2_ : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.
    n_ : ndarray of shape (n_groups,) or None
        Group sizes.
    labels_ : pandas.Index of length n_groups
        Labels of the groups.

    Raises
    ------
    ValueError
        If an interval needs group sizes that were not given, or whole numbers of
        successes where there are none, or a group lies outside `bounds`.

    Warns
    -----
    UserWarning
        If "auto" falls back on t intervals for scores in [0, 1] with few items or
        no spread: they may cover far less than they say.

    Notes
    -----
    Section 3 of [1]_. Intervals promise coverage in each group, with these
    limits: Clopper-Pearson and "bounded" hold their level at every n; Wilson,
    Jeffreys and Agresti-Coull hold it on average over accuracies; t is exact for
    normal scores only; Wald is far too short for small n and promises nothing.
    "bounded" is the Chernoff-Hoeffding interval, which needs only the mean; with
    the items at hand `skbench.stats.means.betting_interval` is shorter.
    ``predict`` without `z` is nan: the method knows nothing of groups it has no
    items of.

    When not to use it: with fewer than some 50 items per group, where borrowing
    from the other groups (`EmpiricalBayes`) is much more precise.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.zeros((2, 1))
    >>> direct = DirectEstimator().fit(X, [0.7, 1.0], sigma2=[0.02, 0.006], n=[10, 10])
    >>> direct.estimate().low.round(3)
    array([0.397, 0.722])
    """

    _moderates = False  # only its own scores speak for a group
    _ignores_numbers = True

    def __init__(self, interval="auto", *, bounds=(0, 1), sampling_variance=None):
        self.interval = interval
        self.bounds = bounds
        self.sampling_variance = sampling_variance

    def _fit(self, X, groups):
        check_option("interval", self.interval, INTERVALS)
        self.interval_ = self._resolved(self.z_, self.sigma2_, self.n_)

    @property
    def _method(self):
        return f"direct ({_NAMES.get(self.interval_, self.interval_)})"

    @property
    def _guarantee(self):
        return "none" if self.interval_ == "wald" else "each group"

    def _fitted_value(self):
        return self.z_.copy()

    def _fitted_bounds(self, confidence_level):
        return self._bounds(None, self.z_, self.sigma2_, self.n_, confidence_level)

    def _value(self, X, z, sigma2, n):
        return np.full(len(X), np.nan) if z is None else z

    def _bounds(self, X, z, sigma2, n, confidence_level):
        if z is None:
            unknown = np.full(len(X), np.nan)
            return Bounds(unknown, unknown, unknown)
        standard_error = np.sqrt(sigma2)
        kind = self.interval_
        if kind == "normal":
            return Bounds.normal(z, standard_error, confidence_level)
        self._require(kind, z, n)
        if kind == "t":
            low, high = means.t_interval(z, standard_error, n - 1, confidence_level)
        elif kind == "bounded":
            low, high = means.bounded_interval(z, n, confidence_level, *self.bounds)
        else:
            low, high = _COUNT_INTERVALS[kind](np.round(z * n), n, confidence_level)
        return Bounds(low, high, standard_error)

    def _resolved(self, z, sigma2, n):
        if self.interval != "auto":
            if self.interval not in ("normal", "t"):
                self._require(self.interval, z, n)
            return self.interval
        if n is None:
            return "normal"
        if self._binary and are_counts(z, n):
            return "wilson"
        _warn_of_t(z, sigma2, n)
        return "t"

    def _require(self, kind, z, n):
        """Refuse groups that this kind of interval is not for."""
        self._require_sizes(kind, n)
        if kind in _COUNT_INTERVALS:
            self._require_counts(kind, z, n)
        if kind == "bounded":
            check_within("groups have means", z, self.bounds, _ROUNDING)

    def _require_sizes(self, kind, n):
        if n is None:
            raise ValueError(
                f"{_NAMES.get(kind, kind)} intervals need group sizes. "
                'Pass n=..., or set interval="normal".'
            )

    def _require_counts(self, kind, z, n):
        if not self._binary and are_counts(z, n):
            raise ValueError(
                f"{_NAMES[kind]} intervals are for right and wrong answers to independent items, "
                'but these are summaries of other scores or of clusters. Use interval="t".'
            )
        check_unit_interval("z", z, f"for {_NAMES[kind]} intervals")
        if not are_counts(z, n):
            first = int(np.argmax(np.abs(z * n - np.round(z * n))))
            raise ValueError(
                f"{_NAMES[kind]} intervals need whole numbers of successes, but the group in "
                f"position {first} has z * n = {z[first] * n[first]:g}. "
                'Use interval="t", or "bounded" for scores with known bounds.'
            )


def _warn_of_t(z, sigma2, n):
    bounded = np.all((z >= 0) & (z <= 1))
    doubtful = (sigma2 == 0) | (n < _FEW_ITEMS)
    if bounded and doubtful.any():
        warnings.warn(
            f"{int(doubtful.sum())} of {len(z)} groups have fewer than {_FEW_ITEMS} items or no "
            "spread, and the scores look bounded: t intervals may cover far less than they say. "
            'interval="bounded" keeps its level.',
            stacklevel=5,
        )
