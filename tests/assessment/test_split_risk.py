import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from reference.shrink_estimators import Failing, FixedShrinkage, TopicMean
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    GroupSummary,
    IntervalPipeline,
    JamesStein,
    Sampling,
    SyntheticRegression,
    estimated_risk,
    make_items,
    summarize_items,
)
from skbench.stats.intervals.binomial import unbiased_variance
from skbench.stats.shrinkage import risk

BY = ["model", "topic"]
SLOW = pytest.mark.slow
N_ERRORS = 4  # a mean is beyond so many standard errors once in 16,000 times
HALF = {"half": FixedShrinkage()}


class Spy(FixedShrinkage):
    """Keeps what it was given in a list of the class."""

    seen = []

    def fit_predict(self, X, y, sigma2=None, n=None, groups=None):
        Spy.seen.append(pd.DataFrame(X).assign(y=y, sigma2=sigma2, n=n))
        return super().fit_predict(X, y)


@pytest.fixture
def seen():
    Spy.seen.clear()
    return Spy.seen


def is_zero(differences):
    return abs(np.mean(differences)) < N_ERRORS * np.std(differences, ddof=1) / np.sqrt(
        len(differences)
    )


def own_items(n_items, seed, **options):
    return make_items(3, 20, n_items, shared_items=False, random_state=seed, **options)


def test_as_many_folds_as_items_is_leaving_out_each():
    g = summarize_items(own_items(6, 0).items, BY)
    expected, _ = risk.leave_one_out_loss(lambda z, _: 0.5 + 0.5 * (z - 0.5), 6 * g.z, g.n)
    # Every deal leaves out each item once: no chance is left in the result.
    counts = estimated_risk(HALF, g, n_splits=6, random_state=1)
    rows = estimated_risk(HALF, own_items(6, 0).items, BY, n_splits=6, random_state=2)
    assert np.allclose(counts.losses["half"], expected, rtol=0, atol=1e-14)
    assert np.allclose(rows.losses["half"], expected, rtol=0, atol=1e-14)
    assert counts.items_share == pytest.approx(5 / 6)


def test_direct_estimates_have_their_sampling_variance():
    g = summarize_items(own_items(8, 3).items, BY)
    split = estimated_risk({"direct": DirectEstimator()}, g, n_splits=4, random_state=0)
    expected = unbiased_variance(np.round(g.z * g.n), g.n) * 8 / 6
    assert np.allclose(split.losses["direct"], expected, rtol=0, atol=1e-15)
    assert np.allclose(split.variance, expected, rtol=0, atol=1e-15)
    assert split.sample_size_ratio("direct") == pytest.approx((1, 1, 1))


@pytest.mark.slow
@pytest.mark.parametrize("given", ["rows", "counts", "clusters"])
def test_share_of_items_is_what_was_left(given):
    """Groups of 3 and 6 with ten folds: all but one are left, 2 of 3 and 5 of 6."""
    items = own_items([3] * 10 + [6] * 10, 0).items
    if given == "counts":
        found = estimated_risk(HALF, summarize_items(items, BY), random_state=0)
    elif given == "rows":
        found = estimated_risk(HALF, items, BY, random_state=0)
    else:
        twice = pd.concat([items, items])
        found = estimated_risk(HALF, twice, BY, cluster="item", random_state=0)
    assert found.items_share == pytest.approx(7 / 9)
    assert " 78% " in repr(found)


