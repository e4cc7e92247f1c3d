"""ForestDisplay: the numbers without matplotlib, then what is on the paper."""

import numpy as np
import pandas as pd
import pytest
from facts import noted, numbers

from skbench import Estimate, ForestDisplay

TOPICS = pd.Index(["anatomy", "law", "virology", "zoology"], name="topic")
DIRECT = [0.7, 0.4, 0.9, 0.55]
SHRUNK = [0.65, 0.5, 0.8, 0.6]


def make_estimate(
    value, labels=TOPICS, *, half_width=0.1, guarantee="each group", method="direct", level=0.95
):
    value = np.array(value, dtype=float)
    spread = np.full(len(value), half_width / 2)
    return Estimate(
        value, value - half_width, value + half_width, spread, level, labels, method, guarantee
    )


def make_two(labels=TOPICS, direct=DIRECT, shrunk=SHRUNK):
    return {
        "direct": make_estimate(direct, labels),
        "EB": make_estimate(
            shrunk, labels, half_width=0.05, guarantee="average over groups", method="EB"
        ),
    }


def make_many(n_groups, seed=0):
    rng = np.random.default_rng(seed)
    labels = pd.Index([f"topic {i}" for i in range(n_groups)])
    direct = rng.uniform(0.1, 0.9, n_groups)
    return make_two(labels, direct, 0.5 + 0.5 * (direct - 0.5))


def without(estimate, *, value=(), interval=()):
    """The estimate with some values, and some intervals, made nan."""
    columns = {name: np.array(getattr(estimate, name)) for name in ("value", "low", "high")}
    columns["value"][list(value)] = np.nan
    for name in ("low", "high"):
        columns[name][list(value) + list(interval)] = np.nan
    return Estimate(
        **columns,
        standard_error=estimate.standard_error,
        confidence_level=estimate.confidence_level,
        labels=estimate.labels,
        method=estimate.method,
        guarantee=estimate.guarantee,
    )


# Numbers


def test_rows_hold_the_estimates_in_the_order_given():
    display = ForestDisplay.from_estimates(make_two())
    expected = pd.DataFrame(
        {"value": SHRUNK, "low": np.array(SHRUNK) - 0.05, "high": np.array(SHRUNK) + 0.05},
        index=TOPICS,
    )
    pd.testing.assert_frame_equal(display.rows["EB"], expected)
    assert display.rows["direct"].index.equals(TOPICS)
    assert display.truth is None and display.notes == [] and display.remarks == [""] * 4


@pytest.mark.parametrize("name", ["direct", "EB"])
def test_sorting_puts_the_highest_on_top_and_moves_all_methods_alike(name):
    truth = pd.Series(DIRECT, index=TOPICS)
    display = ForestDisplay.from_estimates(make_two(), sort_by=name, truth=truth)
    expected = ["virology", "anatomy", "zoology", "law"]
    assert [frame.index.tolist() for frame in display.rows.values()] == [expected] * 2
    np.testing.assert_array_equal(display.truth, truth[expected])


def test_missing_estimates_sort_last_and_are_named():
    estimates = make_two()
    estimates["direct"] = without(estimates["direct"], value=[2, 0], interval=[1])
    estimates["EB"] = without(estimates["EB"], value=[0])
    display = ForestDisplay.from_estimates(estimates, sort_by="EB")
    assert display.rows["EB"].index.tolist() == ["virology", "zoology", "law", "anatomy"]
    assert display.remarks == [
        "no estimate: direct",
        "",
        "no interval: direct",
        "no estimate",
    ]
    assert noted(display.notes) == [("direct", [2, 4]), ("direct", [1, 4]), ("EB", [1, 4])]


