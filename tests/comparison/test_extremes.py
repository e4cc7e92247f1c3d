"""Worst group, best group and gap: by hand, and on real topics."""

import numpy as np
import pandas as pd
import pytest

from skbench import (
    Draws,
    HierarchicalBetaBinomial,
    ItemBank,
    MixedModel,
    Sampling,
    UnitLevelModel,
    extremes,
    summarize_items,
)

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


def test_ratio_of_nothing_is_not_known():
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
    """MMLU-Pro: six models, 43 subjects, ten items of each; truth: all items of the subjects."""
    table = pd.read_csv(data_folder / "mmlu_pro_dev.csv.gz").rename(columns={"src": "topic"})
    models = [c for c in table if table[c].isin([0, 1]).any() and not c.startswith("lsa")]
    table = table.dropna(subset=models).groupby("topic").filter(lambda rows: len(rows) >= 40)
    size, truth = table.groupby("topic").size(), of_topics(table.groupby("topic")[models].mean())
    found = []
    for seed in range(40):
        some = np.random.default_rng(seed).permutation(models)[:6]
        rows = table.groupby("topic").sample(10, random_state=seed).reset_index(names="item")
        g = summarize_items(
            rows.melt(["item", "topic"], some, "model", "score"), ["model", "topic"]
        )
        p = MixedModel().fit(**g.fit_args).sample(2000, random_state=seed)
        # The mean of exactly these items: those not asked are still open.
        n = size[g.labels.get_level_values("topic")].to_numpy()
        unseen = np.random.default_rng(seed).binomial((n - g.n).astype(int), p.values)
        draws = Draws((g.z * g.n + unseen) / n, p.labels, "posterior")
        ours = extremes(draws, by="model").to_frame()
        direct = of_topics(pd.Series(g.z, g.labels).unstack("model"))
        found.append(ours.assign(direct=direct, truth=truth.loc[list(ours.index)]))
    check(found, {"best": 0.5, "gap": 0.5, "worst": 0.7})


def of_hierarchical():
    """200 models with accuracies of their own law, twelve tasks of ten items."""
    rng, names = np.random.default_rng(0), [f"m{i:03d}" for i in range(200)]
    truth = pd.DataFrame(rng.beta(6, 3, (12, 200)), columns=names).rename_axis("task")
    scores = pd.DataFrame(rng.binomial(10, truth) / 10, truth.index, names)
    rows = scores.reset_index().melt("task", var_name="model", value_name="score")
    model = HierarchicalBetaBinomial(n_draws=2000, random_state=0)
    yield model.fit(rows[["model", "task"]], rows["score"], n=10).draws_, scores, truth


def of_bank():
    """20 earlier models on ten topics of 60 items, four new ones on ten items of each."""
    topic, by = np.repeat(np.arange(10), 60), ["model", "topic"]
    names = [f"m{i:02d}" for i in range(24)]
    for seed in range(30):
        rng = np.random.default_rng(seed)
        ease = rng.normal(0, 1.2, (600, 1)) + rng.normal(0, 0.7, (10, 1))[topic]
        ability = rng.normal(0.5, 0.8, 24) + rng.normal(0, 0.5, (10, 24))[topic]
        right = rng.random((600, 24)) < 1 / (1 + np.exp(-ease - ability))
        table = pd.DataFrame(right * 1.0, columns=names).assign(topic=topic, item=np.arange(600))
        some = table.groupby("topic").sample(10, random_state=seed)
        past, asked = (
            frame.melt(["topic", "item"], own, "model", "score")
            for frame, own in ((table, names[:20]), (some, names[20:]))
        )
        model = UnitLevelModel(ItemBank().fit(past)).fit(asked, asked["score"])
        means = (frame.groupby("topic")[names[20:]].mean() for frame in (some, table))
        yield model.sample(by), *means


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sets", [of_hierarchical, of_bank])
def test_extremes_of_other_draws_cover(sets):
    found = []
    for draws, scores, truth in sets():
        ours = extremes(draws, by="model").to_frame()
        labels = list(ours.index)
        direct, truth = (of_topics(table).loc[labels] for table in (scores, truth))
        found.append(ours.assign(direct=direct, truth=truth))
    check(found, 0.7)


def check(found, most):
    """At most so much of the error of direct extremes, and 90% of intervals that cover."""
    found = pd.concat(found)
    squares = found[["value", "direct"]].sub(found["truth"], axis=0) ** 2
    error = np.sqrt(squares.groupby(level="extreme").mean())
    assert (error["value"] <= error["direct"] * pd.Series(most, error.index)).all()
    covered = found["truth"].between(found["low"], found["high"])
    assert (covered.groupby(level="extreme").mean() >= 0.9).all()


def of_topics(scores):
    """Worst, best and gap of each column."""
    found = scores.agg(["min", "max"]).set_axis(["worst", "best"])
    found.loc["gap"] = found.loc["best"] - found.loc["worst"]
    return found.T.rename_axis(index="model", columns="extreme").stack()