def truth_of(data, summary):
    return data.truth.loc[list(summary.labels)].to_numpy()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"shared_items": False}, marks=SLOW),
        pytest.param({"shared_items": True}, marks=SLOW),
        pytest.param({"shared_items": True, "score": "continuous"}, marks=SLOW),
        pytest.param(
            {"shared_items": True, "cluster_size": 3, "cluster_correlation": 0.8}, marks=SLOW
        ),
    ],
    ids=["binary", "shared", "continuous", "clusters"],
)
def test_split_rows_agree_with_the_true_risk(options):
    """Estimated from 12 items with 4 folds; true from 9 other items of the same topics."""
    estimators = {"half": FixedShrinkage(), "topics": TopicMean()}
    cluster = "cluster" if "cluster_size" in options else None
    differences = {name: [] for name in estimators}
    for seed in range(20):
        data = make_items(3, 12, 12, random_state=seed, **options)
        found = estimated_risk(
            estimators, data.items, BY, cluster=cluster, n_splits=4, random_state=seed
        )
        fewer = make_items(3, 12, 9, random_state=seed, **options)
        g = summarize_items(fewer.items, BY)
        for name, estimator in estimators.items():
            loss = np.mean((estimator.fit_predict(**g.fit_args) - truth_of(data, g)) ** 2)
            differences[name].append(found.risk[name] - loss)
    assert is_zero(differences["half"]) and is_zero(differences["topics"])


@pytest.mark.slow
def test_splitting_models_separately_would_be_too_good():
    """What the fold of one model shows, the other models' items already gave away."""
    together, apart = [], []
    for seed in range(6):
        data = make_items(6, 15, 8, item_std=3, random_state=seed)
        renamed = data.items.assign(item=data.items["model"] + data.items["item"])
        for found, items in ((together, data.items), (apart, renamed)):
            found.append(
                estimated_risk({"t": TopicMean()}, items, BY, n_splits=4, random_state=seed).risk[
                    "t"
                ]
            )
    drop = np.array(together) - apart
    assert drop.mean() > N_ERRORS * drop.std(ddof=1) / np.sqrt(len(drop))