@pytest.mark.parametrize(
    ("guarantee", "level", "words"),
    [
        ("each group", 0.95, ["m (95%", "each group"]),
        ("average over groups", 0.9, ["m (90%", "average over groups"]),
        ("posterior", 0.834, ["m (83.4%", "posterior"]),
        ("model", 0.95, ["m (95%", "model"]),
        ("none", 0.95, ["m (95%", "no"]),
    ],
)
def test_legend_names_level_and_guarantee(guarantee, level, words):
    estimate = make_estimate(DIRECT, guarantee=guarantee, level=level)
    (text,) = ForestDisplay.from_estimates({"m": estimate}).legend.values()
    assert all(word in text for word in words)


def test_a_method_without_any_interval_has_no_guarantee():
    estimate = without(make_estimate(DIRECT), interval=range(4))
    display = ForestDisplay.from_estimates({"SR": estimate})
    assert display.legend == {"SR": "SR (no interval)"}
    assert display.notes == [] and display.remarks == [""] * 4


def test_labels_select_rows_in_their_order():
    display = ForestDisplay.from_estimates(make_two(), labels=["zoology", "law"])
    assert display.rows["direct"]["value"].tolist() == [0.55, 0.4]
    assert [numbers(note) for note in display.notes] == [[2, 4]]


@pytest.mark.parametrize("n_groups", [41, 60, 79, 80, 1001])
def test_many_groups_are_sampled_evenly_with_a_note(n_groups):
    estimates = make_many(n_groups)
    display = ForestDisplay.from_estimates(estimates, sort_by="EB")
    ranking = np.argsort(-estimates["EB"].value)
    ranks = [ranking.tolist().index(int(name.split()[1])) for name in display.rows["EB"].index]
    assert len(ranks) == 40 and ranks[0] == 0 and ranks[-1] == n_groups - 1
    step = (n_groups - 1) / 39
    assert np.all(np.abs(np.array(ranks) - step * np.arange(40)) <= 0.5)  # nearest whole rank
    assert np.all(np.diff(ranks) >= 1)
    (note,) = display.notes
    assert numbers(note) == [40, n_groups] and "EB" in note


def test_note_when_more_is_requested_than_fits():
    display = ForestDisplay.from_estimates(
        make_two(), labels=["zoology", "law", "anatomy"], max_rows=2
    )
    assert display.rows["EB"].index.tolist() == ["zoology", "anatomy"]
    assert [numbers(note) for note in display.notes] == [[2, 4, 3]]


def test_truth_is_matched_by_label_not_by_position():
    truth = pd.Series({"zoology": 0.1, "anatomy": 0.2, "virology": 0.3})
    display = ForestDisplay.from_estimates(make_two(), truth=truth)
    np.testing.assert_array_equal(display.truth, [0.2, np.nan, 0.3, 0.1])
    assert noted(display.notes) == [("truth", [1, 4])]


def test_reordering_the_groups_changes_nothing_in_a_sorted_display():
    estimates = make_many(30)
    order = np.random.default_rng(1).permutation(30)
    shuffled = {
        name: make_estimate(e.value[order], e.labels[order], half_width=e.high[0] - e.value[0])
        for name, e in estimates.items()
    }
    rows = ForestDisplay.from_estimates(estimates, sort_by="direct").rows
    again = ForestDisplay.from_estimates(shuffled, sort_by="direct").rows
    for name in rows:
        # The ends are recomputed from value and half-width: equal to rounding.
        pd.testing.assert_frame_equal(rows[name], again[name], rtol=1e-14)


