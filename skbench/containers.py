"""Immutable containers of group summaries, draws and estimates.

They check the shapes of their arrays and keep read-only copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import (
    as_array,
    check_named,
    check_same_index,
    floats,
    require_columns,
)
from skbench._printed import NUMBERS, EstimateTable, Printed, first_rows
from skbench._types import Bounds, Count, Labels, Level, checked
from skbench.stats.intervals.means import normal_interval
from skbench.stats.intervals.moderated import VarianceNoise
from skbench.stats.shrinkage.sample_size import SampleSizeRatio

ON_AVERAGE = "each group, on average over accuracies"
UNLESS_SKEWED = "each group, unless skewed"
GUARANTEES = (
    "each group",
    ON_AVERAGE,
    UNLESS_SKEWED,
    "average over groups",
    "posterior",
    "model",
    "none",
)
LISTED = 0.25  # outlier probability above which a group is listed
_OF_GROUPS = ("z", "sigma2", "n", "n_independent", "groups")
_ROUNDING = 1e-8  # rounding error of an eigenvalue
_FEATURE = "X:"  # prefix of feature columns in the table of a summary


class _OwnFrame:
    """A table in a frozen container, copied whenever it is set or read."""

    def __set_name__(self, owner, name):
        self._name = f"_{name}"

    def __get__(self, container, owner=None):
        frame = None if container is None else vars(container)[self._name]
        return None if frame is None else frame.copy()

    def __set__(self, container, frame):
        vars(container)[self._name] = None if frame is None else frame.copy()


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Sampling(Printed):
    """How the items of a group summary were sampled and scored.

    Parameters
    ----------
    outcome : {"binomial", "continuous", "clustered"}, default="binomial"
        Kind of scores behind the direct estimates. "binomial": correct (1) and incorrect (0)
        answers to independent items. "continuous": other scores of independent items.
        "clustered": scores of items that come in clusters.
    items_shared : bool, default=False
        Whether several models answered the same items.
    item_correlation : DataFrame of shape (n_models, n_models), default=None
        Correlation of the errors of models that answered the same items. Rows and columns are
        named by model. None if the correlation is unknown.
    variance_noise : skbench.stats.moderated.VarianceNoise, default=None
        How strongly shrinkage estimators shrink each sampling variance toward the variance
        pooled over groups. None leaves the variances unchanged.
    most_independent : int, default=None
        The largest number of independent observations in one group of clustered items.
        Estimators raise an error if a size ``n`` exceeds it, because such sizes count items.
        None disables this check.
    bounds : tuple of two floats, default=None
        Lowest and highest possible score. If scores have known bounds, t intervals of direct
        estimates are widened to allow for rare scores that the sample missed (see
        `skbench.stats.worst_case`). None if the range is unknown.

    Raises
    ------
    ValueError
        If `outcome` is unknown or `items_shared` is not a bool. If `item_correlation` is given
        without shared items, is not a correlation matrix, or has different names in rows and
        columns.
    TypeError
        If `item_correlation` is not a DataFrame.

    Notes
    -----
    This is the argument ``sampling`` of every estimator of groups. It has no length, so
    scikit-learn passes it on unchanged when it splits ``sigma2`` and ``n`` (and with metadata
    routing ``groups``) into folds.

    When not to use it: you do not need it if you pass on `GroupSummary.fit_args`, or if scores
    are 0 and 1 and no two models share items.

    Examples
    --------
    >>> Sampling("continuous", items_shared=True)
    Sampling(continuous scores, items shared, correlation unknown, variances as they are)
    """

    outcome: Literal["binomial", "continuous", "clustered"] = "binomial"
    items_shared: bool = False
    item_correlation: pd.DataFrame | None = _OwnFrame()
    variance_noise: VarianceNoise | None = None
    most_independent: Count | None = None
    bounds: Bounds | None = None

    def __post_init__(self):
        self._check_correlation(vars(self)["_item_correlation"])
        if self.variance_noise is not None:
            _set(self, "variance_noise", VarianceNoise(*self.variance_noise))
        if self.bounds is not None:
            _set(self, "bounds", tuple(map(float, self.bounds)))

    def _check_correlation(self, given):
        if given is None:
            return
        if not self.items_shared:
            raise ValueError(
                "item_correlation is given, but items_shared is False. Pass items_shared=True, or "
                "omit the correlation."
            )
        if given.index.has_duplicates or set(given.index) != set(given.columns):
            raise ValueError(
                "item_correlation must have every model once as a row and once as a column. Its "
                f"rows are {list(given.index)}, and its columns are {list(given.columns)}."
            )
        matrix = given.loc[given.index, given.index].to_numpy(dtype=float)
        proper = np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1)
        if not proper or np.linalg.eigvalsh(matrix).min() < -_ROUNDING:
            raise ValueError(
                "item_correlation must be a symmetric matrix with ones on the diagonal and no "
                "negative eigenvalue. Compute it with skbench.item_correlation."
            )

    def correlation_of(self, models: pd.Index) -> np.ndarray:
        """Return the correlation of the errors of these models, in this order.

        Parameters
        ----------
        models : Index of length n_models
            Names of the models.

        Returns
        -------
        ndarray of shape (n_models, n_models)
            The identity matrix if the correlation is unknown, or for a single model.

        Raises
        ------
        ValueError
            If `item_correlation` lacks a model.
        """
        known = vars(self)["_item_correlation"]
        if known is None or len(models) == 1:
            return np.eye(len(models))
        missing = models.difference(known.index)
        if len(missing):
            raise ValueError(
                f"item_correlation has no row and column for model {missing[0]!r}. "
                "Estimate the correlation from the items of all models."
            )
        return known.loc[models, models].to_numpy(dtype=float)

    def __eq__(self, other):
        if not isinstance(other, Sampling):
            return NotImplemented
        ours, theirs = vars(self)["_item_correlation"], vars(other)["_item_correlation"]
        same = ours is theirs or (ours is not None and ours.equals(theirs))
        return self._plain == other._plain and same

    def __hash__(self):
        return hash(self._plain)

    @property
    def _plain(self):
        plain = self.outcome, bool(self.items_shared), self.variance_noise
        return *plain, self.most_independent, self.bounds

    def _printed(self):
        shared = "no items shared"
        if self.items_shared:
            models = self.item_correlation
            known = "unknown" if models is None else f"of {len(models)} models known"
            shared = f"items shared, correlation {known}"
        variances = "as they are"
        noise = self.variance_noise
        if noise is not None:
            variances = f"moderated by {noise.borrowed_freedom:.3g} degrees of freedom"
        bounds = "" if self.bounds is None else ", bounds {:g} and {:g}".format(*self.bounds)
        return [f"Sampling({self.outcome} scores, {shared}, variances {variances}{bounds})"]


@checked
@dataclass(frozen=True, eq=False, repr=False)
class GroupSummary(Printed):
    """Direct estimates of groups with their sampling variances, the input of estimators.

    Parameters
    ----------
    z : array-like of shape (n_groups,)
        Direct estimates, in units of the score.
    sigma2 : array-like of shape (n_groups,)
        Sampling variances of `z`, in squared units of the score. nan if the items of a group
        do not determine its variance.
    n : array-like of shape (n_groups,)
        Number of items. If any entry is nan, `fit_args` passes ``n=None`` to estimators.
    labels : pandas.Index of length n_groups
        One label per group.
    X : pandas.DataFrame with n_groups rows, default=None
        Features of the groups.
    groups : array-like of shape (n_groups,), default=None
        Groups that folds must keep together: the topic, if several models answered the same
        items. None if no items are shared.
    sampling : Sampling, default=None
        How the items were sampled and scored. If None, estimators state their assumptions.
    n_independent : array-like of shape (n_groups,), default=None
        Number of independent observations behind `z`. None uses `n`; pass another number if
        items come in clusters. A t interval has `n_independent - 1` degrees of freedom.

    Raises
    ------
    ValueError
        If lengths differ, or `sampling` and `groups` contradict each other.

    Notes
    -----
    `outcome` and `item_correlation` come from `sampling`; `outcome` is "binomial" if that is
    None. Use ``to_frame(features=True)`` and `from_frame` to write a summary to a file and
    read it back. Store `sampling` separately; it can be pickled.

    Examples
    --------
    >>> import pandas as pd
    >>> g = GroupSummary(z=[0.7, 0.4], sigma2=[0.02, 0.02], n=[10, 10],
    ...                  labels=pd.Index(["anatomy", "law"], name="topic"))
    >>> sorted(g.fit_args)
    ['X', 'groups', 'n', 'sampling', 'sigma2', 'y']
    """

    z: np.ndarray
    sigma2: np.ndarray
    n: np.ndarray
    labels: pd.Index
    X: pd.DataFrame = None
    groups: np.ndarray | None = None
    sampling: Sampling | None = None
    n_independent: np.ndarray = None

    if TYPE_CHECKING:  # argument types are wider than field types

        def __init__(
            self,
            z: ArrayLike,
            sigma2: ArrayLike,
            n: ArrayLike,
            labels: Labels,
            X: pd.DataFrame | None = None,
            groups: ArrayLike | None = None,
            sampling: Sampling | None = None,
            n_independent: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self):
        _refuse_other_labels(self, "X", "z", "sigma2", "n", "groups", "n_independent")
        if self.X is not None and not isinstance(self.X, pd.DataFrame):
            raise TypeError(f"X must be a DataFrame or None, got {type(self.X).__name__}.")
        _set(self, "labels", _index(self.labels))
        for name in ("z", "sigma2"):
            _set(self, name, _column(getattr(self, name), name, len(self.labels)))
        _set(self, "n", _column(self.n, "n", len(self.labels), "iuf"))
        independent = self.n if self.n_independent is None else self.n_independent
        _set(self, "n_independent", _column(independent, "n_independent", len(self.labels), "iuf"))
        if self.groups is not None:
            groups = check_named("groups", as_array(self.groups), self.labels)
            _set(self, "groups", _column(groups, "groups", len(self.labels), groups.dtype.kind))
        shared = self.groups is not None
        if self.sampling is not None and self.sampling.items_shared != shared:
            raise ValueError(
                f"sampling has items_shared={self.sampling.items_shared}, but groups (the topics "
                f"of shared items) are {'given' if shared else 'missing'}. Change one of the two."
            )

    @property
    def outcome(self) -> str:
        """Kind of scores: "binomial", "continuous" or "clustered"."""
        return "binomial" if self.sampling is None else self.sampling.outcome

    @property
    def item_correlation(self) -> pd.DataFrame | None:
        """Correlation of the errors of models on shared items, a DataFrame or None."""
        return None if self.sampling is None else self.sampling.item_correlation

    @property
    def fit_args(self) -> dict[str, Any]:
        """Keyword arguments for ``fit`` of estimators: X, y, sigma2, n, groups and sampling."""
        X = self.X
        if X is None:
            X = pd.DataFrame({"constant": np.ones(len(self.labels))}, index=self.labels)
        return {
            "X": X.copy(),
            "y": self.z,
            "sigma2": self.sigma2,
            "n": None if pd.isna(self.n_independent).any() else self.n_independent,
            "groups": self.groups,
            "sampling": self.sampling,
        }

    def to_frame(self, features: bool = False) -> pd.DataFrame:
        """Return a table with one row per group.

        Parameters
        ----------
        features : bool, default=False
            Whether to add n_independent and the columns of `X`, with the prefix ``X:``. The
            table then holds all of the summary except `sampling`, as `from_frame` needs it.

        Returns
        -------
        DataFrame
            Columns z, sigma2 and n, and groups if items are shared.
        """
        columns = {"z": self.z, "sigma2": self.sigma2, "n": self.n}
        if self.groups is not None:
            columns["groups"] = self.groups
        table = pd.DataFrame(columns, index=self.labels)
        if not features:
            return table
        table["n_independent"] = self.n_independent
        if self.X is None:
            return table
        columns = self.X.set_axis([f"{_FEATURE}{name}" for name in self.X.columns], axis=1)
        return pd.concat([table, columns.set_axis(self.labels)], axis=1)

    def dropna(self) -> Self:
        """Return the summary without groups where `z` or `sigma2` is nan.

        Returns
        -------
        GroupSummary
            The other groups. Estimators raise an error if `z` or `sigma2` is nan.
        """
        known = np.isfinite(self.z) & np.isfinite(self.sigma2)
        held = {name: getattr(self, name) for name in (*_OF_GROUPS, "labels", "X")}
        return replace(self, **{name: v[known] for name, v in held.items() if v is not None})

    @classmethod
    def from_frame(cls, table: pd.DataFrame, sampling: Sampling | None) -> Self:
        """Build a summary from a table that `to_frame` returned.

        Parameters
        ----------
        table : DataFrame with n_groups rows
            The result of ``to_frame(features=True)``. Its index labels the groups.
        sampling : Sampling or None
            The attribute `sampling` of the original summary, which the table does not hold.

        Returns
        -------
        GroupSummary
            The summary, with the labels as the index of `X`.

        Raises
        ------
        ValueError
            If z, sigma2 or n is missing, or a column is not one of those of `to_frame`.

        Examples
        --------
        >>> g = GroupSummary([0.7, 0.4], [0.02, 0.02], [10, 10], pd.Index(["art", "law"]))
        >>> GroupSummary.from_frame(g.to_frame(features=True), g.sampling).z
        array([0.7, 0.4])
        """
        require_columns(table.columns, _OF_GROUPS[:3], "table")
        features = [name for name in table.columns if str(name).startswith(_FEATURE)]
        unknown = table.columns.difference([*_OF_GROUPS, *features])
        if len(unknown):
            raise ValueError(
                f"table has an unknown column {unknown[0]!r}. Expected columns are "
                f"{', '.join(_OF_GROUPS)}. Move it to the index, or rename it to "
                f"'{_FEATURE}{unknown[0]}' if it is a feature."
            )
        X = table[features].set_axis([name.removeprefix(_FEATURE) for name in features], axis=1)
        columns = {name: table[name].to_numpy() for name in _OF_GROUPS if name in table}
        return cls(labels=table.index, X=X if features else None, sampling=sampling, **columns)

    def __len__(self):
        return len(self.labels)

    def _printed(self):
        shared = (
            "no items shared between models"
            if self.groups is None
            else f"models share items within {pd.unique(self.groups).size} topics"
        )
        head = (
            f"GroupSummary of {len(self)} groups, {int(np.sum(self.n))} items, "
            f"{self.outcome} scores, {shared}"
        )
        return [head, *first_rows(self.to_frame())]


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Draws(Printed):
    """Bootstrap replicates or posterior draws of several quantities.

    Parameters
    ----------
    values : array-like of shape (n_draws, ...)
        Draws, along the first axis.
    labels : tuple of pandas.Index
        One Index per further axis. A single Index labels a single further axis.
    kind : {"bootstrap", "posterior"}
        Whether the draws are bootstrap replicates or posterior draws.

    Raises
    ------
    ValueError
        If the labels do not match the axes or `kind` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> d = Draws(np.arange(10.0).reshape(5, 2), pd.Index(["a", "b"]), "bootstrap")
    >>> d.interval(0.5).low
    array([2., 3.])
    """

    values: np.ndarray
    labels: tuple[pd.Index, ...]
    kind: Literal["bootstrap", "posterior"]

    if TYPE_CHECKING:

        def __init__(
            self,
            values: ArrayLike,
            labels: pd.Index | tuple[pd.Index, ...],
            kind: Literal["bootstrap", "posterior"],
        ) -> None: ...

    def __post_init__(self):
        values = self.values if _is_locked(self.values) else np.array(self.values, dtype=float)
        labels = self.labels if isinstance(self.labels, tuple) else (self.labels,)
        labels = tuple(_index(label) for label in labels)
        if isinstance(self.values, pd.DataFrame):
            check_same_index(labels=labels[0].to_series(), values=self.values.T)
        if values.ndim != len(labels) + 1 or values.shape[1:] != tuple(map(len, labels)):
            raise ValueError(
                f"values have shape {values.shape}, but the labels describe "
                f"(n_draws, {', '.join(str(len(label)) for label in labels)})."
            )
        values.setflags(write=False)
        _set(self, "values", values)
        _set(self, "labels", labels)

    def interval(self, confidence_level: Level = 0.95) -> Estimate:
        """Return the mean, standard deviation and equal-tailed quantiles of the draws.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Probability between the two quantiles.

        Returns
        -------
        Estimate
            One entry per quantity, labeled by the product of the axes.
        """
        alpha = 1 - confidence_level
        flat = self.values.reshape(len(self.values), -1)
        low, high = np.quantile(flat, [alpha / 2, 1 - alpha / 2], axis=0)
        one_axis = len(self.labels) == 1
        labels = self.labels[0] if one_axis else pd.MultiIndex.from_product(self.labels)
        deviation = flat.std(axis=0, ddof=1) if len(flat) > 1 else np.full(len(labels), np.nan)
        return Estimate(
            value=flat.mean(axis=0),
            low=low,
            high=high,
            standard_error=deviation,
            confidence_level=confidence_level,
            labels=labels,
            method=f"{self.kind} quantiles",
            guarantee="posterior" if self.kind == "posterior" else "model",
        )

    def _printed(self):
        axes = " x ".join(str(len(label)) for label in self.labels)
        return [f"Draws({self.kind}: {len(self.values)} draws of {axes} quantities)"]


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Printed):
    """Estimates of group means with intervals and the coverage guarantee of the intervals.

    Parameters
    ----------
    value, low, high, standard_error : array-like of shape (n_groups,)
        Estimate, interval limits and standard error, in units of the score. Unknown values are nan.
    confidence_level : float
        Nominal confidence level of the intervals.
    labels : pandas.Index of length n_groups
        One label per group.
    method : str
        Name of the method, for tables and plots.
    guarantee : {"each group", "each group, on average over accuracies", \
"each group, unless skewed", "average over groups", "posterior", "model", "none"}
        Type of coverage:

        - "each group": pointwise coverage. For each group, it is at least the confidence level.
        - "each group, on average over accuracies": approximate pointwise coverage. Averaged over
          true accuracies between 0 and 1, it is about the confidence level. It is lower at some
          accuracies, mostly near 0 and 1.
        - "each group, unless skewed": asymptotic pointwise coverage (t intervals). It can be much
          lower if scores are few and skewed.
        - "average over groups": average coverage (empirical Bayes coverage) over the groups.
        - "posterior": posterior probability (credible intervals).
        - "model": model-based or asymptotic coverage, if the model of the estimator is correct.
        - "none": no guarantee.
    sample_size_ratio : SampleSizeRatio, default=None
        Relative efficiency with its interval: the number of items that direct estimates would need
        for the same precision, divided by the number of items used. None if it is unknown.
    outlier_probability : array-like of shape (n_groups,), default=None
        Posterior probability that a group is an outlier (1 minus the local false discovery rate).
        The estimate of an outlier is hardly shrunk. None if the method does not estimate this
        probability.

    Raises
    ------
    ValueError
        If lengths differ or `guarantee` is unknown.

    Notes
    -----
    ``first - second`` is the Estimate of the differences between two independent estimates
    with the same labels and confidence level.

    Do not subtract estimates of models that answered the same items, because they are dependent.
    Use `skbench.compare_models`.

    Examples
    --------
    >>> import pandas as pd
    >>> e = Estimate([0.7], [0.4], [0.9], [0.1], 0.95, pd.Index(["law"]), "direct", "each group")
    >>> e.to_frame()["high"].item()
    0.9
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    standard_error: np.ndarray
    confidence_level: Level
    labels: pd.Index
    method: str
    guarantee: Annotated[str, GUARANTEES] = "none"
    sample_size_ratio: SampleSizeRatio | None = None
    outlier_probability: np.ndarray | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            value: ArrayLike,
            low: ArrayLike,
            high: ArrayLike,
            standard_error: ArrayLike,
            confidence_level: float,
            labels: Labels,
            method: str,
            guarantee: Literal[
                "each group", "average over groups", "posterior", "model", "none"
            ] = "none",
            sample_size_ratio: SampleSizeRatio | None = None,
            outlier_probability: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self):
        _refuse_other_labels(self, *NUMBERS, "outlier_probability")
        _set(self, "labels", _index(self.labels))
        for name in NUMBERS:
            _set(self, name, _column(getattr(self, name), name, len(self.labels)))
        if self.outlier_probability is not None:
            column = _column(self.outlier_probability, "outlier_probability", len(self.labels))
            _set(self, "outlier_probability", column)

    @property
    def is_outlying(self) -> np.ndarray:
        """Whether each group is listed as an outlier, an ndarray of bool.

        True if the outlier probability exceeds 0.25 (a local false discovery rate below 0.75).
        This threshold treats a missed outlier as three times as bad as a false alarm. False if
        the method estimates no outlier probability.
        """
        if self.outlier_probability is None:
            return np.zeros(len(self), dtype=bool)
        return self.outlier_probability > LISTED

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table: value, low, high, standard_error, method and guarantee.

        The table has the column outlier_probability if the method estimates it. If the table is
        wider than ``pandas.options.display.width``, it prints four significant digits, and
        method and guarantee only once below the numbers.
        """
        known = ("outlier_probability",) if self.outlier_probability is not None else ()
        names = (*NUMBERS, *known, "method", "guarantee")
        return EstimateTable({name: getattr(self, name) for name in names}, index=self.labels)

    def within(self, low: float, high: float) -> Estimate:
        """Return the estimate with values and intervals clipped to the range of the score.

        Parameters
        ----------
        low, high : float
            Lowest and highest possible score, by the definition of the score. If you pass the
            range of the observed scores instead, the guarantee of the intervals is lost.

        Returns
        -------
        Estimate
            The clipped estimate. Standard errors are unchanged.

        Raises
        ------
        ValueError
            If `low` is not below `high`.
        """
        if not low < high:
            raise ValueError(f"low must be below high, got {low!r} and {high!r}.")
        cut = {name: np.clip(getattr(self, name), low, high) for name in ("value", "low", "high")}
        return replace(self, **cut)

    def __len__(self):
        return len(self.labels)

    def __sub__(self, other):
        """Return the difference of two independent estimates, with a normal interval."""
        if not isinstance(other, Estimate):
            return NotImplemented
        if not self.labels.equals(other.labels):
            raise ValueError(
                "The two estimates have different labels. Select the same groups in the same "
                "order first."
            )
        if self.confidence_level != other.confidence_level:
            raise ValueError(
                f"The two estimates have confidence levels {self.confidence_level} and "
                f"{other.confidence_level}. Compute both at the same confidence level."
            )
        value = self.value - other.value
        standard_error = np.hypot(self.standard_error, other.standard_error)
        low, high = normal_interval(value, standard_error, self.confidence_level)
        return Estimate(
            value=value,
            low=low,
            high=high,
            standard_error=standard_error,
            confidence_level=self.confidence_level,
            labels=self.labels,
            method=f"{self.method} - {other.method}, taken as independent",
            guarantee="model",
        )

    def _printed(self):
        head = (
            f"Estimate of {len(self)} groups by {self.method}; "
            f"{100 * self.confidence_level:g}% intervals, guarantee: {self.guarantee}"
        )
        ratio = "" if self.sample_size_ratio is None else f"; {self.sample_size_ratio}"
        return [f"{head}{ratio}", *first_rows(self.to_frame()[list(NUMBERS)])]


def _set(frozen, name, value):
    object.__setattr__(frozen, name, value)


def _is_locked(values):
    """Whether an array owns read-only floats and needs no copy."""
    owned = isinstance(values, np.ndarray) and values.base is None and values.dtype == float
    return owned and not values.flags.writeable


def _index(labels):
    """Convert labels to an Index, but keep an Index, because pandas would flatten a MultiIndex."""
    return labels if isinstance(labels, pd.Index) else pd.Index(labels)


def _refuse_other_labels(container, *names):
    """Raise a ValueError if pandas columns have other labels than the container."""
    labels = container.labels
    # Index.to_series would turn each pair of models into a tuple.
    labels = pd.Series(0.0, index=labels) if isinstance(labels, pd.Index) else labels
    check_same_index(labels=labels, **{name: getattr(container, name) for name in names})


def _column(values, name, length, kinds="f"):
    """Return a read-only copy of the expected length, as floats unless its kind is allowed."""
    column = as_array(values)
    column = np.array(column if column.dtype.kind in kinds else floats(name, values))
    if column.shape != (length,):
        raise ValueError(f"{name} has shape {column.shape}, but there are {length} labels.")
    column.setflags(write=False)
    return column
