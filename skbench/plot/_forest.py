"""Estimates of several methods side by side, one row per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_option, check_whole
from skbench._types import Labels
from skbench.containers import Estimate
from skbench.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MARKERS = ("o", "s", "D", "^", "v")
_ACCENTS = (_style.BLUE, _style.VERMILLION, _style.GREEN, _style.PURPLE, _style.ORANGE)


class ForestDisplay:
    """Forest plot: a marker and an interval per group and method.

    Make it with :meth:`from_estimates`, which computes everything to be drawn
    and needs no matplotlib; :meth:`plot` only draws.

    When not to use it: to tell whether two groups differ. Two 95 % intervals
    may overlap although the difference is clear; it has an interval of its own
    (`skbench.compare_models`).

    Parameters
    ----------
    rows : dict of str to DataFrame of shape (n_rows, 3)
        For each method the columns value, low and high (score units), indexed
        by label, in the order drawn from top to bottom.
    legend : dict of str to str
        For each method its name, confidence level and guarantee in words.
    truth : ndarray of shape (n_rows,) or None
        True performance where known, nan elsewhere.
    remarks : list of str of length n_rows
        What is missing in each row, and which groups are unlike their peers, drawn beside
        it; mostly empty.
    notes : list of str
        What the reader must be told: groups left out, estimates missing.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    ShrinkageDisplay : What a shrinkage estimator did to each direct estimate.

    Notes
    -----
    The legend stands above the axes; ``display.figure_.suptitle(...)`` puts a
    heading over both.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench import Estimate, ForestDisplay
    >>> topics = pd.Index(["anatomy", "law", "virology"], name="topic")
    >>> spread = [0.1, 0.1, 0.1]
    >>> direct = Estimate([0.7, 0.4, 0.9], [0.5, 0.2, 0.7], [0.9, 0.6, 1.0], spread,
    ...                   0.95, topics, "direct", "each group")
    >>> eb = Estimate([0.68, 0.5, 0.8], [0.55, 0.35, 0.65], [0.8, 0.65, 0.95], spread,
    ...               0.95, topics, "EB", "average over groups")
    >>> display = ForestDisplay.from_estimates({"direct": direct, "EB": eb}, sort_by="EB")
    >>> display.legend["EB"]
    'EB (95 %, average over groups)'
    >>> display.rows["EB"]["value"].index.tolist()
    ['virology', 'anatomy', 'law']
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        rows: Mapping[str, pd.DataFrame],
        legend: Mapping[str, str],
        truth: np.ndarray | None,
        remarks: Sequence[str],
        notes: Sequence[str],
    ) -> None:
        self.rows = rows
        self.legend = legend
        self.truth = truth
        self.remarks = remarks
        self.notes = notes

    @classmethod
    def from_estimates(
        cls,
        estimates: Mapping[str, Estimate],
        *,
        labels: Labels | None = None,
        sort_by: str | None = None,
        max_rows: int = 40,
        truth: ArrayLike | None = None,
    ) -> Self:
        """Compute what is drawn from estimates of the same groups.

        Parameters
        ----------
        estimates : dict of str to Estimate
            Estimates by the name the legend shall use, all with the same labels
            in the same order. With two or more the first is drawn muted, as the
            one to compare with.
        labels : array-like of labels, default=None
            Groups to draw, in this order; all of them by default.
        sort_by : str, default=None
            Name of the estimate to sort by, highest on top. By default groups
            stay in the order given.
        max_rows : int, default=40
            With more groups than this, that many are drawn, evenly spaced in
            the order of the rows (the first and the last among them), and a
            note in the picture says so.
        truth : Series indexed by label, or array-like of shape (n_groups,), default=None
            True performance, in score units; a label it lacks has no truth.

        Returns
        -------
        ForestDisplay

        Raises
        ------
        ValueError
            If the estimates differ in a label, or `labels`, `sort_by`,
            `max_rows` or `truth` ask for what is not there.
        TypeError
            If something other than a dict of Estimates is passed.
        """
        index = _style.common_labels(estimates)
        check_whole("max_rows", max_rows)
        if sort_by is not None:
            check_option("sort_by", sort_by, estimates)
        asked = _style.positions(index, labels)
        order, rule = asked, "evenly spaced in the order given"
        if sort_by is not None:
            order = asked[_style.best_first(estimates[sort_by].value[asked])]
            rule = f"evenly spaced from the highest {sort_by} to the lowest"
        if len(order) > max_rows:
            order = order[np.linspace(0, len(order) - 1, max_rows).round().astype(int)]

        notes = _style.selection_note(len(order), len(asked), len(index), rule)
        for name, estimate in estimates.items():
            notes += _style.gap_note(name, "estimate", _style.lacks_value(estimate))
            notes += _style.gap_note(name, "interval", _style.lacks_interval(estimate))
        if truth is not None:
            truth = _style.by_label(truth, index, "truth")
            notes += _style.gap_note("truth", "value", np.isnan(truth))
            truth = truth[order]
        return cls(
            rows={name: _drawn_rows(estimate, order) for name, estimate in estimates.items()},
            legend={name: _style.interval_name(name, est) for name, est in estimates.items()},
            truth=truth,
            remarks=_remarks(estimates, order),
            notes=notes,
        )

    def plot(self, ax: Axes | None = None, *, xlabel: str = "score") -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; rows that they are too low for are left out, and a note says so. By
            default a new figure is made, as high as the rows and as wide as the names need.
        xlabel : str, default="score"
            Name of the score axis.

        Returns
        -------
        self : ForestDisplay
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
        names = _style.row_names(next(iter(self.rows.values())).index)
        texts = list(self.legend.values()) + ([] if self.truth is None else ["truth"])
        row_height = 0.13 + 0.075 * len(self.rows)
        ax = _style.row_axes(ax, names, self.remarks, texts + self.notes, row_height)
        _style.dress_rows(ax, names, _style.x_limits(self._drawn_values()), xlabel)
        for row in range(0, len(names), 2):
            ax.axhspan(row - 0.5, row + 0.5, color=_style.BAND, linewidth=0, zorder=0)
        step = min(0.26, 0.75 / len(self.rows))
        offsets = step * (np.arange(len(self.rows)) - (len(self.rows) - 1) / 2)
        colors = _ACCENTS if len(self.rows) == 1 else (_style.MUTED, *_ACCENTS)
        handles = [
            _draw_method(ax, frame, offset, color, marker)
            for frame, offset, color, marker in zip(
                self.rows.values(), offsets, cycle(colors), cycle(_MARKERS), strict=False
            )
        ]
        if self.truth is not None:
            handles.append(_style.draw_truth(ax, self.truth, half_height=0.4))
        _style.draw_remarks(ax, self.remarks)
        _style.draw_heading(ax, handles, texts, self.notes)
        return ax

    def _fitting(self, ax):
        """This display, or one with the rows that fit."""
        n_rows, n_lines = len(self.remarks), len(self.legend) + len(self.notes) + 1
        shown = _style.fitting_rows([ax], n_rows, n_lines, len(self.rows))
        if len(shown) == n_rows:
            return self
        return type(self)(
            rows={name: frame.iloc[shown] for name, frame in self.rows.items()},
            legend=self.legend,
            truth=None if self.truth is None else self.truth[shown],
            remarks=[self.remarks[row] for row in shown],
            notes=[*self.notes, _style.fitting_note(len(shown), n_rows)],
        )

    def _drawn_values(self):
        values = np.concatenate([frame.to_numpy().ravel() for frame in self.rows.values()])
        return values if self.truth is None else np.append(values, self.truth)


