"""SimplexDisplay: which weighting is drawn where, and in whose colour."""

import numpy as np
import pandas as pd
import pytest
from facts import numbers

from skbench.plot import SimplexDisplay
from skbench.tasks import WeightSimplex


def make_simplex(n_models=3, *, scores=None, sigma2=1e-4, **options):
    """Model i is good at category i."""
    models = [f"m{i}" for i in range(n_models)]
    X = pd.DataFrame(
        [(m, c, c) for m in models for c in ("text", "code", "math")],
        columns=["model", "task", "category"],
    )
    scores = 0.4 + 0.3 * np.eye(3)[:n_models] if scores is None else scores
    return WeightSimplex(**{"resolution": 40, **options}).fit(X, np.ravel(scores), sigma2)


@pytest.fixture(scope="module")
def drawn():
    """Three models, each the best at one corner."""
    pytest.importorskip("matplotlib").use("Agg")
    return SimplexDisplay.from_simplex(make_simplex()).plot()


# Top, bottom left, bottom right.
CORNERS = np.array([[0.5, np.sqrt(3) / 2], [0.0, 0.0], [1.0, 0.0]])


def legend_colors(display):
    """Color of each entry of the legend that is a region: winners, undecided."""
    handles = display.ax_.get_legend().legend_handles[:-2]
    return [pytest.approx(handle.get_facecolor()) for handle in handles]


def color_at(display, weights):
    """Colour drawn at a weighting, from the picture itself."""
    (image,) = display.ax_.images
    picture = image.get_array()
    left, right, bottom, top = image.get_extent()
    x, y = np.asarray(weights) @ CORNERS
    column = int((x - left) / (right - left) * (picture.shape[1] - 1))
    row = int((y - bottom) / (top - bottom) * (picture.shape[0] - 1))
    return tuple(picture[row, column])


def test_numbers():
    simplex = make_simplex()
    display = SimplexDisplay.from_simplex(simplex)
    assert display.categories == ["text", "code", "math"]
    names = display.fractions.index.to_numpy()[display.region]
    np.testing.assert_array_equal(names, simplex.winners())
    share = 100 * display.fractions["undecided"]
    assert display.legend["undecided"].startswith(f"undecided: {share:.0f}%")
    assert numbers(display.legend["undecided"])[1:] == [2] and len(display.notes) == 1
    correlated = SimplexDisplay.from_simplex(make_simplex(rho=0.4))
    assert numbers(correlated.notes[1]) == [0.4]


def test_small_shares_are_not_printed_as_0():
    scores = [[0.5, 0.5, 0.5], [0.504, 0.4, 0.4]]
    display = SimplexDisplay.from_simplex(make_simplex(2, scores=scores, sigma2=1e-12))
    assert 0 < display.fractions["m1"] < 0.01
    assert display.legend["m1"] == f"m1: {100 * display.fractions['m1']:.2g}%"
    assert "undecided: 0%" in display.legend["undecided"]


def test_every_weighting_has_the_colour_of_its_winner(drawn):
    colors = legend_colors(drawn)
    wrong = 0
    for weights, region in zip(drawn.weights, drawn.region, strict=True):
        inner = 0.97 * weights + 0.01  # off the border, where pixels end
        wrong += color_at(drawn, inner) != colors[region]
    # Borders between regions are smoothed by about one step of the grid.
    assert wrong < 0.05 * len(drawn.weights)


def test_corners_belong_to_the_specialists(drawn):
    for corner, category in enumerate(drawn.categories):
        at = drawn.fractions.index.get_loc(f"m{corner}")
        nearly = 0.02 + 0.94 * np.eye(3)[corner]
        assert color_at(drawn, nearly) == legend_colors(drawn)[at]
        (name,) = (t for t in drawn.ax_.texts if t.get_text() == f"only {category}")
        assert name.xy == pytest.approx(CORNERS[corner])


