"""What the displays share: which groups get a row, what they are called, how rows look."""

import re
from itertools import zip_longest
from textwrap import wrap

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench.containers import Estimate

INK = "#22272e"
MUTED = "#7a828c"
GRID = "#e4e7eb"
BAND = "#f6f7f9"
# After Okabe and Ito, whose colors stay apart under the common color blindnesses; the last
# two are darker than theirs, for thin lines on white.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE = "#0072b2", "#d55e00", "#009e73", "#b0578d", "#c98a00"

_LABEL_SIZE = 8.5
_NOTE_SIZE = 8.5
# Average advance of a character at these sizes, on the wide side of DejaVu Sans.
_INCHES_PER_CHARACTER = 0.072
_FEWEST_CHARACTERS = 24  # in a line of a note
INCHES_PER_LINE = 0.19  # above the axes
_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue
_ROWS_NEEDING_TOP_TICKS = 25
# The two guarantees that are not a phrase by themselves.
_PHRASES = {"model": "if the model holds", "none": "no guarantee"}
UNLIKE = "unlike its peers"  # what is written beside such a group


def common_labels(estimates):
    """The labels that all estimates of a dict share, after checking that they do.

    Parameters
    ----------
    estimates : dict of str to Estimate
        Estimates by name.

    Returns
    -------
    pandas.Index of length n_groups

    Raises
    ------
    ValueError
        If there is nothing to draw, two estimates differ in a label, or a label
        occurs twice.
    TypeError
        If something other than a dict of Estimates is passed.
    """
    if not isinstance(estimates, dict):
        raise TypeError(
            f"The estimates are of type {type(estimates).__name__}. Pass a dict of estimates by "
            'name, such as {"direct": direct}.'
        )
    if not estimates:
        raise ValueError("There are no estimates to draw. Pass at least one.")
    for name, estimate in estimates.items():
        if not isinstance(estimate, Estimate):
            raise TypeError(
                f"Estimate {name!r} is of type {type(estimate).__name__}. "
                "Pass what an estimator's estimate() returns."
            )
    (first_name, first), *others = estimates.items()
    if len(first) == 0:
        raise ValueError(f"Estimate {first_name!r} has no groups, so there is nothing to draw.")
    for name, other in others:
        if first.labels.equals(other.labels):
            continue
        pairs = zip_longest(first.labels, other.labels, fillvalue="nothing")
        for row, (expected, found) in enumerate(pairs):
            if expected != found:
                raise ValueError(
                    f"Estimate {name!r} has {found!r} in row {row}, where {first_name!r} has "
                    f"{expected!r}. Give all estimates the same labels in the same order."
                )
    _check_unique(first.labels, "The labels of the estimates")
    return first.labels


