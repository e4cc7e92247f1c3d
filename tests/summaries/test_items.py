import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from reference.clustered_matrix import variance_and_freedom

from skbench import DirectEstimator, EmpiricalBayes, JamesStein, betting_estimate, summarize_items
from skbench.stats.clusters.clustered import cluster_robust_variance
from skbench.stats.intervals.moderated import borrowed_freedom


@pytest.fixture
def items():
    """3 models x 4 topics x 6 items, all models on the same items, binary."""
    rng = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product(
        [["A", "B", "C"], ["law", "art", "bio", "geo"], range(6)], names=["model", "topic", "item"]
    ).to_frame(index=False)
    rows["score"] = rng.integers(0, 2, len(rows))
    rows["confidence"] = rng.uniform(size=len(rows))
    return rows


def naive(items, by, column="score"):
    """Group means and sizes, one group at a time."""
    groups = {key: rows[column].to_numpy() for key, rows in items.groupby(by)}
    return {key: (values.mean(), values.var(ddof=1), len(values)) for key, values in groups.items()}


def test_continuous_summary(items):
    g = summarize_items(items, by=["model", "topic"], score="confidence")
    assert g.outcome == "continuous"
    expected = naive(items, ["model", "topic"], "confidence")
    np.testing.assert_allclose(g.z, [expected[label][0] for label in g.labels])
    np.testing.assert_allclose(g.sigma2, [expected[label][1] / 6 for label in g.labels])


def test_continuous_summary_far_from_zero():
    scores = 1e8 + np.array([0.0, 1.0, 2.0, 5.0])
    g = summarize_items(pd.DataFrame({"t": list("aabb"), "score": scores}), "t")
    np.testing.assert_allclose(g.sigma2, [0.25, 2.25])


def test_one_item_and_no_spread_borrow_from_the_others():
    items = pd.DataFrame({"t": list("aaabbc"), "score": [0.1, 0.2, 0.6, 0.5, 0.5, 0.3]})
    g = summarize_items(items, "t")
    pooled = 2 * np.var([0.1, 0.2, 0.6], ddof=1) / 3  # sums of squares over sum of (n - 1)
    np.testing.assert_allclose(g.sigma2[1:], [pooled / 2, pooled / 1])


def test_without_any_spread_variances_are_unknown():
    items = pd.DataFrame({"t": list("aabbc"), "score": 0.5})
    with pytest.warns(UserWarning, match="different values"):
        g = summarize_items(items, "t")
    assert np.isnan(g.sigma2).all()
    with pytest.raises(ValueError):
        DirectEstimator().fit(**g.fit_args)


@pytest.mark.parametrize(
    ("variance", "p"),
    [
        ("plug-in", lambda k, n: k / n),
        ("smoothed", lambda k, n: (k + 1) / (n + 2)),
        ("agresti", lambda k, n: (k + 2) / (n + 4)),
        ("pooled", lambda k, n: np.full(len(k), k.sum() / n.sum())),
    ],
)
def test_variances(items, variance, p):
    g = summarize_items(items, ["model", "topic"], variance=variance)
    assert g.outcome == "binomial" and (g.n == 6).all()
    rate = p(g.z * g.n, g.n)
    np.testing.assert_allclose(g.sigma2, rate * (1 - rate) / g.n)


def test_model_variance_follows_model_and_topic():
    items = pd.DataFrame(
        {
            "model": np.repeat(["weak", "strong"], 80),
            "topic": np.tile(np.repeat(["easy", "hard"], 40), 2),
            "item": np.tile(np.arange(80), 2),
            "score": np.repeat([1, 0, 1, 0, 1, 0, 1, 0], [25, 15, 5, 35, 37, 3, 20, 20]),
        }
    )
    g = summarize_items(items, ["model", "topic"], variance="model")
    implied = g.sigma2 * g.n  # f (1 - f)
    # strong is near 1 on easy, weak near 0 on hard: their variances are the small ones
    assert implied[[0, 3]].max() < implied[[1, 2]].min()


def test_shared_items_keep_topics_together(items):
    g = summarize_items(items, ["model", "topic"])
    np.testing.assert_array_equal(g.groups, g.labels.get_level_values("topic"))
    assert "share items" in repr(g) and "4 topics" in repr(g)


def test_items_of_their_own_leave_groups_free(items):
    items["item"] = np.arange(len(items))
    assert summarize_items(items, ["model", "topic"]).groups is None


