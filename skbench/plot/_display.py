"""Base class of the displays: numbers are computed first, and drawn on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skbench._types import checked
from skbench.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAST_ROW, _LEAST_EDGE, _LEAST_MARK = 0.16, 0.06, 0.055  # inches


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class Display:
    """Base class of plots with rows; subclasses define names, limits and marks of the rows."""

    legend: Mapping[str, str]
    notes: Sequence[str]
    ax_: Axes = field(init=False)
    figure_: Figure = field(init=False)

    remarks = ()  # text beside the rows
    _by_row = ()  # names of attributes with one entry per row
    _xlabel = "score"
    _row_inches = 0.23, 0.0  # height of a row in a new figure, and the addition for each mark
    _n_other_lines = 1  # lines around the axes, besides legend and notes

    def plot(self, ax: Axes | None = None, *, xlabel: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If they are not high enough for all rows, only some are drawn and a
            note reports it. By default a new figure is created that fits the rows and their names.
        xlabel : str, default=None
            Label of the x axis. By default it names the quantity, such as "score".

        Returns
        -------
        self : Display
            The display, with `ax_` and `figure_` set.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = self._fitting([ax])._drawn(ax, xlabel)
        self.figure_ = self.ax_.figure
        return self

    def _drawn(self, ax, xlabel):
        """Draw everything, and return the axes."""
        ax = self._new_axes() if ax is None else ax
        xlabel = self._xlabel if xlabel is None else xlabel
        _style.dress_rows(ax, self._names(), self._limits(), xlabel)
        handles = self._draw_rows(ax)
        _style.draw_remarks(ax, self.remarks)
        _style.draw_heading(ax, handles, self._texts(), self.notes)
        return ax

    def _new_axes(self):
        """Axes of a new figure that fits the rows and the text."""
        texts, (edge, per_mark) = [*self._texts(), *self.notes], self._row_inches
        row_height = edge + per_mark * self._n_marks()
        return _style.new_row_axes(self._names(), self.remarks, texts, row_height)

    def _n_marks(self):
        """Number of marks in a row, one above the other."""
        return len(self.legend) if self._row_inches[1] else 1

    def _texts(self):
        """Lines of the legend."""
        return list(self.legend.values())

    def _fitting(self, axes):
        """This display, or one with evenly spaced rows if the user's axes are not high enough."""
        if axes[0] is None:
            return self
        n_rows = len(self._names())
        n_lines = len(self._texts()) + len(self.notes) + self._n_other_lines
        # Names must be legible, and marks must not touch.
        row = max(_LEAST_ROW, _LEAST_EDGE + _LEAST_MARK * self._n_marks())
        n_fit = max(1, int(_style.height_of(axes, n_lines) / row))
        if n_fit >= n_rows:
            return self
        part = self._part(np.linspace(0, n_rows - 1, n_fit).round().astype(int))
        note = (
            f"{n_fit} of {n_rows} rows drawn, evenly spaced, because the axes are not high enough"
        )
        part.notes = [*self.notes, note]
        return part

    def _part(self, rows):
        """A copy with some of the rows."""
        part = copy(self)
        for name in self._by_row:
            setattr(part, name, _taken(getattr(self, name), rows))
        return part


def _taken(values, rows):
    """Entries of some rows, for every table if there are several."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: _taken(table, rows) for name, table in values.items()}
    if isinstance(values, pd.DataFrame | pd.Series):
        return values.iloc[rows]
    return [values[row] for row in rows]