TWICE = make_estimate([0.1, 0.2], pd.Index(["law", "law"]))


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ({"estimates": {}}, ValueError, ""),
        ({"sort_by": "eb"}, ValueError, "sort_by"),
        ({"labels": ["law", "geology"]}, ValueError, "geology"),
        ({"labels": ["law", "law"]}, ValueError, "law"),
        ({"labels": []}, ValueError, "labels"),
        ({"estimates": make_two(pd.Index([1, 2, 3, 4])), "labels": [7]}, ValueError, " 7"),
        ({"truth": pd.Series([0.5], index=["geology"])}, ValueError, "geology"),
        ({"truth": pd.Series([0.5, 0.6], index=["law", "law"])}, ValueError, "law"),
        ({"truth": [0.5, 0.6]}, ValueError, "truth"),
        ({"truth": pd.Series("high", index=TOPICS)}, ValueError, "truth"),
        ({"estimates": {"direct": TWICE}}, ValueError, ""),
        ({"estimates": {"direct": make_estimate([], TOPICS[:0])}}, ValueError, ""),
        ({"estimates": {"direct": TWICE.to_frame()}}, TypeError, ""),
        ({"estimates": make_estimate(DIRECT)}, TypeError, ""),
        ({"estimates": [make_estimate(DIRECT)]}, TypeError, ""),
        ({"labels": "law"}, TypeError, ""),
        ({"truth": dict.fromkeys(TOPICS, 0.5)}, TypeError, ""),
    ],
)
def test_errors_name_what_is_wrong(change, error, named):
    with pytest.raises(error, match=named):
        ForestDisplay.from_estimates(**{"estimates": make_two(), **change})


@pytest.mark.parametrize("missing", [np.nan, pd.NA, None])
def test_a_missing_label_is_the_same_in_all_estimates(missing):
    labels = pd.Index(["anatomy", missing, "virology", "zoology"], dtype=object)
    display = ForestDisplay.from_estimates(make_two(labels))
    assert len(display.rows["EB"]) == 4


def test_estimates_may_be_named_by_numbers():
    estimates = dict(zip((10, 20), make_two().values(), strict=True))
    estimates[20] = without(estimates[20], value=[1], interval=[2])
    display = ForestDisplay.from_estimates(estimates)
    assert display.remarks == ["", "no estimate: 20", "no interval: 20", ""]


def test_error_names_the_first_label_that_differs():
    estimates = make_two()
    estimates["EB"] = make_estimate(SHRUNK, TOPICS[[0, 2, 1, 3]])
    with pytest.raises(ValueError, match="virology"):
        ForestDisplay.from_estimates(estimates)
    estimates["EB"] = make_estimate(SHRUNK[:3], TOPICS[:3])
    with pytest.raises(ValueError, match="zoology"):
        ForestDisplay.from_estimates(estimates)


# Pictures


def markers(ax, marker):
    """Points drawn with a marker (legend handles draw none)."""
    lines = [line for line in ax.lines if line.get_marker() == marker]
    return np.concatenate([np.column_stack(line.get_data()) for line in lines])


def heading_boxes(ax):
    """Extents of row-free texts: legend, notes, title, tick labels on top."""
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    top_ticks = [tick.label2 for tick in ax.xaxis.get_major_ticks() if tick.label2.get_visible()]
    artists = [ax.get_legend(), *ax.texts, *top_ticks]
    artists += [ax.title] if ax.get_title() else []
    return [artist.get_window_extent(renderer) for artist in artists]


def assert_apart(boxes):
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_draws_one_marker_and_whisker_per_group_and_method(pyplot):
    estimates = make_two()
    display = ForestDisplay.from_estimates(estimates)
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == TOPICS.tolist()
    first, second = display.ax_.collections[:2]
    for whiskers, marker, estimate in zip(
        (first, second), ("o", "s"), estimates.values(), strict=True
    ):
        ends = np.array([segment[:, 0] for segment in whiskers.get_segments()])
        np.testing.assert_array_equal(ends, np.column_stack([estimate.low, estimate.high]))
        points = markers(display.ax_, marker)
        np.testing.assert_array_equal(points[:, 0], estimate.value)
        heights = [segment[0, 1] for segment in whiskers.get_segments()]
        np.testing.assert_array_equal(points[:, 1], heights)
        assert np.all(np.abs(points[:, 1] - np.arange(4)) < 0.5)
    assert np.all(markers(display.ax_, "o")[:, 1] < markers(display.ax_, "s")[:, 1])


