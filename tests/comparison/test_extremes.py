"""Worst group, best group and gap: by hand, and on real topics."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skbench import Draws, MixedModel, extremes, summarize_items

TOPICS = pd.Index(["law", "art", "math"], name="topic")
BY_HAND = Draws([[0.2, 0.6, 0.4], [0.4, 0.8, 0.2], [0.3, 0.3, 0.6]], TOPICS, "posterior")


def test_by_hand():
    found = extremes(BY_HAND, of="both")
    table = found.to_frame()
    assert list(table.index) == ["worst", "best", "gap", "ratio"]
    expected = [0.7 / 3, 2 / 3, 1.3 / 3, (0.2 / 0.6 + 0.2 / 0.8 + 0.5) / 3]
    np.testing.assert_allclose(table["value"], expected)
    half = extremes(BY_HAND, confidence_level=0.5).to_frame()
    np.testing.assert_allclose(half.loc["gap", ["low", "high"]].astype(float), [0.35, 0.5])
    # law alone, math alone, law and art in equal parts
    np.testing.assert_allclose(found.worst_probability[TOPICS], [1.5 / 3, 0.5 / 3, 1 / 3])
    np.testing.assert_allclose(found.best_probability[TOPICS], [0, 2 / 3, 1 / 3])


def test_where_low_is_good_worst_and_best_change_places():
    one, other = (
        extremes(BY_HAND, of="ratio"),
        extremes(BY_HAND, of="ratio", greater_is_better=False),
    )
    np.testing.assert_array_equal(one.worst_probability, other.best_probability)
    assert one.to_frame().loc["best", "value"] == other.to_frame().loc["worst", "value"]
    assert one.to_frame().loc["ratio", "value"] == other.to_frame().loc["ratio", "value"]


def test_sets_are_those_of_their_groups_alone():
    rng = np.random.default_rng(0)
    models, topics, halves = (pd.Index(list(x), name=n) for x, n in (("ab", "model"), ("xyz", "topic"), ("lr", "half")))  # fmt: skip
    draws = Draws(rng.random((50, 2, 3, 2)), (models, topics, halves), "posterior")
    table = extremes(draws, by=["model", "topic"]).to_frame()
    assert table.index.names == ["model", "topic", "extreme"] and len(table) == 18
    for m, model in enumerate(models):
        for t, topic in enumerate(topics):
            alone = extremes(Draws(draws.values[:, m, t], halves, "posterior")).to_frame()
            np.testing.assert_allclose(table.loc[(model, topic), "high"], alone["high"])
    flat = pd.MultiIndex.from_product([models, topics, halves])
    order = rng.permutation(12)
    shuffled = Draws(draws.values.reshape(50, 12)[:, order], flat[order], "posterior")
    pd.testing.assert_frame_equal(
        extremes(shuffled, by=["model", "topic"]).to_frame(), table, check_exact=False
    )
    chances = extremes(shuffled, by="model").worst_probability.groupby(level="model").sum()
    np.testing.assert_allclose(chances, 1)


def test_ratio_of_nothing_is_not_known():
    nothing = Draws(np.zeros((3, 2)), pd.Index(["a", "b"]), "posterior")
    assert np.isnan(extremes(nothing, of="ratio").to_frame().loc["ratio", "value"])


@pytest.mark.parametrize(
    ("draws", "options", "error"),
    [
        (np.ones((3, 2)), {}, TypeError),
        (BY_HAND, {"by": "model"}, ValueError),
        (BY_HAND, {"by": "topic"}, ValueError),  # each topic alone
        (BY_HAND, {"of": "difference"}, ValueError),
        (BY_HAND, {"confidence_level": 95}, ValueError),
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
def test_extremes_of_real_topics(data_folder):
    """MMLU-Pro: six models, 43 subjects, ten items of each; truth: all items of the subjects."""
    table = pd.read_csv(data_folder / "mmlu_pro_dev.csv.gz")
    models = [c for c in table if table[c].isin([0, 1]).any() and not c.startswith("lsa")]
    table = table.dropna(subset=models).groupby("src").filter(lambda rows: len(rows) >= 40)
    size, truth = table.groupby("src").size(), of_topics(table.groupby("src")[models].mean())
    ours, direct, covered = [], [], []
    for seed in range(40):
        some = np.random.default_rng(seed).permutation(models)[:6]
        rows = table.groupby("src").sample(10, random_state=seed).reset_index(names="item")
        items = rows.melt(["item", "src"], some, "model", "score")
        g = summarize_items(items.rename(columns={"src": "topic"}), ["model", "topic"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = MixedModel().fit(**g.fit_args).sample(2000, random_state=seed)
        # The mean of exactly these items: those not asked are still open.
        n = size[g.labels.get_level_values("topic")].to_numpy()
        unseen = np.random.default_rng(seed).binomial((n - g.n).astype(int), p.values)
        found = extremes(Draws((g.z * g.n + unseen) / n, p.labels, "posterior"), by="model")
        found = found.to_frame()
        true = truth.loc[list(found.index)]
        ours.append(found["value"] - true)
        direct.append(of_topics(pd.Series(g.z, g.labels).unstack("model")) - true)
        covered.append((found["low"] <= true) & (true <= found["high"]))
    ours, direct, covered = (pd.concat(x).groupby(level="extreme") for x in (ours, direct, covered))
    error, of_direct = (x.apply(lambda e: np.sqrt(np.mean(e**2))) for x in (ours, direct))
    assert (error <= of_direct * pd.Series({"best": 0.5, "gap": 0.5, "worst": 0.7})).all()
    assert (covered.mean() >= 0.9).all()


def of_topics(scores):
    """Worst, best and gap of each column."""
    found = scores.agg(["min", "max"]).set_axis(["worst", "best"])
    found.loc["gap"] = found.loc["best"] - found.loc["worst"]
    return found.T.rename_axis(index="model", columns="extreme").stack()
