"""What the tests of all pictures need."""

from itertools import pairwise

import pytest


@pytest.fixture
def pyplot():
    """matplotlib drawing into memory; figures are closed afterwards."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture
def assert_nothing_clipped():
    """A check that everything lies on the paper, and no two row names touch."""

    def check(figure):
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        tight, (width, height) = figure.get_tightbbox(renderer), figure.get_size_inches()
        assert tight.x0 >= 0 and tight.y0 >= 0 and tight.x1 <= width and tight.y1 <= height
        for ax in figure.axes:
            boxes = [t.get_window_extent(renderer) for t in ax.get_yticklabels() if t.get_text()]
            boxes.sort(key=lambda box: box.y0)
            assert all(below.y1 <= above.y0 for below, above in pairwise(boxes))

    return check
