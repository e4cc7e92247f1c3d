"""The contract that every estimator of group performance follows."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from skbench._checks import (
    are_binary,
    check_column,
    check_confidence_level,
    check_labels,
    check_named,
    check_rows,
    check_same_index,
    check_sigma2,
    check_sizes,
)
from skbench.containers import Estimate
from skbench.stats import moderated
from skbench.stats.means import normal_interval


class Bounds(NamedTuple):
    """Interval ends and standard errors of some groups."""

    low: np.ndarray
    high: np.ndarray
    standard_error: np.ndarray

    @classmethod
    def normal(cls, center, standard_error, confidence_level):
        """Of normal intervals around a center."""
        return cls(*normal_interval(center, standard_error, confidence_level), standard_error)

    @property
    def ends(self):
        """Low and high ends, of shape (n_groups, 2)."""
        return np.column_stack([self.low, self.high])


class GroupEstimator(RegressorMixin, BaseEstimator):
    """Base of the estimators: checks the input, keeps it, labels the output.

    A subclass has `_fit(X, groups)`, which may read `z_`, `sigma2_` and `n_`;
    `_value(X, z, sigma2, n)` and `_bounds(X, z, sigma2, n, confidence_level)`
    for new groups, where z may be None; and `_fitted_value()` and
    `_fitted_bounds(confidence_level)` for the groups it was fitted on. Where the
    fitted scores are binary, what it returns is cut to [0, 1]. Sampling variances that come
    with their `Spread`, as those of `GroupSummary.fit_args` do where scores are not binary,
    are moderated before anything else reads them, unless `_moderates` is False.
    """

    _moderates = True

    __metadata_request__fit = {"sigma2": True, "n": True, "groups": True}
    __metadata_request__predict = {"z": True, "sigma2": True, "n": True}
    __metadata_request__score = {"sigma2": True}
    _ignores_numbers = False  # that stand in X, so that scikit-learn's checks expect no fit

    def fit(self, X, y, sigma2=None, n=None, groups=None):
        """Learn from groups with known direct estimates.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features)
            Features of the groups. The index of a frame labels the groups.
        y : array-like of shape (n_groups,)
            Direct estimates `z`, in score units.
        sigma2 : float or array-like of shape (n_groups,), default=None
            Sampling variances of `y`, score units squared; required unless the
            constructor was given `sampling_variance`. Those of `GroupSummary.fit_args`
            for scores that are not binary are drawn to the pooled variance
            (`skbench.stats.moderated`); plain numbers are taken as they are.
        n : array-like of shape (n_groups,), default=None
            Number of independent items behind each direct estimate.
        groups : array-like of shape (n_groups,), default=None
            What cross-fitting keeps in one fold: the topic, where several
            models answered the same items.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `sigma2` is missing, an entry is negative or not finite, lengths or
            indexes differ, some of `groups` have no name, or there are too few groups
            for the method.
        """
        check_same_index(X=X, y=y, sigma2=sigma2, n=n, groups=groups)
        X, z = self._checked_training_data(X, y)
        self.labels_ = check_labels(X)
        self.z_ = check_column("y", z, self.labels_)
        own = check_sigma2(sigma2, self.sampling_variance, self.labels_)
        self.n_ = check_sizes(n, self.labels_)
        self._pooled = None if self.n_ is None else moderated.pooled_variance(own, self.n_)
        self.sigma2_ = self._moderated(own, self.n_, sigma2)
        self._binary = are_binary(X, self.z_, self.n_)
        if groups is not None:
            check_named("groups", groups, self.labels_)
            groups = np.asarray(groups)
            check_consistent_length(X, groups)
        self._fit(X, groups)
        return self

    def fit_predict(self, X, y, sigma2=None, n=None, groups=None):
        """Fit, and estimate the very groups that were fitted.

        Where the method cross-fits, this is not ``fit(X, y).predict(X)``: the
        prior mean of a group then never uses its own direct estimate.

        Parameters
        ----------
        X, y, sigma2, n, groups
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_groups,)
        """
        return self._cut(self.fit(X, y, sigma2, n, groups)._fitted_value())

    def predict(self, X, z=None, sigma2=None, n=None):
        """Estimate new groups.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features)
            Features of the new groups.
        z : array-like of shape (n_groups,), default=None
            Their direct estimates, if there are any.
        sigma2 : float or array-like of shape (n_groups,), default=None
            Sampling variances of `z`; needed with `z`.
        n : array-like of shape (n_groups,), default=None
            Number of items behind `z`.

        Returns
        -------
        ndarray of shape (n_groups,)
            Without `z` the prior mean; with `z` and `sigma2` the posterior mean.

        Raises
        ------
        ValueError
            As in `fit`.
        """
        return self._cut(self._value(*self._checked_new_groups(X, z, sigma2, n)))

    def predict_interval(self, X, z=None, sigma2=None, n=None, confidence_level=0.95):
        """Intervals for the performance of new groups.

        Parameters
        ----------
        X, z, sigma2, n
            As in `predict`.
        confidence_level : float, default=0.95
            Nominal level; what it is the level of is the method's guarantee.

        Returns
        -------
        ndarray of shape (n_groups, 2)
            Low and high ends; nan where they cannot be known.

        Raises
        ------
        ValueError
            As in `fit`, or for a level outside (0, 1).
        """
        check_confidence_level(confidence_level)
        return self._new_bounds(X, z, sigma2, n, confidence_level).ends

    def estimate(self, confidence_level=0.95):
        """Estimates of the fitted groups, with intervals, labels and guarantee.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal level of the intervals.

        Returns
        -------
        Estimate

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For a level outside (0, 1).
        """
        check_is_fitted(self)
        check_confidence_level(confidence_level)
        bounds = self._cut_bounds(self._fitted_bounds(confidence_level))
        return Estimate(
            value=self._cut(self._fitted_value()),
            low=bounds.low,
            high=bounds.high,
            standard_error=bounds.standard_error,
            confidence_level=confidence_level,
            labels=self.labels_,
            method=self._method,
            guarantee=self._guarantee,
        )

    def score(self, X, y, sigma2=None):
        """Coefficient of determination of ``predict(X)``, cleared of sampling noise.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features)
            Features.
        y : array-like of shape (n_groups,)
            Direct estimates to predict.
        sigma2 : float or array-like of shape (n_groups,), default=None
            Their sampling variances; None gives the plain R2 against noisy `y`.

        Returns
        -------
        float
            ``1 - (MSE - mean(sigma2)) / (Var(y) - mean(sigma2))``; nan where the
            direct estimates vary no more than their noise.

        Notes
        -----
        The same noise is taken off every candidate, so on one set of folds it
        never changes which of them wins.
        """
        check_same_index(X=X, y=y, sigma2=sigma2)
        predicted = self.predict(X)
        labels = check_labels(X)
        y = check_column("y", column_or_1d(y), labels)
        noise = 0.0 if sigma2 is None else np.mean(check_sigma2(sigma2, None, labels))
        spread = np.var(y) - noise
        if spread <= 0:
            return np.nan
        return float(1 - (np.mean((y - predicted) ** 2) - noise) / spread)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._ignores_numbers
        return tags

    def _cut(self, scores):
        """Scores cut to [0, 1], where no accuracy can leave it: binary scores were fitted."""
        return np.clip(scores, 0, 1) if self._binary else scores

    def _cut_bounds(self, bounds):
        return bounds._replace(low=self._cut(bounds.low), high=self._cut(bounds.high))

    def _new_bounds(self, X, z, sigma2, n, confidence_level):
        """Checked and cut `Bounds` of new groups."""
        new_groups = self._checked_new_groups(X, z, sigma2, n)
        return self._cut_bounds(self._bounds(*new_groups, confidence_level))

    def _checked_training_data(self, X, y):
        X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y, the direct estimates.")
            check_rows(X)
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            return X, y
        return validate_data(self, X, y, dtype=float, y_numeric=True)

    def _checked_new_groups(self, X, z, sigma2, n):
        check_is_fitted(self)
        check_same_index(X=X, z=z, sigma2=sigma2, n=n)
        X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            check_rows(X)
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=False, dtype=float)
        if z is None:
            return X, None, None, None
        labels = check_labels(X)
        z = check_column("z", z, labels)
        own = check_sigma2(sigma2, self.sampling_variance, labels)
        n = check_sizes(n, labels)
        return X, z, self._moderated(own, n, sigma2), n

    def _moderated(self, own, n, given):
        """Sampling variances, drawn to the pooled one as far as those given say."""
        spread = getattr(given, "attrs", {}).get("spread")
        if spread is None or n is None or self._pooled is None or not self._moderates:
            return own
        pooled = spread.pooled_share * self._pooled
        return moderated.moderated_variance(own, n, pooled, spread.borrowed_freedom)


def as_pandas(X):
    """pandas for other dataframes (polars, pyarrow), anything else as it is."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        return X.to_pandas()
    return X
