"""Differences between models, with the level that allows for how many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skbench._checks import check_whole
from skbench.containers import Estimate
from skbench.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MISSING = ("no estimate", "no interval")


class DifferenceDisplay:
    """Pairwise differences with intervals, and which of them leave out 0.

    Make it with :meth:`from_estimate`, which computes everything to be drawn and
    needs no matplotlib; :meth:`plot` only draws.

    When not to use it: for all pairs of many models, where rank confidence sets say
    the same in one row per model.

    Parameters
    ----------
    rows : DataFrame with n_rows rows
        From top to bottom: value, low, high (score units) and clear (whether the
        interval leaves out 0).
    legend : dict of str to str
        In words: `clear` and `open` with their counts over all pairs, where there
        are any.
    notes : list of str
        What the reader must be told: level and correction, pairs left out or missing.
    remarks : list of str of length n_rows
        What is missing in each row; mostly empty.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    RankDisplay : How probable each rank of each model is.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench import Estimate
    >>> from skbench.plot import DifferenceDisplay
    >>> pairs = pd.MultiIndex.from_tuples([("ada", "bob"), ("ada", "cyd")])
    >>> e = Estimate([0.02, 0.1], [-0.01, 0.06], [0.05, 0.14], [0.01, 0.02], 0.975, pairs,
    ...              "bootstrap differences, Bonferroni: all 2 hold with 95 %", "model")
    >>> display = DifferenceDisplay.from_estimate(e)
    >>> display.rows["clear"].tolist()
    [False, True]
    >>> display.notes
    ['bootstrap differences, Bonferroni: all 2 hold with 95 % (97.5 %, if the model holds)']
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        rows: pd.DataFrame,
        legend: Mapping[str, str],
        notes: Sequence[str],
        remarks: Sequence[str],
    ) -> None:
        self.rows = rows
        self.legend = legend
        self.notes = notes
        self.remarks = remarks

    @classmethod
    def from_estimate(cls, estimate: Estimate, *, sort: bool = False, max_rows: int = 40) -> Self:
        """Compute what is drawn from estimates of differences.

        Parameters
        ----------
        estimate : Estimate
            Differences, such as ``differences`` gives; labels of two levels (a, b)
            are drawn as "a − b".
        sort : bool, default=False
            Whether to put the largest difference on top. By default rows stay in the
            order given.
        max_rows : int, default=40
            With more pairs than this, those closest to a tie (in standard errors)
            are drawn, and a note in the picture says so.

        Returns
        -------
        DifferenceDisplay

        Raises
        ------
        ValueError
            If there is nothing to draw, a pair occurs twice or `max_rows` is below 1.
        TypeError
            If something other than an Estimate is passed.
        """
        if not isinstance(estimate, Estimate):
            raise TypeError(
                f"DifferenceDisplay draws an Estimate, got {type(estimate).__name__}. Pass what "
                "differences(...) returns."
            )
        index = _style.common_labels({"differences": estimate})
        check_whole("max_rows", max_rows)
        table = pd.DataFrame(
            {name: getattr(estimate, name) for name in ("value", "low", "high")}, index=index
        )
        table["clear"] = (table["low"] > 0) | (table["high"] < 0)
        order = _closest_to_tie(estimate, max_rows)
        if sort:
            order = order[_style.best_first(estimate.value[order])]
        notes = [_style.interval_name(estimate.method, estimate)]
        notes += [
            note.replace("groups", "pairs")
            for note in _style.selection_note(
                len(order), len(index), len(index), "those closest to a tie"
            )
        ]
        lacks = [_style.lacks_value(estimate), _style.lacks_interval(estimate)]
        for what, which in zip(_MISSING, lacks, strict=True):
            notes += [f"{what} for {which.sum()} of {len(index)} pairs"] if which.any() else []
        known = table["low"].notna() & table["high"].notna()
        return cls(
            rows=table.iloc[order],
            legend=_verdict(table["clear"].to_numpy(), known.to_numpy()),
            notes=notes,
            remarks=list(np.select(lacks, _MISSING, default="")[order]),
        )

    def plot(self, ax: Axes | None = None, *, xlabel: str = "difference") -> Self:
        """Draw the differences.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; rows that they are too low for are left out, and a note says so. By
            default a new figure is made, as high as the rows and as wide as the names need.
        xlabel : str, default="difference"
            Name of the axis.

        Returns
        -------
        self : DifferenceDisplay
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
        names = _pair_names(self.rows.index)
        texts = list(self.legend.values())
        ax = _style.row_axes(ax, names, self.remarks, texts + self.notes, row_height=0.24)
        _style.dress_rows(ax, names, _limits(self.rows), xlabel)
        for row in range(0, len(names), 2):
            ax.axhspan(row - 0.5, row + 0.5, color=_style.BAND, linewidth=0, zorder=0)
        ax.axvline(0, color=_style.INK, linewidth=0.9, zorder=2)
        clear = self.rows["clear"].to_numpy()
        handles = {
            "clear": _draw_pairs(ax, self.rows, clear, _style.BLUE, _style.BLUE),
            "open": _draw_pairs(ax, self.rows, ~clear, _style.MUTED, "white"),
        }
        _style.draw_remarks(ax, self.remarks)
        _style.draw_heading(ax, [handles[key] for key in self.legend], texts, self.notes)
        return ax

    def _fitting(self, ax):
        """This display, or one with the rows that fit."""
        n_rows = len(self.rows)
        shown = _style.fitting_rows([ax], n_rows, len(self.legend) + len(self.notes) + 1)
        if len(shown) == n_rows:
            return self
        return type(self)(
            rows=self.rows.iloc[shown],
            legend=self.legend,
            notes=[*self.notes, _style.fitting_note(len(shown), n_rows)],
            remarks=[self.remarks[row] for row in shown],
        )


def _closest_to_tie(estimate, max_rows):
    """Positions of the pairs to draw, in the order given."""
    if len(estimate) <= max_rows:
        return np.arange(len(estimate))
    with np.errstate(divide="ignore", invalid="ignore"):  # without spread: infinite
        distance = np.abs(estimate.value / estimate.standard_error)
    distance[estimate.value == 0] = 0  # a tie, whatever the spread
    return np.sort(np.argsort(distance, kind="stable")[:max_rows])


def _verdict(clear, known):
    n, n_open = len(clear), np.sum(known & ~clear)
    words = {
        "clear": (clear.sum(), f"interval leaves out 0: {clear.sum()} of {n}"),
        "open": (n_open, f"too close to call: {n_open} of {n}"),
    }
    return {key: text for key, (count, text) in words.items() if count} or {"open": "no interval"}


def _pair_names(labels):
    if labels.nlevels == 2:
        return [f"{a} − {b}" for a, b in labels]
    return _style.row_names(labels)


def _limits(rows):
    """Ends of the axis: the padded data, and always 0."""
    values = np.append(rows[["value", "low", "high"]].to_numpy().ravel(), 0.0)
    values = values[np.isfinite(values)]
    padding = 0.05 * (values.max() - values.min()) or 0.05
    return values.min() - padding, values.max() + padding


def _draw_pairs(ax, rows, chosen, color, face):
    """Markers and whiskers of some rows; returns the legend handle."""
    y = np.flatnonzero(chosen)
    low, high = np.clip(rows.loc[chosen, ["low", "high"]].to_numpy(), *ax.get_xlim()).T
    ax.hlines(y, low, high, color=color, linewidth=1.5, zorder=3)
    look = {
        "color": color,
        "marker": "o",
        "markersize": 5,
        "markeredgecolor": color,
        "markerfacecolor": face,
        "markeredgewidth": 1.1,
    }
    ax.plot(rows["value"].to_numpy()[chosen], y, linestyle="none", zorder=4, **look)
    (handle,) = ax.plot([], [], linewidth=1.5, **look)
    return handle
