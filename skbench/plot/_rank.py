"""Heat map of the rank probabilities of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench._types import Count, Labels, RankSets, checked
from skbench.plot import _rows, _style
from skbench.plot._display import Display

_DARK = 0.8  # probability from which numbers are white
_CELL = 0.34  # inches per rank, enough for "100"
_SMALLEST_CELL = 0.16
_TICK, _MOST_TICKS = 0.3, 40  # inches per tick label; maximum number of ticks


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class RankDisplay(Display):
    """Heat map of rank probabilities, with models as rows and ranks as columns.

    Create it with :meth:`from_probabilities`.

    When not to use it: to report which ranks a model may have, unless you pass confidence sets
    (`sets`). Bootstrap rank probabilities are too concentrated if models are close.

    Parameters
    ----------
    legend : dict of str to str
        Texts for `probability` and, with confidence sets, for `sets`.
    notes : list of str
        Note on models that are not drawn.
    probabilities : DataFrame of shape (n_rows, n_ranks)
        Probability of each rank (columns) for the drawn models, from top to bottom. Ranks without
        probability at the end are omitted.
    mean_rank : Series of length n_rows
        Mean rank of each row.
    sets : DataFrame of shape (n_rows, 2) or None
        Best rank (low) and worst rank (high) in the confidence set of each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    DifferenceDisplay : Differences between models.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench.plot import RankDisplay
    >>> p = pd.DataFrame([[0.2, 0.8], [0.8, 0.2]], index=["ada", "bob"], columns=[1, 2])
    >>> display = RankDisplay.from_probabilities(p)
    >>> display.mean_rank
    bob    1.2
    ada    1.8
    dtype: float64
    """

    probabilities: pd.DataFrame
    mean_rank: pd.Series
    sets: pd.DataFrame | None

    _by_row = ("probabilities", "mean_rank", "sets")
    _row_inches = 0.27, 0.0
    _xlabel = "rank"

    @classmethod
    def from_probabilities(
        cls,
        probabilities: pd.DataFrame,
        *,
        sets: RankSets | None = None,
        labels: Labels | None = None,
        max_rows: Count = 40,
    ) -> Self:
        """Create the display from rank probabilities.

        Parameters
        ----------
        probabilities : DataFrame of shape (n_models, n_models)
            Probability of rank 1, 2, ... (columns) for each model (rows), as returned by
            ``rank_probabilities``.
        sets : RankConfidenceSets, default=None
            Confidence sets for the ranks of the same models, drawn as frames.
        labels : array-like of labels, default=None
            Models to draw. By default all models are drawn.
        max_rows : int, default=40
            Maximum number of rows. If there are more models, the best are drawn and a note reports
            it.

        Returns
        -------
        RankDisplay
            Display with the best mean rank on top.

        Raises
        ------
        ValueError
            If a row is not a probability distribution, if numbered columns are not the ranks in
            order, or if another argument does not match the models.
        """
        table = pd.DataFrame(probabilities)
        _check_distributions(table)
        _check_ranks(table.columns)
        asked = _rows.positions(table.index, labels)
        ranks = np.arange(1, table.shape[1] + 1)
        mean_rank = pd.Series(table.to_numpy() @ ranks, index=table.index)
        order = asked[np.argsort(mean_rank.to_numpy()[asked], kind="stable")][:max_rows]
        drawn = table.iloc[order].set_axis(ranks, axis=1)
        frames = None if sets is None else _frames(sets, drawn.index)
        last = int(ranks[(drawn > 0).any().to_numpy()].max())
        legend = {"probability": "probability of each rank (%)"}
        if sets is not None:
            last = max(last, int(frames["high"].max()))
            scope = "simultaneous" if sets.kind == "simultaneous" else "single models"
            legend["sets"] = f"{100 * sets.confidence_level:g}% confidence set of ranks ({scope})"
        notes = _rows.selection_note(
            len(order), len(asked), len(table), "best mean ranks", "models"
        )
        return cls(
            probabilities=drawn.loc[:, :last],
            mean_rank=mean_rank.iloc[order],
            sets=frames,
            legend=legend,
            notes=notes,
        )

    def _names(self):
        """Names of the models."""
        return _rows.row_names(self.probabilities.index)

    def _limits(self):
        """Limits of the axis."""
        return 0.5, self.probabilities.shape[1] + 0.5

    def _new_axes(self):
        """Axes of a new figure, wide enough for the ranks."""
        ax, n_ranks = super()._new_axes(), self.probabilities.shape[1]
        cell = max(_SMALLEST_CELL, min(_CELL, 20 / n_ranks))
        room = 0.9 + _style.INCHES_PER_CHARACTER * max(map(len, self._names()))
        ax.figure.set_figwidth(max(ax.figure.get_figwidth(), room + cell * n_ranks))
        return ax

    def _draw_rows(self, ax):
        """Draw the heat map and the frames; return the legend handles."""
        n_rows, n_ranks = self.probabilities.shape
        ax.grid(visible=False)
        ax.set_ylim(n_rows - 0.5, -0.5)
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", length=0)
        cell = _width(ax) / n_ranks
        step = int(np.ceil(max(_TICK / cell, n_ranks / _MOST_TICKS)))
        ax.set_xticks(np.arange(1, n_ranks + 1, step))
        cells = self._draw_cells(ax, cell)
        return [cells] if self.sets is None else [cells, _draw_frames(ax, self.sets)]

    def _draw_cells(self, ax, cell):
        """Draw shaded cells, with numbers if they are wide enough; return the legend handle."""
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.patches import Patch

        shades = LinearSegmentedColormap.from_list("ranks", [_style.BAND, "#8dbbdb", _style.BLUE])
        values = self.probabilities.to_numpy()
        n_rows, n_ranks = values.shape
        edges = np.arange(n_ranks + 1) + 0.5, np.arange(n_rows + 1) - 0.5
        look = {"edgecolors": "white", "linewidth": 1.2} if cell >= _SMALLEST_CELL / 2 else {}
        ax.pcolormesh(*edges, values, cmap=shades, vmin=0, vmax=1, **look)
        if cell >= 0.75 * _CELL:
            centered = {"ha": "center", "va": "center", "fontsize": 7.5}
            for (row, column), p in np.ndenumerate(values):
                percent = f"{100 * p:.0f}"
                if percent != "0":
                    color = "white" if p > _DARK else _style.INK
                    ax.text(column + 1, row, percent, color=color, **centered)
        return Patch(facecolor=shades(0.6), edgecolor="none")


def _width(ax):
    """Width of the axes in inches, after the layout of their names."""
    ax.figure.canvas.figure.draw_without_rendering()
    return ax.get_window_extent().width / ax.figure.dpi


def _check_distributions(table):
    """Raise an error if a row is not a probability distribution."""
    values = table.to_numpy(dtype=float)
    if not values.size:
        raise ValueError("The table of rank probabilities is empty.")
    # Probabilities rounded to 4 digits sum to 1 within 1e-2.
    bad = (values < 0).any(axis=1) | ~(np.abs(values.sum(axis=1) - 1) < 1e-2)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"The probabilities of {plain(table.index[row])!r} must be nonnegative and sum to 1, "
            f"but sum to {values[row].sum():g}. Pass the result of rank_probabilities."
        )


def _check_ranks(columns):
    """Raise an error unless the columns are consecutive ranks; they are read by position."""
    ranks = pd.to_numeric(columns, errors="coerce")
    if np.isnan(ranks).any() or (ranks[0] in (0, 1) and np.all(np.diff(ranks) == 1)):
        return
    raise ValueError(
        "The columns must be the ranks 1, 2, ... in order and without gaps, but are "
        f"{', '.join(map(str, columns))}. Pass the result of rank_probabilities."
    )


def _frames(sets, labels):
    """First and last rank of the confidence sets of some models."""
    where = sets.labels.get_indexer(labels)
    if (where < 0).any():
        raise ValueError(
            f"sets has no model {plain(labels[int(np.argmax(where < 0))])!r}. Pass confidence sets "
            "of the same models."
        )
    return pd.DataFrame({"low": sets.low[where], "high": sets.high[where]}, index=labels)


def _draw_frames(ax, sets):
    """Draw a frame around the confidence set of each row; return the legend handle."""
    from matplotlib.patches import Patch, Rectangle

    look = {"facecolor": "none", "edgecolor": _style.VERMILION, "linewidth": 1.3}
    for row, (low, high) in enumerate(sets.to_numpy()):
        box = Rectangle((low - 0.46, row - 0.42), high - low + 0.92, 0.84, zorder=5, **look)
        ax.add_patch(box)
    return Patch(**look)
