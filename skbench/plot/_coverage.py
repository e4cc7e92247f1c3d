"""Coverage and width of the intervals of a study."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._types import Level, checked
from skbench.plot import _rows, _study, _style


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class CoverageDisplay(_study.StudyDisplay):
    """Coverage and width of the intervals of a study, side by side.

    Create it with :meth:`from_summary`.

    When not to use it: to show coverage without width, because an interval from 0 to 1 always
    covers.

    Parameters
    ----------
    legend : dict of str to str
        Name of each estimator, and the guarantee of its intervals.
    notes : list of str
        Notes on missing values.
    points : DataFrame
        Columns coverage and width_ratio, indexed by (row, estimator). Rows are the parts or data
        sets of the summary. Estimators without intervals are excluded.
    names : list of str
        All estimators of the table, in its order.
    confidence_level : float
        Nominal coverage.
    baseline : str
        Estimator to which widths are relative.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        Coverage and width. Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    RiskDisplay : Errors of the estimates.

    Notes
    -----
    The display follows Figure 4 of [1]_. Empirical Bayes intervals guarantee coverage on average
    over groups. In parts of the groups (``summary(by="truth")``), coverage may be below the nominal
    level.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> from skbench import CoverageDisplay, DirectEstimator, JamesStein
    >>> from skbench import RepeatedSamplingStudy, make_items
    >>> items = make_items(3, 10, 50, random_state=0).items
    >>> study = RepeatedSamplingStudy(
    ...     {"direct": DirectEstimator(), "JS": JamesStein()}, 10, 5, random_state=0)
    >>> display = CoverageDisplay.from_summary(study.run(items).summary(by="truth"))
    >>> display.legend["direct"]
    'direct (each group, on average over accuracies)'
    """

    confidence_level: float
    baseline: str
    ax_: np.ndarray = field(init=False)

    _n_other_lines = 2

    @classmethod
    def from_summary(
        cls, table: pd.DataFrame, *, baseline: str = "direct", confidence_level: Level = 0.95
    ) -> Self:
        """Create the display from the summary of a study.

        Parameters
        ----------
        table : DataFrame
            Result of ``RepeatedSamplingStudy.summary`` or ``summarize_studies``.
        baseline : str, default="direct"
            Estimator to which the summary is relative.
        confidence_level : float, default=0.95
            Nominal level of the study.

        Returns
        -------
        CoverageDisplay

        Raises
        ------
        ValueError
            If the table lacks a column, if its widths are relative to another estimator, or if no
            estimator has intervals.
        TypeError
            If `table` is not a DataFrame.
        """
        table = _study.checked_table(table, ["guarantee", "coverage", "width_ratio", "failed"])
        _study.check_baseline(table, "width_ratio", baseline)
        points = table[["coverage", "width_ratio"]].astype(float)
        covered = points["coverage"].notna().groupby("estimator", sort=False).any()
        if not covered.any():
            raise ValueError("No estimator of the table has intervals. Include one that has.")
        bare = list(covered.index[~covered])
        notes = [f"{name}: no intervals" for name in bare] + _study.failure_notes(table)
        points = points.drop(index=bare, level="estimator")
        for column, what in (("coverage", "coverage"), ("width_ratio", "relative width")):
            notes += _study.gap_notes(np.isfinite(points[column]), what)
        guarantee = table["guarantee"].dropna().groupby("estimator", sort=False).first()
        legend = {
            name: f"{name} ({_rows.in_words(guarantee[name])})"
            for name in points.index.unique("estimator")
        }
        return cls(
            points=points,
            legend=legend,
            notes=notes,
            names=list(table.index.unique("estimator")),
            confidence_level=confidence_level,
            baseline=baseline,
        )

    def plot(self, ax: ArrayLike | None = None) -> Self:
        """Draw coverage on the left and width on the right, with common rows.

        Parameters
        ----------
        ax : array-like of two matplotlib Axes, default=None
            Axes to draw on. By default a new figure is created.

        Returns
        -------
        self : CoverageDisplay
            The display, with `ax_` and `figure_` set.

        Raises
        ------
        ValueError
            If `ax` does not have two axes.
        ImportError
            If matplotlib is not installed.
        """
        panels = [None, None] if ax is None else list(np.ravel(ax))
        if len(panels) != 2:
            raise ValueError(
                f"ax must contain two axes, for coverage and width, got {len(panels)}. Use "
                "plt.subplots(1, 2)."
            )
        self.ax_ = self._fitting(panels)._drawn(panels)
        self.figure_ = self.ax_[0].figure
        return self

    def _drawn(self, panels):
        """Draw everything, and return both axes."""
        names = self._names()
        left, right = self._new_axes() if panels[0] is None else panels
        _style.dress_rows(left, names, self._limits(), "coverage")
        left.axvline(self.confidence_level, color=_style.INK, linewidth=1.1, zorder=2)
        handles = self._draw_marks(left, "coverage")
        limits = _style.x_limits(np.append(self.points["width_ratio"], [0.5, 1.1]))
        _style.dress_rows(right, [""] * len(names), limits, f"width relative to {self.baseline}")
        right.xaxis.label.set_parse_math(False)
        right.axvline(1, color=_style.INK, linewidth=1.1, zorder=2)
        self._draw_marks(right, "width_ratio")
        notes = [f"line on the left: nominal {100 * self.confidence_level:g}%", *self.notes]
        _style.draw_heading(left, handles, self._texts(), notes, may_run_on=True)
        return np.array([left, right])

    def _limits(self):
        """Limits of the axis of coverage."""
        low = np.nanmin(np.append(self.points["coverage"], self.confidence_level - 0.1))
        return max(low - 0.03, -0.02), 1.012

    def _new_axes(self):
        """Two axes of a new figure that fits the rows and the text."""
        ax = super()._new_axes()
        figure = ax.figure
        figure.set_figwidth(figure.get_figwidth() + 2.6)
        ax.remove()
        return figure.subplots(1, 2, width_ratios=[3, 2])
