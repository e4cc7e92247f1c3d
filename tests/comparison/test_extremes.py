"""Worst group, best group and gap: by hand, and on real topics."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skbench import Draws, MixedModel, Sampling, extremes

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import worst_topics as study

TOPICS = pd.Index(["law", "art", "math"], name="topic")
BY_HAND = Draws([[0.2, 0.6, 0.4], [0.4, 0.8, 0.2], [0.3, 0.3, 0.6]], TOPICS, "posterior")


def test_by_hand():
    found = extremes(BY_HAND, of="both")
    table = found.to_frame()
    assert list(table.index) == ["worst", "best", "gap", "ratio"]
    expected = [0.7 / 3, 2 / 3, 1.3 / 3, (0.2 / 0.6 + 0.2 / 0.8 + 0.5) / 3]
    np.testing.assert_allclose(table["value"], expected)
    half = extremes(BY_HAND, confidence_level=0.5).to_frame()[["low", "high"]]
    np.testing.assert_allclose(half, [[0.2, 0.25], [0.6, 0.7], [0.35, 0.5]])
    alike = Draws([[0.2, 0.4, 0.3], [0.4, 0.2, 0.3], [0.3, 0.3, 0.3]], TOPICS, "posterior")
    ends = extremes(alike).to_frame()[["low", "high"]]  # all may be equal, with a mean of 0.3
    np.testing.assert_allclose(ends, [[0.2, 0.3], [0.3, 0.4], [0, 0.2]])
    # law alone, math alone, law and art in equal parts
    np.testing.assert_allclose(found.worst_probability[TOPICS], [1.5 / 3, 0.5 / 3, 1 / 3])
    np.testing.assert_allclose(found.best_probability[TOPICS], [0, 2 / 3, 1 / 3])


def test_where_low_is_good_worst_and_best_change_places():
    one, other = (extremes(BY_HAND, of="ratio", greater_is_better=g) for g in (True, False))
    np.testing.assert_array_equal(one.worst_probability, other.best_probability)
    values, changed = one.to_frame()["value"], other.to_frame()["value"]
    np.testing.assert_array_equal(changed, values[["best", "worst", "ratio"]])


def test_sets_are_those_of_their_groups_alone():
    rng, by = np.random.default_rng(0), ["model", "topic"]
    labels = tuple(pd.Index(list(x), name=n) for x, n in (("ab", "model"), ("xyz", "topic"), ("lr", "half")))  # fmt: skip
    draws = Draws(rng.random((50, 2, 3, 2)), labels, "posterior")
    table = extremes(draws, by=by).to_frame()
    assert table.index.names == [*by, "extreme"] and len(table) == 18
    for m, model in enumerate(labels[0]):
        for t, topic in enumerate(labels[1]):
            alone = extremes(Draws(draws.values[:, m, t], labels[2], "posterior")).to_frame()
            np.testing.assert_allclose(table.loc[(model, topic), "high"], alone["high"])
    flat, order = pd.MultiIndex.from_product(labels), rng.permutation(12)
    shuffled = Draws(draws.values.reshape(50, 12)[:, order], flat[order], "posterior")
    pd.testing.assert_frame_equal(extremes(shuffled, by=by).to_frame(), table)
    chances = extremes(shuffled, by="model").worst_probability.groupby(level="model").sum()
    np.testing.assert_allclose(chances, 1)


def test_intervals_hold_where_groups_are_equal():
    """40 models with their own accuracy, the same on all of their twelve topics."""
    rng = np.random.default_rng(0)
    truth = rng.beta(6, 3, (40, 1))
    models = [f"m{i:02d}" for i in range(40)]
    labels = pd.MultiIndex.from_product([models, range(12)], names=["model", "topic"])
    right = rng.binomial(20, truth, (40, 12)).ravel()
    settings = {"n": [20] * 480, "sampling": Sampling("binomial")}
    fitted = MixedModel().fit(labels.to_frame(), right / 20, **settings)
    ends = extremes(fitted.sample(1000, random_state=0), by="model").to_frame()[["low", "high"]]
    low, high = ends.to_numpy().reshape(40, 3, 2).T
    truth = np.c_[truth, truth, 0 * truth].T
    assert ((low <= truth) & (truth <= high)).mean(axis=1).min() >= 0.9


def test_ratio_of_zeros_is_nan():
    nothing = Draws(np.zeros((3, 2)), pd.Index(["a", "b"]), "posterior")
    assert np.isnan(extremes(nothing, of="ratio").to_frame().loc["ratio", "value"])


@pytest.mark.parametrize(
    ("draws", "options", "error"),
    [
        (BY_HAND, {"by": "model"}, ValueError),
        (BY_HAND, {"by": "topic"}, ValueError),  # each topic alone
        (Draws([[-1.0, 2.0]], pd.Index(["a", "b"]), "posterior"), {"of": "ratio"}, ValueError),
    ],
)
def test_what_cannot_be_meant_is_refused(draws, options, error):
    with pytest.raises(error):
        extremes(draws, **options)


def test_bootstrap_draws_warn():
    with pytest.warns(UserWarning, match="bootstrap"):
        extremes(Draws(BY_HAND.values, TOPICS, "bootstrap"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_extremes_of_real_topics(data_folder):
    found = study.figures(study.of_mmlu_pro(data_folder))
    assert (found["relative error"] <= pd.Series({"best": 0.5, "gap": 0.5, "worst": 0.7})).all()
    assert (found["coverage"] >= 0.9).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sets", [study.of_hierarchical, study.of_bank])
def test_extremes_of_other_draws_cover(sets):
    found = study.figures(sets())
    assert (found["relative error"] <= 0.7).all()
    assert (found["coverage"] >= 0.9).all()
