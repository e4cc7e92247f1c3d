"""Estimates of single groups over repeated samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from skbench._checks import check_option, require_columns
from skbench._types import Count, Labels, checked
from skbench.plot import _rows, _style
from skbench.plot._display import Display

_ESTIMATES = ["repetition", "estimator", "estimate", "truth"]
_NOT_LABELS = (*_ESTIMATES, "n", "low", "high", "guarantee")
_COLORS = (_style.MUTED, *_style.COLORS[:4])
_MARKERS = "oD^s"  # in turn, if there are more estimators than colors
_PALEST, _DOTS_AT_FULL_INK = 0.12, 12


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class SamplingDisplay(Display):
    """Estimates of single groups over many samples, compared with the true values.

    Create it with :meth:`from_results`.

    When not to use it: to judge an estimator by the few groups that are drawn. The summary of the
    study includes all groups.

    Parameters
    ----------
    legend : dict of str to str
        Names of the estimators.
    notes : list of str
        Number of samples, and notes on groups that are not drawn and missing samples.
    estimates : dict of str to DataFrame of shape (n_rows, n_repetitions)
        Estimates by name of the estimator, with one row per group, indexed by label. They are nan
        if a group got no items or the estimator failed.
    truth : ndarray of shape (n_rows,)
        True value of each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    RiskDisplay : Errors over all groups.

    Notes
    -----
    The display follows Figure 6 of [1]_. Each dot is a sample, the long tick is the true value, and
    the short tick is the mean over samples. The distance between the ticks is the bias, and the
    variation of the dots is the variance.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> from skbench import DirectEstimator, JamesStein, RepeatedSamplingStudy
    >>> from skbench import SamplingDisplay, make_items
    >>> items = make_items(3, 10, 50, random_state=0).items
    >>> study = RepeatedSamplingStudy(
    ...     {"direct": DirectEstimator(), "JS": JamesStein()}, 10, 20, random_state=0)
    >>> display = SamplingDisplay.from_results(study.run(items).results_, max_rows=5)
    >>> display.estimates["JS"].shape
    (5, 20)
    """

    estimates: Mapping[str, pd.DataFrame]
    truth: np.ndarray

    _by_row = ("estimates", "truth")
    _row_inches = 0.12, 0.14

    @classmethod
    def from_results(
        cls,
        results: pd.DataFrame,
        *,
        estimators: Sequence[str] | None = None,
        labels: Labels | None = None,
        max_rows: Count = 10,
    ) -> Self:
        """Create the display from the results of a study.

        Parameters
        ----------
        results : DataFrame
            ``RepeatedSamplingStudy.results_``.
        estimators : list of str, default=None
            Estimators to draw. By default all estimators are drawn.
        labels : array-like of labels, default=None
            Groups to draw, as tuples if there are several label columns. By default all groups are
            drawn.
        max_rows : int, default=10
            Maximum number of rows. If there are more groups, evenly spaced ones in the order of
            their true values are drawn and a note reports it.

        Returns
        -------
        SamplingDisplay

        Raises
        ------
        ValueError
            If a column, estimator or label is missing, if there is no estimate, or if a group has
            two estimates in one repetition.
        TypeError
            If `results` is not a DataFrame.
        """
        by = _label_columns(results)
        known = list(pd.unique(results["estimator"]))
        names = known if estimators is None else list(estimators)
        if not names:
            raise ValueError("estimators is empty. Pass at least one, or omit estimators.")
        for name in names:
            check_option("estimators", name, known)
        rows = results.astype({name: object for name in by})
        truth = rows.groupby(by)["truth"].first().sort_values(ascending=False, kind="stable")
        asked = np.sort(_rows.positions(truth.index, labels))
        shown = asked[np.unique(np.linspace(0, len(asked) - 1, max_rows).round().astype(int))]
        notes = _rows.selection_note(
            len(shown), len(asked), len(truth), "evenly spaced by true value"
        )
        notes += _sample_notes(results, estimators)
        truth = truth.iloc[shown]
        tables = {
            name: rows[rows["estimator"] == name]
            .pivot(index=by, columns="repetition", values="estimate")
            .reindex(truth.index)
            for name in names
        }
        return cls(
            estimates=tables,
            truth=truth.to_numpy(),
            legend={name: str(name) for name in names},
            notes=notes,
        )

    def _names(self):
        """Names of the rows."""
        return _rows.row_names(next(iter(self.estimates.values())).index)

    def _texts(self):
        """Lines of the legend."""
        return [*super()._texts(), "true value"]

    def _limits(self):
        """Limits of the axis."""
        drawn = [table.to_numpy().ravel() for table in self.estimates.values()]
        return _style.x_limits(np.concatenate([*drawn, self.truth]))

    def _draw_rows(self, ax):
        """Draw dots, means and true values; return the legend handles."""
        n_lanes = len(self.estimates)
        lanes = (np.arange(n_lanes) - (n_lanes - 1) / 2) * 0.8 / n_lanes
        handles = [
            _draw_lane(ax, table, lane, _look(i), 0.32 / n_lanes)
            for i, (table, lane) in enumerate(zip(self.estimates.values(), lanes, strict=True))
        ]
        return [*handles, _style.draw_truth(ax, self.truth, half_height=0.44)]


def _label_columns(results):
    """Columns that identify groups, after checking the table."""
    if not isinstance(results, pd.DataFrame):
        raise TypeError(
            f"results is of type {type(results).__name__}. Pass the results_ of a finished study."
        )
    require_columns(results.columns, _ESTIMATES, what="The table of results")
    if not len(results):
        raise ValueError("The table of results has no rows.")
    by = [name for name in results.columns if name not in _NOT_LABELS]
    twice = results.duplicated(["repetition", "estimator", *by])
    if twice.any():
        row = results.loc[twice, ["estimator", *by]].astype(str).iloc[0]
        raise ValueError(
            f"Estimator {row['estimator']!r} has more than one estimate of "
            f"{_rows.joined(row[by])!r} in one repetition. Pass the results of one study."
        )
    return by


def _sample_notes(results, estimators):
    """Number of samples, and the estimators (all if None) that lack some of them."""
    n_samples = results["repetition"].nunique()
    # An estimator that always failed remains as a category without rows.
    counts = results.groupby("estimator", observed=False, sort=False)["repetition"].nunique()
    counts = counts if estimators is None else counts[list(estimators)]
    few = counts[counts < n_samples]
    return [
        f"{n_samples} sample{'s' * (n_samples > 1)}, one dot each",
        *(f"{name}: only {count} of the samples" for name, count in few[few > 0].items()),
        *(f"{name}: no samples, not drawn" for name in few.index[few == 0]),
    ]


def _look(place):
    """Color and marker of an estimator."""
    turn, color = divmod(place, len(_COLORS))
    return {"color": _COLORS[color], "marker": _MARKERS[turn % len(_MARKERS)]}


def _draw_lane(ax, table, lane, look, half_height):
    """Draw dots of one estimator and ticks at their means; return the legend handle."""
    at = np.arange(len(table)) + lane
    y = np.repeat(at, table.shape[1])
    alpha = float(np.clip(_DOTS_AT_FULL_INK / table.shape[1], _PALEST, 1))
    look = {**look, "linestyle": "none", "markeredgewidth": 0}
    ax.plot(table.to_numpy().ravel(), y, markersize=4, alpha=alpha, zorder=3, **look)
    mean = table.mean(axis=1).to_numpy()
    ends = at - half_height, at + half_height
    ax.vlines(mean, *ends, color=look["color"], linewidth=2.2, zorder=5)
    (handle,) = ax.plot([], [], markersize=5, **look)
    return handle
