"""RiskDisplay: the numbers without matplotlib, then what is on the paper."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from facts import noted
from scipy.stats import norm

from skbench import RiskDisplay

NAMES = ["direct", "EB", "SR"]


def make_table(parts=("small", "large"), ratios=((0.5, 0.8), (0.9, 4.0)), failed=0):
    rows = {
        (part, name): {
            "guarantee": "each group",
            "mse_ratio": ratio,
            "standard_error": 0.0 if name == "direct" else 0.05,
            "small": 1.0 if name == "direct" else ratio / 2,
            "large": 1.0 if name == "direct" else ratio * 2,
            "coverage": 0.95,
            "width_ratio": 1.0 if name == "direct" else 1.5,
            "failed": failed if name == "SR" else 0,
        }
        for part, (eb, sr) in zip(parts, ratios, strict=True)
        for name, ratio in zip(NAMES, (1.0, eb, sr), strict=True)
    }
    table = pd.DataFrame(rows).T
    table.index.names = ["part", "estimator"]
    return table


def relative_to_eb():
    table = make_table()
    table.loc[(slice(None), "EB"), ["mse_ratio", "width_ratio"]] = 1.0
    return table


# Numbers


def test_points_are_the_ratios_without_the_baseline():
    points = RiskDisplay.from_summary(make_table()).points
    assert points.index.tolist() == [
        ("small", "EB"), ("small", "SR"), ("large", "EB"), ("large", "SR"),
    ]  # fmt: skip
    assert points["ratio"].tolist() == [0.5, 0.8, 0.9, 4.0]
    np.testing.assert_allclose(points["high"] - points["ratio"], 0.05 * norm.ppf(0.975))
    np.testing.assert_allclose(points["ratio"] - points["low"], 0.05 * norm.ppf(0.975))


def test_whiskers_follow_the_level():
    points = RiskDisplay.from_summary(make_table(), confidence_level=0.5).points
    np.testing.assert_allclose(points["high"] - points["ratio"], 0.05 * norm.ppf(0.75))


def test_a_plain_summary_is_one_row():
    display = RiskDisplay.from_summary(make_table().loc["small"])
    assert display.points.index.tolist() == [("", "EB"), ("", "SR")]


def test_another_baseline_is_named():
    display = RiskDisplay.from_summary(relative_to_eb(), baseline="EB")
    assert display.points.index.unique(1).tolist() == ["direct", "SR"]
    assert display.xlabel.endswith("EB") and "EB" in display.notes[0]


def test_a_table_relative_to_another_estimator_is_refused():
    with pytest.raises(ValueError, match="0.5"):  # the ratio of EB
        RiskDisplay.from_summary(make_table(), baseline="EB")


def test_marks_that_cannot_be_drawn_are_noted():
    table = make_table()
    table.loc[("small", "SR"), "mse_ratio"] = np.nan
    table.loc[("large", "SR"), "mse_ratio"] = 0.0
    notes = RiskDisplay.from_summary(table).notes
    assert [(name, found[-2:]) for name, found in noted(notes[1:])] == [("SR", [2, 2])]


def test_failures_are_noted():
    table = make_table(failed=3)
    notes = RiskDisplay.from_summary(table).notes
    assert noted(notes[1:]) == [("SR", [3])]
    table.loc[("large", "SR"), "failed"] = 1
    notes = RiskDisplay.from_summary(table).notes
    assert noted(notes[1:]) == [("SR", [1, 3])]
    notes = RiskDisplay.from_summary(table.loc["small"]).notes
    assert noted(notes[1:]) == [("SR", [3])]


@pytest.mark.parametrize(
    ("table", "options", "error"),
    [
        ([1, 2], {}, TypeError),
        (make_table().drop(columns="mse_ratio"), {}, ValueError),
        (make_table().reset_index(), {}, ValueError),
        (make_table(), {"baseline": "DT"}, ValueError),
        (make_table().drop(index=["EB", "SR"], level=1), {}, ValueError),
    ],
)
def test_bad_tables_are_refused(table, options, error):
    with pytest.raises(error):
        RiskDisplay.from_summary(table, **options)


# Paper


def test_marks_stand_at_their_ratios(pyplot):
    display = RiskDisplay.from_summary(make_table()).plot()
    marks = [line for line in display.ax_.lines if len(line.get_xdata()) == 2
             and line.get_marker() not in ("None", "")]  # fmt: skip
    assert [list(line.get_xdata()) for line in marks] == [[0.5, 0.9], [0.8, 4.0]]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["small", "large"]
    assert np.all(np.round(marks[0].get_ydata()) == [0, 1])
    assert display.ax_.get_xscale() == "log"
    low, high = display.ax_.get_xlim()
    assert low < 0.4 and high > 4.1


def test_every_estimator_looks_different_and_the_same_everywhere(pyplot):
    def looks(display):
        handles, texts = display.ax_.get_legend().legend_handles, display.ax_.get_legend().texts
        return {
            text.get_text(): (handle.get_color(), handle.get_marker())
            for text, handle in zip(texts, handles, strict=True)
        }

    first = looks(RiskDisplay.from_summary(make_table()).plot())
    other = looks(RiskDisplay.from_summary(relative_to_eb(), baseline="EB").plot())
    assert len(set(first.values())) == 2 and first["SR"] == other["SR"]


def test_sixteen_estimators_look_different(pyplot):
    row = make_table().loc["small"].loc["EB"]
    names = ["direct", *(f"method {i}" for i in range(16))]
    table = pd.DataFrame({name: row for name in names}).T.rename_axis("estimator")
    table.loc["direct", "mse_ratio"] = 1.0
    display = RiskDisplay.from_summary(table).plot()
    handles = display.ax_.get_legend().legend_handles
    assert len({(handle.get_color(), handle.get_marker()) for handle in handles}) == 16


@pytest.mark.parametrize("ratio", [1e-12, 1e-4, 0.2, 2e3, 1e9])
def test_numbers_on_the_axis_stay_apart(pyplot, ratio):
    table = make_table(ratios=((0.9, ratio), (0.9, ratio)))
    ax = RiskDisplay.from_summary(table).plot().ax_
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    boxes = [tick.get_window_extent() for tick in ax.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert len(boxes) >= 3 and 1 in ax.get_xticks()
    assert max(ax.get_xticks()) > high / 100 and min(ax.get_xticks()) < low * 100


def test_names_are_no_formulas(pyplot):
    names = {"direct": "cost in $ and $", "SR": "two\nlines"}
    table = make_table(parts=("one $ or $ two\nlines", "other")).rename(index=names, level=1)
    ax = RiskDisplay.from_summary(table, baseline=names["direct"]).plot().ax_
    assert not ax.xaxis.label.get_parse_math()
    assert ax.get_yticklabels()[0].get_text() == "one $ or $ two lines"
