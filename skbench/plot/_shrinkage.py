"""Shrinkage plot: arrows from direct to shrunken estimates, compared with true values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._types import Count, Labels, Text, checked
from skbench.containers import Estimate
from skbench.plot import _rows, _style
from skbench.plot._display import Display

_PALE = "#cfe1ef"
# Color of an arrow, and whether its head is filled (to be legible in gray).
_LOOKS = {
    "moved": (_style.BLUE, True),
    "toward": (_style.BLUE, True),
    "farther": (_style.VERMILION, False),
    "same": (_style.MUTED, True),
    "unknown": (_style.MUTED, False),
}
_WORDS = {
    "toward": "closer to the true value",
    "farther": "farther from the true value",
    "same": "equally far from the true value",
}
_ROUNDING = 1e-12
_CARET_LEFT, _CARET_RIGHT = 4, 5  # matplotlib's arrow heads with the tip on the point


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class ShrinkageDisplay(Display):
    """Plot with an arrow from each direct to its shrunken estimate, and the latter's interval.

    Create it with :meth:`from_estimates`.

    When not to use it: as evidence that shrinkage reduces errors, unless true values are known. If
    there are many groups, only those with the largest shrinkage are drawn. They are not typical.

    Parameters
    ----------
    legend : dict of str to str
        Texts for `direct` and `shrunk` (with level and guarantee). If true values are given, also
        for `toward`, `farther`, `same`, `unknown` (with counts over all groups) and `truth`.
    notes : list of str
        Notes on groups that are not drawn and on missing estimates.
    moves : DataFrame with n_groups rows
        All groups, indexed by label, largest change first. Columns: label (as drawn), direct,
        shrunk, low and high (of the shrunken estimate), moved (shrunk - direct), outlying (whether
        the probability of being an outlier is above 0.9), truth, improved (whether the shrunken
        estimate is closer to the true value, NA if unknown), and n if it was given.
    rows : DataFrame with n_rows rows
        The rows of `moves` that are drawn, from top to bottom.
    remarks : list of str of length n_rows
        Size of each group, missing values, and whether it is outlying.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    ForestDisplay : Estimates of several methods side by side.

    Notes
    -----
    `improved` compares distances from the true value. A shrunken estimate may be on the other side
    of the true value.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench import Estimate, ShrinkageDisplay
    >>> topics = pd.Index(["anatomy", "law"], name="topic")
    >>> direct = Estimate([0.75, 0.25], [0.5, 0.1], [0.9, 0.5], [0.1, 0.1],
    ...                   0.95, topics, "direct", "each group")
    >>> eb = Estimate([0.625, 0.5], [0.5, 0.4], [0.8, 0.6], [0.1, 0.1],
    ...               0.95, topics, "EB", "average over groups")
    >>> truth = pd.Series({"anatomy": 0.8, "law": 0.45})
    >>> display = ShrinkageDisplay.from_estimates(direct, eb, truth=truth)
    >>> display.moves[["moved", "improved"]]
             moved  improved
    topic
    law      0.250      True
    anatomy -0.125     False
    >>> display.legend["toward"]
    'closer to the true value: 1 of 2'
    """

    moves: pd.DataFrame
    rows: pd.DataFrame
    remarks: Sequence[Text]

    _by_row = ("rows", "remarks")

    @classmethod
    def from_estimates(
        cls,
        direct: Estimate,
        shrunk: Estimate,
        *,
        truth: ArrayLike | None = None,
        n: ArrayLike | None = None,
        labels: Labels | None = None,
        max_rows: Count = 40,
    ) -> Self:
        """Create the display from direct and shrunken estimates.

        Parameters
        ----------
        direct, shrunk : Estimate
            Estimates of the same groups in the same order. The legend uses their `method`.
        truth : Series indexed by label, or array-like of shape (n_groups,), default=None
            True performance in score units. A Series may lack some labels.
        n : Series indexed by label, or array-like of shape (n_groups,), default=None
            Number of items per group. It is printed beside the rows, or once if all are equal.
        labels : array-like of labels, default=None
            Groups to draw. By default all groups are drawn.
        max_rows : int, default=40
            Maximum number of rows. If there are more groups, those with the largest shrinkage are
            drawn and a note reports it.

        Returns
        -------
        ShrinkageDisplay

        Raises
        ------
        ValueError
            If the estimates have different labels, or another argument does not match them.
        TypeError
            If `direct` or `shrunk` is not an Estimate.
        """
        index = _rows.common_labels({"direct": direct, "shrunk": shrunk})
        truth = None if truth is None else _rows.by_label(truth, index, "truth")
        n = None if n is None else _rows.by_label(n, index, "n")
        moves = _moves(direct, shrunk, truth, n)
        # `moves` is sorted, so the first requested rows have the largest changes.
        asked = np.sort(_rows.positions(moves.index, labels))
        shown = asked[:max_rows]
        shown = shown[_rows.best_first(moves["shrunk"].to_numpy()[shown])]

        notes = _rows.selection_note(len(shown), len(asked), len(index), "largest changes")
        notes += _rows.gap_note(direct.method, "estimate", _rows.lacks_value(direct))
        notes += _rows.gap_note(shrunk.method, "estimate", _rows.lacks_value(shrunk))
        notes += _rows.gap_note(shrunk.method, "interval", _rows.lacks_interval(shrunk))
        if n is not None:
            notes += _rows.gap_note("n", "value", np.isnan(n))
        is_one_size = n is not None and bool(np.all(n == n[0]))
        if is_one_size:
            notes.append(f"{_count(n[0])} items in every group")
        legend = {
            "direct": direct.method,
            "shrunk": _rows.interval_name(shrunk.method, shrunk),
        }
        if truth is not None:
            legend |= _verdict(moves)
        remarks = _remarks(moves, show_sizes=n is not None and not is_one_size)[shown].tolist()
        rows = moves.iloc[shown]
        return cls(moves=moves, rows=rows, legend=legend, remarks=remarks, notes=notes)

    def _names(self):
        """Names of the rows."""
        return self.rows["label"].tolist()

    def _limits(self):
        """Limits of the axis."""
        drawn = self.rows[["direct", "shrunk", "low", "high", "truth"]]
        return _style.x_limits(drawn.to_numpy().ravel())

    def _draw_rows(self, ax):
        """Draw estimates, intervals and arrows; return the legend handles."""
        rows = self.rows
        ax.grid(axis="y", color=_style.GRID, linewidth=0.6)
        handles = _draw_estimates(ax, rows)
        kinds = _kinds(rows) if "toward" in self.legend else np.full(len(rows), "moved")
        for kind, (color, is_filled) in _LOOKS.items():
            handles[kind] = _draw_arrows(ax, rows, kinds == kind, color, is_filled)
        if "truth" in self.legend:
            handles["truth"] = _style.draw_truth(ax, rows["truth"].to_numpy(), half_height=0.32)
        else:
            handles["shrunk"] = (handles["shrunk"], handles["moved"])
        return [handles[key] for key in self.legend]


def _moves(direct, shrunk, truth, n):
    """One row per group, largest change first, nan last."""
    frame = pd.DataFrame(
        {
            "label": _rows.row_names(direct.labels),
            "direct": direct.value,
            "shrunk": shrunk.value,
            "low": shrunk.low,
            "high": shrunk.high,
            "moved": shrunk.value - direct.value,
            "outlying": shrunk.is_outlying,
            "truth": np.nan if truth is None else truth,
        },
        index=direct.labels,
    )
    kinds = _kinds(frame)
    improved = pd.Series(kinds == "toward", index=frame.index, dtype="boolean")
    frame["improved"] = improved.mask(kinds == "unknown")
    if n is not None:
        frame["n"] = n
    return frame.iloc[_rows.best_first(frame["moved"].abs().to_numpy())]


def _kinds(frame):
    """Key of `_LOOKS` for each row: whether it is now closer to the true value."""
    before = (frame["direct"] - frame["truth"]).abs().to_numpy()
    after = (frame["shrunk"] - frame["truth"]).abs().to_numpy()
    gain = before - after
    return np.select(
        [np.isnan(gain), gain > _ROUNDING, gain < -_ROUNDING],
        ["unknown", "toward", "farther"],
        default="same",
    )


def _remarks(moves, show_sizes):
    """Remark of each group: size, missing values, and whether it is outlying; ndarray of str."""
    no_direct, no_shrunk = moves["direct"].isna(), moves["shrunk"].isna()
    no_interval = moves[["low", "high"]].isna().any(axis=1)
    lacking = np.select(
        [no_direct & no_shrunk, no_direct, no_shrunk, no_interval & ~no_interval.all()],
        ["no estimate", "no direct estimate", "no shrunken estimate", "no interval"],
        default="",
    )
    sizes = [""] * len(moves)
    if show_sizes:
        sizes = ["" if np.isnan(n) else f"n = {_count(n)}" for n in moves["n"]]
    outlying = np.where(moves["outlying"], _rows.OUTLYING, "")
    return np.array([_rows.joined(words) for words in zip(sizes, lacking, outlying, strict=True)])


def _count(n):
    """A number of items with all its digits."""
    return f"{n:.15g}"


def _verdict(moves):
    """Legend entries that compare with the true values, with counts."""
    kinds = _kinds(moves)
    n_known = int(np.sum(kinds != "unknown"))
    words = {}
    for kind, phrase in _WORDS.items():
        count = int(np.sum(kinds == kind))
        if count or kind != "same":
            words[kind] = f"{phrase}: {count} of {n_known}"
    if n_known < len(moves):
        words["unknown"] = f"true value or estimate missing: {len(moves) - n_known}"
    return words | {"truth": "true value"}


def _draw_estimates(ax, rows):
    """Draw direct estimates and shrunken intervals; return the legend handles."""
    y = np.arange(len(rows))
    _style.draw_intervals(ax, y, rows, color=_PALE, linewidth=5, zorder=2)
    look = {
        "marker": "o",
        "markersize": 4.8,
        "markerfacecolor": "white",
        "markeredgecolor": _style.MUTED,
        "linestyle": "none",
    }
    ax.plot(rows["direct"], y, zorder=3, **look)
    (direct,) = ax.plot([], [], **look)
    (shrunk,) = ax.plot([], [], color=_PALE, linewidth=5, solid_capstyle="butt")
    return {"direct": direct, "shrunk": shrunk}


def _draw_arrows(ax, rows, is_kind, color, is_filled):
    """Draw arrows of one color with tips at the shrunken estimates; return the legend handle."""
    y = np.arange(len(rows))
    direct, shrunk, moved = (rows[name].to_numpy() for name in ("direct", "shrunk", "moved"))
    look = {
        "markersize": 6,
        "markeredgewidth": 1.1,
        "markeredgecolor": color,
        "markerfacecolor": color if is_filled else "white",
    }
    ax.hlines(y[is_kind], direct[is_kind], shrunk[is_kind], color=color, linewidth=1.5, zorder=4)
    heads = {_CARET_LEFT: moved < 0, _CARET_RIGHT: moved > 0}
    # Without a direct estimate or a change there is no direction.
    heads["o"] = ~(heads[_CARET_LEFT] | heads[_CARET_RIGHT])
    for marker, points in heads.items():
        chosen = is_kind & points
        ax.plot(shrunk[chosen], y[chosen], linestyle="none", marker=marker, zorder=5, **look)
    (handle,) = ax.plot([], [], color=color, linewidth=1.5, marker=_CARET_RIGHT, **look)
    return handle