def test_nothing_is_drawn_outside_the_triangle(drawn):
    picture = drawn.ax_.images[0].get_array()
    assert picture[-1, 0, 3] == picture[-1, -1, 3] == 0
    assert 0.49 < (picture[..., 3] > 0).mean() < 0.51


def test_percentages_stand_on_the_edges(drawn):
    """Half the weight on a category: on the edge where it meets the next one."""
    halves = {tuple(np.round(t.xy, 6)) for t in drawn.ax_.texts if t.get_text() == "50%"}
    expected = {tuple(np.round((CORNERS[i] + CORNERS[i - 1]) / 2, 6)) for i in range(3)}
    assert halves == expected


def test_legend_and_notes_are_printed(drawn):
    texts = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert texts[:-2] == [*drawn.legend.values()]
    assert any(text.get_text() == drawn.notes[0] for text in drawn.ax_.texts)


def test_one_winner_everywhere(pyplot):
    scores = [[0.9, 0.9, 0.9], [0.1, 0.1, 0.1]]
    display = SimplexDisplay.from_simplex(make_simplex(2, scores=scores)).plot()
    assert display.fractions.to_dict() == {"m0": 1.0, "undecided": 0.0}
    assert color_at(display, [0.3, 0.3, 0.4]) == legend_colors(display)[0]


def test_nobody_wins_anywhere(pyplot):
    scores = np.full((2, 3), 0.5)
    display = SimplexDisplay.from_simplex(make_simplex(2, scores=scores)).plot()
    assert color_at(display, [0.3, 0.3, 0.4]) == legend_colors(display)[-1]


@pytest.mark.slow
def test_more_winners_than_colours_are_summed_up(pyplot):
    angle = np.linspace(0, np.pi / 2, 10)
    scores = np.column_stack([np.cos(angle), np.sin(angle), 0.9 * np.ones(10)])
    simplex = make_simplex(10, scores=scores, sigma2=1e-12, resolution=90)
    display = SimplexDisplay.from_simplex(simplex).plot()
    n_won = len(display.fractions) - 1
    assert n_won > 8
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[8].startswith(f"{n_won - 8} other model")
    assert len(texts) == 8 + 4


def test_long_names_of_corners_stay_apart(pyplot):
    display = SimplexDisplay.from_simplex(make_simplex(resolution=3))
    display.categories = ["a category whose name has a great many words", "x" * 70, "x" * 70]
    display.plot().figure_.canvas.draw()
    top, left, right = (
        text.get_window_extent() for text in display.ax_.texts if text.get_text()[:4] == "only"
    )
    assert left.x1 < right.x0 and left.y1 < top.y0
    assert top.y1 < display.ax_.get_legend().get_window_extent().y0


def test_corners_can_be_read_on_a_dark_figure(pyplot):
    from matplotlib.colors import to_rgb

    with pyplot.style.context("dark_background"):
        display = SimplexDisplay.from_simplex(make_simplex(resolution=3))
        _, ax = pyplot.subplots()
        assert display.plot(ax).ax_ is ax and len(pyplot.get_fignums()) == 1
    corners = [text for text in display.ax_.texts if text.get_text()[:4] == "only"]
    assert len(corners) == 3
    assert all(min(to_rgb(text.get_color())) > 0.8 for text in corners)


def test_names_take_one_line(pyplot):
    simplex = make_simplex(resolution=3)
    simplex.categories_ = ["two\nlines", "code", "math"]
    simplex.fractions_ = simplex.fractions_.rename({"m0": "m\n0"})
    display = SimplexDisplay.from_simplex(simplex)
    assert display.categories[0] == "two lines"
    assert display.legend["m\n0"].startswith("m 0: ")


def test_nothing_is_clipped(pyplot, assert_nothing_clipped):
    display = SimplexDisplay.from_simplex(make_simplex(rho=0.3, resolution=3))
    display.categories = ["a category with a long name", "$x and $y", "text"]
    figure = display.plot().figure_
    assert_nothing_clipped(figure)