def test_one_model_leaves_groups_free(items):
    assert summarize_items(items.query("model == 'A'"), "topic").groups is None


def test_answers_of_several_models_in_a_group_are_no_independent_items(items):
    with pytest.warns(UserWarning, match="cluster='item'"):
        summarize_items(items, "topic")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        summarize_items(items, "topic", cluster="item")
        summarize_items(items.query("model == 'A'"), "topic")
        own = items.assign(item=items["model"] + items["item"].astype(str))
        summarize_items(own, "topic")


def test_sharing_is_assumed_without_ids(items):
    with pytest.warns(UserWarning, match="item=None"):
        g = summarize_items(items.drop(columns="item"), ["model", "topic"])
    assert len(set(g.groups)) == 4


def test_sharing_under_another_name(items):
    renamed = items.rename(columns={"model": "system"})
    renamed["item"] = renamed["topic"] + renamed["item"].astype(str)
    g = summarize_items(renamed, ["system", "topic"])
    np.testing.assert_array_equal(g.groups, g.labels.get_level_values("topic"))


def test_ambiguous_ids_raise_a_warning(items):
    renamed = items.rename(columns={"model": "system"})
    with pytest.warns(UserWarning, match="repeat"):
        g = summarize_items(renamed, ["system", "topic"])
    assert len(set(g.groups)) == 4  # fewest levels: the system is what shares


def test_clusters_against_matrices():
    rng = np.random.default_rng(3)
    items = pd.DataFrame(
        {
            "topic": np.repeat(["x", "y"], 30),
            "passage": np.concatenate([rng.integers(0, 7, 30), rng.integers(0, 9, 30)]),
            "score": rng.integers(0, 2, 60),
        }
    )
    g = summarize_items(items, "topic", cluster="passage")
    assert g.outcome == "clustered"
    for i, (_, rows) in enumerate(items.groupby("topic")):
        variance, df = variance_and_freedom(rows["score"], rows["passage"], "cr2")
        np.testing.assert_allclose(g.sigma2[i], variance)
        assert g.n_independent[i] == np.floor(df) + 1
    np.testing.assert_array_equal(g.fit_args["n"], g.n_independent)


def test_clusters_without_spread_borrow_the_design_effect():
    items = pd.DataFrame(
        {
            "topic": ["x"] * 8 + ["all right"] * 8,
            "passage": np.tile(np.repeat([0, 1, 2, 3], 2), 2),
            "score": [1, 1, 0, 0, 1, 1, 0, 1] + [1] * 8,
        }
    )
    g = summarize_items(items, "topic", cluster="passage")
    p, q = 9 / 10, 6 / 10
    effect = g.sigma2[1] / (q * (1 - q) / 8)
    np.testing.assert_allclose(g.sigma2[0], effect * p * (1 - p) / 8)
    assert effect > 1


def test_one_cluster_raises_a_warning():
    items = pd.DataFrame(
        {"topic": list("xxxxyy"), "passage": [0, 0, 1, 1, 2, 2], "score": [1, 0, 1, 1, 0, 1]}
    )
    with pytest.warns(UserWarning, match="one cluster"):
        g = summarize_items(items, "topic", cluster="passage")
    assert g.n_independent.tolist() == [2, 1]
    assert np.isfinite(g.sigma2).all()


def test_repeated_answers_are_clusters(items):
    twice = pd.concat([items, items], ignore_index=True)
    with pytest.raises(ValueError):
        summarize_items(twice, ["model", "topic"])
    g = summarize_items(twice, ["model", "topic"], cluster="item")
    once = summarize_items(items, ["model", "topic"])
    assert (g.n == 2 * once.n).all()
    assert len(set(g.groups)) == 4
    # Every answer given twice says nothing new about the item: n - 1 in place of n - 2.
    spread = once.z * (1 - once.z)
    np.testing.assert_allclose(g.sigma2[spread > 0], (spread / 5)[spread > 0])


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.from_pandas])
def test_one_cluster_in_every_group_is_refused(items, engine):
    with pytest.raises(ValueError):
        summarize_items(engine(items), ["model", "topic"], cluster="topic")


