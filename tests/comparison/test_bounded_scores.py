"""Bounded scores, parts of a benchmark, and topics of very different sizes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from skbench import DirectEstimator, compare_models, gate, leaderboard, summarize_items
from skbench.stats.ranking import noninferiority


def rows_of(**scores):
    parts = [
        pd.DataFrame({"model": m, "item": range(len(x)), "score": x}) for m, x in scores.items()
    ]
    return pd.concat(parts, ignore_index=True)


def rare_losses(rng, n, share=0.03):
    """Scores of F1's kind: the new model is as good but for rare items that fall by .5 to 1."""
    old = rng.uniform(0.9, 1.0, n)
    new = np.clip(old + rng.normal(0, 0.01, n), 0, 1)
    lost = rng.random(n) < share
    new[lost] -= rng.uniform(0.5, 0.9, lost.sum())
    return rows_of(old=old, new=np.clip(new, 0, 1))


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def n_passed(sets, margin, **options):
    """How many data sets pass, by the intervals of one call."""
    rows = pd.concat([rows.assign(set=number) for number, rows in enumerate(sets)])
    topics = gate(rows, "old", "new", margin, by="set", **options).topics
    return np.sum(noninferiority.decide(topics["low"], topics["high"], margin) == "pass")


LOSS = 0.03 * 0.7


