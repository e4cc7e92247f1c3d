"""DifferenceDisplay: the numbers without matplotlib, then what is on the paper."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from facts import numbers

from skbench import Draws, Estimate
from skbench.plot import DifferenceDisplay
from skbench.tasks import differences

PAIRS = pd.MultiIndex.from_tuples([("ada", "bob"), ("ada", "cyd"), ("bob", "cyd"), ("cyd", "dan")])
VALUE = np.array([0.02, 0.1, -0.08, 0.0])


def make_estimate(value=VALUE, labels=PAIRS, half_width=0.05):
    value = np.array(value, dtype=float)
    spread = np.full(len(value), half_width / 2)
    return Estimate(
        value, value - half_width, value + half_width, spread, 0.9875, labels, "m", "model"
    )


def test_rows_show_which_differences_are_clear():
    display = DifferenceDisplay.from_estimate(make_estimate())
    assert display.rows.index.equals(PAIRS)
    np.testing.assert_array_equal(display.rows["value"], VALUE)
    assert display.rows["clear"].tolist() == [False, True, True, False]
    assert {key: numbers(text)[-2:] for key, text in display.legend.items()} == {
        "clear": [2, 4],
        "open": [2, 4],
    }
    (note,) = display.notes
    assert note.startswith("m (98.75%")


def test_an_end_at_0_is_not_clear():
    display = DifferenceDisplay.from_estimate(make_estimate([0.05, -0.05, 0.06, 0.04]))
    assert display.rows["clear"].tolist() == [False, False, True, False]


def test_the_adjusted_level_and_its_correction_are_named():
    values = np.random.default_rng(0).normal([0.8, 0.7, 0.6], 0.02, (4000, 3))
    estimate = differences(Draws(values, pd.Index(["ada", "bob", "cyd"]), "bootstrap"))
    (note,) = DifferenceDisplay.from_estimate(estimate).notes
    assert all(word in note for word in ("bootstrap", "Bonferroni", "3", "95%", "(98.33%"))


def test_many_pairs_show_those_closest_to_0():
    labels = pd.MultiIndex.from_product([range(10), range(10)])
    value = np.random.default_rng(0).normal(size=100)
    display = DifferenceDisplay.from_estimate(make_estimate(value, labels), max_rows=7)
    nearest = np.sort(np.argsort(np.abs(value))[:7])
    assert display.rows.index.equals(labels[nearest])
    assert numbers(display.notes[1])[:2] == [7, 100]
    # The counts are over all pairs.
    clear = int((np.abs(value) > 0.05).sum())
    assert numbers(display.legend["clear"])[-2:] == [clear, 100]


def test_missing_intervals_are_named():
    estimate = make_estimate([0.1, np.nan, 0.2, 0.0], half_width=np.array([0.05, 1, 0.05, np.nan]))
    display = DifferenceDisplay.from_estimate(estimate)
    assert display.remarks == ["", "no estimate", "", "no interval"]
    assert [numbers(note) for note in display.notes[1:]] == [[1, 4], [1, 4]]
    assert display.rows["clear"].tolist() == [True, False, True, False]
    assert list(display.legend) == ["clear"] and numbers(display.legend["clear"])[-2:] == [2, 4]


def test_missing_pairs_that_are_not_drawn_have_a_note():
    display = DifferenceDisplay.from_estimate(make_estimate([0.1, np.nan, 0.2, 0.0]), max_rows=2)
    assert display.remarks == ["", ""]
    assert [1, 4] in [numbers(note) for note in display.notes]


def test_without_any_interval_none_includes_0():
    display = DifferenceDisplay.from_estimate(make_estimate(half_width=np.nan))
    assert display.legend == {"open": "no interval"} and display.remarks == [""] * 4


def test_pairs_exactly_equal_are_closest_to_a_tie():
    estimate = make_estimate([0.2, 0.0, -0.3, 0.1], half_width=np.array([0.1, 0.0, 0.1, 0.1]))
    estimate = replace(estimate, standard_error=[0.05, 0.0, 0.05, 0.0])
    display = DifferenceDisplay.from_estimate(estimate, max_rows=1)
    assert display.rows["value"].tolist() == [0.0]


def test_errors():
    with pytest.raises(ValueError):
        DifferenceDisplay.from_estimate(make_estimate([], PAIRS[:0]))


def test_markers_whiskers_and_zero(pyplot):
    display = DifferenceDisplay.from_estimate(make_estimate())
    assert display.plot(xlabel="difference of accuracy") is display
    ax = display.ax_
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert names == ["ada − bob", "ada − cyd", "bob − cyd", "cyd − dan"]
    drawn = {}
    for whiskers in ax.collections:
        for segment in whiskers.get_segments():
            drawn[segment[0, 1]] = segment[:, 0].tolist()
    for row, value in enumerate(VALUE):
        assert drawn[row] == pytest.approx([value - 0.05, value + 0.05])
    points = np.concatenate(
        [np.column_stack(line.get_data()) for line in ax.lines if line.get_marker() == "o"]
    )
    np.testing.assert_array_equal(points[np.argsort(points[:, 1]), 0], VALUE)
    assert ax.lines[0].get_xdata() == [0, 0]  # the zero line
    assert {"difference", "accuracy"} <= set(ax.get_xlabel().split())
    low, high = ax.get_xlim()
    assert low < -0.13 and high > 0.15


def test_zero_is_always_on_the_paper(pyplot):
    display = DifferenceDisplay.from_estimate(make_estimate([0.5, 0.6, 0.7, 0.8])).plot()
    low, high = display.ax_.get_xlim()
    assert low < 0 < high


def test_legend_has_only_what_is_drawn(pyplot):
    display = DifferenceDisplay.from_estimate(make_estimate([0.5, 0.6, 0.7, 0.8])).plot()
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert texts == list(display.legend.values()) and len(texts) == 1
    assert numbers(texts[0])[-2:] == [4, 4]
    (note,) = (t.get_text() for t in display.ax_.texts)
    assert note == display.notes[0]


@pytest.mark.parametrize("n_pairs", [1, 20])
def test_nothing_is_clipped(pyplot, assert_nothing_clipped, n_pairs):
    labels = pd.MultiIndex.from_tuples(
        [(f"a model with a long name {i}", f"another one {i}") for i in range(n_pairs)]
    )
    value = np.linspace(-0.1, 0.2, n_pairs)
    figure = DifferenceDisplay.from_estimate(make_estimate(value, labels)).plot().figure_
    assert_nothing_clipped(figure)
