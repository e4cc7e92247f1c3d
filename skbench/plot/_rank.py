"""How probable each rank of each model is, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skbench._checks import check_whole, plain
from skbench._types import Labels, RankSets
from skbench.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_DARK = 0.8  # from here on white numbers are as easy to read as dark ones
_CELL = 0.34  # inches per rank, enough for "100"
_SMALLEST_CELL = 0.16
_TICK, _MOST_TICKS = 0.3, 40  # inches that the number of a rank needs; on any width


class RankDisplay:
    """Heat map of rank probabilities: models down, ranks across.

    Make it with :meth:`from_probabilities`, which computes everything to be drawn
    and needs no matplotlib; :meth:`plot` only draws.

    When not to use it: without confidence sets, to state which ranks a model may
    truly have. Rank probabilities from a bootstrap are too sure of themselves where
    models are close; pass `sets` to show both.

    Parameters
    ----------
    probabilities : DataFrame of shape (n_rows, n_ranks)
        Probability of each rank (columns) of the models drawn (rows, from top to
        bottom); the ranks that no row has are left out at the end.
    mean_rank : Series of length n_rows
        Mean of each row's distribution.
    sets : DataFrame of shape (n_rows, 2) or None
        Best and worst rank, low and high, of each row's confidence set.
    legend : dict of str to str
        In words: `probability`, and `sets` where there are any.
    notes : list of str
        What the reader must be told: models left out.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    DifferenceDisplay : Which models differ, and by how much.

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

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        probabilities: pd.DataFrame,
        mean_rank: pd.Series,
        sets: pd.DataFrame | None,
        legend: Mapping[str, str],
        notes: Sequence[str],
    ) -> None:
        self.probabilities = probabilities
        self.mean_rank = mean_rank
        self.sets = sets
        self.legend = legend
        self.notes = notes

    @classmethod
    def from_probabilities(
        cls,
        probabilities: pd.DataFrame,
        *,
        sets: RankSets | None = None,
        labels: Labels | None = None,
        max_rows: int = 40,
    ) -> Self:
        """Compute what is drawn from rank probabilities.

        Parameters
        ----------
        probabilities : DataFrame of shape (n_models, n_models)
            Probability of rank 1, 2, ... (columns) of each model (rows), as
            ``rank_probabilities`` gives.
        sets : RankConfidenceSets, default=None
            Confidence sets of the same models' ranks, drawn as frames.
        labels : array-like of labels, default=None
            Models to draw; all of them by default.
        max_rows : int, default=40
            With more models than this, the best that many are drawn and a note in
            the picture says so.

        Returns
        -------
        RankDisplay
            Rows in the order of their mean ranks, best on top.

        Raises
        ------
        ValueError
            If a row is no distribution, columns named by numbers are not the ranks in
            their order, `sets` lack a model, or `labels` or `max_rows` ask for what is
            not there.
        """
        table = pd.DataFrame(probabilities)
        _check_distributions(table)
        _check_ranks(table.columns)
        check_whole("max_rows", max_rows)
        asked = _style.positions(table.index, labels)
        ranks = np.arange(1, table.shape[1] + 1)
        mean_rank = pd.Series(table.to_numpy() @ ranks, index=table.index)
        order = asked[np.argsort(mean_rank.to_numpy()[asked], kind="stable")][:max_rows]
        drawn = table.iloc[order].set_axis(ranks, axis=1)
        frames = None if sets is None else _frames(sets, drawn.index)
        last = int(ranks[(drawn > 0).any().to_numpy()].max())
        legend = {"probability": "probability of the rank, %"}
        if sets is not None:
            last = max(last, int(frames["high"].max()))
            scope = "all models at once" if sets.kind == "simultaneous" else "each model by itself"
            level = f"{100 * sets.confidence_level:g} %"
            legend["sets"] = f"ranks it may truly have ({level}, {scope})"
        n_rows, n_asked, n_models = len(order), len(asked), len(table)
        notes = _style.selection_note(n_rows, n_asked, n_models, "the best mean ranks")
        notes = [note.replace("groups", "models") for note in notes]
        return cls(
            probabilities=drawn.loc[:, :last],
            mean_rank=mean_rank.iloc[order],
            sets=frames,
            legend=legend,
            notes=notes,
        )

    def plot(self, ax: Axes | None = None, *, xlabel: str = "rank") -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; rows that they are too low for are left out, and a note says so. A
            new figure by default, as large as rows and ranks need.
        xlabel : str, default="rank"
            Name of the rank axis.

        Returns
        -------
        self : RankDisplay
            With `ax_` and `figure_` set.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = self._fitting(ax)._drawn(ax, xlabel)
        self.figure_ = self.ax_.figure
        return self

    def _drawn(self, ax, xlabel):
        names = _style.row_names(self.probabilities.index)
        n_rows, n_ranks = self.probabilities.shape
        texts = list(self.legend.values())
        ax = self._axes(ax, names, texts, n_ranks)
        _style.dress_rows(ax, names, (0.5, n_ranks + 0.5), xlabel)
        ax.grid(visible=False)
        ax.set_ylim(n_rows - 0.5, -0.5)
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", length=0)
        cell = _width(ax) / n_ranks
        step = int(np.ceil(max(_TICK / cell, n_ranks / _MOST_TICKS)))
        ax.set_xticks(np.arange(1, n_ranks + 1, step))
        handles = [self._draw_cells(ax, cell)]
        if self.sets is not None:
            handles.append(_draw_frames(ax, self.sets))
        _style.draw_heading(ax, handles, texts, self.notes)
        return ax

    def _fitting(self, ax):
        """This display, or one with the rows that fit."""
        n_rows = len(self.probabilities)
        shown = _style.fitting_rows([ax], n_rows, len(self.legend) + len(self.notes) + 1)
        if len(shown) == n_rows:
            return self
        return type(self)(
            probabilities=self.probabilities.iloc[shown],
            mean_rank=self.mean_rank.iloc[shown],
            sets=None if self.sets is None else self.sets.iloc[shown],
            legend=self.legend,
            notes=[*self.notes, _style.fitting_note(len(shown), n_rows)],
        )

    def _axes(self, ax, names, texts, n_ranks):
        own = ax is None
        ax = _style.row_axes(ax, names, [""], texts + self.notes, row_height=0.27)
        if own:
            cell = max(_SMALLEST_CELL, min(_CELL, 20 / n_ranks))
            room = 0.9 + 0.072 * max(map(len, names))
            ax.figure.set_figwidth(max(ax.figure.get_figwidth(), room + cell * n_ranks))
        return ax

    def _draw_cells(self, ax, cell):
        """Shaded cells, with numbers where they are wide enough; returns the legend handle."""
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.patches import Patch

        shades = LinearSegmentedColormap.from_list("ranks", [_style.BAND, "#8dbbdb", _style.BLUE])
        values = self.probabilities.to_numpy()
        n_rows, n_ranks = values.shape
        edges = np.arange(n_ranks + 1) + 0.5, np.arange(n_rows + 1) - 0.5
        look = {"edgecolors": "white", "linewidth": 1.2} if cell >= _SMALLEST_CELL / 2 else {}
        ax.pcolormesh(*edges, values, cmap=shades, vmin=0, vmax=1, **look)
        if cell >= 0.75 * _CELL:
            for (row, column), p in np.ndenumerate(values):
                percent = f"{100 * p:.0f}"
                if percent != "0":
                    ax.text(
                        column + 1,
                        row,
                        percent,
                        ha="center",
                        va="center",
                        fontsize=7.5,
                        color="white" if p > _DARK else _style.INK,
                    )
        return Patch(facecolor=shades(0.6), edgecolor="none")


