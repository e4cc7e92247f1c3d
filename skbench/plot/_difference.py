"""Differences between models, with intervals corrected for multiple comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from skbench._types import Count, Text, checked
from skbench.containers import Estimate
from skbench.plot import _rows, _style
from skbench.plot._display import Display

_MISSING = ("no estimate", "no interval")


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class DifferenceDisplay(Display):
    """Plot of differences between models, with intervals that include or exclude 0.

    Create it with :meth:`from_estimate`.

    When not to use it: for all pairs of many models. Rank confidence sets (`RankDisplay`) need only
    one row per model.

    Parameters
    ----------
    legend : dict of str to str
        Texts for ``clear`` (interval excludes 0) and ``open`` (interval includes 0), with counts
        over all pairs.
    notes : list of str
        Confidence level and correction, and notes on pairs that are not drawn or missing.
    rows : DataFrame with n_rows rows
        Columns value, low and high (score units) and clear (whether the interval excludes 0), from
        top to bottom.
    remarks : list of str of length n_rows
        For each row, a remark on missing values or an empty string.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    RankDisplay : Probability of each rank of each model.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench import Estimate
    >>> from skbench.plot import DifferenceDisplay
    >>> pairs = pd.MultiIndex.from_tuples([("ada", "bob"), ("ada", "cyd")])
    >>> e = Estimate([0.02, 0.1], [-0.01, 0.06], [0.05, 0.14], [0.01, 0.02], 0.975, pairs,
    ...              "bootstrap differences, Bonferroni: 95% for all 2 together", "model")
    >>> display = DifferenceDisplay.from_estimate(e)
    >>> display.rows["clear"].tolist()
    [False, True]
    >>> display.legend["clear"]
    'interval excludes 0: 1 of 2'
    """

    rows: pd.DataFrame
    remarks: Sequence[Text]

    _by_row = ("rows", "remarks")
    _row_inches = 0.24, 0.0
    _xlabel = "difference"

    @classmethod
    def from_estimate(cls, estimate: Estimate, *, max_rows: Count = 40) -> Self:
        """Create the display from estimates of differences.

        Parameters
        ----------
        estimate : Estimate
            Differences, as returned by ``differences``. Labels (a, b) are drawn as "a − b".
        max_rows : int, default=40
            Maximum number of rows. If there are more pairs, those closest to 0 (in standard errors)
            are drawn and a note reports it.

        Returns
        -------
        DifferenceDisplay

        Raises
        ------
        ValueError
            If there is no pair, if a pair occurs twice, or if `max_rows` is below 1.
        TypeError
            If `estimate` is not an Estimate.
        """
        index = _rows.common_labels({"differences": estimate})
        table = _rows.intervals(estimate)
        table["clear"] = (table["low"] > 0) | (table["high"] < 0)
        order = _closest_to_zero(estimate, max_rows)
        notes = [_rows.interval_name(estimate.method, estimate)]
        notes += _rows.selection_note(len(order), len(index), len(index), "closest to 0", "pairs")
        lacks = [_rows.lacks_value(estimate), _rows.lacks_interval(estimate)]
        for what, which in zip(_MISSING, lacks, strict=True):
            notes += [f"{what} for {which.sum()} of {len(index)} pairs"] if which.any() else []
        known = table["low"].notna() & table["high"].notna()
        return cls(
            rows=table.iloc[order],
            legend=_verdict(table["clear"].to_numpy(), known.to_numpy()),
            notes=notes,
            remarks=list(np.select(lacks, _MISSING, default="")[order]),
        )

    def _names(self):
        """Names of the pairs."""
        labels = self.rows.index
        if labels.nlevels != 2:
            return _rows.row_names(labels)
        return [" − ".join(map(_rows.in_one_line, pair)) for pair in labels]

    def _limits(self):
        """Limits of the axis: the padded data, always including 0."""
        values = np.append(self.rows[["value", "low", "high"]].to_numpy().ravel(), 0.0)
        values = values[np.isfinite(values)]
        padding = 0.05 * (values.max() - values.min()) or 0.05
        return values.min() - padding, values.max() + padding

    def _draw_rows(self, ax):
        """Draw the line at 0, markers and intervals; return the legend handles."""
        _style.draw_bands(ax, len(self.rows))
        ax.axvline(0, color=_style.INK, linewidth=0.9, zorder=2)
        clear = self.rows["clear"].to_numpy()
        handles = {
            "clear": _draw_pairs(ax, self.rows, clear, _style.BLUE, _style.BLUE),
            "open": _draw_pairs(ax, self.rows, ~clear, _style.MUTED, "white"),
        }
        return [handles[key] for key in self.legend]


def _closest_to_zero(estimate, max_rows):
    """Positions of the pairs to draw, in the given order."""
    if len(estimate) <= max_rows:
        return np.arange(len(estimate))
    with np.errstate(divide="ignore", invalid="ignore"):  # infinite if the standard error is 0
        distance = np.abs(estimate.value / estimate.standard_error)
    distance[estimate.value == 0] = 0  # also if the standard error is 0
    return np.sort(np.argsort(distance, kind="stable")[:max_rows])


def _verdict(clear, known):
    """Legend entries with the numbers of pairs."""
    n, n_open = len(clear), np.sum(known & ~clear)
    words = {
        "clear": (clear.sum(), f"interval excludes 0: {clear.sum()} of {n}"),
        "open": (n_open, f"interval includes 0: {n_open} of {n}"),
    }
    return {key: text for key, (count, text) in words.items() if count} or {"open": "no interval"}


def _draw_pairs(ax, rows, chosen, color, face):
    """Draw markers and intervals of some rows; return the legend handle."""
    y = np.flatnonzero(chosen)
    _style.draw_intervals(ax, y, rows[chosen], color=color, linewidth=1.5, zorder=3)
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
