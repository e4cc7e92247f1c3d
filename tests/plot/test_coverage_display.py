"""CoverageDisplay: the numbers without matplotlib, then what is on the paper."""

import numpy as np
import pandas as pd
import pytest
from facts import noted

from skbench import CoverageDisplay

PROMISES = {"direct": "each group", "EB": "average over groups", "SR": "model", "ridge": "none"}


def make_table(parts=("mmlu", "bbh"), failed=0):
    numbers = {"direct": (0.96, 1.0), "EB": (0.94, 0.8), "SR": (0.7, 2.0), "ridge": (np.nan,) * 2}
    rows = {
        (part, name): {
            "guarantee": PROMISES[name],
            "coverage": coverage - 0.1 * i,
            "width_ratio": 1.0 if name == "direct" else width + 0.1 * i,
            "failed": failed if name == "EB" else 0,
        }
        for i, part in enumerate(parts)
        for name, (coverage, width) in numbers.items()
    }
    table = pd.DataFrame(rows).T
    table.index.names = ["study", "estimator"]
    return table


def test_points_are_coverage_and_width():
    points = CoverageDisplay.from_summary(make_table()).points
    assert points.index.unique("estimator").tolist() == ["direct", "EB", "SR"]
    assert points.loc[("bbh", "EB")].tolist() == pytest.approx([0.84, 0.9])


def test_the_legend_names_guarantees():
    display = CoverageDisplay.from_summary(make_table())
    for name, word in {"direct": "each group", "EB": "average", "SR": "model"}.items():
        assert display.legend[name].startswith(f"{name} (") and word in display.legend[name]
    assert noted(display.notes) == [("ridge", [])]


def test_failures_are_noted():
    notes = CoverageDisplay.from_summary(make_table(failed=2)).notes
    assert ("EB", [2]) in noted(notes)


def test_a_plain_summary_is_one_row():
    display = CoverageDisplay.from_summary(make_table().loc["mmlu"])
    assert display.points.index.tolist() == [("", "direct"), ("", "EB"), ("", "SR")]


def test_tables_without_intervals_are_refused():
    table = make_table()
    with pytest.raises(ValueError):
        CoverageDisplay.from_summary(table.assign(coverage=np.nan))
    with pytest.raises(ValueError):
        CoverageDisplay.from_summary(table.drop(columns="coverage"))
    with pytest.raises(TypeError):
        CoverageDisplay.from_summary({})


def test_widths_relative_to_another_estimator_are_refused():
    with pytest.raises(ValueError):
        CoverageDisplay.from_summary(make_table(), baseline="EB")
    table = make_table().drop(index="direct", level="estimator")
    assert CoverageDisplay.from_summary(table).baseline == "direct"


def test_missing_marks_are_noted():
    table = make_table()
    table.loc[("bbh", "EB"), ["coverage", "width_ratio"]] = np.nan
    table.loc[("bbh", "SR"), "width_ratio"] = np.inf
    notes = CoverageDisplay.from_summary(table).notes[1:]
    assert noted(notes) == [("EB", [1, 2]), ("EB", [1, 2]), ("SR", [1, 2])]
    assert ["coverage" in note for note in notes] == [True, False, False]


def test_two_panels_share_their_rows(pyplot):
    display = CoverageDisplay.from_summary(make_table()).plot()
    left, right = display.ax_
    assert display.figure_ is left.figure is right.figure
    assert [text.get_text() for text in left.get_yticklabels()] == ["mmlu", "bbh"]
    assert left.get_ylim() == right.get_ylim()
    for ax, column in ((left, "coverage"), (right, "width_ratio")):
        marks = [line for line in ax.lines if line.get_marker() not in ("None", "")]
        marks = [line for line in marks if len(line.get_xdata()) == 2]
        expected = display.points[column].unstack("estimator", sort=False)
        for line, name in zip(marks, expected, strict=True):
            np.testing.assert_allclose(line.get_xdata(), expected[name])
    assert 0.95 in [line.get_xdata()[0] for line in left.lines if len(line.get_xdata())]


def test_own_axes_are_used(pyplot):
    _, axes = pyplot.subplots(1, 2)
    display = CoverageDisplay.from_summary(make_table(), confidence_level=0.9).plot(axes)
    assert display.ax_.tolist() == list(axes)
    assert (
        "nominal 90%"
        in display.figure_.findobj(
            lambda artist: hasattr(artist, "get_text") and "nominal" in artist.get_text()
        )[0].get_text()
    )


@pytest.mark.parametrize("n_axes", [1, 3])
def test_axes_must_be_two(pyplot, n_axes):
    _, axes = pyplot.subplots(1, n_axes)
    with pytest.raises(ValueError):
        CoverageDisplay.from_summary(make_table()).plot(axes)
