"""ShrinkageDisplay: the numbers without matplotlib, then what is on the paper."""

import numpy as np
import pandas as pd
import pytest
from facts import noted, numbers

from skbench import Estimate, ShrinkageDisplay

TOPICS = pd.Index(["anatomy", "law", "virology", "zoology", "art"], name="topic")
DIRECT = [0.75, 0.25, 0.90, 0.50, 0.40]
SHRUNK = [0.65, 0.50, 0.85, 0.50, 0.55]
TRUTH = pd.Series([0.80, 0.45, 0.70, 0.60, 0.42], index=TOPICS)
# |moved| is .10, .25, .05, 0, .15; the distance to the truth changes by +.10, -.15, -.05, 0, +.11.
BY_MOVE = ["law", "art", "anatomy", "virology", "zoology"]


def make_estimate(value, labels=TOPICS, *, method="direct", guarantee="each group"):
    value = np.array(value, dtype=float)
    spread = np.full(len(value), 0.05)
    return Estimate(value, value - 0.1, value + 0.1, spread, 0.95, labels, method, guarantee)


def make_shrunk(value, labels=TOPICS):
    return make_estimate(value, labels, method="EB", guarantee="average over groups")


def make_display(direct=DIRECT, shrunk=SHRUNK, index=TOPICS, **options):
    return ShrinkageDisplay.from_estimates(
        make_estimate(direct, index), make_shrunk(shrunk, index), **options
    )


def make_many(n_groups, seed=0, **options):
    """Groups with normal truth and noise, shrunk by the right factor."""
    rng = np.random.default_rng(seed)
    labels = pd.Index([f"topic {i}" for i in range(n_groups)])
    truth = rng.normal(0.6, 0.1, n_groups)
    direct = truth + rng.normal(0, 0.1, n_groups)
    shrunk = 0.6 + 0.5 * (direct - 0.6)
    return make_display(direct, shrunk, labels, truth=pd.Series(truth, index=labels), **options), (
        truth,
        direct,
        shrunk,
    )


# Numbers


def test_moves_are_sorted_by_their_size():
    moves = make_display().moves
    assert moves.columns.tolist() == [
        "label", "direct", "shrunk", "low", "high", "moved", "outlying", "truth", "improved",
    ]  # fmt: skip
    assert moves.index.tolist() == BY_MOVE == moves["label"].tolist()
    # Differences of two-digit decimals are exact to rounding.
    np.testing.assert_allclose(moves["moved"], [0.25, 0.15, -0.10, -0.05, 0], atol=1e-15)
    np.testing.assert_allclose(moves["low"], moves["shrunk"] - 0.1, atol=1e-15)
    np.testing.assert_allclose(moves["high"], moves["shrunk"] + 0.1, atol=1e-15)
    assert moves["truth"].isna().all() and moves["improved"].isna().all()


def test_improved_means_nearer_to_the_truth():
    display = make_display(truth=TRUTH)
    improved = display.moves["improved"]
    assert improved.tolist() == [True, False, False, True, False]
    assert improved.dtype == "boolean"
    assert {key: numbers(text) for key, text in display.legend.items()} == {
        "direct": [],
        "shrunk": [95],
        "toward": [2, 5],
        "farther": [2, 5],
        "same": [1, 5],
        "truth": [],
    }


def test_a_move_past_the_truth_that_ends_farther_is_no_improvement():
    """Set out in the right direction from .3 to .5, but .8 is farther than .3 was."""
    display = make_display([0.3], [0.8], TOPICS[:1], truth=pd.Series([0.5], index=TOPICS[:1]))
    assert display.moves["improved"].tolist() == [False]
    assert numbers(display.legend["farther"]) == [1, 1]


def test_rounding_is_no_move():
    """0.1 + 0.2 is not 0.3 in floating point, and neither is that an improvement."""
    display = make_display([0.1 + 0.2], [0.3], TOPICS[:1], truth=[0.25])
    assert numbers(display.legend["same"]) == [1, 1]


def test_counts_are_over_all_groups_whatever_is_drawn():
    display, (truth, direct, shrunk) = make_many(250, labels=["topic 3", "topic 5"])
    n_better = sum(abs(s - t) < abs(d - t) for t, d, s in zip(truth, direct, shrunk, strict=True))
    assert 125 < n_better < 250
    assert numbers(display.legend["toward"]) == [n_better, 250]
    assert numbers(display.legend["farther"]) == [250 - n_better, 250]
    assert display.moves["improved"].sum() == n_better
    assert len(display.rows) == 2
    assert [numbers(note) for note in display.notes] == [[2, 250]]


