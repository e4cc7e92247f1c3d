"""Scatter plot with intervals in two directions, such as scores and costs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skbench._types import checked
from skbench.plot import _rows, _style
from skbench.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^v"
_FAR = 10  # ratio of the largest to the smallest value from which the axis is logarithmic
# Positions of a name beside its point: shift in points, then alignment.
_PLACES = [((7, 4), "left", "bottom"), ((7, -4), "left", "top")]
_PLACES += [((-7, 4), "right", "bottom"), ((-7, -4), "right", "top")]


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class ScatterDisplay(Display):
    """Scatter plot of named points with an interval in each direction, and a step line.

    Create it with :meth:`from_tradeoff` or :meth:`from_item_audit`.

    When not to use it: to decide whether one model dominates another. Intervals may overlap
    although `tradeoff` finds dominance, because `tradeoff` compares models on shared items.

    Parameters
    ----------
    legend : dict of str to str
        Text for each kind of point, the gray one first, and for "line" if there is one.
    notes : list of str
        Meaning of the intervals, and points that are not drawn.
    points : DataFrame of shape (n_points, 8)
        Columns x, x_low, x_high, y, y_low, y_high, kind and name, one row per point, indexed by
        label. The name is drawn beside the point if there is room. Limits may be nan.
    line : DataFrame of shape (n_corners, 2) or None
        Corners x and y of a step line from left to right. The line extends to the right edge.
    xlabel, ylabel : str
        Labels of the axes.
    linear : bool, default=False
        Whether axes are always linear. Otherwise axes with a large range are logarithmic.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    ForestDisplay : Estimates in one direction, one row per group.

    Examples
    --------
    >>> from skbench import ScatterDisplay, make_items, tradeoff
    >>> items = make_items(3, 4, 50, random_state=0).items
    >>> prices = {"model-0": 1.0, "model-1": 3.0, "model-2": 2.0}
    >>> found = tradeoff(items.assign(cost=items["model"].map(prices)))
    >>> ScatterDisplay.from_tradeoff(found).line
               x      y
    model
    model-0  1.0  0.430
    model-2  2.0  0.665
    """

    points: pd.DataFrame
    line: pd.DataFrame | None
    xlabel: str
    ylabel: str
    linear: bool = False

    @classmethod
    def from_tradeoff(cls, tradeoff: Any) -> Self:
        """Create the display from scores and costs.

        Parameters
        ----------
        tradeoff : Tradeoff
            Result of `tradeoff`.

        Returns
        -------
        ScatterDisplay
            Costs on the x axis, scores on the y axis. The line connects the models on the frontier
            of the estimates. No other model has both a better score and a lower cost than these.
        """
        table, level = tradeoff.to_frame(), 100 * tradeoff.confidence_level
        names = [f"{axis}{end}" for axis in "xy" for end in ("", "_low", "_high")]
        own = [f"{of}{end}" for of in ("cost", "score") for end in ("", "_low", "_high")]
        points = table[own].set_axis(names, axis=1)
        kind = np.where(table["dominated"], "dominated", "frontier")
        points = points.assign(kind=kind, name=_rows.row_names(table.index))
        corners = points[table["on_observed_frontier"]].sort_values("x", kind="stable")
        lacks = points[["x", "y"]].isna().any(axis=1)
        notes = [f"crosses: {level:g}% intervals, jointly for score and cost of a model"]
        if lacks.any():
            notes.append(f"not drawn (cost unknown): {', '.join(points['name'][lacks])}")
        legend = {"dominated": f"dominated ({level:g}% confidence, jointly for all models)"}
        legend["frontier"] = "may be on the frontier"
        return cls(
            points=points,
            line=corners[["x", "y"]] if len(corners) else None,
            legend=legend | ({"line": "frontier of the estimates"} if len(corners) else {}),
            notes=notes,
            xlabel=f"{tradeoff.cost_name} per item",
            ylabel=tradeoff.score_name,
        )

    @classmethod
    def from_item_audit(cls, audit: Any) -> Self:
        """Create the display from an item audit.

        Parameters
        ----------
        audit : ItemAudit
            Result of `item_audit`.

        Returns
        -------
        ScatterDisplay
            Mean scores of items on the x axis, discrimination on the y axis, with intervals for
            flagged items. Items with the same score from all models are not drawn.
        """
        table = audit.to_frame()
        flagged = table["flagged"].str.split(" of ").str[0]  # "duplicate" without the other item
        kind = flagged.where(flagged != "", "item")
        is_flagged = table["flagged"] != ""
        points = pd.DataFrame({"x": table["difficulty"], "y": table["discrimination"]})
        for end in ("low", "high"):
            points[f"x_{end}"] = points["x"]
            points[f"y_{end}"] = table[end].where(is_flagged)
        names = np.where(is_flagged, _rows.row_names(table.index), "")
        points = points.assign(kind=kind, name=names)[table["discrimination"].notna()]
        legend = {"item": "not flagged"} | {name: name for name in sorted(set(kind) - {"item"})}
        lacks = int(table["discrimination"].isna().sum())
        notes = []
        if is_flagged.any():
            level = 100 * audit.reliability.confidence_level
            notes.append(f"lines: {level:g}% intervals of flagged items")
        if lacks:
            notes.append(f"not drawn (same score for all models): {lacks} items")
        return cls(
            points=points,
            line=None,
            legend={name: text for name, text in legend.items() if name in set(points["kind"])},
            notes=notes,
            xlabel="mean score (easy items on the right)",
            ylabel="discrimination (item-rest correlation)",
            linear=True,
        )

    def plot(
        self, ax: Axes | None = None, *, xlabel: str | None = None, ylabel: str | None = None
    ) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. By default a new figure is created.
        xlabel, ylabel : str, default=None
            Labels of the axes. By default they name the quantities.

        Returns
        -------
        self : ScatterDisplay
            The display, with `ax_` and `figure_` set.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            n_lines = len(self.legend) + len(self.notes)
            ax = _style.new_axes(7.2, 4.6 + _style.INCHES_PER_LINE * n_lines)
        xlabel = self.xlabel if xlabel is None else xlabel
        ylabel = self.ylabel if ylabel is None else ylabel
        ends = [self.points[[name, f"{name}_low", f"{name}_high"]] for name in "xy"]
        limits = [_limits(values, self.linear) for values in ends]
        _style.dress_plane(ax, limits, (xlabel, ylabel))
        handles = [self._draw_kind(ax, *look) for look in self._looks()]
        if self.line is not None:
            handles.append(self._draw_line(ax))
        _style.draw_heading(ax, handles, list(self.legend.values()), self.notes)
        _write_names(ax, self.points)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _looks(self):
        """Kind, color and marker of each kind of point."""
        kinds = [kind for kind in self.legend if kind != "line"]
        return list(zip(kinds, cycle((_style.MUTED, *_style.COLORS)), cycle(_MARKERS)))

    def _draw_kind(self, ax, kind, color, marker):
        """Draw the points of one kind and their intervals; return the legend handle."""
        mine = self.points[self.points["kind"] == kind]
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        look = {"color": color, "linewidth": 1.2, "alpha": 0.8, "zorder": 3}
        ax.hlines(mine["y"], mine["x_low"].clip(left), mine["x_high"].clip(upper=right), **look)
        ax.vlines(mine["x"], mine["y_low"].clip(bottom), mine["y_high"].clip(upper=top), **look)
        look = {"color": color, "marker": marker, "linestyle": "none", "markeredgewidth": 0}
        ax.plot(mine["x"], mine["y"], zorder=5, markersize=5.5, **look)
        (handle,) = ax.plot([], [], markersize=5.5, **look)
        return handle

    def _draw_line(self, ax):
        """Draw the step line; return the legend handle."""
        x = np.append(self.line["x"], ax.get_xlim()[1])
        y = np.append(self.line["y"], self.line["y"].iloc[-1:])
        look = {"color": _style.INK, "linewidth": 1.1, "linestyle": "--"}
        ax.step(x[: len(y)], y, where="post", zorder=2, **look)
        (handle,) = ax.plot([], [], **look)
        return handle


def _limits(values, linear):
    """Limits of an axis around points and finite intervals, and whether it is logarithmic."""
    points = values.to_numpy(dtype=float)
    seen = points[np.isfinite(points)]
    if not seen.size:
        return 0.0, 1.0, False
    low, high = seen.min(), seen.max()
    if not linear and low > 0 and high / low > _FAR:
        padding = (high / low) ** 0.06
        return low / padding, high * padding, True
    padding = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
    return low - padding, high + padding, False


def _write_names(ax, points):
    """Write names beside their points, on the first side without overlap."""
    from matplotlib.patheffects import withStroke

    ax.figure.canvas.figure.draw_without_rendering()
    inside = ax.get_window_extent()
    marks = ax.transData.transform(points[["x", "y"]].to_numpy(dtype=float))
    taken = []
    for (x, y, name), own in zip(points[["x", "y", "name"]].to_numpy(), marks, strict=True):
        if not name or not np.isfinite(own).all():
            continue
        look = {"fontsize": 8, "color": _style.INK, "parse_math": False, "zorder": 6}
        look["path_effects"] = [withStroke(linewidth=2, foreground="white")]
        for shift, ha, va in _PLACES:
            text = _style.write(ax, name, (x, y), shift, ha=ha, va=va, **look)
            box = text.get_window_extent()
            hit = any(box.overlaps(other) for other in taken) or box.count_contains(marks)
            if not hit and box.x0 >= inside.x0 and box.x1 <= inside.x1:
                taken.append(box)
                break
            text.remove()
