"""Style of the plots: colors, sizes, axes with rows, legends and notes."""

from textwrap import wrap

import numpy as np

from skbench._numbers import visible

INK = "#22272e"
MUTED = "#7a828c"
GRID = "#e4e7eb"
BAND = "#f6f7f9"
# Based on the palette of Okabe and Ito for color-blind readers. The last two colors are darker, for
# thin lines on white.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#b0578d", "#c98a00")
BLUE, VERMILION = COLORS[:2]

_LABEL_SIZE = 8.5
_NOTE_SIZE = 8.5
# Upper estimate of the mean width of a character at these sizes, in DejaVu Sans.
INCHES_PER_CHARACTER = 0.072
_FEWEST_CHARACTERS = 24  # in a line of a note
INCHES_PER_LINE = 0.19  # above the axes
_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue
_ROWS_NEEDING_TOP_TICKS = 25


def x_limits(values):
    """Limits of the score axis: the unit interval, a part of it, or the padded data."""
    values = values[np.isfinite(values)]
    if not values.size:
        return -0.02, 1.02
    low, high = values.min(), values.max()
    # Interval ends at 0 or 1 come with rounding errors of 1e-17.
    is_unit = low >= -1e-9 and high <= 1 + 1e-9
    # Data that fill more than half of [0, 1] get all of it, so that plots can be compared.
    if is_unit and high - low > 0.5:
        return -0.02, 1.02
    padding = 0.04 * (high - low) or 0.05
    if is_unit:
        return max(low - padding, -0.02), min(high + padding, 1.02)
    return low - padding, high + padding


def new_row_axes(names, remarks, texts, row_height):
    """New axes with room for names on the left, remarks on the right and texts above."""
    name, remark, text = (max(map(len, words), default=0) for words in (names, remarks, texts))
    width = max(5.2, 0.7 + INCHES_PER_CHARACTER * text)
    width += 0.4 + INCHES_PER_CHARACTER * (name + remark)
    return new_axes(width, 0.85 + INCHES_PER_LINE * len(texts) + row_height * max(len(names), 2))


def new_axes(width, height):
    """Axes that fill a new white figure of this size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Plots need matplotlib, which is not installed. Run pip install "skbench[plot]".'
        ) from error
    figure = plt.figure(figsize=(width, height), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
    return figure.add_subplot()


def height_of(axes, n_lines):
    """Height in inches of the lowest of the user's axes, minus the lines of text above it."""
    figure = _make_room(axes)
    inches = min(ax.get_window_extent().height for ax in axes) / figure.dpi
    # A layout engine subtracts the lines from the height.
    return inches - INCHES_PER_LINE * n_lines * (figure.get_layout_engine() is not None)


def _make_room(axes):
    """Set a layout engine for a figure with only these axes, so that names are not cut off."""
    figure = axes[0].figure.canvas.figure  # the whole figure, if the axes are in a subfigure
    only_these = figure.axes == list(axes) and all(ax.get_subplotspec() is not None for ax in axes)
    if only_these and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    return figure


def _is_dark(ax):
    """Whether the figure around the axes is dark, as in some styles."""
    from matplotlib.colors import to_rgba

    *color, opacity = to_rgba(ax.figure.canvas.figure.get_facecolor())
    return opacity > 0.5 and np.dot(color, _LUMINANCE) < 0.5


def ink(ax):
    """Color of text outside the axes, which are white themselves."""
    return GRID if _is_dark(ax) else INK


