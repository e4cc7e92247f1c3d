"""TrendDisplay: the numbers without matplotlib, then what is on the paper."""

import numpy as np
import pandas as pd
import pytest

from skbench import TrendDisplay, trend

NAMES = ["first release", "second", "third $x$", "the fourth of them", "last"]


def found(slope=0.3, names=NAMES, days=None):
    rng = np.random.default_rng(0)
    score = rng.normal(size=(30, 1)) + rng.normal(size=(30, 5)) + slope * np.arange(5)
    table = pd.DataFrame(score, columns=pd.Index(names, name="model"))
    items = table.rename_axis("item").reset_index().melt("item", value_name="score")
    order = names
    if days is not None:
        items["day"], order = items["model"].map(dict(zip(names, days, strict=True))), "day"
    return trend(items, order)


def test_numbers_are_those_of_the_trend():
    result = found()
    display = TrendDisplay.from_trend(result)
    np.testing.assert_array_equal(display.points["low"], result.scores.low)
    assert list(display.points.index) == display.names == NAMES and display.shown
    assert display.slope["high"] == result.estimate.high[0] and display.xlabel == "version"
    assert "rising" in display.notes[0] and not TrendDisplay.from_trend(found(0)).shown


def test_dates_are_years_and_near_names_are_left_out():
    days = pd.to_datetime(["2024-01-01", "2024-12-31", "2025-01-02", "2026-12-31", "2027-06-01"])
    display = TrendDisplay.from_trend(found(days=days))
    np.testing.assert_allclose(display.points["place"].iloc[3], 1095 / 365.25)
    assert display.names == [NAMES[0], "", *NAMES[2:]] and display.xlabel == "date"


@pytest.mark.parametrize("slope", [0.3, 0.0])
def test_nothing_is_clipped_and_the_line_goes_through_the_means(
    pyplot, assert_nothing_clipped, slope
):
    result = found(slope)
    display = TrendDisplay.from_trend(result).plot(ylabel="accuracy")
    assert_nothing_clipped(display.figure_)
    line = display.ax_.lines[0]
    assert line.get_linestyle() == ("-" if slope else "--")
    (x0, x1), (y0, y1) = line.get_data()
    np.testing.assert_allclose((y1 - y0) / (x1 - x0), result.estimate.value[0])
    np.testing.assert_allclose((y0 + y1) / 2, result.scores.value.mean())
    assert display.ax_.get_ylabel() == "accuracy"
    own = pyplot.figure().add_subplot()
    assert TrendDisplay.from_trend(result).plot(own).ax_ is own