def _width(ax):
    """Inches of axes, once their names have taken what they need."""
    ax.figure.canvas.figure.draw_without_rendering()
    return ax.get_window_extent().width / ax.figure.dpi


def _check_distributions(table):
    values = table.to_numpy(dtype=float)
    if not values.size:
        raise ValueError("There are no rank probabilities to draw.")
    # Printed to 4 digits they still sum to 1 within 1e-2.
    bad = (values < 0).any(axis=1) | ~(np.abs(values.sum(axis=1) - 1) < 1e-2)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"The probabilities of {plain(table.index[row])!r} must be non-negative and sum "
            f"to 1, but sum to {values[row].sum():g}. Pass what rank_probabilities returns."
        )


def _check_ranks(columns):
    """Refuse ranks in another order, or with gaps: columns are read by position."""
    ranks = pd.to_numeric(columns, errors="coerce")
    if np.isnan(ranks).any() or (ranks[0] in (0, 1) and np.all(np.diff(ranks) == 1)):
        return
    raise ValueError(
        f"The columns must be the ranks 1, 2, ... in this order and without gaps, but are "
        f"{', '.join(map(str, columns))}. Pass what rank_probabilities returns."
    )


def _frames(sets, labels):
    where = sets.labels.get_indexer(labels)
    if (where < 0).any():
        raise ValueError(f"sets have no model {plain(labels[int(np.argmax(where < 0))])!r}.")
    return pd.DataFrame({"low": sets.low[where], "high": sets.high[where]}, index=labels)


def _draw_frames(ax, sets):
    """A frame around the confidence set of each row; returns the legend handle."""
    from matplotlib.patches import Patch, Rectangle

    look = {"facecolor": "none", "edgecolor": _style.VERMILLION, "linewidth": 1.3}
    for row, (low, high) in enumerate(sets.to_numpy()):
        box = Rectangle((low - 0.46, row - 0.42), high - low + 0.92, 0.84, zorder=5, **look)
        ax.add_patch(box)
    return Patch(**look)
