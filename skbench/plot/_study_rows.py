"""What pictures of studies share: a row per part, in it a mark per estimator."""

import numpy as np
import pandas as pd

from skbench._checks import require_columns
from skbench.plot import _style

_COLORS = (
    _style.INK,
    _style.BLUE,
    _style.VERMILLION,
    _style.GREEN,
    _style.PURPLE,
    _style.ORANGE,
    _style.MUTED,
)
# Shapes as well as colors, so that the picture reads in gray; one more than there are colors,
# so that only the 57th estimator looks like another one.
_MARKERS = "osD^vPX<"
_SPREAD = 0.62  # of a row's height, shared by its marks


def checked_table(table, columns):
    """A summary as rows by estimators, whether it has one level of index or two.

    Parameters
    ----------
    table : DataFrame
        What ``RepeatedSamplingStudy.summary`` or `summarize_studies` returned.
    columns : list of str
        Columns that are going to be drawn.

    Returns
    -------
    DataFrame
        Indexed by (row, estimator); the row of a plain summary has an empty name.

    Raises
    ------
    TypeError
        If it is no frame.
    ValueError
        If the index or a column is missing, or the table is empty.
    """
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


def without(table, estimators):
    """The table without some estimators, after checking that they are there."""
    known = table.index.unique("estimator")
    for name in estimators:
        if name not in known:
            raise ValueError(
                f"There is no estimator {name!r} to hide, only {', '.join(map(repr, known))}."
            )
    return table.drop(index=list(estimators), level="estimator")


def check_baseline(table, column, baseline):
    """Refuse a table whose ratios are relative to another estimator.

    Parameters
    ----------
    table : DataFrame
        Indexed by (row, estimator).
    column : str
        Name of a column of ratios, which are 1 for the baseline, or nan.
    baseline : str
        The estimator that the picture will name.

    Raises
    ------
    ValueError
        If they are not 1. A table without the baseline cannot be told.
    """
    own = table.loc[table.index.get_level_values("estimator") == baseline, column].astype(float)
    off = own[own.notna() & ~np.isclose(own, 1)]
    if len(off):
        raise ValueError(
            f"The table is not relative to {baseline!r}, whose {column} in it is {off.iloc[0]:g}. "
            f"Make it with summary(..., baseline={baseline!r}), or name the baseline it has."
        )


def gap_notes(known, what):
    """Say which estimators lack marks, and in how many rows; a list of 0 or more lines.

    Parameters
    ----------
    known : Series of bool indexed by (row, estimator)
        Which marks can be drawn.
    what : str
        What the others lack.
    """
    counts = (~known).groupby("estimator", sort=False).agg(["sum", "size"])
    return [
        f"{name}: no {what} in {missing} of {n_rows} rows"
        for name, missing, n_rows in counts.itertuples()
        if missing
    ]


def failure_notes(table):
    """Say which estimators failed, and how often; a list of 0 or more lines.

    Rows may be parts of one study, which all miss the same repetitions, or studies.
    """
    counts = table["failed"].dropna().astype(int).groupby("estimator", sort=False)
    of_rows = " of each row" if table.index.unique(0).size > 1 else ""
    return [
        f"{name}: failed in {_span(failed)} repetitions{of_rows}, which are left out"
        for name, failed in counts
        if failed.max() > 0
    ]


def _span(counts):
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


def fitting(axes, points, n_lines):
    """The points of the rows that the caller's axes have the height for.

    Parameters
    ----------
    axes : list of matplotlib Axes, or of None
        Those that share the rows; None has room for all.
    points : DataFrame indexed by (row, estimator)
        What is to be drawn.
    n_lines : int
        Lines of text above the axes.

    Returns
    -------
    points : DataFrame
        Rows evenly spaced where some are left out.
    notes : list of str
        How many are left out; 0 or 1 lines.
    """
    rows = points.index.unique(0)
    n_marks = points.index.unique(1).size
    shown = _style.fitting_rows(axes, len(rows), n_lines + n_marks + 1, n_marks)
    if len(shown) == len(rows):
        return points, []
    kept = points[points.index.isin(rows[shown], level=0)]
    return kept, [_style.fitting_note(len(shown), len(rows))]


def row_names(table):
    """Names of the rows, from top to bottom."""
    return _style.row_names(table.index.unique(0))


def draw_marks(ax, values, names, ends=None):
    """Draw one mark per row and estimator, with whiskers where `ends` has them.

    Parameters
    ----------
    ax : matplotlib Axes
        Rows stand at 0, 1, ... from the top.
    values : Series indexed by (row, estimator)
        Positions on the x axis.
    names : list of str
        All estimators of the study in their order, which gives each its look in
        every picture, drawn or not.
    ends : DataFrame with columns low and high, default=None
        Ends of the whiskers, indexed as `values`.

    Returns
    -------
    list of matplotlib artists
        One handle per drawn estimator, for the legend.
    """
    rows, drawn = values.index.unique(0), values.index.unique(1)
    ax.hlines(np.arange(1, len(rows)) - 0.5, *ax.get_xlim(), color=_style.GRID, linewidth=0.6)
    offsets = np.linspace(-0.5, 0.5, len(drawn)) * _SPREAD if len(drawn) > 1 else [0.0]
    handles = []
    for name, offset in zip(drawn, offsets, strict=True):
        place = list(names).index(name)
        look = {
            "color": _COLORS[place % len(_COLORS)],
            "marker": _MARKERS[place % len(_MARKERS)],
            "linestyle": "none",
        }
        at = rows.get_indexer(values.xs(name, level=1).index) + offset
        if ends is not None:
            own = ends.xs(name, level=1)
            ax.hlines(at, own["low"], own["high"], color=look["color"], linewidth=1.1, zorder=3)
        ax.plot(values.xs(name, level=1), at, markersize=4.6, zorder=4, **look)
        (handle,) = ax.plot([], [], markersize=5, **look)
        handles.append(handle)
    return handles


def row_height(n_estimators):
    """Inches that a row with so many marks needs."""
    return 0.16 + 0.085 * n_estimators
