"""Forest plot: estimates of several methods side by side, one row per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_option
from skbench._types import Count, Labels, Text, checked
from skbench.containers import Estimate
from skbench.plot import _rows, _style
from skbench.plot._display import Display

_MARKERS = ("o", "s", "D", "^", "v")


@checked
@dataclass(kw_only=True, eq=False, repr=False)
class ForestDisplay(Display):
    """Forest plot with a marker and an interval for each group and method.

    Create it with :meth:`from_estimates`.

    When not to use it: to judge whether two groups differ. Two 95% intervals may overlap although
    the groups differ significantly. Use `compare_models`, which returns the interval of the
    difference.

    Parameters
    ----------
    legend : dict of str to str
        Name of each method, with the confidence level and guarantee of its intervals.
    notes : list of str
        Notes on groups that are not drawn and on missing estimates.
    rows : dict of str to DataFrame of shape (n_rows, 3)
        Value, low and high of each method (score units), indexed by label, from top to bottom.
    truth : ndarray of shape (n_rows,) or None
        True performance; nan if unknown.
    remarks : list of str of length n_rows
        For each row, a remark (missing value or outlying group) or an empty string.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    ShrinkageDisplay : Plot an arrow from each direct estimate to the shrunken estimate.

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
    'EB (95% interval, average over groups)'
    >>> display.rows["EB"]["value"].index.tolist()
    ['virology', 'anatomy', 'law']
    """

    rows: Mapping[str, pd.DataFrame]
    truth: np.ndarray | None
    remarks: Sequence[Text]

    _by_row = ("rows", "truth", "remarks")
    _row_inches = 0.13, 0.075

    @classmethod
    def from_estimates(
        cls,
        estimates: Mapping[str, Estimate],
        *,
        labels: Labels | None = None,
        sort_by: str | None = None,
        max_rows: Count = 40,
        truth: ArrayLike | None = None,
    ) -> Self:
        """Create the display from estimates of the same groups.

        Parameters
        ----------
        estimates : dict of str to Estimate
            Estimates by name, all with the same labels in the same order. If there are several, the
            first is drawn in gray as the reference.
        labels : array-like of labels, default=None
            Groups to draw, in this order. By default all groups are drawn.
        sort_by : str, default=None
            Name of the estimate to sort by, highest value first. By default groups keep their
            order.
        max_rows : int, default=40
            Maximum number of rows. If there are more groups, evenly spaced ones are drawn and a
            note reports it.
        truth : Series indexed by label, or array-like of shape (n_groups,), default=None
            True performance in score units. A Series may lack some labels.

        Returns
        -------
        ForestDisplay

        Raises
        ------
        ValueError
            If the estimates have different labels, or another argument does not match them.
        TypeError
            If `estimates` is not a dict of Estimates.
        """
        index = _rows.common_labels(estimates)
        if sort_by is not None:
            check_option("sort_by", sort_by, estimates)
        asked = _rows.positions(index, labels)
        order, rule = asked, "evenly spaced in the given order"
        if sort_by is not None:
            order = asked[_rows.best_first(estimates[sort_by].value[asked])]
            rule = f"evenly spaced from the highest {sort_by} to the lowest"
        if len(order) > max_rows:
            order = order[np.linspace(0, len(order) - 1, max_rows).round().astype(int)]

        notes = _rows.selection_note(len(order), len(asked), len(index), rule)
        for name, estimate in estimates.items():
            notes += _rows.gap_note(name, "estimate", _rows.lacks_value(estimate))
            notes += _rows.gap_note(name, "interval", _rows.lacks_interval(estimate))
        if truth is not None:
            truth = _rows.by_label(truth, index, "truth")
            notes += _rows.gap_note("truth", "value", np.isnan(truth))
            truth = truth[order]
        return cls(
            rows={name: _rows.intervals(est).iloc[order] for name, est in estimates.items()},
            legend={name: _rows.interval_name(name, est) for name, est in estimates.items()},
            truth=truth,
            remarks=_remarks(estimates, order),
            notes=notes,
        )

    def _names(self):
        """Names of the rows."""
        return _rows.row_names(next(iter(self.rows.values())).index)

    def _texts(self):
        """Lines of the legend."""
        return super()._texts() + ([] if self.truth is None else ["true value"])

    def _limits(self):
        """Limits of the axis."""
        values = np.concatenate([frame.to_numpy().ravel() for frame in self.rows.values()])
        return _style.x_limits(values if self.truth is None else np.append(values, self.truth))

    def _draw_rows(self, ax):
        """Draw markers and intervals; return the legend handles."""
        _style.draw_bands(ax, len(self.remarks))
        n_methods = len(self.rows)
        offsets = min(0.26, 0.75 / n_methods) * (np.arange(n_methods) - (n_methods - 1) / 2)
        colors = _style.COLORS if n_methods == 1 else (_style.MUTED, *_style.COLORS)
        looks = zip(offsets, cycle(colors), cycle(_MARKERS), strict=False)
        methods = zip(self.rows.values(), looks, strict=False)
        handles = [_draw_method(ax, frame, *look) for frame, look in methods]
        if self.truth is not None:
            handles.append(_style.draw_truth(ax, self.truth, half_height=0.4))
        return handles


def _remarks(estimates, order):
    """Remark of each row: whether the group is outlying, and the methods that lack something."""
    no_value = np.array([_rows.lacks_value(e)[order] for e in estimates.values()])
    no_interval = np.array([_rows.lacks_interval(e)[order] for e in estimates.values()])
    names = np.array([str(name) for name in estimates])
    outlying = np.any([e.is_outlying[order] for e in estimates.values()], axis=0)
    return [
        _rows.joined(
            [
                _rows.OUTLYING if is_outlying else "",
                _lacking("no estimate", names, a),
                _lacking("no interval", names, b),
            ]
        )
        for is_outlying, a, b in zip(outlying, no_value.T, no_interval.T, strict=True)
    ]


def _lacking(what, names, lacks):
    """What is missing, with the names of the methods unless all lack it."""
    if lacks.all() or not lacks.any():
        return what if lacks.all() else ""
    return f"{what}: {', '.join(names[lacks])}"


def _draw_method(ax, frame, offset, color, marker):
    """Draw markers and intervals of one method; return the legend handle."""
    rows = np.arange(len(frame)) + offset
    _style.draw_intervals(ax, rows, frame, color=color, linewidth=1.4, zorder=3)
    look = {"color": color, "marker": marker, "markersize": 4.5, "markeredgewidth": 0}
    ax.plot(frame["value"], rows, linestyle="none", zorder=4, **look)
    (handle,) = ax.plot([], [], linewidth=1.4 if frame["low"].notna().any() else 0, **look)
    return handle
