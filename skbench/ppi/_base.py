"""The contract of the estimators that correct an autorater by a few human labels.

`fit` turns what the user gives into a `PPIData`, asks the one method that every
estimator writes, ``_fit_groups(data) -> GroupResult``, and stores what comes back. All
groups are fitted in one pass; a single estimate is the case ``n_groups = 1``. Names
for subclasses:

- `PPIData`: the checked table, from `read_ppi_data` (both in `_data`);
- `GroupResult`: arrays with one entry per group, and `interval`, a function from a
  confidence level to two arrays (`t_interval_of` makes the usual one);
- `PPIEstimator`: `_fit_groups(data)` is abstract; the class attributes
  `_numeric_autorater`, `_method`, `_guarantee`, `_without_unlabeled` and the methods
  `_read_labels(y)` and `_read(X, y, groups, clusters, sample_weight)` may be
  overridden, and `_read_autorater(X)` for the rows of `predict`. `GroupedPPI` reads its
  tables by the estimator's own `_read` and `_read_autorater`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import check_confidence_level, check_same_index, check_whole, level_or
from skbench._types import Table
from skbench.containers import Estimate
from skbench.ppi._data import as_column, fitted_columns, read_autorater, read_ppi_data
from skbench.ppi._few_labels import labels_needed, warn_of_few_labels
from skbench.stats import ppi
from skbench.stats.intervals.means import t_interval
from skbench.stats.intervals.moments import divided


class GroupResult(NamedTuple):
    """What an estimator found in each group; nan where it cannot be known.

    Attributes
    ----------
    value : ndarray of shape (n_groups,)
        Estimates, not cut to the range of the score.
    standard_error : ndarray of shape (n_groups,)
        Their standard errors.
    df : ndarray of shape (n_groups,)
        Degrees of freedom of the standard errors; inf for a normal interval or a
        posterior.
    lambda_ : ndarray of shape (n_groups, n_autoraters)
        Power given to each autorater; nan where the method has none.
    rectifier : ndarray of shape (n_groups,)
        What is added to the autorater's mean times its power.
    n_labeled, n_unlabeled : ndarray of int of shape (n_groups,)
        Numbers of rows.
    unlabeled_variance : ndarray of shape (n_groups,)
        The part of ``standard_error**2`` that more labels would not lower.
    interval : callable
        ``interval(confidence_level)`` returns ``(low, high)``, two arrays of shape
        (n_groups,).
    calibrated : callable
        ``calibrated(autorater, codes)`` returns the score of each row of the groups `codes`,
        told from what the autorater says of it; its mean over the fitted rows of a group is
        the estimate, cut to the range of the labels. `CalibratedScores` is one.
    classical_variance : ndarray of shape (n_groups,) or None
        Variance of the mean of the labels alone, which effective sample sizes
        compare with; None takes `labeled_mean`, smoothed for labels 0 and 1.
    labels_tell_verdicts : ndarray of bool of shape (n_groups,) or None
        Where labeled rows too tell what the autorater says, so that more of them lower
        ``unlabeled_variance`` after all; None where they never do.
    """

    value: np.ndarray
    standard_error: np.ndarray
    df: np.ndarray
    lambda_: np.ndarray
    rectifier: np.ndarray
    n_labeled: np.ndarray
    n_unlabeled: np.ndarray
    unlabeled_variance: np.ndarray
    interval: Callable
    calibrated: Callable
    classical_variance: np.ndarray | None = None
    labels_tell_verdicts: np.ndarray | None = None


class PPIEstimator(BaseEstimator):
    """Base of the prediction-powered estimators: checks, stores, labels the output.

    A subclass stores its parameters, `confidence_level` among them, and writes
    ``_fit_groups(data)``. What that returns is for many groups; here there is one.
    """

    _numeric_autorater = True
    _guarantee = "each group"
    _without_unlabeled = "the estimate is that of the labels alone"
    __metadata_request__fit = {"groups": True, "clusters": True, "sample_weight": True}

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Estimate the mean human label of the rows' population.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_autoraters) or (n_rows,)
            Autorater scores, one column per autorater, for labeled and unlabeled
            rows alike.
        y : array-like of shape (n_rows,)
            Human labels, nan where a row is unlabeled.
        groups : array-like of shape (n_rows,), default=None
            Accepted with one level only: this estimates one mean. `GroupedPPI`
            estimates one per group.
        clusters : array-like of shape (n_rows,), default=None
            What depends on each other: several answers to one question, several
            labels of one item. Clusters of one row each change nothing.
        sample_weight : array-like of shape (n_rows,), default=None
            One over the probability that the row was chosen for labeling, up to a
            common factor; may be nan on unlabeled rows. Equal weights change nothing.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If no row has a label, values are infinite, an autorater score is
            missing, lengths or indexes differ, or `groups` has several levels.
        """
        check_confidence_level(self.confidence_level)
        data = self._read(X, y, groups, clusters, sample_weight)
        if data.n_groups > 1:
            raise ValueError(
                f"groups has {data.n_groups} levels, but {type(self).__name__} estimates one mean. "
                f"Use GroupedPPI({type(self).__name__}()) for one estimate per group, or clusters= "
                "for rows that depend on each other."
            )
        result = self._fit_groups(data)
        self._columns = fitted_columns(X, data)
        warn_of_few_labels(data, result.n_unlabeled[0], self._without_unlabeled)
        self._store(data, result)
        return self

    def predict(self, X: Table) -> np.ndarray:
        """Calibrated score of each row: what its human label would be on average.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_autoraters) or (n_rows,)
            Autorater scores, in the columns of `fit`; labeled rows are read like others.

        Returns
        -------
        ndarray of shape (n_rows,)
            In the units of the label, a function of the row's autorater scores alone. The
            mean over the rows of `fit` is ``estimate_``; the notes of the class say how.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If an autorater score is missing or infinite, columns are not those of `fit`,
            or, where verdicts are names, a row has one that no row of `fit` had.
        """
        check_is_fitted(self)
        autorater = self._read_autorater(X)
        return self._result.calibrated(autorater, np.zeros(len(autorater), dtype=int))

    def estimate(self, confidence_level: float | None = None) -> Estimate:
        """The estimate with its interval and what the interval promises.

        Parameters
        ----------
        confidence_level : float, default=None
            Nominal level of the interval; None takes the one of the constructor.

        Returns
        -------
        Estimate
            One entry.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For a level outside (0, 1).
        """
        check_is_fitted(self)
        confidence_level = level_or(self.confidence_level, confidence_level)
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

    def labels_needed(self, width: float, confidence_level: float | None = None) -> float:
        """How many human labels an interval of a given width needs.

        Parameters
        ----------
        width : float
            Full width of the interval, in the units of the score.
        confidence_level : float, default=None
            Nominal level of the interval; None takes the one of the constructor.

        Returns
        -------
        float
            Number of labels (rows, of clusters like the present ones); inf where the
            unlabeled rows alone leave a wider interval, nan where the present
            standard error is not known.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For a width that is not positive, or a level outside (0, 1).

        Notes
        -----
        The smallest n with ``2 t sqrt(v n_labeled / n + u) <= width``, where `v` and
        `u` are the labeled and unlabeled parts of the present variance and `t` has
        the present degrees of freedom times ``n / n_labeled``. The number N of
        unlabeled rows is kept as it is, and so is the power. Where `ChainRulePPI` reads
        verdicts of labeled rows too, `u` falls as ``1 / (n + N)``.
        """
        check_is_fitted(self)
        confidence_level = level_or(self.confidence_level, confidence_level)
        if not width > 0:
            raise ValueError(f"width must be positive, got {width!r}.")
        return labels_needed(self._result, width, confidence_level)

    def _read(self, X, y, groups, clusters, sample_weight):
        # Before labels are read: what reads them may return a bare array.
        check_same_index(X=X, y=y, groups=groups, clusters=clusters, sample_weight=sample_weight)
        return read_ppi_data(
            X,
            self._read_labels(as_column(y)),
            groups,
            clusters,
            sample_weight,
            self._numeric_autorater,
        )

    def _read_autorater(self, X):
        """Scores of new rows, in the columns of `fit`."""
        return read_autorater(X, self._columns, self._numeric_autorater)

    def _read_labels(self, y):
        """Labels as given; a subclass turns words into numbers here."""
        return y

    @property
    def _method(self):
        return type(self).__name__

    def _fit_groups(self, data):
        raise NotImplementedError

    def _store(self, data, result):
        low, high = result.interval(self.confidence_level)
        power = result.lambda_[0]
        bounds = score_bounds(data.y[data.labeled], getattr(self, "bounds", None))
        self.labels_ = data.labels
        self.estimate_ = float(cut(result.value, bounds)[0])
        self.standard_error_ = float(result.standard_error[0])
        self.interval_ = (float(low[0]), float(high[0]))
        self.lambda_ = float(power[0]) if power.size == 1 else power
        self.rectifier_ = float(result.rectifier[0])
        self.n_labeled_ = int(result.n_labeled[0])
        self.n_unlabeled_ = int(result.n_unlabeled[0])
        self.effective_sample_size_ = float(effective_sample_size(data, result)[0])
        self._result = result


