"""Common parts of the plots of studies: one row per part, with one mark per estimator."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._checks import require_columns
from skbench.plot import _rows, _style
from skbench.plot._display import Display

_COLORS = (_style.INK, *_style.COLORS, _style.MUTED)
# Markers make the plot legible in gray. There is one more marker than colors, so that only the 57th
# estimator looks like another one.
_MARKERS = "osD^vPX<"
_SPREAD = 0.62  # share of the height of a row for its marks


def checked_table(table, columns):
    """A summary indexed by (row, estimator); a summary without parts gets one unnamed row."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"The table is of type {type(table).__name__}. Pass the summary() of a study."
        )
    require_columns(table.columns, columns, what="The table")
    if table.index.names[-1] != "estimator" or table.index.nlevels > 2 or not len(table):
        raise ValueError(
            "The table must be nonempty and indexed by estimator, or by a part and estimator. Its "
            f"index is {list(table.index.names)} with {len(table)} rows."
        )
    if table.index.nlevels == 1:
        table = pd.concat({"": table}, names=["part"])
    return table


def check_baseline(table, column, baseline):
    """Raise an error if the ratios of the baseline are in the table and not 1."""
    own = table.loc[table.index.get_level_values("estimator") == baseline, column].astype(float)
    off = own[own.notna() & ~np.isclose(own, 1)]
    if len(off):
        raise ValueError(
            f"The table is not relative to {baseline!r}, because its {column} is {off.iloc[0]:g}. "
            f"Use summary(..., baseline={baseline!r}), or pass the baseline of the table."
        )


def gap_notes(known, what):
    """Notes on the estimators that lack marks, and in how many rows."""
    counts = (~known).groupby("estimator", sort=False).agg(["sum", "size"])
    return [
        f"{name}: no {what} in {missing} of {n_rows} rows"
        for name, missing, n_rows in counts.itertuples()
        if missing
    ]


def failure_notes(table):
    """Notes on the estimators that failed, and how often."""
    counts = table["failed"].dropna().astype(int).groupby("estimator", sort=False)
    # Rows may be parts of one study, which lack the same repetitions, or different studies.
    of_rows = " of each row" if table.index.unique(0).size > 1 else ""
    return [
        f"{name}: failed in {_span(failed)} repetitions{of_rows}, which are skipped"
        for name, failed in counts
        if failed.max() > 0
    ]


def _span(counts):
    """Smallest to largest of some counts."""
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


@dataclass(kw_only=True, eq=False, repr=False)
class StudyDisplay(Display):
    """Plot with a row per part or data set, and a mark for each estimator of the legend."""

    points: pd.DataFrame
    names: Sequence[str]

    _row_inches = 0.16, 0.085

    def _names(self):
        """Names of the parts or data sets."""
        return _rows.row_names(self.points.index.unique(0))

    def _part(self, rows):
        """A copy with some of the rows."""
        part = copy(self)
        kept = self.points.index.unique(0)[rows]
        part.points = self.points[self.points.index.isin(kept, level=0)]
        return part

    def _draw_marks(self, ax, column, ends=None):
        """Draw one mark per row and estimator, with lines to `ends`; return the handles."""
        values, rows = self.points[column], self.points.index.unique(0)
        ax.hlines(np.arange(1, len(rows)) - 0.5, *ax.get_xlim(), color=_style.GRID, linewidth=0.6)
        n_marks = self._n_marks()
        offsets = np.linspace(-0.5, 0.5, n_marks) * _SPREAD if n_marks > 1 else [0.0]
        handles = []
        for name, offset in zip(self.legend, offsets, strict=True):
            # An estimator has the same color and marker in every plot.
            place = list(self.names).index(name)
            look = {
                "color": _COLORS[place % len(_COLORS)],
                "marker": _MARKERS[place % len(_MARKERS)],
                "linestyle": "none",
            }
            at = rows.get_indexer(values.xs(name, level=1).index) + offset
            if ends is not None:
                low, high = (self.points[end].xs(name, level=1) for end in ends)
                ax.hlines(at, low, high, color=look["color"], linewidth=1.1, zorder=3)
            ax.plot(values.xs(name, level=1), at, markersize=4.6, zorder=4, **look)
            (handle,) = ax.plot([], [], markersize=5, **look)
            handles.append(handle)
        return handles