def by_label(values, labels, name):
    """Numbers in the order of `labels`; nan where a Series does not know the label.

    Parameters
    ----------
    values : Series indexed by label, or array-like of shape (n_groups,)
        An array must already be in the order of `labels`.
    labels : pandas.Index of length n_groups
        Labels of the estimates.
    name : str
        What to call `values` in an error.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    if not isinstance(values, pd.Series):
        values = _numbers(values, name)
        if values.shape != (len(labels),):
            raise ValueError(
                f"{name} has shape {values.shape}, but there are {len(labels)} groups. "
                "Pass a Series indexed by label."
            )
        return values
    _check_unique(values.index, f"The index of {name}")
    where = values.index.get_indexer(labels)
    if (where < 0).all():
        own = plain(values.index[0]) if len(values) else "nothing"
        raise ValueError(
            f"{name} knows none of the groups, such as {plain(labels[0])!r}; its own labels are "
            f"like {own!r}. Index it by the estimates' labels."
        )
    found = _numbers(values, name)
    return np.where(where < 0, np.nan, found[where])


def positions(labels, asked):
    """Where the labels asked for stand (all of them when `asked` is None)."""
    if asked is None:
        return np.arange(len(labels))
    if not pd.api.types.is_list_like(asked):
        raise TypeError(f"labels must be a list of labels, got {asked!r}. Write [{asked!r}].")
    asked = pd.Index(asked)
    _check_unique(asked, "The labels to draw")
    where = labels.get_indexer(asked)
    if (where < 0).any():
        raise ValueError(
            f"There is no group {plain(asked[int(np.argmax(where < 0))])!r} to draw; "
            f"the labels are like {plain(labels[0])!r}."
        )
    if not len(where):
        raise ValueError("labels is empty. Name at least one group, or leave labels out.")
    return where


def best_first(values):
    """Order from the highest value down, nan last, ties as they came."""
    return np.argsort(-values, kind="stable")


def row_names(labels):
    """One line of text per label; what a MultiIndex holds apart is joined by a dot."""
    return [
        joined(map(in_one_line, label)) if isinstance(label, tuple) else in_one_line(label)
        for label in labels
    ]


def in_one_line(label):
    """A label as text without line breaks and tabs, which would run into other rows."""
    return re.sub(r"[^\S ]+", " ", str(label))


def interval_name(name, estimate):
    """Name, level and guarantee of an estimate's intervals, as legends print them."""
    if np.all(np.isnan(estimate.low) | np.isnan(estimate.high)):
        return f"{name} (no interval)"
    promise = _PHRASES.get(estimate.guarantee, estimate.guarantee)
    return f"{name} ({100 * estimate.confidence_level:.4g} %, {promise})"


def selection_note(n_shown, n_asked, n_groups, rule):
    """Say which groups a picture shows, unless it shows all; a list of 0 or 1 lines."""
    if n_shown == n_groups:
        return []
    head = f"{n_shown} of {n_groups} groups shown"
    if n_shown == n_asked:
        return [f"{head}: those asked for"]
    return [f"{head}: {rule}" + ("" if n_asked == n_groups else f", among {n_asked} asked for")]


def lacks_value(estimate):
    """Groups without an estimate; ndarray of bool of shape (n_groups,)."""
    return np.isnan(estimate.value)


def lacks_interval(estimate):
    """Groups with an estimate but no interval, unless no group has one (the legend says so)."""
    lacks = np.isnan(estimate.low) | np.isnan(estimate.high)
    return lacks & ~lacks_value(estimate) & ~lacks.all()


def gap_note(name, what, lacks):
    """Say how many groups lack something, if any do; a list of 0 or 1 lines."""
    return [f"{name}: no {what} for {lacks.sum()} of {lacks.size} groups"] if lacks.any() else []


def joined(words):
    """Words with a dot between them, empty ones left out."""
    return " · ".join(filter(None, words))