def t_interval_of(value, standard_error, df, bounds=None):
    """The function ``interval(confidence_level)`` of a `GroupResult`, from t quantiles.

    Parameters
    ----------
    value, standard_error, df : ndarray of shape (n_groups,)
        Estimates, standard errors, degrees of freedom (inf for normal quantiles).
    bounds : tuple of two floats, default=None
        Range of the score, to which the ends are cut.

    Returns
    -------
    callable
    """
    return partial(_cut_t_interval, value, standard_error, df, bounds)


def _cut_t_interval(value, standard_error, df, bounds, confidence_level):
    # Around the estimate that is given: an interval beyond the range would have no width.
    low, high = t_interval(cut(value, bounds), standard_error, df, confidence_level)
    return cut(low, bounds), cut(high, bounds)


def cut(scores, bounds):
    """Scores cut to their range, where it is known."""
    return scores if bounds is None else np.clip(scores, *bounds)


def effective_sample_size(data, result):
    """Labels that the classical mean would need for the same standard error.

    Parameters
    ----------
    data : PPIData
    result : GroupResult

    Returns
    -------
    ndarray of shape (n_groups,)
        ``n_labeled * classical variance / standard_error**2``; nan where the
        standard error is unknown or 0.
    """
    classical = result.classical_variance
    if classical is None:
        classical = ppi.labeled_mean(*data.human, score_bounds(data.y[data.labeled])).variance
    variance = result.standard_error**2
    return result.n_labeled * divided(classical, variance)