@SLOW
@pytest.mark.parametrize("kind", ["binomial", "continuous"])
def test_split_summaries_agree_with_the_true_risk(kind):
    """James-Stein and Fay-Herriot with 4/5 of the items, 60 groups that differ in size."""
    rng = np.random.default_rng(0)
    estimators = {"js": JamesStein(), "fh": FayHerriot()}
    n = np.repeat([5, 10, 20], 20)
    x = rng.normal(size=60)
    mu = np.clip(0.5 + 0.1 * x + 0.07 * rng.normal(size=60), 0.05, 0.95)
    X = pd.DataFrame({"x": x})

    def summary(n):
        if kind == "continuous":
            sigma2 = 0.2 / n
            z = mu + np.sqrt(sigma2) * rng.normal(size=60)
            return GroupSummary(z, sigma2, n, X.index, X, sampling=Sampling("continuous"))
        k = rng.binomial(n, mu)
        p = (k + 1) / (n + 2)
        return GroupSummary(k / n, p * (1 - p) / n, n, X.index, X)

    differences = {name: [] for name in estimators}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a prior variance of 0
        for seed in range(40):
            found = estimated_risk(estimators, summary(n), n_splits=5, random_state=seed)
            g = summary(n * 4 // 5)
            for name, estimator in estimators.items():
                loss = np.mean((estimator.fit_predict(**g.fit_args) - mu) ** 2)
                differences[name].append(found.risk[name] - loss)
    assert is_zero(differences["js"]) and is_zero(differences["fh"])


@pytest.mark.slow
def test_standard_errors_cover():
    """True risk of fixed shrinkage within 1.96 standard errors; groups are independent."""
    hits = []
    rng = np.random.default_rng(5)
    for seed in range(200):
        mu = rng.uniform(0.2, 0.8, 80)
        k = rng.binomial(10, mu)
        g = GroupSummary(k / 10, np.full(80, 0.02), np.full(80, 10), pd.RangeIndex(80))
        found = estimated_risk(HALF, g, n_splits=5, random_state=seed)
        expected = 0.25 * (0.5**2 - 0.03) / 8 + 0.25 * 0.03  # E mu (1 - mu) = .22, Var mu = .03
        hits.append(abs(found.risk["half"] - expected) < 1.96 * found.standard_error["half"])
    assert np.mean(hits) >= 0.90  # binomial distribution with .95: below .90 once in 500 times


def test_groups_with_one_item_train_but_are_not_judged(seen):
    k, n = np.array([1, 3, 5, 0]), np.array([1, 4, 8, 1])
    g = GroupSummary(k / n, np.full(4, 0.02), n, pd.Index(list("abcd")))
    found = estimated_risk({"spy": Spy()}, g, n_splits=2, random_state=0)
    assert found.losses.index.tolist() == ["b", "c"]
    # Its only item is in one of the two folds, so it is missing once.
    assert sum("a" in rows.index for rows in seen) == 1


@pytest.mark.parametrize("variance", ["plug-in", "pooled", "model"])
def test_variances_of_counts_are_those_of_rows(seen, variance):
    """Where each item is left out in turn, rows and counts are split alike."""
    items = own_items(6, 0).items
    rows = summarize_items(items, BY, variance=variance)
    estimated_risk({"spy": Spy()}, rows, variance=variance, n_splits=6, random_state=0)
    for z, sigma2, n in (rows[["y", "sigma2", "n"]].to_numpy().T for rows in seen):
        counts = pd.DataFrame({"k": np.round(z * n).astype(int), "n": n}, rows.labels)
        again = counts.loc[counts.index.repeat(counts["n"])]
        number = again.groupby(BY).cumcount()
        again = (number < again["k"]).astype(int).rename("score").reset_index()
        expected = summarize_items(again, BY, item=None, variance=variance).sigma2
        assert np.allclose(sigma2, expected, rtol=1e-12, atol=0)


def test_clustered_summaries_keep_their_independent_sizes(seen):
    items = make_items(1, 8, 40, cluster_size=4, random_state=0).items
    g = summarize_items(items, "topic", cluster="cluster")
    estimated_risk({"spy": Spy()}, g, n_splits=2, random_state=0)
    assert (g.n_independent == 10).all() and all((rows["n"] == 5).all() for rows in seen)


def test_features_that_are_means_are_made_anew(seen):
    data = own_items(6, 0)
    items = data.items.assign(confidence=np.arange(len(data.items), dtype=float))
    estimated_risk({"spy": Spy()}, items, BY, n_splits=2, features=["confidence"], random_state=0)
    full = summarize_items(items, BY, features=["confidence"]).X["confidence"]
    found = [rows["confidence"].to_numpy() for rows in seen]
    assert np.allclose(np.mean(found, axis=0), full) and not np.allclose(found[0], full)


def test_numbers_of_any_type_are_split():
    """DuckDB computes decimals, and tables with gaps hold nullable numbers and flags."""
    pa = pytest.importorskip("pyarrow")
    items = own_items(6, 0).items
    confidence = np.where(np.arange(len(items)) % 5 == 0, np.nan, items["score"])
    plain = items.assign(flag=confidence, whole=confidence)
    typed = plain.astype({"flag": "boolean", "whole": "Int64", "score": object})
    typed["score"] = pd.array(
        [Decimal(int(score)) for score in items["score"]], pd.ArrowDtype(pa.decimal128(5, 2))
    )
    runs = [
        estimated_risk(
            {"SR": SyntheticRegression(Ridge())},
            rows,
            BY,
            features=["flag", "whole"],
            n_splits=2,
            random_state=0,
        )
        for rows in (plain, typed)
    ]
    assert np.allclose(runs[0].losses, runs[1].losses, rtol=0, atol=1e-12)


def test_warns_of_a_failure_and_continues():
    g = summarize_items(own_items(6, 0).items, BY)
    with pytest.warns(UserWarning, match="no luck"):
        found = estimated_risk({"half": FixedShrinkage(), "bad": Failing()}, g, random_state=0)
    assert np.isnan(found.risk["bad"]) and np.isfinite(found.risk["half"])
    assert "bad" in repr(found) and "RuntimeError: no luck" in repr(found)
    assert found.to_frame().loc["bad"].isna().all()


def test_differences_and_table():
    g = summarize_items(own_items(10, 1).items, BY)
    found = estimated_risk(
        {"direct": DirectEstimator(), "half": FixedShrinkage()}, g, random_state=0
    )
    difference, error = found.difference("half", "direct")
    each = found.losses["half"] - found.losses["direct"]
    assert difference == pytest.approx(each.mean())
    assert error == pytest.approx(each.std() / np.sqrt(len(each)))
    table = found.to_frame()
    assert table.loc["half", "difference"] == difference
    assert table.loc["direct", "ratio"] == 1 and table.loc["direct", "difference"] == 0
    assert table.index.name == "estimator"
    assert " 90% " in repr(found) and "60 groups;" not in repr(found)


def test_standard_errors_are_over_topics_where_items_are_shared():
    found = estimated_risk(HALF, make_items(5, 10, 8, random_state=0).items, BY, random_state=0)
    by_topic = found.losses["half"].groupby("topic").mean()
    assert found.standard_error["half"] == pytest.approx(by_topic.std() / np.sqrt(10))
    assert "50 groups in 10 topics" in repr(found)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"candidates": {}}, ValueError),
        ({"candidates": [DirectEstimator()]}, TypeError),
        ({"candidates": {"ridge": Ridge()}}, TypeError),
        ({"candidates": {"eb": EmpiricalBayes}}, TypeError),
        ({"reference": "best"}, ValueError),
        ({"prior_mean": np.zeros(8)}, ValueError),
        ({"scores": "right"}, TypeError),
        ({"by": None}, ValueError),
        ({"by": ["model", "task"]}, ValueError),
        ({"cluster": "passage"}, ValueError),
        ({"cluster": "topic"}, ValueError),
    ],
)
def test_split_risk_refuses(arguments, error):
    items = make_items(2, 4, 5, random_state=0).items
    with pytest.raises(error):
        estimated_risk(**{"candidates": HALF, "items": items, "by": BY} | arguments)


