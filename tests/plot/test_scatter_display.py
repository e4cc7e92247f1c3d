"""ScatterDisplay: the numbers without matplotlib, then what is on the paper."""

import numpy as np
import pandas as pd
import pytest

from skbench import ScatterDisplay, tradeoff
from skbench.datasets import make_items

PRICES = {"model-0": 1.0, "model-1": 30.0, "model-2": 2.0}


@pytest.fixture(scope="module")
def found():
    items = make_items(n_models=3, n_topics=4, n_items=50, random_state=0).items
    return tradeoff(items.assign(price=items["model"].map(PRICES)), cost="price")


def test_numbers(found):
    display, table = ScatterDisplay.from_tradeoff(found), found.to_frame()
    points = display.points
    assert points["x"].to_dict() == PRICES
    np.testing.assert_array_equal(points[["y", "y_low"]], table[["score", "score_low"]])
    assert points["kind"].to_dict() == {
        "model-2": "frontier", "model-1": "dominated", "model-0": "frontier",
    }  # fmt: skip
    assert display.line.index.tolist() == ["model-0", "model-2"]
    assert display.xlabel.startswith("price") and display.ylabel == "score"


def test_drawn(pyplot, found):
    """A logarithmic axis for costs a factor 30 apart; all names, none on another or on a point."""
    display = ScatterDisplay.from_tradeoff(found)
    figure, axes = pyplot.subplots()
    assert display.plot(axes, ylabel="accuracy") is display
    assert axes.get_xscale() == "log" and axes.get_ylabel() == "accuracy"
    figure.draw_without_rendering()
    texts = [text for text in axes.texts if text.get_text() in PRICES]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) == 3
    marks = axes.transData.transform(display.points[["x", "y"]].to_numpy())
    assert not any(box.count_contains(marks) for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(shown) == 3 and shown == list(display.legend.values())


def test_what_is_not_known_is_not_drawn(pyplot):
    nan = np.nan
    points = pd.DataFrame(
        [[1.0, nan, np.inf, 0.5, 0.4, nan, "odd", "a"], [nan, nan, nan, 0.7, 0.6, 0.8, "odd", "b"]],
        columns=["x", "x_low", "x_high", "y", "y_low", "y_high", "kind", "name"],
    )
    display = ScatterDisplay(
        points=points, line=None, legend={"odd": "odd ones"}, notes=[], xlabel="x", ylabel="y"
    )
    display.plot()
    assert [text.get_text() for text in display.ax_.texts] == ["a"]
    assert display.ax_.get_xscale() == "linear"


def test_models_without_cost_are_noted(found):
    items = make_items(n_models=3, n_topics=4, n_items=50, random_state=0).items
    costs = items["model"].map(PRICES | {"model-0": np.nan})
    with pytest.warns(UserWarning, match="200 of 600 rows"):
        display = ScatterDisplay.from_tradeoff(tradeoff(items.assign(cost=costs)))
    assert "model-0" in display.notes[-1]
