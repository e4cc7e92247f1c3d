"""All displays: numbers without matplotlib; on axes of the caller what has no room is left out."""

import io
import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pandas as pd
import pytest

import skbench
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

N_ROWS = 77
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


def simplex():
    X = pd.DataFrame(
        {"model": list("aaabbb"), "task": list("uvw") * 2, "category": list("uvw") * 2}
    )
    scores = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]
    return SimplexDisplay.from_simplex(WeightSimplex(resolution=3).fit(X, scores, sigma2=0.01))


ROWS = [forest, shrinkage, difference, rank, sampling, risk, coverage]


@pytest.mark.parametrize(
    ("make", "layout"),
    [*((make, None) for make in ROWS), (forest, "constrained"), (coverage, "constrained")],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_rows_are_thinned_to_the_height_of_axes(pyplot, make, layout):
    """Many groups on a figure of 6 x 4 inches: names apart, within the figure, and a note."""
    panels = 2 if make is coverage else 1
    figure, ax = pyplot.subplots(1, panels, figsize=(6, 4), layout=layout)
    display = make()
    before = list(display.notes)
    display.plot(ax)
    assert np.all(display.ax_ == ax) and display.figure_ is figure
    assert len(pyplot.get_fignums()) == 1
    figure.draw_without_rendering()
    first = np.ravel(ax)[0]
    boxes = [label.get_window_extent() for label in first.get_yticklabels()]
    assert 5 <= len(boxes) < 30
    assert all(a.y0 >= b.y1 for a, b in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0
    note = first.texts[0]
    assert f"{len(boxes)} of {N_ROWS}" in note.get_text()
    assert note.get_window_extent().y1 <= figure.bbox.height
    assert note.get_window_extent().x1 <= figure.bbox.width
    assert display.notes == before  # what is computed stays
    widths = [panel.get_window_extent().width for panel in np.ravel(ax)]
    assert sum(widths) > 0.6 * figure.bbox.width
    numbers = [label.get_window_extent() for label in first.get_xticklabels()]
    assert all(a.x1 <= b.x0 for a, b in pairwise(numbers))


@pytest.mark.filterwarnings("error:Glyph")
@pytest.mark.parametrize("make", ROWS, ids=lambda make: make.__name__)
def test_pictures_show_the_control_characters_of_names(pyplot, make, monkeypatch):
    odd = "a\x01\x1b[31m\x0b\uffff"
    monkeypatch.setitem(
        globals(), "LABELS", pd.Index([f"{odd}{i}" for i in range(5)], name="topic")
    )
    monkeypatch.setitem(globals(), "N_ROWS", 5)
    monkeypatch.setitem(globals(), "TRUTH", TRUTH[:5])
    monkeypatch.setitem(globals(), "NAMES", ["direct", f"{odd} 1", f"{odd} 2"])
    figure = np.ravel(make().plot().ax_)[0].figure
    for form in ("svg", "png", "pdf") if make is risk else ["svg"]:
        figure.savefig(drawn := io.BytesIO(), format=form)
        if form == "svg":
            fromstring(drawn.getvalue())
            assert rb"\x1b[31m" in drawn.getvalue()


@pytest.mark.slow
def test_a_triangle_names_as_many_models_as_there_is_room_for(pyplot):
    models, rng = 7, np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "model": np.repeat([f"model {i}" for i in range(models)], 3),
            "task": ["law", "sort", "add"] * models,
            "category": ["text", "code", "math"] * models,
        }
    )
    y = np.sqrt(rng.dirichlet(np.full(3, 4.0), models)).ravel()  # each the best somewhere
    display = SimplexDisplay.from_simplex(WeightSimplex(resolution=12).fit(X, y, sigma2=1e-6))
    named = []
    for height in (4, 7):
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


def test_numbers_need_no_matplotlib(monkeypatch):
    for path in Path(skbench.__file__).parent.rglob("*.py"):
        assert not re.search("^(import|from) matplotlib", path.read_text(), re.MULTILINE), path
    for name in {"matplotlib", *sys.modules}:
        if name.split(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)

    for display in [make() for make in (*ROWS, simplex)]:
        with pytest.raises(ImportError, match=re.escape('pip install "skbench[plot]"')):
            display.plot()