def test_summaries_take_no_features_any_more():
    data = own_items(6, 0)
    g = summarize_items(data.items, BY)
    with pytest.raises(TypeError):
        estimated_risk(HALF, g, features=data.features)


def test_shared_items_need_rows_and_ids():
    items = make_items(2, 4, 5, random_state=0).items
    with pytest.raises(ValueError):
        estimated_risk(HALF, summarize_items(items, BY))
    with (
        pytest.warns(UserWarning, match="item=None"),
        pytest.raises(ValueError, match="item ids"),
    ):
        estimated_risk(HALF, items.drop(columns="item"), BY)


def test_single_items_cannot_be_split():
    g = GroupSummary([1.0, 0.0], [0.2, 0.2], [1, 1], pd.Index(["a", "b"]))
    with pytest.raises(ValueError):
        estimated_risk(HALF, g)


@pytest.mark.slow
def test_one_seed_gives_one_number_at_any_depth():
    data = make_items(3, 12, 6, random_state=0)
    trees = BaggingRegressor(DecisionTreeRegressor(), 3)
    inside = EmpiricalBayes(make_pipeline(StandardScaler(), trees))
    numbers = make_column_transformer(("passthrough", ["feature"]))
    pipeline = IntervalPipeline([("numbers", numbers), ("eb", inside)])
    first, second = (
        estimated_risk(
            [("pipeline", pipeline)],
            data.items,
            BY,
            features=data.features,
            n_splits=2,
            random_state=0,
        ).risk["pipeline"]
        for _ in range(2)
    )
    assert first == second


def test_pairs_and_one_estimator_are_named():
    items = make_items(2, 6, 6, random_state=0).items
    by_dict, pairs, one = (
        estimated_risk(given, items, BY, n_splits=2, random_state=0).risk
        for given in ({"a": JamesStein()}, [("a", JamesStein())], JamesStein())
    )
    assert by_dict["a"] == pairs["a"] == one["jamesstein"]