def score_bounds(labels, bounds=None):
    """Range of the human labels: the one given, (0, 1) for binary labels, else None.

    Parameters
    ----------
    labels : ndarray of shape (n_labeled,)
        Human labels.
    bounds : tuple of two floats, default=None
        What the user gave.

    Returns
    -------
    tuple of two floats or None

    Raises
    ------
    ValueError
        If the bounds are no interval, or a label is outside.
    """
    if bounds is None:
        return (0.0, 1.0) if np.all((labels == 0) | (labels == 1)) else None
    low, high = bounds
    if not (low < high and np.isfinite([low, high]).all()):
        raise ValueError(
            f"bounds must be a low and a high end, both finite, got {bounds!r}. Pass None where "
            "the labels have no range."
        )
    outside = (labels < low) | (labels > high)
    if outside.any():
        raise ValueError(
            f"{int(outside.sum())} of {labels.size} human labels are outside bounds={bounds!r}, "
            f"such as {labels[outside][0]:g}. Correct the labels or widen the bounds."
        )
    return float(low), float(high)


def check_power_tuning(power_tuning, autorater):
    """Refuse unknown kinds of tuning, and several autoraters that nothing weighs."""
    if power_tuning not in (True, False, "pooled"):
        raise ValueError(f"power_tuning must be True, False or 'pooled', got {power_tuning!r}.")
    if autorater.shape[1] > 1 and not power_tuning:
        raise ValueError(
            f"X has {autorater.shape[1]} autorater columns, and power_tuning=False gives a single "
            "one weight 1. Pass one column, or set power_tuning=True to weigh them."
        )


def check_draws(n_draws):
    """Refuse numbers of draws that have no spread."""
    check_whole("n_draws", n_draws)
    if n_draws < 2:
        raise ValueError(
            f"n_draws must be at least 2, got {n_draws}: one draw has no spread. 10,000 are usual."
        )


def refuse_dependent_rows(data, name):
    """Refuse clusters and weights where the method has no answer to them."""
    for what, given in (("clusters", data.clusters), ("sample_weight", data.weights)):
        if given is not None:
            raise ValueError(
                f"{name} takes independent rows chosen with equal probability; {what} cannot be "
                "used. PPIMean takes it."
            )