@pytest.mark.parametrize("n", [60, 200])
def test_a_loss_equal_to_the_margin_seldom_passes(n):
    rng = np.random.default_rng(n)
    rows = rare_losses(rng, n)
    found = gate(rows, "old", "new", LOSS)
    topic = gate(rows.assign(set=0), "old", "new", LOSS, by="set").topics.iloc[0]
    assert (topic["low"], topic["high"]) == pytest.approx((found.low, found.high), rel=1e-12)
    sets = (rare_losses(rng, n) for _ in range(300))
    assert n_passed(sets, LOSS) <= binom.ppf(0.993, 300, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("n_passages, share", [(20, 0.05), (40, 0.02)])
def test_a_loss_of_whole_passages_seldom_passes(n_passages, share):
    """Passages of five questions, some of which the new version fails as a whole."""
    rng, sets = np.random.default_rng(n_passages), []
    for _ in range(40):
        old, new = np.clip(rng.normal(0.95, 0.01, (2, n_passages, 5)), 0, 1)
        new = np.where(rng.random((n_passages, 1)) < share, 0.0, new)
        rows = rows_of(old=old.ravel(), new=new.ravel())
        sets.append(rows.assign(passage=rows["item"] // 5))
    passed = quietly(n_passed, sets, 0.95 * share, cluster="passage")
    assert passed <= binom.ppf(0.999, 40, 0.05)


@pytest.mark.parametrize("scores", ["binary", "graded"])
def test_promises_of_clusters_are_those_of_their_intervals(scores):
    rng = np.random.default_rng(12)
    a, b = rng.random((2, 100)) if scores == "graded" else (rng.random((2, 100)) < 0.7) * 1.0
    rows = rows_of(a=a, b=b)
    rows = rows.assign(passage=rows["item"] // 5)
    promised = compare_models(rows, "a", "b", cluster="passage").estimate.guarantee
    assert promised == "each group, unless skewed"
    told = any("whole cluster" in x for x in gate(rows, "a", "b", 0.1, cluster="passage").remarks)
    assert told == (scores == "binary")  # of graded scores a whole cluster counts in the mean
    board = leaderboard(rows, cluster="passage").estimate
    direct = DirectEstimator().fit(**summarize_items(rows, "model", cluster="passage").fit_args)
    np.testing.assert_allclose(
        board.low, direct.estimate().low[direct.labels_.get_indexer(board.labels)]
    )
    assert (
        board.guarantee == direct.estimate().guarantee == "each group, on average over accuracies"
    )


@pytest.mark.slow
def test_several_runs_of_few_items():
    """Forty items, four runs each: 3% of the items always fail in the new version."""
    rng, passed = np.random.default_rng(2), []
    for _ in range(100):
        p = rng.choice([0.95, 1.0], 40)
        q = np.where(rng.random(40) < 0.03, 0.0, p)
        runs = [pd.DataFrame({"model": m, "item": np.repeat(range(40), 4),
                              "score": rng.binomial(1, np.repeat(chance, 4))})
                for m, chance in (("old", p), ("new", q))]  # fmt: skip
        loss = 0.03 * 0.975
        found = quietly(gate, pd.concat(runs), "old", "new", loss, cluster="item")
        passed.append(found.verdict == "pass")
    assert np.sum(passed) <= binom.ppf(0.999, 100, 0.05)


def test_a_gate_on_right_and_wrong_answers_passes_what_is_as_good():
    rng, sets = np.random.default_rng(3), []
    for _ in range(40):
        old, new = (rng.random((2, 400)) < 0.8).astype(float)
        both = rng.random(400) < 0.5
        sets.append(rows_of(old=old, new=np.where(both, old, new)))
    assert n_passed(sets, 0.08) >= 0.7 * 40


@pytest.mark.slow
@pytest.mark.parametrize("fail", ["worse", "margin"])
def test_stated_power_of_bounded_scores_is_the_simulated_one(fail):
    rng, n, margin = np.random.default_rng(4), 100, 0.06
    stated, decided = [], []
    for _ in range(600):
        old = rng.uniform(0.3, 0.7, n)
        new = np.clip(old + rng.normal(-margin if fail == "worse" else 0.0, 0.2, n), 0, 1)
        found = gate(rows_of(old=old, new=new), "old", "new", margin, fail=fail)
        stated.append(found.power)
        decided.append(found.verdict == ("fail" if fail == "worse" else "pass"))
    assert np.mean(stated) == pytest.approx(np.mean(decided), abs=0.06)


def test_items_needed_are_of_the_printed_interval():
    rng = np.random.default_rng(5)
    a, b = rng.uniform(0, 1, (2, 40))
    pair = compare_models(rows_of(a=a, b=0.8 * b), "a", "b")
    n, d = pair.items_needed[0], pair.estimate.value[0]
    plain = compare_models(rows_of(a=a, b=0.8 * b), "a", "b", bounds=(-np.inf, np.inf))
    assert n > plain.items_needed[0]
    x = rng.normal(d, np.sqrt(pair.omega2[0]), (60, int(np.ceil(n))))
    rows = pd.concat([rows_of(a=0.5 + y / 2, b=0.5 - y / 2).assign(set=i) for i, y in enumerate(x)])
    e = compare_models(rows, "a", "b", by="set", adjust="none", bounds=(-2, 2)).estimate
    assert np.sum(e.low > 0) >= binom.ppf(0.001, 60, 0.6)


def test_scales_are_recognised_said_and_may_be_contradicted():
    rng = np.random.default_rng(6)
    a, b = rng.choice([3.0, 4, 5], (2, 60))
    pair = compare_models(rows_of(a=a, b=b), "a", "b")
    assert any("from 1 to 5" in words for words in pair.remarks)
    given = compare_models(rows_of(a=a, b=b), "a", "b", bounds=(1, 5))
    assert given.estimate.low[0] == pair.estimate.low[0] and not given.remarks
    with pytest.raises(ValueError, match="outside bounds"):
        compare_models(rows_of(a=a, b=b), bounds=(1, 4))
    assert any("from 1 to 5" in words for words in leaderboard(rows_of(a=a, b=b)).remarks)


# Parts of a benchmark


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binary", "graded"])
def test_intervals_of_all_items_cover_and_end_where_all_were_asked(kind):
    rng, hits = np.random.default_rng(7), []
    for _ in range(80):
        p = rng.random(200)
        a, b = (rng.random((2, 200)) < p) * 1.0 if kind == "binary" else rng.beta(2, 1, (2, 200))
        asked = rng.permutation(200)[:100]
        rows = rows_of(a=a, b=b)
        some = rows[rows["item"].isin(asked)]
        e = compare_models(some, "a", "b", population=200).estimate
        free = compare_models(some, "a", "b").estimate
        assert e.high[0] - e.low[0] < 0.8 * (free.high[0] - free.low[0])
        truth = (a - b).mean()
        board = leaderboard(some, population=200).to_frame().loc[["a", "b"]]  # not best first
        at = np.array([a.mean(), b.mean()])
        scores = (board["low"] <= at) & (at <= board["high"])
        hits.append([e.low[0] <= truth <= e.high[0], *scores])
    hits = np.array(hits)
    assert np.all(hits.sum(axis=0) >= binom.ppf(0.001, 80, 0.95))
    everything = compare_models(rows, "a", "b", population=200)
    e = everything.estimate
    assert e.low[0] == e.high[0] == e.value[0] and e.standard_error[0] == 0
    assert everything.verdict[0] == ("better" if e.value[0] > 0 else "worse")
    board = leaderboard(rows, population=200).estimate
    np.testing.assert_allclose(board.low, board.high)


def test_more_items_are_at_most_those_left():
    rng = np.random.default_rng(8)
    a, b = (rng.random((2, 60)) < 0.6) * 1.0
    for population in (61, 100, 10_000):
        for scores in ((a, b), (0.3 + a / 3, 0.3 + b / 3)):
            found = compare_models(rows_of(a=scores[0], b=scores[1]), population=population)
            assert found.items_needed[0] <= population
    found = gate(rows_of(a=a, b=b), "a", "b", 0.01, population=100)
    assert found.items_needed <= 100


def test_populations_that_cannot_be_are_refused():
    rng = np.random.default_rng(9)
    rows = rows_of(a=rng.random(60), b=rng.random(60))
    topics = rows.assign(topic=np.where(rows["item"] < 20, "x", "y"))
    with pytest.raises(ValueError, match="59 items, but 60 were asked"):
        compare_models(rows, population=59)
    with pytest.raises(ValueError, match="a number for each"):
        leaderboard(topics, topics="topic", population=100)
    with pytest.raises(ValueError, match="no number for 'y'"):
        leaderboard(topics, topics="topic", population={"x": 30})
    with pytest.raises(ValueError, match="of 'x'"):
        leaderboard(topics, topics="topic", population={"x": 3, "y": 90})
    with pytest.raises(ValueError, match="'z'"):
        leaderboard(topics, topics="topic", population={"x": 30, "y": 90, "z": 70})
    leaderboard(topics, topics="topic", population={"x": 30, "y": 90})


# Topics of very different sizes


def uneven(rng, sizes, n_models=10, p=0.6):
    topic = np.repeat(np.arange(len(sizes)), sizes)
    easy = rng.normal(0, 0.2, topic.size)
    parts = []
    for m in range(n_models):
        right = rng.random(topic.size) < np.clip(p + easy, 0.05, 0.95)
        parts.append(pd.DataFrame({"model": f"m{m}", "topic": topic, "item": range(topic.size),
                                   "score": right * 1.0}))  # fmt: skip
    rows = pd.concat(parts, ignore_index=True)
    chance = np.clip(p + easy, 0.05, 0.95)
    return rows, pd.Series(chance).groupby(topic).mean().mean()


DESIGNS = [(3, 300), (4, 30, 2000), (3,) * 10, (1, 20, 200), (25,) * 6]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("sizes", DESIGNS, ids=str)
def test_equal_models_are_seldom_told_apart(sizes):
    rng, false, covered = np.random.default_rng(10), [], []
    for _ in range(200):
        rows, _ = uneven(rng, sizes)
        board = leaderboard(rows, topics="topic")
        false.append(np.any(board.rank_sets.better))
        covered.append(np.mean((board.estimate.low <= 0.6) & (0.6 <= board.estimate.high)))
    assert np.sum(false) <= binom.ppf(0.999, 200, 0.08)
    assert np.mean(covered) >= 0.93


def test_a_topic_of_one_item_borrows_its_spread():
    rows, _ = uneven(np.random.default_rng(11), (1, 20, 30), 3)
    board = leaderboard(rows, topics="topic")
    assert np.isfinite(board.estimate.low).all()
    assert np.isfinite(board.comparison.estimate.low).all()
