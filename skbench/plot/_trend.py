"""Scores of versions in order, with a fitted line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skbench._numbers import number, slope_form
from skbench._types import Text, checked
from skbench.plot import _rows, _style
from skbench.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_YEAR = pd.Timedelta(days=365.25)
_SHOWN = ("rising", "falling")
_MOST_NAMES = 24  # at the axis
_TURN_FROM = 40  # total number of letters from which names are slanted
_MARGIN = 0.04  # margin relative to the range of the places


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class TrendDisplay(Display):
    """Plot of the scores of versions with simultaneous intervals, and the fitted slope.

    Create it with :meth:`from_trend`.

    When not to use it: to compare two versions, because the intervals are those of single scores.
    Use `compare_models`, which returns the interval of the difference.

    Parameters
    ----------
    legend : dict of str to str
        Texts for the scores, the slope and the interval of the slope.
    notes : list of str
        Verdict on the trend.
    points : DataFrame of shape (n_versions, 4)
        Place, value, low and high by version, in order. Dates are in years since the first.
    slope : Series
        Value, low and high of the slope, per unit of the place.
    names : list of str
        Names of the versions at the axis. A name is empty if the next version is too close.
    shown : bool
        Whether the interval of the slope excludes 0.
    xlabel : str
        Name of the order.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    trend : Compute the trend.

    Examples
    --------
    >>> from skbench import TrendDisplay, make_items, trend
    >>> items = make_items(4, 3, 30, random_state=0).items
    >>> found = trend(items, ["model-0", "model-1", "model-2", "model-3"])
    >>> display = TrendDisplay.from_trend(found)
    >>> display.points["place"].tolist()
    [0.0, 1.0, 2.0, 3.0]
    >>> display.legend["scores"]
    'scores (simultaneous 95% intervals)'
    """

    points: pd.DataFrame
    slope: pd.Series
    names: Sequence[Text]
    shown: bool
    xlabel: str

    @classmethod
    def from_trend(cls, trend: Any) -> Self:
        """Create the display from the result of `trend`.

        Parameters
        ----------
        trend : Trend
            Result of `skbench.trend`.

        Returns
        -------
        TrendDisplay
        """
        order, e = trend.order, trend.scores
        dates = trend.unit == "year"
        place = (order - order.min()) / _YEAR if dates else order.astype(float)
        columns = {"place": place.to_numpy(), "value": e.value, "low": e.low, "high": e.high}
        slope = trend.to_frame().loc["slope"]
        form = slope_form(slope[["value", "low", "high"]])
        value, low, high = (number(slope[name], form) for name in ("value", "low", "high"))
        level = f"{100 * e.confidence_level:g}%"
        legend = {
            "scores": f"scores (simultaneous {level} intervals)",
            "slope": f"slope: {value} per {trend.unit}",
            "range": f"{level} interval of the slope: {low} to {high}",
        }
        shown = slope["verdict"] in _SHOWN
        if not np.isfinite(slope["low"]):
            del legend["range"]
        labels = order.dt.strftime("%Y-%m-%d") if dates and _are_values(order) else order.index
        return cls(
            legend=legend,
            notes=[f"{slope['verdict']}: {trend.estimate.method}"],
            points=pd.DataFrame(columns, index=e.labels),
            slope=slope[["value", "low", "high"]].astype(float),
            names=_thinned(_rows.row_names(pd.Index(labels)), place.to_numpy()),
            shown=bool(shown),
            xlabel="date" if dates else trend.unit.removeprefix("unit of "),
        )

    def plot(self, ax: Axes | None = None, *, ylabel: str | None = None) -> Self:
        """Draw the scores over the order of the versions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. By default a new figure is created.
        ylabel : str, default=None
            Label of the axis of scores. By default it is "score".

        Returns
        -------
        self : TrendDisplay
            The display, with `ax_` and `figure_` set.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = self._drawn(ax, "score" if ylabel is None else ylabel)
        self.figure_ = self.ax_.figure
        return self

    def _drawn(self, ax, ylabel):
        """Draw everything, and return the axes."""
        if ax is None:
            longest = max(map(len, [*self._texts(), *self.notes]))
            width = max(5.6, 0.9 + _style.INCHES_PER_CHARACTER * longest)
            ax = _style.new_axes(width, 3.9)
        p = self.points
        x, ends = p["place"].to_numpy(), self._ends()
        self._dress(ax, ylabel, ends)
        style = "-" if self.shown else "--"
        look = {"color": _style.VERMILION, "linewidth": 1.6, "linestyle": style}
        edge = np.array([x.min(), x.max()])
        (line,) = ax.plot(edge, self._line(edge, self.slope["value"]), zorder=3, **look)
        handles = [line]
        if "range" in self.legend:
            grid = np.linspace(*edge, 101)
            low, high = (self._line(grid, self.slope[name]) for name in ("low", "high"))
            fill = {"color": _style.VERMILION, "alpha": 0.15, "linewidth": 0, "zorder": 1}
            handles.append(ax.fill_between(grid, np.fmin(low, high), np.fmax(low, high), **fill))
        low, high = np.clip(p[["low", "high"]].to_numpy(), *ends).T
        ax.vlines(x, low, high, color=_style.BLUE, linewidth=1.6, zorder=4)
        points = {"color": _style.BLUE, "marker": "o", "markersize": 5}
        ax.plot(x, p["value"], linestyle="none", zorder=5, **points)
        (score,) = ax.plot([], [], linewidth=1.6, **points)
        _style.draw_heading(ax, [score, *handles], self._texts(), self.notes)
        return ax

    def _line(self, x, slope):
        """Line with this slope through the mean of the scores."""
        return self.points["value"].mean() + slope * (x - self.points["place"].mean())

    def _ends(self):
        """Limits of the axis of scores."""
        p = self.points
        edge = np.array([p["place"].min(), p["place"].max()])
        lines = [self._line(edge, slope) for slope in self.slope if np.isfinite(slope)]
        drawn = np.concatenate([p[["value", "low", "high"]].to_numpy().ravel(), *lines])
        return _style.x_limits(drawn)

    def _dress(self, ax, ylabel, ends):
        """Set the names of the versions, and a light horizontal grid for scores."""
        ax.set_facecolor("white")
        for side in ("left", "top", "right"):
            ax.spines[side].set_visible(False)
        ax.spines["bottom"].set_color(_style.MUTED)
        place = self.points["place"].to_numpy()
        slanted = sum(map(len, self.names)) > _TURN_FROM
        turn = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        look = {"color": _style.ink(ax), "fontsize": 8.5, "parse_math": False}
        ax.set_xticks(place, list(map(_style.drawable, self.names)), **look, **turn)
        margin = _MARGIN * np.ptp(place)
        ax.set_xlim(place.min() - margin, place.max() + margin)
        ax.set_ylim(*ends)
        ax.tick_params(axis="y", length=0, labelcolor=_style.ink(ax), labelsize=8.5)
        ax.tick_params(axis="x", color=_style.MUTED)
        ax.grid(axis="y", color=_style.GRID, linewidth=0.8)
        ax.set_axisbelow(True)
        words = {"color": _style.ink(ax), "fontsize": 9, "parse_math": False}
        ax.set_xlabel(_style.drawable(self.xlabel), **words)
        ax.set_ylabel(_style.drawable(ylabel), **words)


def _are_values(order):
    """Whether versions have no names and are labeled by their date."""
    return not pd.api.types.is_string_dtype(order.index)


def _thinned(names, place):
    """Names, with an empty name for versions too close to the next one."""
    kept, following = [], np.inf
    for name, at in zip(reversed(names), reversed(place), strict=True):
        near = following - at < np.ptp(place) / _MOST_NAMES
        kept.append("" if near else name)
        following = following if near else at
    return kept[::-1]
