"""Triangle of all weightings of three categories, colored by the best model."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter

from skbench._types import checked
from skbench.plot import _rows, _style
from skbench.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_GREY = "#d3d7dc"
_PALETTE = (*_style.COLORS, "#56b4e9", "#8c5a2b", "#1b3a6b")
_OTHERS = "#5b626b"
_HEIGHT = np.sqrt(3) / 2
# Corner of each category: top, bottom left, bottom right.
_CORNERS = np.array([[0.5, _HEIGHT], [0.0, 0.0], [1.0, 0.0]])
_PIXELS = 900
_LARGEST_BLUR = 8.0  # pixels; cells of coarse grids remain visible
_CORNER_WIDTH = 26  # characters, so that the two names at the bottom do not overlap
_CORNER_LINE = 0.05  # height of a line of a name, relative to the side of the triangle
_TICKS = (0.25, 0.5, 0.75)
_MORE_LINES = 4  # lines of the legend, besides the models
_TRIANGLE = 0.7  # share of the remaining height for the triangle
_TIE = {"color": _style.INK, "linewidth": 0.7}  # solid, because borders are drawn twice


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class SimplexDisplay(Display):
    """Map of all weightings of three categories, colored by the best model.

    Each corner gives all weight to one category, and the center gives equal weights to all three.
    In gray regions, the lead of the best model is too small for a decision. Create it with
    :meth:`from_simplex`.

    When not to use it: to choose the weights. Choose them before you know which model is the best.

    Parameters
    ----------
    legend : dict of str to str
        Texts for the entries of ``fractions``.
    notes : list of str
        What is drawn, and the correlation between models if one is assumed.
    weights : ndarray of shape (n_weightings, 3)
        Weights of the categories, evenly spaced.
    region : ndarray of int of shape (n_weightings,)
        Position of the winner in ``fractions``. Undecided weightings have the last position.
    leader : ndarray of int of shape (n_weightings,)
        Model with the highest score, decided or not.
    categories : list of str of length 3
        Names of the corners: top, bottom left, bottom right.
    fractions : Series
        Share of the weightings by winner, largest first, with "undecided" last.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    RankDisplay : Probability of each rank under one weighting.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench.tasks import WeightSimplex
    >>> from skbench.plot import SimplexDisplay
    >>> X = pd.DataFrame({"model": ["ada"] * 3 + ["bob"] * 3, "task": ["law", "sort", "add"] * 2,
    ...                   "category": ["text", "code", "math"] * 2})
    >>> simplex = WeightSimplex(resolution=10).fit(X, [0.9, 0.5, 0.4, 0.6, 0.7, 0.4], n=100)
    >>> SimplexDisplay.from_simplex(simplex).legend["ada"]
    'ada: 33%'
    """

    weights: np.ndarray
    region: np.ndarray
    leader: np.ndarray
    categories: Sequence[str]
    fractions: pd.Series

    @classmethod
    def from_simplex(cls, simplex: Any) -> Self:
        """Create the display from a fitted WeightSimplex.

        Parameters
        ----------
        simplex : WeightSimplex
            Fitted by `fit` or `fit_draws`.

        Returns
        -------
        SimplexDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the simplex is not fitted.
        """
        winners = simplex.winners()
        fractions = simplex.fractions_
        undecided = fractions.index[-1]
        words = {
            name: f"{_rows.in_one_line(name)}: {_percent(share)}"
            for name, share in fractions.items()
        }
        words[undecided] += f" (lead of at most {simplex.z:.3g} standard errors)"
        notes = ["best model for each weighting, with its share of all weightings"]
        if simplex.rho != 0:
            notes.append(f"assumed correlation between models: {simplex.rho:g}")
        return cls(
            weights=simplex.weights_,
            region=fractions.index.get_indexer(winners),
            leader=simplex.leader_,
            categories=_rows.row_names(simplex.categories_),
            fractions=fractions,
            legend=words,
            notes=notes,
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the triangle.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. By default a new figure is created. The legend of higher axes names
            more models (at most 8).

        Returns
        -------
        self : SimplexDisplay
            The display, with `ax_` and `figure_` set.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = self._drawn(ax)
        self.figure_ = self.ax_.figure
        return self

    def _drawn(self, ax):
        """Draw everything, and return the axes."""
        names = [*self.fractions.index]
        shown = names[:-1][: self._most_named(ax)]
        texts = [self.legend[name] for name in shown]
        if len(names) - 1 > len(shown):
            rest = self.fractions.iloc[len(shown) : -1]
            several = "s" * (len(rest) > 1)
            texts.append(f"{len(rest)} other model{several}: {_percent(rest.sum())}")
        texts += [self.legend[names[-1]], "two best models have equal scores", "equal weights"]
        if ax is None:
            more = _corner_names(self.categories)[0].count("\n")
            n_lines = len(texts) + len(self.notes) + more
            ax = _style.new_axes(6.0, 5.1 + _style.INCHES_PER_LINE * n_lines)
        others = [_OTHERS] * (len(names) - 1 - len(shown))
        handles = self._draw_regions(ax, [*_PALETTE[: len(shown)], *others, _GREY])
        handles += [*ax.plot([], [], **_TIE), _draw_frame(ax, self.categories)]
        _style.draw_heading(ax, handles, texts, self.notes)
        return ax

    def _most_named(self, ax):
        """Number of models for which the legend has room."""
        if ax is None:
            return len(_PALETTE)
        free = _style.height_of([ax], len(self.notes) + _MORE_LINES) * (1 - _TRIANGLE)
        return int(np.clip(free / _style.INCHES_PER_LINE, 1, len(_PALETTE)))

    def _draw_regions(self, ax, colors):
        """Color the region of each winner; return the legend handles."""
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Patch, Polygon

        nearest, inside, blur = _nearest_weighting(self.weights)
        shares = [_smoothed(self.region[nearest] == r, blur) for r in range(len(colors))]
        picture = np.array([to_rgba(color) for color in colors])[np.argmax(shares, axis=0)]
        picture[~inside] = 0
        extent = (0, 1, 0, _HEIGHT)
        image = ax.imshow(
            picture, extent=extent, origin="lower", interpolation="bilinear", zorder=2
        )
        edge = Polygon(_CORNERS, closed=True, fill=False, linewidth=1.1, zorder=5)
        edge.set_edgecolor(_style.INK)
        ax.add_patch(edge)
        image.set_clip_path(edge)
        leaders = np.unique(self.leader)
        # The borders of the other models include the last border.
        for model in leaders[: len(leaders) - 1]:
            border = _smoothed(self.leader[nearest] == model, blur)
            look = {"colors": _TIE["color"], "linewidths": _TIE["linewidth"]}
            line = ax.contour(border, levels=[0.5], extent=extent, zorder=3, **look)
            line.set_clip_path(edge)
        return [Patch(facecolor=color, edgecolor="none") for color in dict.fromkeys(colors)]


def _percent(share):
    """A share in whole percent, or with two digits below 1%."""
    return f"{100 * share:.0f}%" if share >= 0.01 or share == 0 else f"{100 * share:.2g}%"


def _nearest_weighting(weights):
    """Nearest weighting of each pixel, whether it is in the triangle, and the blur in pixels."""
    resolution = round(1 / weights[weights > 0].min())
    rows = round(_PIXELS * _HEIGHT)
    x, y = np.meshgrid((np.arange(_PIXELS) + 0.5) / _PIXELS, (np.arange(rows) + 0.5) / _PIXELS)
    top = y / _HEIGHT
    right = x - top / 2
    left = 1 - top - right
    inside = np.minimum(left, right) >= -1.5 / _PIXELS
    i = np.clip(np.rint(top * resolution), 0, resolution)
    j = np.clip(np.rint(left * resolution), 0, resolution - i)
    # `i` varies slowest, and each `i` has ``resolution - i + 1`` weightings.
    position = i * (resolution + 1) - i * (i - 1) / 2 + j
    return position.astype(int), inside, 1.2 * _PIXELS / resolution


def _smoothed(mask, blur):
    """Share of a region around each pixel, which smooths the steps of the grid at its border."""
    return gaussian_filter(mask.astype(np.float32), min(blur, _LARGEST_BLUR), mode="nearest")


def _corner_names(categories):
    """Names at the corners, wrapped into lines."""
    return [textwrap.fill(f"only {name}", _CORNER_WIDTH) for name in categories]


def _draw_frame(ax, categories):
    """Draw corner names, lines of equal weight and the center; return the legend handle."""
    ax.set_aspect("equal", anchor="S")  # leaves the remaining height to the heading
    ax.set_axis_off()
    ax.set_xlim(-0.12, 1.12)
    names = _corner_names(categories)
    ax.set_ylim(-0.12, _HEIGHT + 0.07 + _CORNER_LINE * names[0].count("\n"))
    look = {"color": _style.ink(ax), "fontsize": 9, "fontweight": "bold", "parse_math": False}
    for name, corner, shift in zip(names, _CORNERS, (6, -18, -18), strict=True):
        va = "bottom" if shift > 0 else "top"
        _style.write(ax, name, corner, (0, shift), ha="center", va=va, **look)
    for share in _TICKS:
        for corner in range(3):
            _draw_level(ax, corner, share)
    look = {"marker": "o", "color": _style.INK, "markerfacecolor": "white", "linestyle": "none"}
    (center,) = ax.plot(*_CORNERS.mean(axis=0)[:, None], zorder=6, markersize=5, **look)
    return center


def _draw_level(ax, corner, share):
    """Draw a line of equal weight of one category, with its percentage outside the triangle."""
    ends = share * _CORNERS[corner] + (1 - share) * np.delete(_CORNERS, corner, axis=0)
    ax.plot(*ends.T, color="white", linewidth=0.7, alpha=0.8, zorder=4)
    # Percentages of a category increase toward its corner along the edge to its right.
    start = share * _CORNERS[corner] + (1 - share) * _CORNERS[(corner + 1) % 3]
    outward = np.array([(-_HEIGHT, 0.5), (0, -1), (_HEIGHT, 0.5)])[corner]
    look = {"va": "center", "color": _style.MUTED, "fontsize": 7.5}
    ha = ("right", "center", "left")[corner]
    _style.write(ax, f"{100 * share:.0f}%", start, 10 * outward, ha=ha, **look)
