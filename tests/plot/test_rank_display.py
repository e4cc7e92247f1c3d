"""RankDisplay: the numbers without matplotlib, then what is on the paper."""

import numpy as np
import pandas as pd
import pytest
from facts import numbers

from skbench.comparison import rank_confidence_sets
from skbench.plot import RankDisplay

P = pd.DataFrame(
    [[0.0, 0.25, 0.75, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.75, 0.25, 0.0], [0.0, 0.0, 0.0, 1.0]],
    index=["cyd", "ada", "bob", "dan"],
    columns=range(1, 5),
)


@pytest.fixture
def sets():
    accuracy = pd.Series({"ada": 0.9, "bob": 0.7, "cyd": 0.69, "dan": 0.2})
    return rank_confidence_sets(accuracy, [0.02] * 4, random_state=0)


def many(n_models, seed=0):
    strength = np.sort(np.random.default_rng(seed).normal(size=n_models))
    draws = strength + 0.2 * np.random.default_rng(1).normal(size=(500, n_models))
    ranks = np.argsort(np.argsort(-draws, axis=1), axis=1)
    shares = [np.bincount(own, minlength=n_models) / 500 for own in ranks.T]
    return pd.DataFrame(shares, index=[f"model {i}" for i in range(n_models)])


def test_rows_are_ordered_by_mean_rank():
    display = RankDisplay.from_probabilities(P)
    assert display.probabilities.index.tolist() == ["ada", "bob", "cyd", "dan"]
    assert display.mean_rank.to_dict() == {"ada": 1, "bob": 2.25, "cyd": 2.75, "dan": 4}
    pd.testing.assert_frame_equal(display.probabilities, P.loc[["ada", "bob", "cyd", "dan"]])
    assert display.sets is None and display.notes == []


def test_requested_rows_omit_empty_ranks():
    display = RankDisplay.from_probabilities(P, labels=["cyd", "ada"])
    assert display.probabilities.index.tolist() == ["ada", "cyd"]
    assert display.probabilities.columns.tolist() == [1, 2, 3]
    assert [numbers(note) for note in display.notes] == [[2, 4]]


def test_sets_are_matched_by_label(sets):
    display = RankDisplay.from_probabilities(P, sets=sets)
    assert display.sets.index.tolist() == ["ada", "bob", "cyd", "dan"]
    assert display.sets.to_numpy().tolist() == [[1, 1], [2, 3], [2, 3], [4, 4]]
    assert numbers(display.legend["sets"]) == [95] and "simultaneous" in display.legend["sets"]


def test_ranks_of_the_sets_are_drawn_though_no_draw_has_them(sets):
    display = RankDisplay.from_probabilities(P.loc[["ada", "bob"]], sets=sets)
    assert display.probabilities.columns.tolist() == [1, 2, 3]
    certain = pd.DataFrame(np.eye(4)[:2], index=["ada", "bob"])
    assert RankDisplay.from_probabilities(certain, sets=sets).probabilities.shape == (2, 3)


def test_many_models_show_the_best():
    display = RankDisplay.from_probabilities(many(60))
    assert len(display.probabilities) == 40
    assert display.probabilities.index[0] == "model 59"
    assert [numbers(note) for note in display.notes] == [[40, 60]]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"probabilities": P * 2}, "cyd"),
        ({"probabilities": P - 0.1}, "cyd"),
        ({"probabilities": P.iloc[:0]}, ""),
        ({"labels": ["eve"]}, "eve"),
        ({"probabilities": P[[4, 3, 2, 1]]}, ""),
        ({"probabilities": P[[1, 2, 4, 3]]}, ""),
        ({"probabilities": P.loc[["dan"], [4]]}, ""),
    ],
)
def test_errors(change, named):
    with pytest.raises(ValueError, match=named):
        RankDisplay.from_probabilities(**{"probabilities": P, **change})


def test_ranks_may_be_counted_from_0_or_named_by_words():
    for columns in (range(4), ["1", "2", "3", "4"], ["best", "second", "third", "last"]):
        display = RankDisplay.from_probabilities(P.set_axis(columns, axis=1))
        pd.testing.assert_frame_equal(display.probabilities, P.loc[display.probabilities.index])