def test_picture_prints_guarantees_and_notes(pyplot):
    estimates = make_many(250)
    estimates["EB"] = without(estimates["EB"], value=[3])
    display = ForestDisplay.from_estimates(estimates, sort_by="EB").plot(xlabel="accuracy")
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == list(display.legend.values())
    (note,) = (text.get_text() for text in display.ax_.texts)
    assert note.splitlines() == display.notes
    assert [numbers(line) for line in note.splitlines()] == [[40, 250], [1, 250]]
    assert display.ax_.get_xlabel() == "accuracy"


def test_missing_rows_are_labeled_as_missing(pyplot):
    estimates = make_two()
    estimates["EB"] = without(estimates["EB"], value=[1])
    display = ForestDisplay.from_estimates(estimates).plot()
    (column,) = display.ax_.child_axes
    assert [t.get_text() for t in column.get_yticklabels()] == ["", "no estimate: EB", "", ""]
    assert np.isfinite(markers(display.ax_, "s")[:, 0]).sum() == 3


def test_truth_is_a_tick_per_row(pyplot):
    truth = pd.Series([0.6, 0.5, np.nan, 0.7], index=TOPICS)
    display = ForestDisplay.from_estimates(make_two(), truth=truth).plot()
    segments = [s for s in display.ax_.collections[2].get_segments() if len(s)]
    assert [segment[0, 0] for segment in segments] == [0.6, 0.5, 0.7]
    assert [segment[:, 1].mean() for segment in segments] == [0, 1, 3]
    assert len(display.ax_.get_legend().get_texts()) == len(display.legend) + 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.2, 0.9], (-0.02, 1.02)),
        ([-1e-17, 1 + 1e-16], (-0.02, 1.02)),
        ([0.99, 1.00], (0.9896, 1.0004)),
        ([-1.0, 4.0], (-1.2, 4.2)),
        ([20.0, 70.0], (18.0, 72.0)),
        ([0.7, 0.7], (0.65, 0.75)),
        ([np.nan, np.nan], (-0.02, 1.02)),
    ],
)
def test_score_axis_fits_the_data(pyplot, values, expected):
    estimate = make_estimate(values, TOPICS[:2], half_width=0)
    display = ForestDisplay.from_estimates({"direct": estimate}).plot()
    # 4% of the range on either side, never beyond -.02 and 1.02 for scores in [0, 1].
    np.testing.assert_allclose(display.ax_.get_xlim(), expected, rtol=1e-12)


def test_an_endless_interval_runs_to_the_edge(pyplot):
    estimate = Estimate(
        [0.5, 0.6], [-np.inf, 0.5], [0.6, np.inf], [1, 1], 0.95, TOPICS[:2], "t", "each group"
    )
    display = ForestDisplay.from_estimates({"t": estimate}).plot()
    low, high = display.ax_.get_xlim()
    ends = [segment[:, 0].tolist() for segment in display.ax_.collections[0].get_segments()]
    assert ends == [[low, 0.6], [0.5, high]]


def test_draws_on_the_axes_given_and_keeps_its_title(pyplot, assert_nothing_clipped):
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 4), layout="constrained")
    title = "a title as wide as the axes, so that it would run across the legend"
    axes[0].set_title(title)
    display = ForestDisplay.from_estimates(make_many(60), max_rows=8).plot(axes[0])
    assert display.ax_ is axes[0] and display.figure_ is figure
    assert len(pyplot.get_fignums()) == 1
    assert axes[0].get_title() == title
    assert_apart(heading_boxes(axes[0]))
    assert_nothing_clipped(figure)


def test_words_can_be_read_on_a_dark_figure(pyplot):
    from matplotlib.colors import to_rgb

    with pyplot.style.context("dark_background"):
        figure, ax = pyplot.subplots()
        ForestDisplay.from_estimates(make_two(), truth=DIRECT).plot(ax)
    assert to_rgb(figure.get_facecolor()) == (0, 0, 0)
    for word in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label):
        assert min(to_rgb(word.get_color())) > 0.8
    legend = ax.get_legend()
    assert legend.get_frame_on() and to_rgb(legend.get_frame().get_facecolor()) == (1, 1, 1)