def dress_rows(ax, names, limits, xlabel):
    """Set row names on the left (first row on top), and a light vertical grid for scores."""
    ax.set_facecolor("white")
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(MUTED)
    # No math text, because labels may contain dollar signs.
    look = {"color": ink(ax), "fontsize": _LABEL_SIZE, "parse_math": False}
    ax.set_yticks(np.arange(len(names)), list(map(drawable, names)), **look)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(*limits)
    ax.tick_params(axis="y", length=0, pad=6)
    ax.tick_params(axis="x", color=MUTED, labelcolor=ink(ax), labelsize=_LABEL_SIZE)
    if len(names) > _ROWS_NEEDING_TOP_TICKS:
        ax.tick_params(axis="x", labeltop=True)
    ax.grid(axis="x", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel(drawable(xlabel), color=ink(ax), fontsize=_LABEL_SIZE + 0.5)


def dress_plane(ax, limits, labels):
    """Set limits (low, high, whether logarithmic) and light grids in both directions."""
    ax.set_facecolor("white")
    ax.spines[["right", "top"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(color=MUTED, labelcolor=ink(ax), labelsize=_LABEL_SIZE)
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    for name, (low, high, is_log), label in zip("xy", limits, labels, strict=True):
        getattr(ax, f"set_{name}scale")("log" if is_log else "linear")
        getattr(ax, f"set_{name}lim")(low, high)
        if is_log:
            getattr(ax, f"{name}axis").set_major_formatter(lambda tick, _: f"{tick:g}")
        look = {"color": ink(ax), "fontsize": _LABEL_SIZE + 0.5, "parse_math": False}
        getattr(ax, f"set_{name}label")(drawable(label), **look)


def drawable(text):
    """The text with visible control characters (except line breaks), because SVG prohibits them."""
    return "\n".join(map(visible, str(text).split("\n")))


def draw_bands(ax, n_rows):
    """Shade every other row."""
    for row in range(0, n_rows, 2):
        ax.axhspan(row - 0.5, row + 0.5, color=BAND, linewidth=0, zorder=0)


def draw_intervals(ax, y, ends, **look):
    """Draw lines from low to high; infinite ends extend to the edge of the axes."""
    low, high = np.clip(ends[["low", "high"]].to_numpy(), *ax.get_xlim()).T
    ax.hlines(y, low, high, **look)


def draw_truth(ax, truth, half_height):
    """Draw a vertical tick per row at the true value; return the legend handle."""
    rows = np.arange(len(truth))
    ax.vlines(truth, rows - half_height, rows + half_height, color=INK, linewidth=1.5, zorder=6)
    (handle,) = ax.plot([], [], "|", color=INK, markersize=9, markeredgewidth=1.5)
    return handle


def draw_remarks(ax, remarks):
    """Write muted text to the right of the rows."""
    if not any(remarks):
        return
    column = ax.secondary_yaxis("right")
    look = {"color": MUTED, "fontsize": _NOTE_SIZE - 1, "parse_math": False}
    column.set_yticks(np.arange(len(remarks)), list(map(drawable, remarks)), **look)
    column.tick_params(length=0)
    column.spines["right"].set_visible(False)


def draw_heading(ax, handles, texts, notes, *, may_run_on=False):
    """Draw the legend, the notes and any title above the axes, after limits and ticks are set.

    With `may_run_on`, text may extend to the right of the axes. The layout engine then ignores it;
    otherwise it would narrow all axes of the figure until the text fits.
    """
    height = 22 if len(ax.get_yticks()) > _ROWS_NEEDING_TOP_TICKS else 4
    legend = _draw_legend(ax, handles, texts, height)
    height += _points(legend) + 4
    above = {"xycoords": "axes fraction", "fontsize": _NOTE_SIZE}
    if notes:
        box = ax.get_window_extent()
        right = ax.figure.bbox.x1 if may_run_on else box.x1
        inches = (right - box.x0) / ax.figure.dpi
        width = max(_FEWEST_CHARACTERS, int(inches / INCHES_PER_CHARACTER))
        lines = "\n".join(line for text in notes for line in wrap(text, width))
        look = {"va": "bottom", "color": MUTED, "linespacing": 1.4, "parse_math": False}
        note = write(ax, lines, (0, 1), (2, height), **above, **look)
        height += _points(note) + 4
        note.set_in_layout(not may_run_on)
    if may_run_on:
        legend.set_in_layout(False)
        # An invisible text that reserves the height.
        write(ax, " ", (0, 1), (0, height), va="top", **above)
    # An existing title would overlap the legend.
    ax.set_title(ax.get_title(), pad=height + 4)


def _draw_legend(ax, handles, texts, height):
    """Draw the legend at this height (points) above the axes."""
    from matplotlib.transforms import ScaledTranslation

    legend = ax.legend(
        handles,
        list(map(drawable, texts)),
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=ax.transAxes + ScaledTranslation(0, height / 72, ax.figure.dpi_scale_trans),
        borderaxespad=0,
        borderpad=0.2,
        # The handles are made for white axes.
        frameon=_is_dark(ax),
        facecolor="white",
        framealpha=1,
        fontsize=_NOTE_SIZE,
        labelcolor=INK,
        labelspacing=0.35,
        handlelength=2.2,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def write(ax, text, at, shift, **look):
    """Write a text at a point of the axes, shifted by some points."""
    return ax.annotate(drawable(text), at, xytext=shift, textcoords="offset points", **look)


def _points(artist):
    """Height of an artist in points."""
    return artist.get_window_extent().height * 72 / artist.figure.dpi