def test_sets_of_other_models(sets):
    with pytest.raises(ValueError):
        RankDisplay.from_probabilities(many(2), sets=sets)


def test_cells_and_numbers(pyplot):
    display = RankDisplay.from_probabilities(P)
    assert display.plot() is display
    (mesh,) = display.ax_.collections
    np.testing.assert_array_equal(mesh.get_array(), display.probabilities)
    at = {t.get_position(): t.get_text() for t in display.ax_.texts}
    assert at == {
        (1, 0): "100",
        (2, 1): "75",
        (3, 1): "25",
        (2, 2): "25",
        (3, 2): "75",
        (4, 3): "100",
    }
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["ada", "bob", "cyd", "dan"]
    assert display.ax_.yaxis_inverted()
    # Corner of the first cell: rank 1 of the first row.
    corners = mesh.get_coordinates()[:2, :2].reshape(-1, 2)
    np.testing.assert_allclose(corners.mean(axis=0), [1, 0])


def test_what_rounds_to_0_percent_gets_no_number(pyplot):
    p = pd.DataFrame([[0.995, 0.005], [0.006, 0.994]], index=["ada", "bob"], columns=[1, 2])
    display = RankDisplay.from_probabilities(p).plot()
    assert sorted(text.get_text() for text in display.ax_.texts) == ["1", "100", "99"]


def luminance(color):
    """Relative luminance of the web accessibility guidelines, 0 to 1."""
    rgb = np.array(color[:3])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("p", [0.02, 0.45, 0.6, 0.79, 0.81, 1.0])
def test_numbers_stand_out_from_their_cells(pyplot, p):
    from matplotlib.colors import to_rgb

    both = pd.DataFrame([[p, 1 - p], [1 - p, p]], index=["ada", "bob"], columns=[1, 2])
    ax = RankDisplay.from_probabilities(both).plot().ax_
    (mesh,) = ax.collections
    for text in ax.texts:
        cell = mesh.cmap(int(text.get_text()) / 100)
        light, dark = sorted([luminance(cell), luminance(to_rgb(text.get_color()))])[::-1]
        assert (light + 0.05) / (dark + 0.05) > 3  # what the guidelines ask of graphics


def test_draws_on_a_part_of_a_figure(pyplot):
    part = pyplot.figure().subfigures(1, 2)[0]
    display = RankDisplay.from_probabilities(P).plot(part.subplots())
    assert display.figure_ is part and display.ax_.texts


def test_frames_surround_the_sets(pyplot, sets):
    display = RankDisplay.from_probabilities(P, sets=sets).plot()
    for row, (box, (low, high)) in enumerate(
        zip(display.ax_.patches, display.sets.to_numpy(), strict=True)
    ):
        assert low - 0.5 < box.get_x() < low and high < box.get_x() + box.get_width() < high + 0.5
        assert box.get_y() < row < box.get_y() + box.get_height()
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert texts == list(display.legend.values())


def test_small_cells_have_no_numbers(pyplot):
    figure, ax = pyplot.subplots(figsize=(3, 6))
    display = RankDisplay.from_probabilities(many(40)).plot(ax)
    assert display.ax_ is ax and not [text for text in ax.texts if text.get_text().isdigit()]
    assert len(pyplot.get_fignums()) == 1 and figure is display.figure_


@pytest.mark.parametrize("n_models", [2, 16, pytest.param(60, marks=pytest.mark.slow)])
def test_nothing_is_clipped(pyplot, assert_nothing_clipped, n_models):
    figure = RankDisplay.from_probabilities(many(n_models)).plot().figure_
    assert_nothing_clipped(figure)


def test_numbers_stay_inside_their_cells(pyplot):
    display = RankDisplay.from_probabilities(many(20)).plot()
    display.figure_.canvas.draw()
    step = display.ax_.get_window_extent().width / display.probabilities.shape[1]
    assert display.ax_.texts
    assert all(t.get_window_extent().width < step for t in display.ax_.texts)
