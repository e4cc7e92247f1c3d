"""The base class of all estimators of group performance."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skbench._checks import (
    are_counts,
    as_array,
    check_column,
    check_labels,
    check_named,
    check_same_index,
    check_sigma2,
    check_sizes,
    check_weights,
)
from skbench._columns import as_pandas
from skbench._documented import Documented
from skbench._population import check_population, finite_population
from skbench._types import Level, Table, checked
from skbench.containers import Estimate, Sampling
from skbench.groups._assumptions import settled_sampling
from skbench.groups._degenerate import warn_of_risk
from skbench.groups._features import features, training_data
from skbench.stats.intervals import moderated
from skbench.stats.intervals.binomial import unbiased_variance
from skbench.stats.intervals.means import normal_interval


class Bounds(NamedTuple):
    """Interval ends and standard errors of some groups."""

    low: np.ndarray
    high: np.ndarray
    standard_error: np.ndarray

    @classmethod
    def normal(cls, center, standard_error, confidence_level):
        """Normal intervals around a center."""
        return cls(*normal_interval(center, standard_error, confidence_level), standard_error)

    @property
    def ends(self):
        """Low and high ends, of shape (n_groups, 2)."""
        return np.column_stack([self.low, self.high])


@checked
class GroupEstimator(Documented, RegressorMixin, BaseEstimator):
    """Base of the estimators: check the input, store it, and label the output.

    A subclass implements `_fit(X, groups)`, which may read `z_`, `sigma2_` and `n_`;
    `_value(X, z, sigma2, n)` and `_bounds(X, z, sigma2, n, confidence_level)` for new groups,
    with z possibly None; and `_fitted_value()` and `_fitted_bounds(confidence_level)` for the
    fitted groups. All output is clipped to [0, 1] if the fitted scores are binary.
    """

    _moderates = True  # whether noisy sampling variances borrow strength from other groups
    _watches_risk = False  # whether to warn if the direct estimates seem to be better
    _reads_correlation = False  # whether it uses the item correlation of models
    _reads_bounds = False  # whether it uses the bounds of the scores
    _reads_groups = True  # whether it needs `groups` to recognize shared items

    __metadata_request__fit = {"sigma2": True, "n": True, "groups": True, "sampling": True}
    __metadata_request__predict = {"z": True, "sigma2": True, "n": True}
    __metadata_request__score = {"sigma2": True}
    _ignores_numbers = False  # whether plain numbers in X have no effect (scikit-learn's checks)

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sampling: Sampling | None = None,
    ) -> Self:
        """Fit to groups with known direct estimates.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features)
            Features of the groups. The index of a frame labels the groups.
        y : array-like of shape (n_groups,)
            Direct estimates `z`, in score units.
        sigma2 : float or array-like of shape (n_groups,), default=None
            Sampling variances of `y`, in squared score units. Required unless the constructor got
            `sampling_variance`, or `MixedModel` gets counts. If `sampling` marks the variances as
            noisy, they borrow strength from each other (`skbench.stats.moderated`).
        n : array-like of shape (n_groups,), default=None
            Numbers of independent items: `n_independent` of a `GroupSummary`.
        groups : array-like of shape (n_groups,), default=None
            Units that cross-fitting keeps in one fold: the topics if models share items.
        sampling : Sampling, default=None
            How the scores were sampled: `sampling` of a `GroupSummary`. None assumes known
            variances, and binary scores if every ``y * n`` is a whole number.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `sigma2` is missing, an entry is negative or not finite, lengths or indexes differ,
            `groups` has missing entries, `n` exceeds the number of clusters in `sampling`, or
            there are too few groups.
        TypeError
            If `sampling` is not a `Sampling`.

        Warns
        -----
        UserWarning
            If `sampling` is None and the result depends on what is assumed instead.
        """
        check_same_index(X=X, y=y, sigma2=sigma2, n=n, groups=groups)
        X, z = training_data(self, X, y)
        self.labels_ = check_labels(X)
        self.z_ = check_column("y", z, self.labels_)
        self.n_ = check_sizes(n, self.labels_)
        own = self._own_variance(sigma2, self.z_, self.n_, self.labels_)
        if groups is not None:
            groups = check_named("groups", groups, self.labels_)
        self.sampling_ = settled_sampling(self, sampling, X, own, sigma2, groups)
        self._pooled = None if self.n_ is None else moderated.pooled_variance(own, self.n_)
        self.sigma2_ = self._moderated(own, self.n_, sigma2)
        self._binary = self.sampling_.outcome == "binomial" and are_counts(self.z_, self.n_)
        self._fit(X, groups)
        return self

    def fit_predict(
        self,
        X: Table,
        y: ArrayLike,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        sampling: Sampling | None = None,
    ) -> np.ndarray:
        """Fit, and return the estimates of the fitted groups.

        For methods that cross-fit, this differs from ``fit(X, y).predict(X)``.

        Parameters
        ----------
        X, y, sigma2, n, groups, sampling
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_groups,)
        """
        return self._cut(self.fit(X, y, sigma2, n, groups, sampling)._fitted_value())

    def predict(
        self,
        X: Table,
        z: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
    ) -> np.ndarray:
        """Estimate new groups.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features)
            Features of the new groups.
        z : array-like of shape (n_groups,), default=None
            Direct estimates of the new groups, if they have any.
        sigma2 : float or array-like of shape (n_groups,), default=None
            Sampling variances of `z`, required with `z`. They are treated as in `fit`.
        n : array-like of shape (n_groups,), default=None
            Number of items behind each `z`.

        Returns
        -------
        ndarray of shape (n_groups,)
            Prior means without `z`; posterior means with `z` and `sigma2`.

        Raises
        ------
        ValueError
            As in `fit`.
        """
        return self._cut(self._value(*self._checked_new_groups(X, z, sigma2, n)))

    def predict_interval(
        self,
        X: Table,
        z: ArrayLike | None = None,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
        confidence_level: Level = 0.95,
    ) -> np.ndarray:
        """Return intervals for the performance of new groups.

        Parameters
        ----------
        X, z, sigma2, n
            As in `predict`.
        confidence_level : float, default=0.95
            Nominal confidence level; see the guarantee of the method.

        Returns
        -------
        ndarray of shape (n_groups, 2)
            Low and high ends; nan if unknown.

        Raises
        ------
        ValueError
            As in `fit`, or if `confidence_level` is not between 0 and 1.
        """
        return self._new_bounds(X, z, sigma2, n, confidence_level).ends

    def estimate(
        self, confidence_level: Level = 0.95, population: ArrayLike | None = None
    ) -> Estimate:
        """Return estimates of the fitted groups, with intervals, labels and guarantee.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal confidence level of the intervals.
        population : float, Series or array-like of shape (n_groups,), default=None
            Number of all items of each group, evaluated or not. The estimates are then those of
            the mean over exactly these items. Pass one number for all groups, one per group, or a
            Series with one number per label or per label of one index level. None estimates the
            expected score of such items.

        Returns
        -------
        Estimate

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If `confidence_level` is not between 0 and 1, a population is smaller than the number of
            evaluated items, or the items come in clusters.

        Warns
        -----
        UserWarning
            If the method borrows strength and its estimated squared error is clearly larger than
            that of the direct estimates.
        """
        check_is_fitted(self)
        value, outlier_probability = self._fitted_value(), self._outlier_probability()
        bounds = self._cut_bounds(self._fitted_bounds(confidence_level), value)
        value = self._cut(value)
        if self._watches_risk:
            warn_of_risk(value, self._posterior_errors(bounds), self.z_, self._unbiased_noise())
        found = Estimate(
            value=value,
            low=bounds.low,
            high=bounds.high,
            standard_error=bounds.standard_error,
            confidence_level=confidence_level,
            labels=self.labels_,
            method=self._method,
            guarantee=self._guarantee,
            outlier_probability=outlier_probability,
        )
        sizes = None if population is None else self._checked_population(population)
        return found if sizes is None else self._of_population(found, sizes)

    def _checked_population(self, population):
        if self.n_ is None or self.sampling_.outcome == "clustered":
            raise ValueError(
                "population needs the number of independent items of each group. Pass n to fit; "
                "for items in clusters use summaries.estimate_of_population(...)."
            )
        return check_population(population, self.n_, self.labels_)

    def _of_population(self, found, sizes):
        """Convert expected scores of items to means over finite populations of these sizes."""
        return finite_population(found, self.z_, self.n_, self.sigma2_, sizes, self._binary)

    def score(
        self,
        X: Table,
        y: ArrayLike,
        sigma2: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the coefficient of determination of ``predict(X)``, corrected for sampling noise.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features)
            Features.
        y : array-like of shape (n_groups,)
            Direct estimates to predict.
        sigma2 : float or array-like of shape (n_groups,), default=None
            Sampling variances of `y`. None gives the usual R2 against noisy `y`.
        sample_weight : array-like of shape (n_groups,), default=None
            Weights of the groups in all three means.

        Returns
        -------
        float
            ``1 - (MSE - mean(sigma2)) / Var(y)``. If `y` is constant: 1 if the error is no larger
            than the noise, else 0.

        Notes
        -----
        Every candidate gets the same correction, so it never changes which candidate is best. The
        variance of `y` is not corrected, because in small folds it may be less than the noise. A
        perfect prediction may therefore score above 1, but never nan.
        """
        check_same_index(X=X, y=y, sigma2=sigma2, sample_weight=sample_weight)
        predicted = self.predict(X)
        labels = check_labels(as_pandas(X))
        y = check_column("y", column_or_1d(as_array(y)), labels)
        noise = 0.0 if sigma2 is None else check_sigma2(sigma2, None, labels)
        weights = check_weights(sample_weight, labels)
        error = np.average((y - predicted) ** 2 - noise, weights=weights)
        variance = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
        return float(1 - error / variance) if variance > 0 else float(error <= 0)

    def _n_units(self, groups):
        """Number of independent units: the distinct `groups`, or the rows."""
        return len(self.z_) if groups is None else pd.Series(groups).nunique()

    def _posterior_errors(self, bounds):
        """Posterior standard deviations of the fitted groups."""
        return bounds.standard_error

    def _unbiased_noise(self):
        """Unbiased sampling variances; smoothed variances are biased."""
        if not self._binary:
            return self.sigma2_
        noise = unbiased_variance(np.round(self.z_ * self.n_), self.n_)
        return np.where(np.isnan(noise), self.sigma2_, noise)

    def _outlier_probability(self):
        """Probability that each fitted group is an outlier; None for methods without outliers."""
        return getattr(self, "outlier_probability_", None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._ignores_numbers
        return tags

    def _cut(self, scores):
        """Clip scores to [0, 1] if binary scores were fitted."""
        return np.clip(scores, 0, 1) if self._binary else scores

    def _cut_bounds(self, bounds, value):
        """Clip interval ends, moved along with a value that is itself clipped."""
        moved = self._cut(value) - value
        low, high = self._cut(bounds.low + moved), self._cut(bounds.high + moved)
        if self._outlier_probability() is not None:
            # The mean of a mixture may lie outside its quantiles; keep it in the interval.
            low, high = np.minimum(low, value + moved), np.maximum(high, value + moved)
        return bounds._replace(low=low, high=high)

    def _new_bounds(self, X, z, sigma2, n, confidence_level):
        """Checked and clipped `Bounds` of new groups."""
        new_groups = self._checked_new_groups(X, z, sigma2, n)
        bounds = self._bounds(*new_groups, confidence_level)
        return self._cut_bounds(bounds, self._value(*new_groups))

    def _checked_new_groups(self, X, z, sigma2, n):
        check_is_fitted(self)
        check_same_index(X=X, z=z, sigma2=sigma2, n=n)
        X = features(self, X)
        if z is None:
            return X, None, None, None
        labels = check_labels(X)
        z = check_column("z", z, labels)
        n = check_sizes(n, labels)
        own = self._own_variance(sigma2, z, n, labels)
        return X, z, self._moderated(own, n, sigma2), n

    def _own_variance(self, sigma2, z, n, labels):
        """Checked sampling variances, before any moderation."""
        return check_sigma2(sigma2, self.sampling_variance, labels)

    def _moderated(self, own, n, given):
        """Sampling variances, shrunk toward the pooled variance as `sampling_` requires."""
        noise = self.sampling_.variance_noise
        # A single number for all groups counts as known.
        if noise is None or np.ndim(given) == 0 or not self._moderates:
            return own
        if n is None or self._pooled is None:
            return own
        pooled = noise.pooled_share * self._pooled
        return moderated.moderated_variance(own, n, pooled, noise.borrowed_freedom)