def test_unknown_truth_and_missing_estimates_are_not_judged():
    direct, shrunk = np.array(DIRECT), np.array(SHRUNK)
    direct[[0, 1]], shrunk[0] = np.nan, np.nan
    display = make_display(direct, shrunk, truth=TRUTH.drop("art"))
    assert display.moves["improved"].isna().sum() == 3
    assert display.moves.index.tolist() == ["art", "virology", "zoology", "anatomy", "law"]
    assert numbers(display.legend["toward"]) == [1, 2]
    assert numbers(display.legend["unknown"]) == [3]
    assert noted(display.notes) == [("direct", [2, 5]), ("EB", [1, 5])]
    remarks = dict(zip(display.rows["label"], display.remarks, strict=True))
    assert "direct" in remarks["law"] and remarks["anatomy"] == "no estimate"
    assert display.rows.index[-1] == "anatomy"


def test_missing_intervals_are_noted():
    value = np.array(SHRUNK)
    gap = Estimate(
        value,
        np.where(value > 0.8, np.nan, value - 0.1),
        value + 0.1,
        value,
        0.95,
        TOPICS,
        "EB",
        "posterior",
    )
    display = ShrinkageDisplay.from_estimates(make_estimate(DIRECT), gap)
    assert noted(display.notes) == [("EB", [1, 5])]
    assert display.remarks == ["no interval", "", "", "", ""]
    none = Estimate(value, value * np.nan, value * np.nan, value, 0.95, TOPICS, "lasso", "none")
    display = ShrinkageDisplay.from_estimates(make_estimate(DIRECT), none)
    assert display.legend["shrunk"] == "lasso (no interval)" and display.notes == []


def test_many_groups_show_those_that_moved_most():
    display, (_, direct, shrunk) = make_many(250)
    farthest = np.sort(np.abs(shrunk - direct))[-40:]
    np.testing.assert_array_equal(np.sort(display.rows["moved"].abs()), farthest)
    assert display.rows["shrunk"].is_monotonic_decreasing
    assert [numbers(note) for note in display.notes] == [[40, 250]]
    assert len(display.moves) == 250


def test_max_rows_of_requested_groups():
    display = make_display(labels=["zoology", "art", "anatomy"], max_rows=2)
    assert sorted(display.rows.index) == ["anatomy", "art"]
    assert [numbers(note) for note in display.notes] == [[2, 5, 3]]


def test_sizes_stand_beside_the_rows_unless_they_are_all_the_same():
    sizes = pd.Series([12, 5, 30, 7, 9], index=TOPICS)
    display = make_display(n=sizes[::-1])
    assert display.remarks == [f"n = {sizes[name]}" for name in display.rows.index]
    assert display.moves["n"].to_dict() == sizes.to_dict()
    display = make_display(n=[10] * 5)
    assert display.remarks == [""] * 5 and noted(display.notes) == [("", [10])]


def test_large_sizes_are_printed_with_all_digits():
    n = pd.Series(1234567 + np.arange(5), index=TOPICS)
    display = make_display(n=n)
    assert display.remarks == [f"n = {n[name]}" for name in display.rows.index]
    display = make_display(n=[1234567] * 5)
    assert noted(display.notes) == [("", [1234567])]


def test_unknown_sizes_are_noted():
    n = pd.Series({TOPICS[0]: 10, TOPICS[1]: 20})
    display = make_display(n=n)
    sizes = {TOPICS[0]: "n = 10", TOPICS[1]: "n = 20"}
    assert display.remarks == [sizes.get(name, "") for name in display.rows.index]
    assert noted(display.notes) == [("n", [3, 5])]


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="'shrunk' .*'law' .*row 0.*'direct' .*'anat"):
        ShrinkageDisplay.from_estimates(
            make_estimate(DIRECT), make_shrunk(SHRUNK, TOPICS[[1, 0, 2, 3, 4]])
        )
    with pytest.raises(ValueError):
        make_display(n=[10, 10])
    with pytest.raises(ValueError):
        make_display(truth=TRUTH.set_axis(range(5)))


# Pictures


def arrows(ax):
    """Start, end and row of every shaft, by colour."""
    _bars, *shafts = ax.collections
    return {
        tuple(lines.get_edgecolor()[0, :3].round(2)): [
            (segment[0, 0], segment[1, 0], int(segment[0, 1])) for segment in lines.get_segments()
        ]
        for lines in shafts
        if len(lines.get_segments()) and np.ptp(lines.get_segments()[0][:, 1]) == 0
    }


