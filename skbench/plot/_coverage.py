"""How often intervals hold the truth, and how wide they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_confidence_level
from skbench.plot import _study_rows, _style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PHRASES = {"none": "no guarantee", "model": "if the model holds"}


class CoverageDisplay:
    """Coverage and width of the intervals of a study, side by side.

    Make it with :meth:`from_summary`, which computes everything to be drawn and
    needs no matplotlib; :meth:`plot` only draws.

    When not to use it: coverage alone says nothing. An interval from 0 to 1 always
    covers; read both panels.

    Parameters
    ----------
    points : DataFrame
        What is drawn, see `points_`.
    legend : dict of str to str
        For each estimator its name and what its intervals promise.
    notes : list of str
        What the reader must be told.
    names : list of str
        All estimators of the table, in its order.
    confidence_level : float
        Nominal level.
    baseline : str
        The estimator that widths are relative to.

    Attributes
    ----------
    points_ : DataFrame
        Indexed by (row, estimator): coverage, width_ratio. Rows are the parts or
        data sets of the summary. Estimators without intervals are left out.
    ax_ : ndarray of two matplotlib Axes
        Coverage and width. Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    RiskDisplay : Errors of the estimates.

    Notes
    -----
    Figure 4 of [1]_. Empirical Bayes intervals promise coverage on average over
    groups: over parts of the groups (``summary(by="truth")``) it may fall below
    the nominal level and the promise still be kept. The legend says which promise
    each estimator makes.

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

    ax_: np.ndarray
    figure_: Figure

    def __init__(
        self,
        *,
        points: pd.DataFrame,
        legend: Mapping[str, str],
        notes: Sequence[str],
        names: Sequence[str],
        confidence_level: float,
        baseline: str,
    ) -> None:
        self.points_ = points
        self.legend = legend
        self.notes = notes
        self.names = names
        self.confidence_level = confidence_level
        self.baseline = baseline

    @classmethod
    def from_summary(
        cls, table: pd.DataFrame, *, baseline: str = "direct", confidence_level: float = 0.95
    ) -> Self:
        """Compute what is drawn from a summary.

        Parameters
        ----------
        table : DataFrame
            What ``RepeatedSamplingStudy.summary`` or ``summarize_studies`` returned.
        baseline : str, default="direct"
            The estimator that the summary is relative to.
        confidence_level : float, default=0.95
            Nominal level of the study.

        Returns
        -------
        CoverageDisplay

        Raises
        ------
        ValueError
            If the table lacks a column, its widths are relative to another estimator
            than the baseline, or no estimator has intervals.
        TypeError
            If it is no frame.
        """
        check_confidence_level(confidence_level)
        table = _study_rows.checked_table(table, ["guarantee", "coverage", "width_ratio", "failed"])
        _study_rows.check_baseline(table, "width_ratio", baseline)
        points = table[["coverage", "width_ratio"]].astype(float)
        covered = points["coverage"].notna().groupby("estimator", sort=False).any()
        if not covered.any():
            raise ValueError("No estimator of the table has intervals, so nothing can cover.")
        bare = list(covered.index[~covered])
        notes = [f"{name}: no intervals" for name in bare] + _study_rows.failure_notes(table)
        points = points.drop(index=bare, level="estimator")
        for column, what in (("coverage", "coverage"), ("width_ratio", "relative width")):
            notes += _study_rows.gap_notes(np.isfinite(points[column]), what)
        promise = table["guarantee"].dropna().groupby("estimator", sort=False).first()
        legend = {
            name: f"{name} ({_PHRASES.get(promise[name], promise[name])})"
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
        """Draw coverage on the left and width on the right, rows in common.

        Parameters
        ----------
        ax : array-like of two matplotlib Axes, default=None
            Axes to draw on; rows that they are too low for are left out, and a note says so. By
            default a new figure is made, as high as the rows need.

        Returns
        -------
        self : CoverageDisplay
            With `ax_` and `figure_` set.

        Raises
        ------
        ValueError
            If `ax` is not two.
        ImportError
            If matplotlib is not installed.
        """
        panels = [None, None] if ax is None else list(np.ravel(ax))
        if len(panels) != 2:
            raise ValueError(
                f"ax must be two, one for coverage and one for width, got {len(panels)}. "
                "plt.subplots(1, 2) makes them."
            )
        texts = list(self.legend.values())
        notes = [f"line on the left: the nominal {100 * self.confidence_level:g} %", *self.notes]
        points, left_out = _study_rows.fitting(panels, self.points_, len(notes))
        names = _study_rows.row_names(points)
        notes += left_out
        left, right = _panels(names, texts + self.notes) if ax is None else panels
        _style.dress_rows(left, names, self._coverage_limits(), "coverage")
        left.axvline(self.confidence_level, color=_style.INK, linewidth=1.1, zorder=2)
        handles = _study_rows.draw_marks(left, points["coverage"], self.names)
        width = points["width_ratio"]
        _style.dress_rows(
            right, [""] * len(names), _style.x_limits(np.append(width, [0.5, 1.1])),
            f"width relative to {self.baseline}",
        )  # fmt: skip
        right.xaxis.label.set_parse_math(False)
        right.axvline(1, color=_style.INK, linewidth=1.1, zorder=2)
        _study_rows.draw_marks(right, width, self.names)
        _style.draw_heading(left, handles, texts, notes, may_run_on=True)
        self.ax_, self.figure_ = np.array([left, right]), left.figure
        return self

    def _coverage_limits(self):
        low = np.nanmin(np.append(self.points_["coverage"], self.confidence_level - 0.1))
        return max(low - 0.03, -0.02), 1.012


def _panels(names, texts):
    ax = _style.row_axes(None, names, [""], texts, _study_rows.row_height(len(texts)))
    figure = ax.figure
    figure.set_figwidth(figure.get_figwidth() + 2.6)
    ax.remove()
    return figure.subplots(1, 2, width_ratios=[3, 2])