def x_limits(values):
    """Ends of the score axis: the unit interval, a part of it, or the padded data.

    Data inside [0, 1] that fill more than half of it get all of it, so that
    pictures can be compared; data that fill less are shown closer up.

    Parameters
    ----------
    values : ndarray
        Everything that is drawn; what is not finite is ignored.

    Returns
    -------
    low, high : float
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return -0.02, 1.02
    low, high = values.min(), values.max()
    # Interval ends at 0 or 1 come with rounding errors of 1e-17.
    is_unit = low >= -1e-9 and high <= 1 + 1e-9
    if is_unit and high - low > 0.5:
        return -0.02, 1.02
    padding = 0.04 * (high - low) or 0.05
    if is_unit:
        return max(low - padding, -0.02), min(high + padding, 1.02)
    return low - padding, high + padding


def row_axes(ax, names, remarks, texts, row_height):
    """The axes to draw on: the caller's, or new ones that fit the rows and the words.

    Parameters
    ----------
    ax : matplotlib Axes or None
        None makes a new figure.
    names : list of str
        Row names, at the left of the axes.
    remarks : list of str
        Remarks on the rows, at the right of the axes.
    texts : list of str
        Lines of text above the axes.
    row_height : float
        Inches per row.

    Raises
    ------
    ImportError
        If a figure is needed and matplotlib is not installed.
    """
    if ax is not None:
        return ax
    longest_name, longest_remark, longest_text = (
        max(map(len, words)) for words in (names, remarks, texts)
    )
    width = max(5.2, 0.7 + _INCHES_PER_CHARACTER * longest_text)
    width += 0.4 + _INCHES_PER_CHARACTER * (longest_name + longest_remark)
    return new_axes(width, 0.85 + INCHES_PER_LINE * len(texts) + row_height * max(len(names), 2))


def fitting_rows(axes, n_rows, n_lines, n_marks=1):
    """Which rows the caller's axes have the height for.

    Parameters
    ----------
    axes : list of matplotlib Axes, or of None
        Those that share the rows; None has room for all.
    n_rows : int
        Rows there are.
    n_lines : int
        Lines of text above the axes.
    n_marks : int, default=1
        Marks in a row, one above the other.

    Returns
    -------
    ndarray of int
        Evenly spaced, the first and the last row among them where two fit.
    """
    if axes[0] is None:
        return np.arange(n_rows)
    # A name must be read, and marks must not touch.
    fit = max(1, int(height_of(axes, n_lines) / max(0.16, 0.06 + 0.055 * n_marks)))
    if fit >= n_rows:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, fit).round().astype(int)


def height_of(axes, n_lines):
    """Inches of the caller's axes, without what lines of text above them take.

    Parameters
    ----------
    axes : list of matplotlib Axes
        Those that stand beside each other; the lowest counts.
    n_lines : int
        Lines of text above the axes, which a layout engine takes off their height.
    """
    figure = _make_room(axes)
    inches = min(ax.get_window_extent().height for ax in axes) / figure.dpi
    return inches - INCHES_PER_LINE * n_lines * (figure.get_layout_engine() is not None)


def _make_room(axes):
    """Lay out a figure that has these axes alone and no layout: names would be cut at its edge."""
    figure = axes[0].figure.canvas.figure  # the whole, where the axes are on a part of it
    alone = figure.axes == list(axes) and all(ax.get_subplotspec() is not None for ax in axes)
    if alone and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    return figure


def fitting_note(n_shown, n_rows):
    """Say that axes are too low for all rows."""
    return f"{n_shown} of {n_rows} rows drawn, evenly spaced: these axes have no height for more"


def new_axes(width, height):
    """Axes that fill a new white figure of that many inches.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Drawing needs matplotlib, which is missing: pip install "skbench[plot]".'
        ) from error
    figure = plt.figure(figsize=(width, height), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
    return figure.add_subplot()


def is_dark(ax):
    """Whether what is outside the axes stands on a dark figure, as in some styles."""
    from matplotlib.colors import to_rgba

    *color, opacity = to_rgba(ax.figure.canvas.figure.get_facecolor())
    return opacity > 0.5 and np.dot(color, _LUMINANCE) < 0.5


def ink(ax):
    """Color of words outside the axes, which themselves are white."""
    return GRID if is_dark(ax) else INK


def dress_rows(ax, names, limits, xlabel):
    """Row names on the left, first row on top, scores on a light vertical grid."""
    ax.set_facecolor("white")
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(MUTED)
    # Labels are data: a dollar sign in one is not the start of a formula.
    look = {"color": ink(ax), "fontsize": _LABEL_SIZE, "parse_math": False}
    ax.set_yticks(np.arange(len(names)), names, **look)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(*limits)
    ax.tick_params(axis="y", length=0, pad=6)
    ax.tick_params(axis="x", color=MUTED, labelcolor=ink(ax), labelsize=_LABEL_SIZE)
    if len(names) > _ROWS_NEEDING_TOP_TICKS:
        ax.tick_params(axis="x", labeltop=True)
    ax.grid(axis="x", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel(xlabel, color=ink(ax), fontsize=_LABEL_SIZE + 0.5)


def draw_truth(ax, truth, half_height):
    """A dark upright tick per row where the truth is known; returns the legend handle."""
    rows = np.arange(len(truth))
    ax.vlines(truth, rows - half_height, rows + half_height, color=INK, linewidth=1.5, zorder=6)
    (handle,) = ax.plot([], [], "|", color=INK, markersize=9, markeredgewidth=1.5)
    return handle


def draw_remarks(ax, remarks):
    """A column of muted words at the right, where no data can run into them."""
    if not any(remarks):
        return
    column = ax.secondary_yaxis("right")
    column.set_yticks(
        np.arange(len(remarks)), remarks, color=MUTED, fontsize=_NOTE_SIZE - 1, parse_math=False
    )
    column.tick_params(length=0)
    column.spines["right"].set_visible(False)


def draw_heading(ax, handles, texts, notes, *, may_run_on=False):
    """Stack above the axes: the legend, then the notes, then any title there was.

    Parameters
    ----------
    ax : matplotlib Axes
        With its limits and ticks already set.
    handles, texts : list
        Legend entries.
    notes : list of str
        What the reader must know about the rows, one line each.
    may_run_on : bool, default=False
        Whether words may stand above the axes to the right too. A layout engine would else
        make these axes narrow, or all of them, until the words fit above the first.
    """
    from matplotlib.transforms import ScaledTranslation

    points = 72 / ax.figure.dpi
    has_top_ticks = len(ax.get_yticks()) > _ROWS_NEEDING_TOP_TICKS
    height = 22 if has_top_ticks else 4
    shift = ScaledTranslation(0, height / 72, ax.figure.dpi_scale_trans)
    legend = ax.legend(
        handles,
        texts,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=ax.transAxes + shift,
        borderaxespad=0,
        borderpad=0.2,
        # Its handles are those of the white axes.
        frameon=is_dark(ax),
        facecolor="white",
        framealpha=1,
        fontsize=_NOTE_SIZE,
        labelcolor=INK,
        labelspacing=0.35,
        handlelength=2.2,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    height += legend.get_window_extent().height * points + 4
    if notes:
        box = ax.get_window_extent()
        right = ax.figure.bbox.x1 if may_run_on else box.x1
        inches = (right - box.x0) / ax.figure.dpi
        width = max(_FEWEST_CHARACTERS, int(inches / _INCHES_PER_CHARACTER))
        note = ax.annotate(
            "\n".join(line for text in notes for line in wrap(text, width)),
            (0, 1),
            xycoords="axes fraction",
            xytext=(2, height),
            textcoords="offset points",
            va="bottom",
            color=MUTED,
            fontsize=_NOTE_SIZE,
            linespacing=1.4,
            parse_math=False,
        )
        height += note.get_window_extent().height * points + 4
        note.set_in_layout(not may_run_on)
    if may_run_on:
        legend.set_in_layout(False)
        # Nothing to see, but it keeps the height.
        ax.annotate(
            " ", (0, 1), xycoords="axes fraction", xytext=(0, height), textcoords="offset points",
            va="top", fontsize=_NOTE_SIZE,
        )  # fmt: skip
    # A title given before would be drawn across the legend.
    ax.set_title(ax.get_title(), pad=height + 4)


def _numbers(values, name):
    """Floats of a Series or an array, with the name of what holds anything else."""
    try:
        if isinstance(values, pd.Series):
            return values.to_numpy(dtype=float, na_value=np.nan)
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must hold numbers only: {error}. Pass a Series indexed by label."
        ) from error


def _check_unique(index, what):
    if index.has_duplicates:
        twice = plain(index[index.duplicated()][0])
        raise ValueError(f"{what} must be unique, but {twice!r} occurs more than once.")
