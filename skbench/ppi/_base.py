"""Base class of the estimators that correct a judge's scores by a few human labels.

A subclass defines ``_fit_groups(data) -> GroupResult``. It fits all groups in one pass; a single
estimate is the case of one group. It may override `_read_labels(y)`, `_autorater(table)` and the
class attributes below. `GroupedPPI` reads its rows by the same methods.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from skbench._checks import check_same_index
from skbench._documented import Documented
from skbench._types import Level, Positive, Table, checked
from skbench.containers import Estimate
from skbench.items.ranges import bounds_of
from skbench.ppi._calibrated import group_cells, lines_with_mean
from skbench.ppi._data import autorater_scores, label_column, ppi_data, score_table
from skbench.ppi._few_labels import half_widths, labels_needed, warn_of_few_labels, warn_of_noise
from skbench.stats import ppi
from skbench.stats.intervals.means import t_interval
from skbench.stats.intervals.moments import divided


class GroupResult(NamedTuple):
    """Results of one estimator, one entry per group; nan where a result is unknown."""

    value: np.ndarray  # not clipped to the range of the labels
    standard_error: np.ndarray
    df: np.ndarray  # inf for a normal interval or a posterior
    lambda_: np.ndarray  # (n_groups, n_autoraters)
    rectifier: np.ndarray
    n_labeled: np.ndarray
    n_unlabeled: np.ndarray
    unlabeled_variance: np.ndarray  # the part that more labels do not reduce
    interval: Callable  # interval(confidence_level) -> (low, high); not clipped with limits=None
    calibrated: Callable  # calibrated(autorater, codes) -> scores of rows
    classical_variance: np.ndarray | None = None  # of the labels alone; None uses `labeled_mean`
    labels_depend_on_verdicts: np.ndarray | None = None  # labels reduce `unlabeled_variance` too
    worst_cases: tuple | None = None  # bounds of the pseudo-label that each end adds, if any


def difference_result(
    data, found, interval, bounds, classical_variance, lines=None, worst_cases=None
):
    """Build a `GroupResult`; `lines` holds the calibration lines (cells, slopes, intercepts)."""
    lines = (group_cells, found.power, found.rectifier) if lines is None else lines
    return GroupResult(
        value=found.value,
        standard_error=np.sqrt(found.variance),
        df=found.df,
        lambda_=found.power,
        rectifier=found.rectifier,
        n_labeled=found.n_labeled,
        n_unlabeled=found.n_unlabeled,
        unlabeled_variance=found.unlabeled_variance,
        interval=interval,
        calibrated=lines_with_mean(data, *lines, cut(found.value, bounds)),
        classical_variance=classical_variance,
        worst_cases=worst_cases,
    )


@checked
class PPIEstimator(Documented, BaseEstimator):
    """Base of the prediction-powered estimators."""

    _numeric_autorater = True
    _guarantee = "each group"
    _without_unlabeled = "The estimate is the mean of the labels."
    __metadata_request__fit = {"cluster": True, "sample_weight": True}
    __metadata_request__score = {"sample_weight": True}

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        *,
        cluster: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Estimate the mean human label of the population that the rows come from.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_autoraters) or (n_rows,)
            Verdicts or scores of labeled and unlabeled rows, one column per judge.
        y : array-like of shape (n_rows,)
            Human labels; nan where a row has no label.
        cluster : array-like of shape (n_rows,), default=None
            Cluster of each row. Rows of one cluster depend on each other, such as several answers
            to one question or several labels of one item.
        sample_weight : array-like of shape (n_rows,), default=None
            The inverse of the probability that a row was selected for labeling, up to a common
            factor. It may be nan in unlabeled rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If no row has a label, a label is infinite, a judge's score is missing or infinite, or
            lengths or indexes differ.

        Warns
        -----
        UserWarning
            If there are too few labels or unlabeled rows, or if the judge makes the estimate much
            less precise, for example because its scores are on another scale than the labels.
        """
        data = self._read(X, y, None, cluster, sample_weight)
        result = self._fit_groups(data)
        warn_of_few_labels(data, result.n_unlabeled[0], self._without_unlabeled)
        self._store(data, result)
        warn_of_noise(self.effective_sample_size_, self.n_labeled_)
        return self

    def predict(self, X: Table) -> np.ndarray:
        """Predict the human label of each row from the judge's score.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_autoraters) or (n_rows,)
            Scores of the judges, in the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Calibrated scores in the units of the label. They depend only on the judges' scores.
            Their mean over the rows of `fit` is ``estimate_``. The notes of the class give the
            formula.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If a score is missing or infinite, the columns differ from those of `fit`, or a row has
            a verdict that no row of `fit` had.
        """
        check_is_fitted(self)
        autorater = self._read_autorater(X)
        return self._result.calibrated(autorater, np.zeros(len(autorater), dtype=int))

    def score(self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination (R2) of ``predict(X)`` on the labeled rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_autoraters) or (n_rows,)
            Scores of the judges.
        y : array-like of shape (n_rows,)
            Human labels. Rows with nan are ignored.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.

        Returns
        -------
        float
            R2 as in scikit-learn's regressors; nan with one label.

        Raises
        ------
        ValueError
            If no row has a label, and as in `predict`.
        """
        check_same_index(X=X, y=y, sample_weight=sample_weight)
        return self._score(self.predict(X), y, sample_weight)

    def estimate(self, confidence_level: Level = 0.95) -> Estimate:
        """Return the estimate with its interval and the guarantee of the interval.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal coverage of the interval.

        Returns
        -------
        Estimate
            One entry.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the confidence level is outside (0, 1).
        """
        check_is_fitted(self)
        low, high = self._result.interval(confidence_level)
        return Estimate(
            value=[self.estimate_],
            low=low,
            high=high,
            standard_error=self._result.standard_error,
            confidence_level=confidence_level,
            labels=self.labels_,
            method=self._method,
            guarantee=self._guarantee,
        )

    def labels_needed(self, width: Positive, confidence_level: Level = 0.95) -> float:
        """Return the number of human labels that an interval of a given width needs.

        Parameters
        ----------
        width : float
            Full width of the interval, in the units of the label.
        confidence_level : float, default=0.95
            Nominal coverage of the interval.

        Returns
        -------
        float
            Number of labeled rows, assuming clusters like those in the data. It is inf if the
            unlabeled rows are too few for the width, and nan if the standard error is unknown.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the width is not positive, or the confidence level is outside (0, 1).

        Notes
        -----
        The result is the smallest n with ``2 t sqrt(v n_labeled / n + u) <= width``. Here `v` and
        `u` are the labeled and unlabeled parts of the current variance. The quantile `t` has the
        current degrees of freedom times ``n / n_labeled``. The judge's weight and the number N of
        unlabeled rows are held fixed. Where `ChainRulePPI` also uses the verdicts of labeled rows,
        `u` decreases as ``1 / (n + N)``.
        """
        check_is_fitted(self)
        return labels_needed(self._result, width, confidence_level)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = tags.input_tags.string = not self._numeric_autorater
        return tags

    def _read(self, X, y, by, cluster, sample_weight):
        """Check the rows and remember the columns of `X` for `predict`."""
        check_same_index(X=X, y=y, by=by, cluster=cluster, sample_weight=sample_weight)
        labels = label_column(y, type(self).__name__)
        autorater = self._read_autorater(X, reset=True)
        return ppi_data(autorater, self._read_labels(labels), by, cluster, sample_weight)

    def _read_autorater(self, X, reset=False):
        """Check the scores against the columns of `fit`, or set these columns."""
        is_column = reset or self.n_features_in_ == 1
        table = score_table(X, self._numeric_autorater, is_column)
        named = table if hasattr(X, "columns") else np.asarray(table)
        validate_data(self, named, reset=reset, skip_check_array=True)
        return self._autorater(table)

    def _autorater(self, table):
        return autorater_scores(table, self._numeric_autorater)

    def _read_labels(self, y):
        """Return the labels; a subclass may turn names into numbers here."""
        return y

    def _score(self, predicted, y, sample_weight):
        """R2 of predicted labels in the rows that have a label and a prediction."""
        labels = label_column(y, type(self).__name__)
        data = ppi_data(predicted, self._read_labels(labels), sample_weight=sample_weight)
        y, weights = data.y, data.weights
        rows = ~np.isnan(y) & ~np.isnan(predicted)
        if rows.sum() < 2:
            return np.nan
        weights = None if weights is None else weights[rows]
        return float(r2_score(y[rows], predicted[rows], sample_weight=weights))

    @property
    def _method(self):
        return type(self).__name__

    def _fit_groups(self, data):
        raise NotImplementedError

    def _store(self, data, result):
        power = result.lambda_[0]
        self.bounds_ = bounds = score_bounds(data, getattr(self, "bounds", None))
        self.labels_ = data.labels
        self.estimate_ = float(cut(result.value, bounds)[0])
        self.standard_error_ = float(result.standard_error[0])
        self.lambda_ = float(power[0]) if power.size == 1 else power
        self.rectifier_ = float(result.rectifier[0])
        self.n_labeled_ = int(result.n_labeled[0])
        self.n_unlabeled_ = int(result.n_unlabeled[0])
        self.effective_sample_size_ = float(effective_sample_size(data, result)[0])
        self._result = result


def t_interval_of(value, standard_error, df, bounds=None):
    """Return the function ``interval(confidence_level)`` of a `GroupResult`, by t quantiles."""
    # Centered on the clipped value, because an interval outside the range would have no width.
    return partial(_cut_t_interval, cut(value, bounds), standard_error, df, limits=bounds)


def _cut_t_interval(value, standard_error, df, confidence_level, limits=None):
    low, high = t_interval(value, standard_error, df, confidence_level)
    return cut(low, limits), cut(high, limits)


def quantile_interval_of(value, draws, bounds):
    """Return the function ``interval(confidence_level)`` of draws that are centered on `value`."""
    return partial(quantile_interval, draws + (cut(value, bounds) - value), limits=bounds)


def quantile_interval(draws, confidence_level, limits=None):
    """Equal-tailed quantiles of draws along the first axis."""
    alpha = 1 - confidence_level
    low, high = np.quantile(draws, [alpha / 2, 1 - alpha / 2], axis=0)
    return cut(low, limits), cut(high, limits)


def cut(scores, bounds):
    """Clip scores to their range if it is known."""
    return scores if bounds is None else np.clip(scores, *bounds)


def effective_sample_size(data, result):
    """Number of labels whose mean has the same standard error; nan if the error is 0."""
    classical = result.classical_variance
    if classical is None:
        bounds = smoothed_bounds(data, score_bounds(data))
        classical = ppi.labeled_mean(*data.human, bounds).variance
    return result.n_labeled * divided(classical, result.standard_error**2)


def difference_interval(data, found, known, bounds, worst_case=True, left=1.0):
    """Return the function ``interval(confidence_level)`` of a difference estimate, and its bounds.

    For bounded labels other than 0 and 1 each end adds one label at its bound
    (`skbench.stats.worst_case`). For labels 0 and 1 pseudo-labels smooth the variance. `left` is
    the finite population correction of the labels' variance.
    """
    smoothed = smoothed_bounds(data, bounds) is not None
    if bounds is None or smoothed or not worst_case:
        spread = np.where(known, np.sqrt(found.variance), np.nan)
        return t_interval_of(found.value, spread, found.df, bounds), None
    parts = found.variance, found.unlabeled_variance, found.df, found.n_labeled
    value = cut(found.value, bounds)
    return partial(_worst_case_interval, value, parts, bounds, left, limits=bounds), bounds


def _worst_case_interval(value, parts, bounds, left, confidence_level, limits=None):
    low, high = half_widths(value, *parts, bounds, confidence_level, left)
    return cut(value - low, limits), cut(value + high, limits)


def smoothed_bounds(data, bounds):
    """Return the bounds if labels are 0 and 1, whose variance pseudo-labels smooth, else None."""
    binary = np.isin(data.y[data.labeled], (0, 1)).all()
    return bounds if binary and bounds == (0, 1) else None


def score_bounds(data, bounds=None):
    """Range of the human labels: as given, or inferred from labels and verdicts, else None."""
    labels = data.y[data.labeled]
    if bounds is None:
        verdicts = data.autorater if data.autorater.dtype.kind in "fiu" else labels
        return bounds_of(labels, verdicts) or bounds_of(labels)
    low, high = bounds
    outside = (labels < low) | (labels > high)
    if outside.any():
        raise ValueError(
            f"{int(outside.sum())} of {labels.size} human labels are outside bounds={bounds!r}, "
            f"for example {labels[outside][0]:g}. Correct the labels or widen the bounds."
        )
    return float(low), float(high)


def equal_power(data, n_cells):
    """Weights that are not tuned: the judges share a total weight of 1 in every cell."""
    shape = n_cells, data.autorater.shape[1]
    return np.full(shape, 1 / max(shape[1], 1))


def refuse_dependent_rows(data, name):
    """Raise an error if a method for independent rows gets clusters or weights."""
    for what, given in (("cluster", data.cluster), ("sample_weight", data.weights)):
        if given is not None:
            raise ValueError(
                f"{name} does not support {what}. It needs independent rows that were selected "
                "for labeling with equal probability. Use PPIMean."
            )
