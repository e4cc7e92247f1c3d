"""The direct estimator: each group from its own items only."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from skbench._checks import (
    are_counts,
    check_column,
    check_labels,
    check_same_index,
    check_sizes,
    check_within,
    n_rows,
    plain,
)
from skbench._columns import as_pandas
from skbench._types import Bounds as ScoreBounds
from skbench._types import NonNegative, Table, checked
from skbench._warnings import warn
from skbench.containers import ON_AVERAGE, UNLESS_SKEWED, Sampling
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._degenerate import warn_of_noiseless
from skbench.stats.intervals import binomial, means
from skbench.stats.intervals.worst_case import worst_case_interval

_NAMES = {
    "wilson": "Wilson",
    "clopper-pearson": "Clopper-Pearson",
    "jeffreys": "Jeffreys",
    "agresti-coull": "Agresti-Coull",
    "wald": "Wald",
}
# Intervals that are not listed cover on average over accuracies.
_GUARANTEES = {
    "clopper-pearson": "each group",
    "bounded": "each group",
    "wald": "none",
    "t": UNLESS_SKEWED,
    "normal": UNLESS_SKEWED,
}
INTERVALS = ("auto", *binomial.INTERVALS, "t", "normal", "bounded")
_ROUNDING = 1e-9  # of the range: a mean of ones may lie just above 1
_FEW_ITEMS = 50  # with more items, t intervals tolerate moderate skewness
_CLEAR_T = 3.5  # t value of an unmistakable correlation
_NEAR = 0.8  # standard deviation over distance to a bound; less without a heavy tail
_FEW_GROUPS = 8  # too few to correlate means and standard deviations


@checked
class DirectEstimator(GroupEstimator):
    """Estimate each group by the mean of its own items.

    This direct estimate is unbiased. It uses no data from other groups.

    Parameters
    ----------
    interval : {"auto", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald", \
    "t", "normal", "bounded"}, default="auto"
        Kind of interval. "auto" uses "wilson" for binary scores, "t" (Student's t) for other scores
        if `n` is known, and "normal" otherwise. Scores count as binary if `n` times the mean is a
        whole number in every group. See the notes for "t" intervals of bounded scores.
    bounds : tuple of two floats, default=None
        Range of the score by definition, such as (0, 100). A mean outside this range raises an
        error, and intervals are clipped to the range. By default, the bounds come from
        `sampling`, an argument of `fit` that `summarize_items` provides. If `sampling` has no
        bounds, the range is (0, 1) for binary scores and for ``interval="bounded"``, and unlimited
        otherwise.
    sampling_variance : float, default=None
        Known sampling variance of all groups, used if `fit` gets no `sigma2`.

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
        - If the interval needs group sizes, but `n` is missing.
        - If the interval is for binary scores, but `n` times the mean of some group is not a whole
          number.
        - If a group mean lies outside `bounds`.

    Warns
    -----
    UserWarning
        If "auto" uses t intervals for few scores that look skewed. The coverage of these intervals
        can be far below the confidence level. If t or normal intervals have width 0
        (``sigma2 = 0``) or cannot be computed (a single score).

    See Also
    --------
    MixedModel : Borrow strength from other models and topics.
    skbench.betting_estimate : Shorter intervals for bounded scores, from per-item scores.

    Notes
    -----
    The method is that of [1]_, section 3. Each interval is for one group; the intervals are not
    simultaneous. ``Estimate.guarantee`` states the kind of coverage:

    - "clopper-pearson" and "bounded" have at least the nominal coverage for every n. "bounded" is
      the Chernoff-Hoeffding interval, which needs only the mean.
    - "wilson", "jeffreys" and "agresti-coull" have about the nominal coverage, averaged over all
      true accuracies. At n = 10, the lowest coverage of a 95% Wilson interval is 0.835.
    - "t" is exact for normal scores. For unbounded scores, the interval is far too short if scores
      are few and skewed. If scores have known bounds, the interval is widened to allow for rare
      scores that the sample missed (see `skbench.stats.worst_case`). The lower limit uses the
      standard error that the sample would have with one more score at the lowest possible value.
      The upper limit does the same with the highest possible value. For clustered scores, a whole
      cluster is added.
    - "wald" is far too short for small n and has no guarantee.

    ``predict`` returns nan for groups without direct estimates `z`, because the method has no
    prior.

    **When not to use it.** With fewer than about 50 items per group, `MixedModel` and
    `EmpiricalBayes` are much more precise, because these methods borrow strength from other groups.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> from skbench import DirectEstimator
    >>> direct = DirectEstimator().fit(y=[0.7, 1.0], n=[10, 10])
    >>> direct.estimate().low.round(3)
    array([0.397, 0.722])
    """

    _moderates = False  # sampling variances do not borrow strength either
    _ignores_numbers = True
    _reads_groups = False

    def __init__(
        self,
        interval: Literal[
            "auto",
            "wilson",
            "clopper-pearson",
            "jeffreys",
            "agresti-coull",
            "wald",
            "t",
            "normal",
            "bounded",
        ] = "auto",
        *,
        bounds: ScoreBounds | None = None,
        sampling_variance: NonNegative | None = None,
    ) -> None:
        self.interval = interval
        self.bounds = bounds
        self.sampling_variance = sampling_variance

    def fit(
        self,
        X: Table | None = None,
        y: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sampling: Sampling | None = None,
    ) -> Self:
        """Store the direct estimates and choose the kind of interval.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features), default=None
            Only its index is used, as labels of the groups. None uses the index of `y`.
        y : array-like of shape (n_groups,)
            Direct estimates `z`, in score units.
        sigma2 : float or array-like of shape (n_groups,), default=None
            Sampling variances of `y`. None uses the smoothed binomial variance
            (`skbench.stats.binomial.sampling_variance`) if every ``y * n`` is a whole number.
        n : int or array-like of shape (n_groups,), default=None
            Number of independent items behind each direct estimate.
        groups : array-like of shape (n_groups,), default=None
            Ignored; present for the common signature.
        sampling : Sampling, default=None
            How the scores were sampled: `sampling` of a `GroupSummary`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in the class documentation, or for invalid input as in the other estimators.
        """
        if X is None:
            if y is None:
                raise ValueError("y is missing. Pass the direct estimates: fit(y=z, n=n).")
            check_same_index(y=y, sigma2=sigma2, n=n, groups=groups)
            indexes = [v.index for v in (y, sigma2, n, groups) if isinstance(v, pd.Series)]
            X = pd.DataFrame({"constant": np.ones(n_rows(y))}, *indexes[:1])
        unknown = sigma2 is None and self.sampling_variance is None
        counts = y is not None and n is not None
        if unknown and counts and (sampling is None or sampling.outcome == "binomial"):
            sigma2 = _binomial_variance(y, n, check_labels(as_pandas(X)))
        return super().fit(X, y, sigma2, n, groups, sampling)

    def _fit(self, X, groups):
        if self.bounds is not None:
            check_within("groups have means", self.z_, self.bounds, _ROUNDING)
        self.interval_ = self._resolved(self.z_, self.sigma2_, self.n_)
        if self.interval_ in ("t", "normal"):
            self._warn_of_unknown()

    @property
    def _method(self):
        return f"direct ({_NAMES.get(self.interval_, self.interval_)})"

    @property
    def _guarantee(self):
        if self.interval_ == "t" and np.isfinite(self._worst_cases[0]):
            return ON_AVERAGE
        return _GUARANTEES.get(self.interval_, ON_AVERAGE)

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
            bounds = self._worst_cases
            low, high = worst_case_interval(z, sigma2, n, n - 1, confidence_level, *bounds)
            alike = (sigma2 == 0) & np.isinf(bounds[0])
            low, high = np.where(alike, np.nan, [low, high])
        elif kind == "bounded":
            low, high = means.bounded_interval(z, n, confidence_level, *self._known_bounds)
        else:
            low, high = binomial.INTERVALS[kind](np.round(z * n), n, confidence_level)
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
        if np.isinf(self._worst_cases[0]):
            _warn_of_t(z[sigma2 > 0], sigma2[sigma2 > 0], n[sigma2 > 0])
        return "t"

    def _warn_of_unknown(self):
        """Warn of groups whose intervals have no width or are unknown."""
        known = self.interval_ == "normal" or self.n_ is None
        single = np.zeros(len(self.z_), dtype=bool) if known else self.n_ <= 1
        warn_of_noiseless(np.where(single, 1, self.sigma2_))
        if np.any(single):
            warn(
                f"{int(single.sum())} of {len(single)} groups have a single score (or cluster), "
                f"such as {plain(self.labels_[np.argmax(single)])!r}, so their intervals are "
                'unknown (nan). Use DirectEstimator(interval="bounded") if the scores are bounded, '
                "or EmpiricalBayes."
            )

    def _require(self, kind, z, n):
        """Raise an error if this kind of interval does not fit the groups."""
        self._require_sizes(kind, n)
        if kind in binomial.INTERVALS:
            self._require_counts(kind, z, n)
        if kind == "bounded":
            check_within("groups have means", z, self._known_bounds, _ROUNDING)

    @property
    def _reads_bounds(self):
        return self.bounds is None and self.interval in ("auto", "t")

    @property
    def _worst_cases(self):
        """Bounds of the score that widens t intervals; infinite if unknown."""
        known = self.sampling_.bounds if self.bounds is None else self.bounds
        return (-np.inf, np.inf) if known is None else known

    @property
    def _known_bounds(self):
        return (0, 1) if self.bounds is None else self.bounds

    def _cut(self, scores):
        scores = super()._cut(scores)
        return scores if self.bounds is None else np.clip(scores, *self.bounds)

    def _require_sizes(self, kind, n):
        if n is None:
            raise ValueError(
                f'interval={kind!r} needs group sizes. Pass n=..., or set interval="normal".'
            )

    def _require_counts(self, kind, z, n):
        if not self._binary and are_counts(z, n):
            raise ValueError(
                f"interval={kind!r} needs correct and incorrect answers to independent items, "
                'but these groups summarize other scores or clusters. Use interval="t".'
            )
        outside = z[(z < 0) | (z > 1)]
        if len(outside):
            raise ValueError(
                f"interval={kind!r} needs z between 0 and 1, but "
                f"{len(outside)} of {len(z)} values are outside, such as {outside[0]:g}."
            )
        if not are_counts(z, n):
            first = int(np.argmax(np.abs(z * n - np.round(z * n))))
            raise ValueError(
                f"interval={kind!r} needs whole numbers of correct answers, but the group in "
                f"position {first} has z * n = {z[first] * n[first]:g}. "
                'Use interval="t", or "bounded" for scores with known bounds.'
            )


def _binomial_variance(y, n, labels):
    """Smoothed variances of shares of correct answers; None for other scores."""
    z, n = check_column("y", y, labels), check_sizes(n, labels)
    return binomial.sampling_variance(np.round(z * n), n) if are_counts(z, n) else None


def _warn_of_t(z, sigma2, n):
    few = n < _FEW_ITEMS
    reason = _skewed(z[few], np.sqrt(n[few] * sigma2[few]))
    if reason is not None:
        warn(
            f"{int(few.sum())} of {len(z)} groups have fewer than {_FEW_ITEMS} items and their "
            f"scores look skewed ({reason}), so t intervals may cover far less often than stated. "
            'For bounded scores use DirectEstimator(interval="bounded").'
        )


def _skewed(mean, std):
    """Why few scores look skewed, judged by means and standard deviations; None if they do not."""
    if not mean.size:
        return None
    # The sampling errors of mean and standard deviation are correlated for skewed scores.
    if mean.size >= _FEW_GROUPS and np.ptp(mean) > 0 and np.ptp(std) > 0:
        r = spearmanr(mean, std).statistic
        if abs(r) * np.sqrt((mean.size - 2) / max(1 - r**2, 1e-12)) > _CLEAR_T:
            return f"their standard deviation {'grows' if r > 0 else 'falls'} with their mean"
    top = 1.0 if mean.max() <= 1 else 100.0
    for distance, end in ((mean, "0"), (top - mean, f"{top:g}")):
        if np.all(distance >= 0) and np.median(std / np.maximum(distance, 1e-300)) > _NEAR:
            return f"their standard deviation is as large as their distance to {end}"
    return None