def test_clusters_that_do_not_differ_leave_variances_as_they_are():
    """All variances between clusters are 0, so they are not shrunk toward 0 or any other value."""
    cells = pd.MultiIndex.from_product([list("ab"), range(12), range(4), range(2)])
    items = cells.to_frame(index=False, name=["model", "topic", "passage", "score"])
    g = summarize_items(
        items.rename_axis("item").reset_index(), ["model", "topic"], cluster="passage"
    )
    assert g.sampling.variance_noise is None and (g.sigma2 > 0).all()
    assert (EmpiricalBayes(random_state=0).fit(**g.fit_args).estimate().high > 0.5).all()


@pytest.mark.parametrize("fraction", [1, 0.5])
def test_clusters_of_one_item_change_nothing(items, fraction):
    """Right answers keep their exact intervals, other scores their own spread."""
    items = items.assign(score=items["score"] * fraction)
    plain = summarize_items(items, ["model", "topic"])
    same = summarize_items(items, ["model", "topic"], cluster="item")
    pd.testing.assert_frame_equal(same.to_frame(), plain.to_frame())
    assert same.sampling == plain.sampling
    assert same.outcome == ("binomial" if fraction == 1 else "continuous")


def test_features_from_a_table(items):
    table = pd.DataFrame({"topic": ["geo", "law", "art", "bio"], "length": [4.0, 1.0, 2.0, 3.0]})
    g = summarize_items(items, ["model", "topic"], features=table)
    assert list(g.X.columns) == ["model", "topic", "length"]
    expected = dict(zip(table["topic"], table["length"], strict=True))
    assert g.X["length"].tolist() == [expected[t] for t in g.X["topic"]]
    indexed = summarize_items(items, ["model", "topic"], features=table.set_index("topic"))
    pd.testing.assert_frame_equal(indexed.X, g.X)
    assert g.X.index.equals(g.labels)


def test_features_averaged_from_items(items):
    g = summarize_items(items, "topic", item="absent", features="confidence")
    expected = items.groupby("topic")["confidence"].mean()
    np.testing.assert_allclose(g.X["confidence"], expected.loc[g.labels])


def test_no_features(items):
    assert list(summarize_items(items, ["model", "topic"], features=[]).X) == ["model", "topic"]
    with pytest.raises(ValueError):
        summarize_items(items, "model", cluster="item", features=["topic"])


def test_text_is_a_feature_where_a_group_has_one(items):
    """As it stands in the rows; numbers beside it are averaged, in the order asked for."""
    sized = items.assign(size=items["model"].map({"A": "small"}).fillna("large"))
    X = summarize_items(sized, ["model", "topic"], features=["size", "confidence"]).X
    assert list(X) == ["model", "topic", "size", "confidence"]
    assert (X["size"] == np.where(X["model"] == "A", "small", "large")).all()
    wrong = sized.assign(size=sized["size"].mask(sized.index == 0, None))
    with pytest.raises(ValueError):
        summarize_items(wrong, ["model", "topic"], features="size")
    with pytest.raises(ValueError):
        summarize_items(sized.assign(at=pd.Timestamp("2026-01-01")), "model", features=["at"])
    # A column of `by` is a feature anyway.
    by_model = summarize_items(sized, "model", cluster="item", features=["size", "model"])
    assert by_model.X["size"].tolist() == ["small", "large", "large"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"subject": ["law"], "a": [1]}, "'topic'.* subject, a"),
        ({"topic": ["law", "law"], "a": [1, 2]}, "topic='law'"),
        ({"topic": ["law", "art", "bio"], "a": [1, 2, 3]}, "topic='geo' .3 groups"),
        ({"topic": [1, 2], "a": [1, 2]}, r"topic='art' .12 groups.* topic=1\."),
        ({"topic": [], "a": []}, "empty"),
    ],
)
def test_bad_tables_of_features(items, table, message):
    with pytest.raises(ValueError, match=message):
        summarize_items(items, ["model", "topic"], features=pd.DataFrame(table))


def test_features_that_are_index_and_column_are_refused(items):
    table = pd.DataFrame({"topic": ["art", "bio", "geo", "law"], "a": 1.0})
    with pytest.raises(ValueError):
        summarize_items(items, "topic", features=table.set_index("topic", drop=False))


@pytest.mark.parametrize("name", ["_found", "_merge", "index"])
def test_features_may_have_any_name(items, name):
    table = pd.Series(
        [1.0, 2, 3, 4], pd.Index(["law", "art", "bio", "geo"], name="topic"), name=name
    )
    X = summarize_items(items, ["topic", "model"], features=table).X
    assert X[name].tolist() == [2] * 3 + [3] * 3 + [4] * 3 + [1] * 3


