"""How large the errors of estimators are, relative to the direct estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import pandas as pd

from skbench._checks import check_confidence_level, check_option
from skbench.plot import _study_rows, _style
from skbench.stats.intervals.means import normal_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_VALUES = ("mse_ratio", "small", "large", "width_ratio")
_MOST_POWERS = 10  # of ten, on the axis
_LEAST_RANGE = 1.5  # of the axis, so that equal estimators do not look far apart


class RiskDisplay:
    """Mean squared errors of a study, relative to the direct estimator.

    Make it with :meth:`from_summary`, which computes everything to be drawn and
    needs no matplotlib; :meth:`plot` only draws.

    When not to use it: to rank estimators whose whiskers overlap widely; let the
    study run longer.

    Parameters
    ----------
    points : DataFrame
        What is drawn, see `points_`.
    notes : list of str
        What the reader must be told.
    names : list of str
        All estimators of the table, in its order.
    xlabel : str
        Name of the axis.

    Attributes
    ----------
    points_ : DataFrame
        Indexed by (row, estimator): ratio, low, high. Rows are the parts or data
        sets of the summary; low and high are nan where there is no standard error.
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    CoverageDisplay : Coverage and width of the intervals.

    Notes
    -----
    Figures 2, 3 and 7 of [1]_: over data sets with the table of
    ``summarize_studies``, over sizes with ``study.summary(by="n")``.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> from skbench import DirectEstimator, JamesStein, RepeatedSamplingStudy
    >>> from skbench import RiskDisplay, make_items
    >>> items = make_items(3, 10, 50, random_state=0).items
    >>> study = RepeatedSamplingStudy(
    ...     {"direct": DirectEstimator(), "JS": JamesStein()}, 10, 5, random_state=0)
    >>> display = RiskDisplay.from_summary(study.run(items).summary(by="model"))
    >>> display.points_.index.tolist()[:2]
    [('model-0', 'JS'), ('model-1', 'JS')]
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self, *, points: pd.DataFrame, notes: Sequence[str], names: Sequence[str], xlabel: str
    ) -> None:
        self.points_ = points
        self.notes = notes
        self.names = names
        self.xlabel = xlabel

    @classmethod
    def from_summary(
        cls,
        table: pd.DataFrame,
        *,
        value: Literal["mse_ratio", "small", "large", "width_ratio"] = "mse_ratio",
        baseline: str = "direct",
        confidence_level: float = 0.95,
    ) -> Self:
        """Compute what is drawn from a summary.

        Parameters
        ----------
        table : DataFrame
            What ``RepeatedSamplingStudy.summary`` or ``summarize_studies`` returned.
        value : {"mse_ratio", "small", "large", "width_ratio"}, default="mse_ratio"
            Column to draw. Only "mse_ratio" has whiskers.
        baseline : str, default="direct"
            The estimator that the summary is relative to; it is the line at 1.
        confidence_level : float, default=0.95
            Level of the whiskers: the uncertainty from the number of repetitions.

        Returns
        -------
        RiskDisplay

        Raises
        ------
        ValueError
            If the table has not the columns or the baseline, is relative to another
            one, or has nothing beside it.
        TypeError
            If it is no frame.
        """
        check_option("value", value, _VALUES)
        check_confidence_level(confidence_level)
        table = _study_rows.checked_table(table, [value, "standard_error", "failed"])
        shown = _study_rows.without(table, [baseline])
        if not len(shown):
            raise ValueError(f"The table holds nothing to compare with {baseline!r}.")
        _study_rows.check_baseline(table, value, baseline)
        points = shown[[value]].astype(float).set_axis(["ratio"], axis=1)
        has_error = value == "mse_ratio"
        error = shown["standard_error"].astype(float) if has_error else np.nan
        points["low"], points["high"] = normal_interval(points["ratio"], error, confidence_level)
        verdict = "narrower intervals" if value == "width_ratio" else "better"
        notes = [f"left of 1: {verdict} than {baseline}"]
        if points["low"].notna().any():
            notes[0] += f"; whiskers: {100 * confidence_level:g} % over repetitions"
        drawn = np.isfinite(points["ratio"]) & (points["ratio"] > 0)
        notes += _study_rows.gap_notes(drawn, "finite ratio above 0")
        what = "interval width" if value == "width_ratio" else "mean squared error"
        among = {"small": ", at most 15 items", "large": ", more than 15 items"}.get(value, "")
        return cls(
            points=points,
            notes=notes + _study_rows.failure_notes(table),
            names=list(table.index.unique("estimator")),
            xlabel=f"{what} relative to {baseline}{among}",
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the ratios on a logarithmic axis.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; rows that they are too low for are left out, and a note says so. By
            default a new figure is made, as high as the rows need.

        Returns
        -------
        self : RiskDisplay
            With `ax_` and `figure_` set.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        points, left_out = _study_rows.fitting([ax], self.points_, len(self.notes))
        names, texts = _study_rows.row_names(points), list(points.index.unique(1))
        notes, height = [*self.notes, *left_out], _study_rows.row_height(len(texts))
        ax = _style.row_axes(ax, names, [""], texts + notes, height)
        ax.set_xscale("log")
        _style.dress_rows(ax, names, _limits(points), self.xlabel)
        ax.xaxis.label.set_parse_math(False)
        _dress_ratios(ax)
        ax.axvline(1, color=_style.INK, linewidth=1.1, zorder=2)
        ends = points[["low", "high"]]
        handles = _study_rows.draw_marks(ax, points["ratio"], self.names, ends)
        _style.draw_heading(ax, handles, texts, notes)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _limits(points):
    drawn = np.append(points.to_numpy().ravel(), 1.0)
    drawn = drawn[np.isfinite(drawn) & (drawn > 0)]
    low, high = drawn.min(), drawn.max()
    missing = max(_LEAST_RANGE / (high / low), 1.0) ** 0.5
    padding = 1.08 * missing
    return low / padding, high * padding


def _dress_ratios(ax):
    """Plain numbers at 1, 2 and 5 times powers of ten, more or fewer as there is room."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    low, high = ax.get_xlim()
    first, last = np.floor(np.log10([low, high])).astype(int)
    steps = (1, 2, 5) if high / low > 8 else (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
    steps = steps if high / low <= 1000 else (1,)
    every = 1 + (last - first) // _MOST_POWERS
    powers = [power for power in range(first, last + 1) if power % every == 0]
    ticks = [step * 10.0**power for power in powers for step in steps]
    ticks = [tick for tick in ticks if low <= tick <= high]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter(lambda tick, _: f"{tick:g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