def _drawn_rows(estimate, order):
    columns = {name: getattr(estimate, name)[order] for name in ("value", "low", "high")}
    return pd.DataFrame(columns, index=estimate.labels[order])


def _remarks(estimates, order):
    """For each row whether it is unlike its peers, and the methods that lack something."""
    no_value = np.array([_style.lacks_value(e)[order] for e in estimates.values()])
    no_interval = np.array([_style.lacks_interval(e)[order] for e in estimates.values()])
    names = np.array([str(name) for name in estimates])
    unlike = np.any([e.is_unlike[order] for e in estimates.values()], axis=0)
    return [
        _style.joined(
            [
                _style.UNLIKE if odd else "",
                _lacking("no estimate", names, a),
                _lacking("no interval", names, b),
            ]
        )
        for odd, a, b in zip(unlike, no_value.T, no_interval.T, strict=True)
    ]


def _lacking(what, names, lacks):
    if lacks.all() or not lacks.any():
        return what if lacks.all() else ""
    return f"{what}: {', '.join(names[lacks])}"


def _draw_method(ax, frame, offset, color, marker):
    """Markers and whiskers of one method; returns the legend handle."""
    rows = np.arange(len(frame)) + offset
    # An infinite end runs to the edge instead of vanishing.
    low, high = np.clip(frame[["low", "high"]].to_numpy(), *ax.get_xlim()).T
    ax.hlines(rows, low, high, color=color, linewidth=1.4, zorder=3)
    look = {"color": color, "marker": marker, "markersize": 4.5, "markeredgewidth": 0}
    ax.plot(frame["value"], rows, linestyle="none", zorder=4, **look)
    (handle,) = ax.plot([], [], linewidth=1.4 if np.isfinite(low).any() else 0, **look)
    return handle