def test_items_may_be_the_groups(items):
    """Questions that every model answered three times, summarized question by question."""
    law = pd.concat([items.query("topic == 'law'")] * 3)
    g = summarize_items(law, ["model", "item"])
    assert len(g) == 18 and set(g.n) == {3}
    assert g.groups.tolist() == [str(number) for number in range(6)] * 3
    assert g.item_correlation is None


def test_missing_group_is_reported(items):
    lacking = items[~((items["model"] == "B") & (items["topic"] == "bio"))]
    with pytest.warns(UserWarning, match="combinations"):
        g = summarize_items(lacking, ["model", "topic"])
    assert len(g) == 11


def test_mmlu_pro_matches_the_published_counts(data_folder):
    wide = pd.read_csv(data_folder / "mmlu_pro_dev.csv.gz")
    published = pd.read_csv(data_folder / "mmlu_pro_groups_dev.csv.gz")
    models = published["model"].unique().tolist()
    items = wide.melt(["question_id", "src"], models, "model", "score").dropna()
    items = items.rename(columns={"question_id": "item"})
    g = summarize_items(items, ["model", "src"])
    counts = published.set_index(["model", "src"]).loc[g.labels]
    np.testing.assert_array_equal(g.n, counts["n"])
    np.testing.assert_allclose(g.z * g.n, counts["k"], atol=1e-9)
    assert len(set(g.groups)) == published["src"].nunique()


def test_labels_of_several_types_are_sorted_as_text(items):
    items["model"] = items["model"].astype(object).replace({"B": 4})
    items["item"] = items["topic"] + items["item"].astype(str)
    assert set(summarize_items(items, by="model").labels) == {"A", 4, "C"}
    assert len(summarize_items(items, by=["model", "topic"]).labels) == 12


@pytest.mark.parametrize("by", [[], ["model", "model"]])
@pytest.mark.parametrize("summary", [summarize_items, betting_estimate])
def test_groups_are_defined_by_columns_each_named_once(items, summary, by):
    with pytest.raises(ValueError):
        summary(items, by)


# How far variances of few scores may be believed -------------------------------------


def test_spread_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    items = pd.DataFrame({"group": np.repeat(np.arange(40), 6), "score": rng.gamma(2, size=240)})
    items.loc[items["group"] < 2, "score"] = 7.0
    g = summarize_items(items, "group")
    scores = items["score"].to_numpy().reshape(40, 6)
    away = scores - scores.mean(axis=1, keepdims=True)
    n, squares = np.full(40, 6), (away**2).sum(axis=1)
    expected = borrowed_freedom(n, squares, (away**4).sum(axis=1))
    assert_allclose(g.sampling.variance_noise.borrowed_freedom, expected, rtol=1e-9)
    assert_allclose(
        g.sampling.variance_noise.pooled_share * np.mean(g.n * g.sigma2), squares.sum() / 200
    )
    assert_allclose(g.sampling.variance_noise.pooled_share, 40 / 42)
    assert g.fit_args["sampling"].variance_noise == g.sampling.variance_noise


