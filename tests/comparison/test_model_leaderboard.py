from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm, t

from skbench import DirectEstimator, summarize_items
from skbench.comparison import compare_models, leaderboard
from skbench.comparison.ranks import letters_of, tied
from skbench.stats.intervals.binomial import wilson_interval
from skbench.stats.scales.aggregation import covariance_of_means


def simulated(seed, gains, n_items=60, n_topics=3, cluster_size=1, binary=True):
    """Items of several difficulties, the same for all models."""
    rng = np.random.default_rng(seed)
    n = n_items * n_topics
    item = np.arange(n)
    ease = rng.normal(0, 1, n // cluster_size + 1)[item // cluster_size]
    frames = []
    for name, gain in gains.items():
        score = ease + gain + rng.normal(0, 1, n)
        score = (score > 0) * 1.0 if binary else score
        frames.append(pd.DataFrame({"model": name, "item": item, "score": score}))
    items = pd.concat(frames, ignore_index=True)
    return items.assign(topic=items["item"] % n_topics, passage=items["item"] // cluster_size)


GAINS = {"low": -1.0, "high": 1.0, "middle": 0.1}


def test_scores_are_the_direct_estimates():
    items = simulated(0, GAINS)
    board = leaderboard(items).to_frame()
    g = summarize_items(items, by="model")
    direct = DirectEstimator().fit(**g.fit_args).estimate().to_frame()
    assert board.index.tolist() == ["high", "middle", "low"]
    for name in ("low", "high"):  # Wilson
        assert_allclose(board[name], direct.loc[board.index, name], rtol=1e-10)
    assert_array_equal(board["rank"], [1, 2, 3])


def test_clusters_have_the_cr2_interval():
    items = simulated(1, GAINS, cluster_size=4, binary=False)
    board = leaderboard(items, cluster="passage")
    for name in GAINS:
        rows = items[items["model"] == name]
        zero = rows.assign(model="zero", score=0.0)
        pair = compare_models(pd.concat([rows, zero]), name, "zero", cluster="passage").to_frame()
        own = board.to_frame().loc[name]
        found = own[["estimate", "low", "high", "standard_error"]].to_numpy(dtype=float)
        expected = pair[["difference", "low", "high", "standard_error"]].to_numpy()[0]
        assert_allclose(found, expected, rtol=1e-10)
    assert_array_equal(board.n_clusters, 45)


@pytest.mark.parametrize("by", [None, "topic"])
def test_covariance_gives_the_errors_of_differences(by):
    items = simulated(2, GAINS)
    board = leaderboard(items, topics=by)
    c = board.covariance
    assert_allclose(np.sqrt(np.diag(c)), board.estimate.standard_error, rtol=1e-10)
    of_difference = np.sqrt(c[0, 0] + c[2, 2] - 2 * c[0, 2])
    pair = compare_models(items, "high", "low").estimate.standard_error
    # Equal topics explain little here; their variances lean on each other by one in fifteen.
    assert_allclose(of_difference, pair[0], rtol=1e-10 if by is None else 0.05)


def test_covariance_is_that_of_the_aggregates():
    items = simulated(3, GAINS)
    board = leaderboard(items)
    wide = items.pivot(index="item", columns="model", values="score")[board.estimate.labels]
    expected = covariance_of_means(wide.to_numpy(), np.ones((180, 1)), np.ones(180, dtype=int))
    assert_allclose(board.covariance, expected, rtol=1e-10)


def test_topics_count_equally():
    items = simulated(4, GAINS)
    uneven = items[(items["topic"] != 0) | (items["item"] < 60)]
    board = leaderboard(uneven, topics="topic").to_frame()
    means = uneven.groupby(["model", "topic"])["score"].mean().unstack("topic").mean(axis=1)
    assert_allclose(board["estimate"], means[board.index], rtol=1e-12)
    assert_array_equal(board["n"], 140)


def test_means_of_topics_equal_but_for_rounding_share_a_rank():
    right = {"a": (11, 13), "b": (10, 14)}  # .55 and .65, .5 and .7
    rows = [
        (name, topic, item, float(item < k))
        for name, counts in right.items()
        for topic, k in enumerate(counts)
        for item in range(20)
    ]
    items = pd.DataFrame(rows, columns=["model", "topic", "item", "score"])
    means = items.groupby(["model", "topic"])["score"].mean().unstack().mean(axis=1)
    assert means["a"] != means["b"]
    board = leaderboard(items, topics="topic").to_frame()
    assert_array_equal(board["rank"], [1, 1])
    assert board["estimate"].nunique() == 1


@pytest.mark.filterwarnings("ignore:.*standard error")
def test_means_of_topics_have_wilson_intervals():
    items = simulated(3, {"good": 1.5, "all": 9.0}, n_items=20)
    board = leaderboard(items, topics="topic")
    means = items[items["model"] == "good"].groupby("topic")["score"].mean()
    smoothed = (20 * means + 1) / 22
    own = smoothed * (1 - smoothed) / 20
    n = smoothed.mean() * (1 - smoothed.mean()) / (own.sum() / 9)
    # Satterthwaite's degrees of freedom, 4 more for each topic.
    df = own.sum() ** 2 / np.sum(own**2 / 23)
    level = 2 * norm.cdf(t.ppf(0.975, df)) - 1
    expected = np.array(wilson_interval(means.mean() * n, n, level))
    table = board.to_frame()
    assert_allclose(table.loc["good", ["low", "high"]].astype(float), expected, rtol=1e-10)
    level = 2 * norm.cdf(t.ppf(0.975, 69)) - 1
    assert_allclose(table.loc["all", "low"], wilson_interval(60, 60, level)[0], rtol=1e-12)
    assert board.estimate.method == "mean of 3 topics, Wilson"


def test_shared_items_shorten_the_rank_sets():
    """Scores with different item ids for every model give less certain ranks."""
    items = simulated(6, {f"m{i}": 0.12 * i for i in range(8)}, n_items=150)
    shared = leaderboard(items)
    apart = items.assign(item=items["model"] + items["item"].astype(str))
    with pytest.warns(UserWarning):
        unshared = leaderboard(apart)
    widths = [np.mean(b.rank_sets.high - b.rank_sets.low) for b in (shared, unshared)]
    assert widths[0] < widths[1]
    assert_allclose(shared.estimate.value, unshared.estimate.value)


def test_identical_models_tie():
    items = simulated(7, {"a": 0.5, "b": -2.0})
    twin = items[items["model"] == "a"].assign(model="twin")
    board = leaderboard(pd.concat([items, twin])).to_frame()
    assert_array_equal(board["rank"], [1, 1, 3])
    assert_array_equal(board["rank_high"], [2, 2, 3])
    assert board["ties"].tolist() == ["a", "a", "b"]


@pytest.mark.filterwarnings("ignore:.*equal scores")
def test_perfect_and_hopeless_models():
    items = simulated(8, {"a": 0.0})
    others = [items.assign(model=name, score=s) for name, s in [("all", 1.0), ("none", 0.0)]]
    board = leaderboard(pd.concat([items, *others])).to_frame()
    assert board.index.tolist() == ["all", "a", "none"]
    assert np.isnan(board["standard_error"]).tolist() == [True, False, True]
    assert 0.97 < board.loc["all", "low"] < board.loc["all", "high"] == 1


@pytest.mark.filterwarnings("ignore:.*did not answer all")
@pytest.mark.parametrize("constant", [0.5, 0.9, 77.7])
@pytest.mark.parametrize("by", [None, "topic"])
def test_equal_scores_have_no_interval(constant, by):
    items = simulated(8, {"a": 0.0, "b": 0.0}).assign(score=constant)
    items = items[(items["model"] == "a") | (items["item"] < 70)]
    with pytest.warns(UserWarning):
        board = leaderboard(items, topics=by).to_frame()
    assert board["standard_error"].isna().all()
    # Within 0 and 1, one worst case more is all that is known.
    if constant < 1:
        assert np.all((board["low"] < constant - 0.005) & (board["high"] > constant + 0.001))
    else:
        assert board[["low", "high"]].isna().all(axis=None)
    assert_array_equal(board["rank_high"], [2, 2])


def test_missing_items_are_named():
    items = simulated(9, GAINS)
    fewer = items[(items["model"] != "low") | (items["item"] > 1)]
    with pytest.warns(UserWarning, match="'low' .*2"):
        board = leaderboard(fewer)
    assert_array_equal(board.n_items, [180, 180, 178])
    assert np.linalg.eigvalsh(board.covariance).min() > 0


def test_unknown_variances_raise():
    items = simulated(10, GAINS)
    no_topic = items[(items["model"] != "low") | (items["topic"] != 2)]
    with pytest.raises(ValueError, match="no items"):
        leaderboard(no_topic, topics="topic")
    with pytest.raises(ValueError, match="one cluster"):
        leaderboard(items.assign(passage=0), cluster="passage")
    with pytest.raises(ValueError, match="single item"):
        leaderboard(items.groupby("model").head(1))
    with pytest.raises(ValueError):
        leaderboard(items.assign(passage=[np.nan, *range(1, len(items))]), cluster="passage")


@pytest.mark.filterwarnings("ignore:.*did not answer all")
def test_a_model_with_one_item_may_have_any_rank():
    items = simulated(10, GAINS, binary=False)
    fewer = items[(items["model"] != "middle") | (items["item"] == 0)]
    with pytest.warns(UserWarning):
        board = leaderboard(fewer).to_frame()
    assert board.loc["middle", ["low", "high", "standard_error"]].isna().all()
    others = leaderboard(items[items["model"] != "middle"]).to_frame()
    columns = ["estimate", "low", "high", "standard_error"]
    assert_allclose(board.loc[["high", "low"], columns], others[columns], rtol=1e-12)
    ranks = board.loc[["high", "middle", "low"]]
    assert_array_equal(ranks["rank_low"], [1, 1, 2])
    assert_array_equal(ranks["rank_high"], [2, 3, 3])
    assert ranks["ties"].tolist() == ["a", "ab", "b"]


def test_one_model_is_the_best():
    board = leaderboard(simulated(11, {"only": 0.0}))
    assert board.rank_sets.low == board.rank_sets.high == 1
    assert ": 'only'" in repr(board)


@pytest.mark.slow
def test_rank_sets_hold_the_ranks_of_clustered_items():
    """Six models with two exact ties; all six ranks in their sets, in 300 data sets."""
    gains = {"a": 0.5, "b": 0.5, "c": 0.2, "d": 0.2, "e": 0.0, "f": -0.8}
    truth = {"a": (1, 2), "b": (1, 2), "c": (3, 4), "d": (3, 4), "e": (5, 5), "f": (6, 6)}
    held = 0
    for seed in range(300):
        items = simulated(seed, gains, n_items=80, cluster_size=4)
        board = leaderboard(items, cluster="passage").to_frame()
        low, high = (board[f"rank_{end}"] for end in ("low", "high"))
        held += all(low[m] <= first and last <= high[m] for m, (first, last) in truth.items())
    assert held >= binom.ppf(0.0005, 300, 0.95)


@pytest.mark.parametrize("n_triples, n_groups", [(2, 9), (6, 729), (7, 0)])
def test_letters_are_printed_up_to_26_groups(n_triples, n_groups):
    """Two models of a triple differ, no others: three times the groups with each triple."""
    n = 3 * n_triples
    board = leaderboard(simulated(0, dict.fromkeys(map(str, range(n)), 0.0), n_items=10))
    triple = np.repeat(np.arange(n_triples), 3)
    better = np.triu(triple[:, None] == triple, 1)
    sets = replace(board.rank_sets, better=better)
    board = replace(board, rank_sets=sets, ties=tied(sets))
    reported = [set(letters) for letters in letters_of(board.rank_sets)]
    assert len(set().union(*reported)) == n_groups
    if n_groups:
        shared = [[bool(a & b) for b in reported] for a in reported]
        assert_array_equal(shared, ~(better | better.T))
    assert ("ties" in repr(board)) == (n_groups == 9)
    assert ("26 groups" in repr(board)) == (n_groups != 9)
