"""What repeated samples made of the estimates of a few groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from skbench._checks import check_option, check_whole, require_columns
from skbench._types import Labels
from skbench.plot import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ESTIMATES = ["repetition", "estimator", "estimate", "truth"]
_NOT_LABELS = (*_ESTIMATES, "n", "low", "high", "guarantee")
_COLORS = (_style.MUTED, _style.BLUE, _style.VERMILLION, _style.GREEN, _style.PURPLE)
_MARKERS = "oD^s"  # in turn, where there are more estimators than colors
_PALEST, _DOTS_AT_FULL_INK = 0.12, 12


class SamplingDisplay:
    """Estimates of single groups over many samples, against the truth.

    Make it with :meth:`from_results`, which computes everything to be drawn and
    needs no matplotlib; :meth:`plot` only draws.

    When not to use it: to judge an estimator by the few groups that are drawn; the
    summary of the study is over all of them.

    Parameters
    ----------
    estimates : dict of str to DataFrame
        What is drawn, see `estimates_`.
    truth : ndarray of shape (n_rows,)
        Truth of each row.
    notes : list of str
        What the reader must be told.

    Attributes
    ----------
    estimates_ : dict of str to DataFrame of shape (n_rows, n_repetitions)
        Estimates by name of the estimator, one row per group, indexed by label;
        nan where a group got no items or the estimator failed.
    ax_ : matplotlib Axes
        Set by :meth:`plot`.
    figure_ : matplotlib Figure
        Set by :meth:`plot`.

    See Also
    --------
    RiskDisplay : Errors over all groups.

    Notes
    -----
    Figure 6 of [1]_: dots are single samples, the long tick is the truth, the short
    one the mean over samples. The distance of the two is the bias, the scatter of
    the dots the variance: a regression trades the second for the first.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> from skbench import DirectEstimator, JamesStein, RepeatedSamplingStudy
    >>> from skbench import SamplingDisplay, make_items
    >>> items = make_items(3, 10, 50, random_state=0).items
    >>> study = RepeatedSamplingStudy(
    ...     {"direct": DirectEstimator(), "JS": JamesStein()}, 10, 20, random_state=0)
    >>> display = SamplingDisplay.from_results(study.run(items).results_, max_rows=5)
    >>> display.estimates_["JS"].shape
    (5, 20)
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self, *, estimates: Mapping[str, pd.DataFrame], truth: np.ndarray, notes: Sequence[str]
    ) -> None:
        self.estimates_ = estimates
        self.truth = truth
        self.notes = notes

    @classmethod
    def from_results(
        cls,
        results: pd.DataFrame,
        *,
        estimators: Sequence[str] | None = None,
        labels: Labels | None = None,
        max_rows: int = 10,
    ) -> Self:
        """Compute what is drawn from the results of a study.

        Parameters
        ----------
        results : DataFrame
            ``RepeatedSamplingStudy.results_``.
        estimators : list of str, default=None
            Estimators to draw; all of them by default.
        labels : array-like of labels, default=None
            Groups to draw; all of them by default. A label of several columns is
            a tuple.
        max_rows : int, default=10
            With more groups than this, that many are drawn, evenly spaced in the
            order of their truth.

        Returns
        -------
        SamplingDisplay

        Raises
        ------
        ValueError
            If a column, estimator or label is not there, there is nothing to draw, or a
            group has two estimates in one repetition.
        TypeError
            If the results are no frame.
        """
        check_whole("max_rows", max_rows)
        by = _label_columns(results)
        known = list(pd.unique(results["estimator"]))
        names = known if estimators is None else list(estimators)
        if not names:
            raise ValueError("There are no estimators to draw. Name one, or leave estimators out.")
        for name in names:
            check_option("estimators", name, known)
        rows = results.astype({name: object for name in by})
        truth = rows.groupby(by)["truth"].first().sort_values(ascending=False, kind="stable")
        asked = np.sort(_style.positions(truth.index, labels))
        shown = asked[np.unique(np.linspace(0, len(asked) - 1, max_rows).round().astype(int))]
        notes = _style.selection_note(
            len(shown), len(asked), len(truth), "evenly spaced in the order of the truth"
        )
        notes += _sample_notes(results, estimators)
        truth = truth.iloc[shown]
        tables = {
            name: rows[rows["estimator"] == name]
            .pivot(index=by, columns="repetition", values="estimate")
            .reindex(truth.index)
            for name in names
        }
        return cls(estimates=tables, truth=truth.to_numpy(), notes=notes)

    def plot(self, ax: Axes | None = None, *, xlabel: str = "score") -> Self:
        """Draw the dots.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; rows that they are too low for are left out, and a note says so. By
            default a new figure is made, as high as the rows need.
        xlabel : str, default="score"
            Name of the score axis.

        Returns
        -------
        self : SamplingDisplay
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
        first = next(iter(self.estimates_.values()))
        rows, texts = _style.row_names(first.index), [*self.estimates_, "truth"]
        n_lanes = len(self.estimates_)
        ax = _style.row_axes(ax, rows, [""], texts + self.notes, 0.12 + 0.14 * n_lanes)
        drawn = np.concatenate([table.to_numpy().ravel() for table in self.estimates_.values()])
        _style.dress_rows(ax, rows, _style.x_limits(np.append(drawn, self.truth)), xlabel)
        lanes = (np.arange(n_lanes) - (n_lanes - 1) / 2) * 0.8 / n_lanes
        handles = [
            _draw_lane(ax, table, lane, _look(i), 0.32 / n_lanes)
            for i, (table, lane) in enumerate(zip(self.estimates_.values(), lanes, strict=True))
        ]
        handles.append(_style.draw_truth(ax, self.truth, half_height=0.44))
        _style.draw_heading(ax, handles, texts, self.notes)
        return ax

    def _fitting(self, ax):
        """This display, or one with the rows that fit."""
        n_rows, n_lines = len(self.truth), len(self.estimates_) + len(self.notes) + 2
        shown = _style.fitting_rows([ax], n_rows, n_lines, len(self.estimates_))
        if len(shown) == n_rows:
            return self
        return type(self)(
            estimates={name: table.iloc[shown] for name, table in self.estimates_.items()},
            truth=self.truth[shown],
            notes=[*self.notes, _style.fitting_note(len(shown), n_rows)],
        )


def _label_columns(results):
    """Names of the columns that tell groups apart, after checking the table."""
    if not isinstance(results, pd.DataFrame):
        raise TypeError(
            f"The results are of type {type(results).__name__}. Pass results_ of a study that has "
            "run."
        )
    require_columns(results.columns, _ESTIMATES, what="The table of results")
    if not len(results):
        raise ValueError("The table of results has no rows, so there is nothing to draw.")
    by = [name for name in results.columns if name not in _NOT_LABELS]
    twice = results.duplicated(["repetition", "estimator", *by])
    if twice.any():
        row = results.loc[twice, ["estimator", *by]].astype(str).iloc[0]
        raise ValueError(
            f"Estimator {row['estimator']!r} has more than one estimate of "
            f"{_style.joined(row[by])!r} in one repetition. Pass the results of one study."
        )
    return by


def _sample_notes(results, estimators):
    """How many samples there are, and which estimators (all if None) lack some of them."""
    n_samples = results["repetition"].nunique()
    # Of an estimator that always failed only the category is left.
    counts = results.groupby("estimator", observed=False, sort=False)["repetition"].nunique()
    counts = counts if estimators is None else counts[list(estimators)]
    few = counts[counts < n_samples]
    return [
        f"{n_samples} sample{'s' * (n_samples > 1)}, a dot each",
        *(f"{name}: only {count} of the samples" for name, count in few[few > 0].items()),
        *(f"{name}: no samples, not drawn" for name in few.index[few == 0]),
    ]


def _look(place):
    """Color and shape of the dots of an estimator."""
    turn, color = divmod(place, len(_COLORS))
    return {"color": _COLORS[color], "marker": _MARKERS[turn % len(_MARKERS)]}


def _draw_lane(ax, table, lane, look, half_height):
    """Dots of one estimator and a tick at their means; returns the legend handle."""
    at = np.arange(len(table)) + lane
    y = np.repeat(at, table.shape[1])
    alpha = float(np.clip(_DOTS_AT_FULL_INK / table.shape[1], _PALEST, 1))
    look = {**look, "linestyle": "none", "markeredgewidth": 0}
    ax.plot(table.to_numpy().ravel(), y, markersize=4, alpha=alpha, zorder=3, **look)
    mean = table.mean(axis=1).to_numpy()
    ax.vlines(
        mean, at - half_height, at + half_height, color=look["color"], linewidth=2.2, zorder=5
    )
    (handle,) = ax.plot([], [], markersize=5, **look)
    return handle