def test_clusters_of_one_size_spread_as_their_means():
    rng = np.random.default_rng(0)
    items = pd.DataFrame({"group": np.repeat(np.arange(30), 18), "passage": np.arange(540) // 3})
    items["score"] = rng.gamma(2, size=540)
    clustered = summarize_items(items, "group", cluster="passage")
    means = items.groupby(["group", "passage"], as_index=False)["score"].mean()
    of_means = summarize_items(means, "group")
    assert_allclose(clustered.sampling.variance_noise, of_means.sampling.variance_noise, rtol=1e-9)
    args, expected = (g.fit_args for g in (clustered, of_means))
    ours, theirs = (JamesStein().fit(**a).sigma2_ for a in (args, expected))
    assert_allclose(ours, theirs, rtol=1e-9)


def test_clusters_of_many_sizes_keep_their_scale():
    """What all groups borrow is the mean of what they have, each with its own few clusters."""
    rng = np.random.default_rng(0)
    size = rng.integers(1, 6, 400)
    passage = np.repeat(np.arange(400), size)
    score = (rng.normal(size=400)[passage] + rng.normal(size=passage.size)) / 2
    items = pd.DataFrame({"group": passage // 8, "passage": passage, "score": score})
    g = summarize_items(items, "group", cluster="passage")
    assert g.sampling.variance_noise.pooled_share == 1
    sigma2 = JamesStein().fit(**g.fit_args).sigma2_
    assert np.std(sigma2) < 0.5 * np.std(g.sigma2)
    assert_allclose(sigma2.mean(), g.sigma2.mean(), rtol=0.1)


def test_spread_of_clusters_of_many_sizes_by_hand():
    rng = np.random.default_rng(1)
    passage = np.repeat(np.arange(160), rng.integers(1, 6, 160))
    score = rng.gamma(2, size=passage.size) * (1 + passage // 8 % 2 * 3)
    items = pd.DataFrame({"group": passage // 8, "passage": passage, "score": score})
    items.loc[items["group"] == 0, "score"] = 1.0
    g = summarize_items(items, "group", cluster="passage")
    away = items["score"] - items.groupby("group")["score"].transform("mean")
    residual = away.groupby([items["group"], items["passage"]]).sum()
    mean_size = items.groupby("group").size() / 8
    residual = residual / mean_size.reindex(residual.index.get_level_values("group")).to_numpy()
    squares, fourth = ((residual**power).groupby("group").sum() for power in (2, 4))
    expected = borrowed_freedom(np.full(20, 8), squares, fourth)
    assert_allclose(g.sampling.variance_noise.borrowed_freedom, expected, rtol=1e-9)
    d = g.n_independent - 1
    unit = d * g.n_independent * g.sigma2
    assert_allclose(g.sampling.variance_noise.pooled_share, unit[1:].sum() / unit.sum(), rtol=1e-12)


def test_binary_and_equal_scores_have_no_spread():
    items = pd.DataFrame({"group": list("aabb") * 3, "score": np.arange(12) / 10})
    assert summarize_items(items, "group").sampling.variance_noise is not None
    assert (
        summarize_items(items.assign(score=items["score"] > 0.5), "group").sampling.variance_noise
        is None
    )
    alike = items.assign(score=0.3)
    with pytest.warns(UserWarning):
        assert summarize_items(alike, "group").sampling.variance_noise is None


@pytest.mark.parametrize("score", ["right", "points"])
def test_clusters_of_equal_weight(score):
    """The mean of cluster means, as `cluster_robust_variance` has it by name."""
    rng = np.random.default_rng(0)
    items = pd.DataFrame(
        {"topic": rng.choice(list("abc"), 400), "passage": rng.integers(0, 30, 400)}
    )
    items["right"] = rng.integers(0, 2, 400)
    items["points"] = 100 + rng.normal(size=400) + items["passage"]
    g = summarize_items(items, "topic", score, cluster="passage", cluster_weight="cluster")
    for number, topic in enumerate("abc"):
        own = items[items["topic"] == topic].groupby("passage")[score]
        means = own.mean()
        assert g.z[number] == pytest.approx(means.mean(), rel=1e-12)
        assert g.sigma2[number] == pytest.approx(means.var() / len(means), rel=1e-9)
        assert g.n_independent[number] == len(means)
        by_name = cluster_robust_variance(
            own.sum(), own.size(), np.zeros(len(means), int), 1, "cluster_mean"
        )
        assert g.sigma2[number] == pytest.approx(by_name.variance[0], rel=1e-9)
    by_item = summarize_items(items, "topic", score, cluster="passage")
    assert np.abs(g.z - by_item.z).min() > 1e-4
    np.testing.assert_array_equal(g.n, by_item.n)


def test_clusters_of_one_size_weigh_the_same_anyway():
    rng = np.random.default_rng(1)
    items = pd.DataFrame({"topic": np.repeat(list("ab"), 60), "passage": np.arange(120) // 4})
    items["score"] = rng.normal(size=120)
    by_item, by_cluster = (
        summarize_items(items, "topic", cluster="passage", cluster_weight=weight)
        for weight in ("item", "cluster")
    )
    np.testing.assert_allclose(by_cluster.z, by_item.z, rtol=1e-12)
    np.testing.assert_allclose(by_cluster.sigma2, by_item.sigma2, rtol=1e-12)
    assert by_cluster.sampling.variance_noise == pytest.approx(by_item.sampling.variance_noise)
    with pytest.raises(ValueError):
        summarize_items(items, "topic", cluster_weight="cluster")