def heads(ax, marker):
    lines = [line for line in ax.lines if line.get_marker() == marker]
    return {float(x) for line in lines for x in line.get_xdata()}


def test_arrows_run_from_direct_to_shrunk_with_the_tip_on_the_shrunk(pyplot):
    display = make_display()
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    ((_, shafts),) = arrows(display.ax_).items()
    assert [shaft[:2] for shaft in shafts] == list(
        zip(display.rows["direct"], display.rows["shrunk"], strict=True)
    )
    assert [shaft[2] for shaft in shafts] == [0, 1, 2, 3, 4]
    caret_left, caret_right = 4, 5
    assert heads(display.ax_, caret_left) == {0.65, 0.85}
    assert heads(display.ax_, caret_right) == {0.5, 0.55}
    bars = display.ax_.collections[0].get_segments()
    ends = np.array([bar[:, 0] for bar in bars])
    np.testing.assert_array_equal(ends, display.rows[["low", "high"]])


def test_colours_follow_the_truth(pyplot):
    display = make_display(truth=TRUTH).plot()
    shafts = arrows(display.ax_)
    names = display.rows.index
    rows = {color: {names[row] for *_, row in found} for color, found in shafts.items()}
    blue, vermilion = (0.0, 0.45, 0.7), (0.84, 0.37, 0.0)
    assert rows[blue] == {"law", "virology"}
    assert rows[vermilion] == {"anatomy", "art"}
    assert len(rows) == 3  # the third, grey, for the one that did not move


def test_picture_prints_guarantee_counts_and_notes(pyplot):
    display, _ = make_many(250, n=np.full(250, 10))
    display.plot(xlabel="accuracy")
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == list(display.legend.values())
    (note,) = (text.get_text() for text in display.ax_.texts)
    assert [numbers(line) for line in note.splitlines()] == [[40, 250], [10]]
    assert display.ax_.get_xlabel() == "accuracy"
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == display.rows["label"].tolist()


def test_missing_estimates_draw_no_arrow_but_keep_what_there_is(pyplot):
    direct, shrunk = np.array(DIRECT), np.array(SHRUNK)
    direct[1], shrunk[2] = np.nan, np.nan
    display = make_display(direct, shrunk, n=[1, 2, 3, 4, 5]).plot()
    (column,) = display.ax_.child_axes
    remarks = [text.get_text() for text in column.get_yticklabels()]
    assert [text[:8] for text in remarks if len(text) > 6] == ["n = 2 · ", "n = 3 · "]
    assert 0.5 in heads(display.ax_, "o")  # law: a dot instead of an arrow's tip
    assert 0.9 in heads(display.ax_, "o")  # virology: its direct estimate


@pytest.mark.parametrize("n_groups", [1, 26])
def test_nothing_is_clipped_or_overlaps(pyplot, assert_nothing_clipped, n_groups):
    display, _ = make_many(n_groups, n=np.arange(n_groups) + 5)
    figure = display.plot().figure_
    assert_nothing_clipped(figure)
    renderer = figure.canvas.get_renderer()
    legend = display.ax_.get_legend().get_window_extent(renderer)
    others = [text.get_window_extent(renderer) for text in display.ax_.texts]
    ticks = display.ax_.xaxis.get_major_ticks()
    others += [t.label2.get_window_extent(renderer) for t in ticks if t.label2.get_visible()]
    assert not any(legend.overlaps(box) for box in others)


def test_nothing_is_clipped_with_long_names_and_scores_of_any_size(pyplot, assert_nothing_clipped):
    labels = pd.MultiIndex.from_product(
        [["Meta-Llama-3_1-8B-Instruct"], ["ori_mmlu-high_school_macroeconomics", "costs in $, $"]],
        names=["model", "topic"],
    )
    display = make_display([-120.0, 300.0], [-80.0, np.nan], labels, n=[3, 4]).plot()
    assert display.rows["label"].tolist() == [
        "Meta-Llama-3_1-8B-Instruct · ori_mmlu-high_school_macroeconomics",
        "Meta-Llama-3_1-8B-Instruct · costs in $, $",
    ]
    low, high = display.ax_.get_xlim()
    assert low < -120 and high > 300
    assert_nothing_clipped(display.figure_)