def test_a_figure_of_its_own_is_white_in_every_style(pyplot):
    from matplotlib.colors import to_rgb

    with pyplot.style.context("dark_background"):
        display = ForestDisplay.from_estimates(make_two()).plot()
    assert to_rgb(display.figure_.get_facecolor()) == (1, 1, 1)
    assert max(to_rgb(display.ax_.xaxis.label.get_color())) < 0.2
    assert not display.ax_.get_legend().get_frame_on()


LONG = pd.MultiIndex.from_product(
    [
        ["Meta-Llama-3_1-8B-Instruct", "Qwen2.5-72B-Instruct"],
        ["ori_mmlu-high_school_macroeconomics", "stemez-Thermodynamics", "costs in $ and $"],
    ],
    names=["model", "topic"],
)


def test_levels_of_a_label_are_joined_by_a_dot(pyplot):
    estimate = make_estimate(np.linspace(0.2, 0.8, 6), LONG)
    truth = pd.Series(np.arange(6.0), index=LONG)[::-1]
    display = ForestDisplay.from_estimates(
        {"direct": estimate}, labels=LONG[[3, 2]].tolist(), truth=truth
    ).plot()
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [
        "Qwen2.5-72B-Instruct · ori_mmlu-high_school_macroeconomics",
        "Meta-Llama-3_1-8B-Instruct · costs in $ and $",
    ]
    # Two dollar signs would otherwise turn the words between them into a formula.
    assert not any(text.get_parse_math() for text in display.ax_.get_yticklabels())
    np.testing.assert_array_equal(display.truth, [3, 2])


def test_a_name_is_one_line_whatever_is_in_it(pyplot, assert_nothing_clipped):
    labels = pd.Index([f"three\nlines\r\nand\ta tab  [{i}]" for i in range(4)])
    display = ForestDisplay.from_estimates({"direct": make_estimate(DIRECT, labels)}).plot()
    assert display.ax_.get_yticklabels()[0].get_text() == "three lines and a tab  [0]"
    assert_nothing_clipped(display.figure_)


@pytest.mark.parametrize("n_groups", [1, 26])
def test_nothing_is_clipped_or_overlaps(pyplot, assert_nothing_clipped, n_groups):
    display = ForestDisplay.from_estimates(make_many(n_groups), sort_by="EB").plot()
    assert_nothing_clipped(display.figure_)
    assert_apart(heading_boxes(display.ax_))


def test_nothing_is_clipped_with_long_names_gaps_and_five_methods(pyplot, assert_nothing_clipped):
    estimates = {
        f"a method with a rather long name, number {i}": without(
            make_estimate(np.linspace(-0.3, 1.4, 6) + i / 10, LONG), value=[i]
        )
        for i in range(5)
    }
    display = ForestDisplay.from_estimates(estimates).plot()
    assert_nothing_clipped(display.figure_)
    assert_apart(heading_boxes(display.ax_))
    assert display.ax_.get_position().width * display.figure_.get_figwidth() > 4  # inches


def test_width_fits_the_longest_method_name(pyplot, assert_nothing_clipped):
    name = "empirical Bayes with a boosted regression, " * 3
    display = ForestDisplay.from_estimates({name: make_estimate(DIRECT)}).plot()
    assert_nothing_clipped(display.figure_)
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x1 <= display.ax_.get_window_extent().x1


def test_height_grows_with_the_rows(pyplot):
    heights = [
        ForestDisplay.from_estimates(make_many(n)).plot().figure_.get_figheight()
        for n in (4, 8, 12)
    ]
    # Equal steps, as every row adds the same height.
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], rel=1e-12)
    assert heights[1] - heights[0] > 4 * 0.2
