"""Errors of estimators relative to the direct estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from skbench._types import Level, checked
from skbench.plot import _study, _style
from skbench.stats.intervals.means import normal_interval

_MOST_POWERS = 10  # maximum number of powers of ten on the axis
_LEAST_RANGE = 1.5  # minimum range of the axis, so that equal estimators do not look different


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class RiskDisplay(_study.StudyDisplay):
    """Mean squared errors of a study, relative to the direct estimator.

    Create it with :meth:`from_summary`.

    When not to use it: to rank estimators whose intervals overlap widely. Run more repetitions of
    the study first.

    Parameters
    ----------
    legend : dict of str to str
        Names of the estimators that are drawn.
    notes : list of str
        How to read the ratios, and notes on missing values.
    points : DataFrame
        Columns ratio, low and high, indexed by (row, estimator). Rows are the parts or data sets of
        the summary. If there is no standard error, low and high are nan.
    names : list of str
        All estimators of the table, in its order.
    xlabel : str
        Label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    CoverageDisplay : Coverage and width of the intervals.

    Notes
    -----
    The display follows Figures 2, 3 and 7 of [1]_. For rows by data set, use the table of
    ``summarize_studies``. For rows by group size, use ``study.summary(by="n")``.

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
    >>> display.points.index.tolist()[:2]
    [('model-0', 'JS'), ('model-1', 'JS')]
    """

    xlabel: str

    @classmethod
    def from_summary(
        cls,
        table: pd.DataFrame,
        *,
        baseline: str = "direct",
        confidence_level: Level = 0.95,
    ) -> Self:
        """Create the display from the summary of a study.

        Parameters
        ----------
        table : DataFrame
            Result of ``RepeatedSamplingStudy.summary`` or ``summarize_studies``.
        baseline : str, default="direct"
            Estimator to which the summary is relative, drawn as the line at 1.
        confidence_level : float, default=0.95
            Confidence level of the intervals, over repetitions of the study.

        Returns
        -------
        RiskDisplay

        Raises
        ------
        ValueError
            If the table lacks columns or the baseline, if it is relative to another estimator, or
            if it has no other estimator.
        TypeError
            If `table` is not a DataFrame.
        """
        table = _study.checked_table(table, ["mse_ratio", "standard_error", "failed"])
        known = table.index.unique("estimator")
        if baseline not in known:
            raise ValueError(
                f"baseline={baseline!r}, but the table has {', '.join(map(repr, known))}."
            )
        shown = table.drop(index=baseline, level="estimator")
        if not len(shown):
            raise ValueError(f"The table has no estimator to compare with {baseline!r}.")
        _study.check_baseline(table, "mse_ratio", baseline)
        points = shown[["mse_ratio"]].astype(float).set_axis(["ratio"], axis=1)
        error = shown["standard_error"].astype(float)
        points["low"], points["high"] = normal_interval(points["ratio"], error, confidence_level)
        notes = [f"below 1: better than {baseline}"]
        if points["low"].notna().any():
            notes[0] += f"; lines: {100 * confidence_level:g}% interval over repetitions"
        drawn = np.isfinite(points["ratio"]) & (points["ratio"] > 0)
        notes += _study.gap_notes(drawn, "finite ratio above 0")
        return cls(
            points=points,
            notes=notes + _study.failure_notes(table),
            names=list(known),
            legend={name: str(name) for name in points.index.unique("estimator")},
            xlabel=f"mean squared error relative to {baseline}",
        )

    @property
    def _xlabel(self):
        """Label of the axis."""
        return self.xlabel

    def _limits(self):
        """Limits of the logarithmic axis, which include 1 and have a minimum range."""
        drawn = np.append(self.points.to_numpy().ravel(), 1.0)
        drawn = drawn[np.isfinite(drawn) & (drawn > 0)]
        low, high = drawn.min(), drawn.max()
        padding = 1.08 * max(_LEAST_RANGE / (high / low), 1.0) ** 0.5
        return low / padding, high * padding

    def _draw_rows(self, ax):
        """Draw the line at 1 and the ratios on a logarithmic axis; return the legend handles."""
        ax.set_xscale("log")
        ax.xaxis.label.set_parse_math(False)
        _dress_ratios(ax)
        ax.axvline(1, color=_style.INK, linewidth=1.1, zorder=2)
        return self._draw_marks(ax, "ratio", ("low", "high"))


def _dress_ratios(ax):
    """Set plain numbers as ticks (1, 2 and 5 times powers of ten), depending on the range."""
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
