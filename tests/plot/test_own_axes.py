"""Displays on axes of the caller: what has no room is left out, and the picture says so."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from skbench import (
    CoverageDisplay,
    DifferenceDisplay,
    Estimate,
    ForestDisplay,
    RankDisplay,
    RiskDisplay,
    SamplingDisplay,
    ShrinkageDisplay,
    SimplexDisplay,
)
from skbench.tasks import WeightSimplex

N_ROWS = 177
LABELS = pd.Index([f"topic number {i}" for i in range(N_ROWS)], name="topic")
TRUTH = np.linspace(0.2, 0.9, N_ROWS)
NAMES = ["direct", "EB", "JS", "SR"]


def make_estimate(value, half_width=0.1, method="direct"):
    ends = value - half_width, value + half_width
    spread = np.full(N_ROWS, half_width / 2)
    return Estimate(value, *ends, spread, 0.95, LABELS, method, "each group")


def forest():
    both = {"direct": make_estimate(TRUTH), "EB": make_estimate(TRUTH, 0.05, "EB")}
    return ForestDisplay.from_estimates(both, max_rows=N_ROWS)


def shrinkage():
    two = make_estimate(TRUTH), make_estimate(0.8 * TRUTH + 0.1, 0.05, "EB")
    return ShrinkageDisplay.from_estimates(*two, max_rows=N_ROWS)


def difference():
    return DifferenceDisplay.from_estimate(make_estimate(TRUTH - 0.5), max_rows=N_ROWS)


def rank():
    apart = np.subtract.outer(np.arange(N_ROWS), np.arange(N_ROWS))
    p = np.exp(-0.5 * (apart / 4) ** 2)
    table = pd.DataFrame(p / p.sum(axis=1, keepdims=True), LABELS, range(1, N_ROWS + 1))
    return RankDisplay.from_probabilities(table, max_rows=N_ROWS)


def sampling():
    results = pd.DataFrame(
        [
            {"repetition": r, "estimator": name, "topic": topic, "estimate": truth, "truth": truth}
            for r in range(2)
            for name in NAMES
            for topic, truth in zip(LABELS, TRUTH, strict=True)
        ]
    )
    return SamplingDisplay.from_results(results, max_rows=N_ROWS)


def summary():
    index = pd.MultiIndex.from_product([LABELS, NAMES], names=["topic", "estimator"])
    ratio = np.where(index.get_level_values(1) == "direct", 1.0, 0.6)
    return pd.DataFrame(
        {"mse_ratio": ratio, "width_ratio": ratio, "standard_error": 0.05, "failed": 0,
         "coverage": 0.93, "guarantee": "each group"},
        index=index,
    )  # fmt: skip


def risk():
    return RiskDisplay.from_summary(summary())


def coverage():
    return CoverageDisplay.from_summary(summary())


@pytest.fixture(scope="module")
def pyplot():
    """matplotlib drawing into memory; figures are closed afterwards."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize(
    "make",
    [forest, shrinkage, difference, rank, sampling, risk, coverage],
    ids=lambda m: m.__name__,
)
def test_rows_are_thinned_to_the_height_of_axes(pyplot, make, layout):
    """177 groups on a figure of 6 x 4 inches: names apart, within the figure, and a note."""
    panels = 2 if make is coverage else 1
    figure, ax = pyplot.subplots(1, panels, figsize=(6, 4), layout=layout)
    display = make()
    before = list(display.notes)
    display.plot(ax)
    figure.draw_without_rendering()
    first = np.ravel(ax)[0]
    boxes = [label.get_window_extent() for label in first.get_yticklabels()]
    assert 5 <= len(boxes) < 30
    assert all(a.y0 >= b.y1 for a, b in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0
    told = first.texts[0]
    assert f"{len(boxes)} of {N_ROWS} rows drawn" in told.get_text()
    assert told.get_window_extent().y1 <= figure.bbox.height
    assert told.get_window_extent().x1 <= figure.bbox.width
    assert display.notes == before  # what is computed stays
    widths = [panel.get_window_extent().width for panel in np.ravel(ax)]
    assert sum(widths) > 0.6 * figure.bbox.width
    numbers = [label.get_window_extent() for label in first.get_xticklabels()]
    assert all(a.x1 <= b.x0 for a, b in pairwise(numbers))


def test_a_triangle_names_as_many_models_as_there_is_room_for(pyplot):
    models, rng = 14, np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "model": np.repeat([f"model {i}" for i in range(models)], 3),
            "task": ["law", "sort", "add"] * models,
            "category": ["text", "code", "math"] * models,
        }
    )
    y = np.sqrt(rng.dirichlet(np.full(3, 4.0), models)).ravel()  # each the best somewhere
    display = SimplexDisplay.from_simplex(WeightSimplex(resolution=15).fit(X, y, sigma2=1e-6))
    named = []
    for height in (4, 8):
        figure, ax = pyplot.subplots(figsize=(6, height))
        display.plot(ax)
        figure.draw_without_rendering()
        (note,) = (text for text in ax.texts if "best model" in text.get_text())
        assert note.get_window_extent().y1 <= figure.bbox.height
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        named.append(sum(text.startswith("model") for text in texts))
        n_others = len(display.fractions) - 1 - named[-1]
        assert any(text.startswith(f"{n_others} other model") for text in texts) == (n_others > 0)
    assert 1 <= named[0] < named[1]


@pytest.mark.parametrize("make", [forest, rank], ids=lambda m: m.__name__)
def test_notes_leave_small_axes_their_width(pyplot, make):
    figure, ax = pyplot.subplots(figsize=(4, 3))
    make().plot(ax)
    figure.canvas.draw()
    assert ax.get_window_extent().width > 2.2 * figure.dpi
