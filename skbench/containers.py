"""The three things that travel between rooms: summaries, draws, estimates.

All are frozen and hold read-only copies, so nothing downstream can change what
an earlier step computed. They check shapes and contain no fitting logic.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._checks import check_confidence_level, check_option
from skbench.stats.means import normal_interval
from skbench.stats.sample_size import SampleSizeRatio

GUARANTEES = ("each group", "average over groups", "posterior", "model", "none")
KINDS = ("bootstrap", "posterior")
OUTCOMES = ("binomial", "continuous", "clustered")
_NUMBERS = ("value", "low", "high", "standard_error")
_ROWS_SHOWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class GroupSummary:
    """What a table of items says about each group, ready for an estimator.

    Parameters
    ----------
    z : array-like of shape (n_groups,)
        Direct estimates, in the units of the score.
    sigma2 : array-like of shape (n_groups,)
        Sampling variances of `z`, score units squared; nan where the items of
        a group cannot tell.
    n : array-like of shape (n_groups,)
        Number of items.
    labels : pandas.Index of length n_groups
        One label per group.
    X : pandas.DataFrame with n_groups rows, default=None
        Features of the groups.
    groups : array-like of shape (n_groups,), default=None
        What folds must keep together: the topic, where several models answered
        the same items. None where no items are shared.
    outcome : {"binomial", "continuous", "clustered"}, default="binomial"
        How `sigma2` came about.
    n_independent : array-like of shape (n_groups,), default=None
        Number of independent observations behind `z`, `n` unless items come in
        clusters. A t interval has `n_independent - 1` degrees of freedom.
    item_correlation : DataFrame of shape (n_models, n_models), default=None
        Correlation of the errors of models that answered the same items; travels
        with the features, as ``fit_args["X"].attrs["item_correlation"]``, a
        dictionary of columns.
    spread : skbench.stats.moderated.Spread, default=None
        How far estimators that shrink draw each `sigma2` to the one pooled over groups;
        travels with the variances, as ``fit_args["sigma2"].attrs["spread"]``. None takes
        them as they are.

    Raises
    ------
    ValueError
        If lengths differ or `outcome` is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> g = GroupSummary(z=[0.7, 0.4], sigma2=[0.02, 0.02], n=[10, 10],
    ...                  labels=pd.Index(["anatomy", "law"], name="topic"))
    >>> sorted(g.fit_args)
    ['X', 'groups', 'n', 'sigma2', 'y']
    """

    z: np.ndarray
    sigma2: np.ndarray
    n: np.ndarray
    labels: pd.Index
    X: pd.DataFrame | None = None
    groups: np.ndarray | None = None
    outcome: str = "binomial"
    n_independent: np.ndarray | None = None
    item_correlation: pd.DataFrame | None = None
    spread: tuple | None = None

    def __post_init__(self):
        check_option("outcome", self.outcome, OUTCOMES)
        _set(self, "labels", _index(self.labels))
        for name in ("z", "sigma2"):
            _set(self, name, _column(getattr(self, name), name, len(self.labels)))
        _set(self, "n", _column(self.n, "n", len(self.labels), dtype=None))
        independent = self.n if self.n_independent is None else self.n_independent
        _set(self, "n_independent", _column(independent, "n_independent", len(self.labels), None))
        if self.groups is not None:
            _set(self, "groups", _column(self.groups, "groups", len(self.labels), dtype=None))
        if self.X is not None and len(self.X) != len(self.labels):
            raise ValueError(f"X has {len(self.X)} rows but there are {len(self.labels)} labels.")

    @property
    def fit_args(self):
        """Keyword arguments of every estimator's ``fit``: X, y, sigma2, n, groups."""
        X = self.X
        if X is None:
            X = pd.DataFrame({"constant": np.ones(len(self.labels))}, index=self.labels)
        X = X.copy()
        X.attrs["outcome"] = self.outcome
        X.attrs["items_shared"] = self.groups is not None
        if self.item_correlation is not None:
            # Not a frame: pandas compares attrs when it joins, and a frame has no truth value.
            X.attrs["item_correlation"] = self.item_correlation.to_dict()
        return {
            "X": X,
            "y": self.z,
            "sigma2": self._told_sigma2(),
            "n": self.n_independent,
            "groups": self.groups,
        }

    def _told_sigma2(self):
        """Sampling variances, with what is known of their own noise."""
        if self.spread is None:
            return self.sigma2
        sigma2 = pd.Series(self.sigma2, index=self.labels if self.X is None else self.X.index)
        sigma2.attrs["spread"] = self.spread
        return sigma2

    def to_frame(self):
        """One row per group: z, sigma2, n, and groups where items are shared."""
        columns = {"z": self.z, "sigma2": self.sigma2, "n": self.n}
        if self.groups is not None:
            columns["groups"] = self.groups
        return pd.DataFrame(columns, index=self.labels)

    def __len__(self):
        return len(self.labels)

    def __repr__(self):
        shared = (
            "no items shared between models"
            if self.groups is None
            else f"models share items within {pd.unique(self.groups).size} topics"
        )
        head = (
            f"GroupSummary of {len(self)} groups, {int(np.sum(self.n))} items, "
            f"{self.outcome} scores, {shared}"
        )
        return f"{head}\n{_shown(self.to_frame())}"


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """Random draws of several quantities, from a bootstrap or a posterior.

    Parameters
    ----------
    values : array-like of shape (n_draws, ...)
        Draws on the first axis.
    labels : tuple of pandas.Index
        One Index per further axis (a single Index is taken as one axis).
    kind : {"bootstrap", "posterior"}
        What the draws are draws of.

    Raises
    ------
    ValueError
        If the labels do not fit the axes or `kind` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> d = Draws(np.arange(10.0).reshape(5, 2), pd.Index(["a", "b"]), "bootstrap")
    >>> d.interval(0.5).low
    array([2., 3.])
    """

    values: np.ndarray
    labels: tuple
    kind: str

    def __post_init__(self):
        check_option("kind", self.kind, KINDS)
        values = np.array(self.values, dtype=float)
        labels = self.labels if isinstance(self.labels, tuple) else (self.labels,)
        labels = tuple(_index(label) for label in labels)
        if values.ndim != len(labels) + 1 or values.shape[1:] != tuple(map(len, labels)):
            raise ValueError(
                f"values have shape {values.shape}, but the labels describe "
                f"(n_draws, {', '.join(str(len(label)) for label in labels)})."
            )
        values.setflags(write=False)
        _set(self, "values", values)
        _set(self, "labels", labels)

    def interval(self, confidence_level=0.95):
        """Mean, standard deviation and equal-tailed quantiles of the draws.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Probability between the two quantiles.

        Returns
        -------
        Estimate
            One entry per quantity, labeled by the product of the axes.
        """
        check_confidence_level(confidence_level)
        alpha = 1 - confidence_level
        flat = self.values.reshape(len(self.values), -1)
        low, high = np.quantile(flat, [alpha / 2, 1 - alpha / 2], axis=0)
        one_axis = len(self.labels) == 1
        labels = self.labels[0] if one_axis else pd.MultiIndex.from_product(self.labels)
        spread = flat.std(axis=0, ddof=1) if len(flat) > 1 else np.full(len(labels), np.nan)
        return Estimate(
            value=flat.mean(axis=0),
            low=low,
            high=high,
            standard_error=spread,
            confidence_level=confidence_level,
            labels=labels,
            method=f"{self.kind} quantiles",
            guarantee="posterior" if self.kind == "posterior" else "model",
        )

    def __repr__(self):
        axes = " x ".join(str(len(label)) for label in self.labels)
        return f"Draws({self.kind}: {len(self.values)} draws of {axes} quantities)"


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimates with intervals, and what the intervals promise.

    Parameters
    ----------
    value, low, high, standard_error : array-like of shape (n_groups,)
        Estimate, ends of its interval and standard error, in score units; nan
        where they cannot be known.
    confidence_level : float
        Nominal level of the intervals.
    labels : pandas.Index of length n_groups
        One label per group.
    method : str
        Name of the method, as tables and plots print it.
    guarantee : {"each group", "average over groups", "posterior", "model", "none"}
        What the interval promises: coverage of every group, coverage on average
        over the groups, posterior probability, coverage if the model is right,
        or nothing.
    sample_size_ratio : SampleSizeRatio, default=None
        How many times the items direct estimates would need to be as precise:
        value, low and high. None where it is not known.

    Raises
    ------
    ValueError
        If lengths differ or `guarantee` is unknown.

    Notes
    -----
    ``first - second``, of two estimates with the same labels and level, is the
    Estimate of their differences, taken as independent: not for models that
    answered the same items, which `skbench.compare_models` compares.

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
    confidence_level: float
    labels: pd.Index
    method: str
    guarantee: str = "none"
    sample_size_ratio: SampleSizeRatio | None = None

    def __post_init__(self):
        check_option("guarantee", self.guarantee, GUARANTEES)
        _set(self, "labels", _index(self.labels))
        for name in _NUMBERS:
            _set(self, name, _column(getattr(self, name), name, len(self.labels)))

    def to_frame(self):
        """A pandas table: value, low, high, standard_error, method, guarantee."""
        names = (*_NUMBERS, "method", "guarantee")
        return pd.DataFrame({name: getattr(self, name) for name in names}, index=self.labels)

    def __len__(self):
        return len(self.labels)

    def __sub__(self, other):
        """Difference of two INDEPENDENT estimates on the same labels.

        Standard errors add in squares and the interval is normal; two estimates
        from the same items are not independent, and their difference needs a
        paired comparison instead.
        """
        if not isinstance(other, Estimate):
            return NotImplemented
        if not self.labels.equals(other.labels):
            raise ValueError(
                "The two estimates have different labels, so their difference is undefined. "
                "Reorder or select the same groups first."
            )
        if self.confidence_level != other.confidence_level:
            raise ValueError(
                f"The two estimates have confidence levels {self.confidence_level} and "
                f"{other.confidence_level}. Compute both at the same level."
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

    def __repr__(self):
        head = (
            f"Estimate of {len(self)} groups by {self.method}; "
            f"{100 * self.confidence_level:g} % intervals, guarantee: {self.guarantee}"
        )
        if self.sample_size_ratio is not None:
            head += f"; {self.sample_size_ratio}"
        return f"{head}\n{_shown(self.to_frame().drop(columns=['method', 'guarantee']))}"


def _set(frozen, name, value):
    object.__setattr__(frozen, name, value)


def _index(labels):
    """An Index as it is (pandas would flatten a MultiIndex), or one of the labels."""
    return labels if isinstance(labels, pd.Index) else pd.Index(labels)


def _column(values, name, length, dtype=float):
    """A read-only one-dimensional copy of the expected length."""
    column = np.array(values, dtype=dtype)
    if column.shape != (length,):
        raise ValueError(f"{name} has shape {column.shape}, but there are {length} labels.")
    column.setflags(write=False)
    return column


def _shown(frame):
    """The first rows of a table, rounded, and how many more there are."""
    text = frame.head(_ROWS_SHOWN).to_string(float_format=lambda x: f"{x:.4g}")
    more = len(frame) - _ROWS_SHOWN
    return f"{text}\n... and {more} more" if more > 0 else text
