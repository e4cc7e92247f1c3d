"""pass@k and pass^k: closed form, coverage, counts and rows, groups, pairs."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from skbench import JamesStein, compare_models, pass_at_k
from skbench.stats.resampling import repeats


def counts_of(correct, runs=8, **columns):
    """One row per model and item; `correct` has a row per model."""
    n_models, n = np.shape(correct)
    names = [f"m{i}" for i in range(n_models)]
    base = {"model": np.repeat(names, n), "item": np.tile(np.arange(n), n_models)}
    base |= {name: np.tile(values, n_models) for name, values in columns.items()}
    return pd.DataFrame(base | {"n_correct": np.ravel(correct), "n_runs": runs})


def runs_of(counts):
    """Convert counts to one row per answer."""
    rows = counts.loc[counts.index.repeat(counts["n_runs"])].reset_index(drop=True)
    place = rows.groupby(["model", "item"]).cumcount()
    return rows.assign(score=(place < rows["n_correct"]) * 1.0).drop(
        columns=["n_correct", "n_runs"]
    )


def test_closed_form_to_12_digits():
    for runs in (1, 3, 8, 200):
        c = np.arange(runs + 1)
        for k in {1, 2, min(8, runs), runs} & set(range(1, runs + 1)):
            exact = [1 - comb(runs - x, k) / comb(runs, k) for x in c.tolist()]
            assert_allclose(repeats.pass_at_k(c, runs, k), exact, atol=1e-12)
            exact = [comb(x, k) / comb(runs, k) for x in c.tolist()]
            assert_allclose(repeats.pass_at_k(c, runs, k, True), exact, atol=1e-12)


def test_it_is_the_share_of_all_choices():
    answers = [1, 0, 0, 1, 0]
    chosen = list(combinations(answers, 3))
    assert_allclose(repeats.pass_at_k(2, 5, 3), np.mean([max(x) for x in chosen]))
    assert_allclose(repeats.pass_at_k(2, 5, 2, True),
                    np.mean([min(x) for x in combinations(answers, 2)]))  # fmt: skip


def test_value_is_the_mean_over_items_from_counts_and_from_rows():
    counts = counts_of(np.random.default_rng(0).integers(0, 9, (2, 30)))
    found = pass_at_k(counts, k=3)
    value = repeats.pass_at_k(counts["n_correct"].to_numpy().reshape(2, 30), 8, 3).mean(axis=1)
    assert_allclose(found.value, value, atol=1e-12)
    assert found.labels.tolist() == ["m0", "m1"]
    rows = runs_of(counts).sample(frac=1, random_state=0)
    for other in (rows, pl.from_pandas(rows)):
        again = pass_at_k(other, k=3)
        assert_allclose(again.low, found.low, atol=1e-12)
        assert_allclose(again.high, found.high, atol=1e-12)


def test_groups_go_into_estimators_and_pairs_are_paired():
    rng = np.random.default_rng(0)
    right = rng.binomial(8, rng.beta(0.5, 0.5, 60), (2, 60))
    counts = counts_of(right, topic=np.repeat(np.arange(6), 10))
    found = pass_at_k(counts, k=3, by="topic")
    assert len(found) == 12
    summary = found.summary()
    assert_allclose(summary.z, found.value)
    assert len(JamesStein().fit(**summary.fit_args).estimate()) == 12
    pair = pass_at_k(counts, k=3).compare("m0", "m1")
    values = repeats.pass_at_k(right, 8, 3)
    assert_allclose(pair.estimate.value, (values[0] - values[1]).mean())
    assert_allclose(pair.estimate.standard_error, (values[0] - values[1]).std(ddof=1) / 60**0.5)


def test_clusters_widen():
    rng = np.random.default_rng(0)
    p = np.repeat(rng.beta(0.5, 0.5, 10), 6)
    counts = counts_of(rng.binomial(8, p, (1, 60)), repo=np.repeat(np.arange(10), 6))
    alone, together = pass_at_k(counts, k=2), pass_at_k(counts, k=2, cluster="repo")
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    items = pass_at_k(counts, k=2, cluster="repo").items
    pair = pd.concat([items, items.assign(model="x", score=0.5)])
    expected = compare_models(pair, "m0", "x", cluster="repo").estimate.standard_error
    assert_allclose(together.standard_error, expected)


def test_every_item_solved_leaves_room_for_one_that_is_not():
    found = pass_at_k(counts_of(np.full((1, 20), 8)), k=3)
    assert found.high[0] == 1
    assert 0.8 < found.low[0] < 0.9
    assert np.isnan(found.standard_error[0])


def test_reliability_finds_flaky_items():
    table = pass_at_k(counts_of([[0, 3, 8]]), k=1).reliability()
    assert table["verdict"].tolist() == ["never", "flaky", "always"]
    assert_allclose(table["low"].iloc[2], 0.025 ** (1 / 8))


def test_bad_input_raises():
    counts = counts_of([[0, 3, 8]])
    with pytest.raises(ValueError, match="k=8"):
        pass_at_k(counts, k=9)
    with pytest.raises(ValueError):
        pass_at_k(counts.assign(n_correct=[0, 3, 9]))
    rows = runs_of(counts)
    with pytest.raises(ValueError):
        pass_at_k(rows.assign(score=rows["score"] / 2), k=1)
    with pytest.raises(ValueError):
        pass_at_k(pd.concat([counts, counts]), k=1)


def covered(a, b, k, all_of_them, n_sets, seed):
    """Share of intervals that cover; every data set is a topic of one call."""
    rng = np.random.default_rng(seed)
    p = rng.beta(a, b, (n_sets, 40))
    rows = pd.DataFrame(
        {"model": "m", "set": np.repeat(np.arange(n_sets), 40), "item": np.tile(np.arange(40), n_sets),
         "n_correct": rng.binomial(8, p).ravel(), "n_runs": 8}
    )  # fmt: skip
    found = pass_at_k(rows, k, all_of_them, by="set")
    powers = np.arange(k)
    if all_of_them:
        truth = np.prod((a + powers) / (a + b + powers))
    else:
        truth = 1 - np.prod((b + powers) / (a + b + powers))
    return np.mean((found.low <= truth) & (truth <= found.high)), truth


@pytest.mark.parametrize("all_of_them", [False, True])
def test_skewed_truths_are_covered(all_of_them):
    low, high = binom.ppf([0.0005, 0.9995], 1000, 0.95) / 1000
    assert low <= covered(0.5, 0.2, 3, all_of_them, 1000, 0)[0] <= high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b"),
    [(0.5, 0.2), (0.3, 0.6), (0.5, 0.5), (1, 3), (2, 2), (0.1, 1), (0.2, 4), (1, 20), (5, 0.3)],
)
def test_intervals_cover(a, b):
    for k in (1, 3, 5):
        for all_of_them in (False, True):
            share, truth = covered(a, b, k, all_of_them, 4000, 1)
            if 0.03 <= truth <= 0.95:
                most = 0.97 if 0.1 <= truth <= 0.9 else 0.98
                assert 0.93 - 0.0075 <= share <= most + 0.0075, (k, all_of_them)  # two binomial sd
