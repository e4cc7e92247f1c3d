"""What pictures of studies share: a row per part, in it a mark per estimator."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._checks import require_columns
from skbench.plot import _rows, _style
from skbench.plot._display import Display

_COLORS = (_style.INK, *_style.COLORS, _style.MUTED)
# Shapes as well as colors, so that the picture reads in gray; one more than there are colors,
# so that only the 57th estimator looks like another one.
_MARKERS = "osD^vPX<"
_SPREAD = 0.62  # of a row's height, shared by its marks


def checked_table(table, columns):
    """A summary indexed by (row, estimator); the row of a plain summary has an empty name."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"The table is of type {type(table).__name__}. Pass what summary() of a study returns."
        )
    require_columns(table.columns, columns, what="The table")
    if table.index.names[-1] != "estimator" or table.index.nlevels > 2 or not len(table):
        raise ValueError(
            "The table must be indexed by estimator, or by a part and estimator, and not be "
            f"empty; its index is {list(table.index.names)} with {len(table)} rows."
        )
    if table.index.nlevels == 1:
        table = pd.concat({"": table}, names=["part"])
    return table


def check_baseline(table, column, baseline):
    """Refuse a table with ratios of the baseline, where it is in it, that are not 1."""
    own = table.loc[table.index.get_level_values("estimator") == baseline, column].astype(float)
    off = own[own.notna() & ~np.isclose(own, 1)]
    if len(off):
        raise ValueError(
            f"The table is not relative to {baseline!r}, whose {column} in it is {off.iloc[0]:g}. "
            f"Make it with summary(..., baseline={baseline!r}), or name the baseline it has."
        )


def gap_notes(known, what):
    """Which estimators lack marks, and in how many rows."""
    counts = (~known).groupby("estimator", sort=False).agg(["sum", "size"])
    return [
        f"{name}: no {what} in {missing} of {n_rows} rows"
        for name, missing, n_rows in counts.itertuples()
        if missing
    ]


def failure_notes(table):
    """Which estimators failed, and how often."""
    counts = table["failed"].dropna().astype(int).groupby("estimator", sort=False)
    # Rows may be parts of one study, which all miss the same repetitions, or studies.
    of_rows = " of each row" if table.index.unique(0).size > 1 else ""
    return [
        f"{name}: failed in {_span(failed)} repetitions{of_rows}, which are left out"
        for name, failed in counts
        if failed.max() > 0
    ]


def _span(counts):
    """The lowest to the highest of some counts."""
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


@dataclass(kw_only=True, eq=False, repr=False)
class StudyDisplay(Display):
    """A row per part or data set, in it a mark for each estimator of the legend."""

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
        """Draw one mark per row and estimator, with whiskers to `ends`; returns the handles."""
        values, rows = self.points[column], self.points.index.unique(0)
        ax.hlines(np.arange(1, len(rows)) - 0.5, *ax.get_xlim(), color=_style.GRID, linewidth=0.6)
        n_marks = self._n_marks()
        offsets = np.linspace(-0.5, 0.5, n_marks) * _SPREAD if n_marks > 1 else [0.0]
        handles = []
        for name, offset in zip(self.legend, offsets, strict=True):
            # The look of an estimator is the same in every picture, drawn or not.
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
