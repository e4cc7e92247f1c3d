"""Joint draws of models on a benchmark: agreement with estimates, coverage, known models."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import simulated
from scipy.stats import binom
from skbench.stats.posterior import posterior_interval

from skbench import (
    ItemBank,
    UnitLevelModel,
    choose_items,
    compare_models,
    leaderboard,
    summarize_items,
)

COLUMNS = ["model", "topic", "item"]


@pytest.fixture(scope="module")
def two(rows):
    new = rows[rows["model"] > "m10"]
    return new[new["item"] % 5 == 0]


@pytest.mark.parametrize("by", ["model", "topic", ["model", "topic"], ["topic", "model"]], ids=str)
def test_intervals_are_quantiles_of_the_draws(bank, two, by):
    model = UnitLevelModel(bank).fit(two[COLUMNS], two["score"])
    e, draws = model.estimate(by), model.sample(by)
    flat = draws.values.reshape(len(draws.values), -1)
    np.testing.assert_allclose(e.value, flat.mean(axis=0), rtol=1e-12)
    expected = posterior_interval(flat)
    np.testing.assert_array_equal(e.low, expected[0])
    np.testing.assert_array_equal(e.high, expected[1])
    assert e.labels.names == draws.interval().labels.names
    assert list(e.labels) == list(draws.interval().labels)


def test_draws_are_attainable_totals(bank, new):
    asked = new.groupby("topic").sample(8, random_state=0)
    draws = UnitLevelModel(bank).fit(asked[COLUMNS], asked["score"]).sample()
    totals = draws.values[:, 0] * 50
    np.testing.assert_allclose(totals, np.rint(totals), atol=1e-9)
    right = asked.groupby("topic")["score"].sum().to_numpy()
    assert np.all(totals >= right) and np.all(totals <= right + 42)


def test_stored_models_repeat_their_draws(bank, two):
    model = UnitLevelModel(bank, random_state=3).fit(two[COLUMNS], two["score"])
    stored = pickle.dumps(model)
    again = pickle.loads(stored)
    assert len(stored) < model.sample().values.nbytes
    np.testing.assert_array_equal(again.sample().values, model.sample().values)


def test_the_bank_samples_as_its_model_does(bank, past, new):
    asked = new.groupby("topic").sample(8, random_state=0)
    alone = UnitLevelModel(bank).fit(asked[COLUMNS], asked["score"])
    known = past[past["model"] == "m03"].head(5)
    for by in ("model", ["model", "topic"], ["topic", "model"]):
        draws = bank.sample(pd.concat([asked, known]), by)
        frame = draws.interval()
        truth = past[past["model"] == "m03"].groupby("topic")["score"].mean()
        table = frame.to_frame().reset_index()
        of_known = table[table["model"] == "m03"]
        expected = [truth.mean()] if by == "model" else truth.to_numpy()
        np.testing.assert_allclose(of_known["low"], expected)
        np.testing.assert_allclose(of_known["high"], expected)
        mine = table[table["model"] == "m12"]["value"]
        np.testing.assert_allclose(mine, alone.estimate(by).value)
    with pytest.raises(ValueError, match="m03"):
        bank.sample(known)


def test_rankings_and_pairs_follow_from_the_same_draws(bank, past, new):
    asked = pd.concat(
        [new.groupby("topic").sample(8, random_state=0), past[past["model"] == "m03"]]
    )
    board = leaderboard(asked, bank=bank)
    pair = compare_models(asked, "m12", "m03", bank=bank)
    draws = bank.sample(asked)
    apart = draws.values[:, 0] - draws.values[:, 1]
    assert pair.estimate.value[0] == pytest.approx(apart.mean())
    assert board.estimate.value[list(board.estimate.labels).index("m12")] == pytest.approx(
        draws.values[:, 0].mean()
    )
    sign = 1 if board.comparison.estimate.labels[0][0] == "m12" else -1
    assert board.comparison.estimate.value[0] == pytest.approx(sign * apart.mean())
    for settings in ({"topics": ["topic", "item"]}, {"missing": "wrong"}, {"missing": "refuse"}):
        with pytest.raises(ValueError, match="bank"):
            leaderboard(asked, bank=bank, **settings)


def test_inclusion_probabilities_are_kept(bank, new):
    chosen = choose_items(bank, 60, random_state=0)
    asked = new.merge(chosen)
    expected = UnitLevelModel(bank).fit(asked.drop(columns="score"), asked["score"])
    board = leaderboard(asked, bank=bank).estimate
    np.testing.assert_allclose(board.value, expected.estimate("model").value)
    # A warning for items that are harder than the rest, unless their probabilities are known.
    hard = bank.items_.assign(d=bank.easiness_).sort_values("d").groupby("topic").head(12)
    unusual = new.merge(hard[["topic", "item"]])
    with pytest.warns(UserWarning, match="harder"):
        leaderboard(unusual, bank=bank)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leaderboard(unusual.assign(inclusion_probability=0.24), bank=bank)


def test_direct_means_warn_if_they_ignore_probabilities(bank, rows):
    asked = rows[rows["model"] > "m10"].merge(choose_items(bank, 60, random_state=0))
    for direct in (
        lambda x: summarize_items(x, "model"),
        leaderboard,
        compare_models,
        lambda x: summarize_items(pl.from_pandas(x).lazy(), ["model", "topic"]),
    ):
        with pytest.warns(UserWarning, match="'inclusion_probability'"):
            direct(asked)
    # Equal chances within a topic leave its mean without bias.
    within = asked.assign(inclusion_probability=np.where(asked["topic"] == "t1", 0.1, 0.2))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*'inclusion_probability'")
        summarize_items(within, ["model", "topic"])
        leaderboard(asked.assign(inclusion_probability=0.2))
    with pytest.warns(UserWarning, match="'inclusion_probability'"):
        summarize_items(within, "model")


@pytest.mark.parametrize("kind", [str, object, "category"])
def test_probabilities_are_compared_by_value(bank, rows, kind):
    asked = rows[rows["model"] > "m10"].merge(choose_items(bank, 60, random_state=0))
    equal = asked.assign(inclusion_probability=0.25).astype({"inclusion_probability": kind})
    asked = asked.astype({"inclusion_probability": kind})
    for form in (
        lambda x: x,
        *[pl.from_pandas, lambda x: pl.from_pandas(x).lazy()] * (kind is str),
    ):
        with pytest.warns(UserWarning, match="'inclusion_probability'"):
            summarize_items(form(asked), "model")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            summarize_items(form(equal), "model")


@pytest.mark.parametrize(("chances", "cell"), [
    (["0.5"] * 9 + ["0.23%"], "'0.23%'"), ([0.5] * 9 + [None], ""), ([0.5] * 9 + [2.0], "2.0"),
    (["0.5"] * 9 + [""], ""), ([0.5] * 9 + [0.0], "0.0"),
])  # fmt: skip
def test_an_invalid_probability_is_named_with_its_row(bank, rows, chances, cell):
    asked = rows[rows["model"] == "m11"].head(10).assign(inclusion_probability=chances)
    for frame in (asked, pl.from_pandas(asked), pl.from_pandas(asked).lazy()):
        where = "" if isinstance(frame, pl.LazyFrame) else " in row 9"
        with pytest.warns(UserWarning, match=f"'inclusion_probability'{where} .*{cell}"):
            summarize_items(frame, "model")
    with pytest.raises(ValueError, match="inclusion_probability .* row 9 "):
        UnitLevelModel(bank).fit(asked, asked["score"])
    with warnings.catch_warnings():  # a model that answered all items has no probabilities
        warnings.simplefilter("error")
        both = rows[rows["model"].isin(["m10", "m11"])]
        summarize_items(
            both.assign(inclusion_probability=np.where(both["model"] == "m10", np.nan, 0.5)),
            "model",
        )


def test_an_item_with_two_probabilities_is_named(bank, rows):
    asked = rows[rows["model"] == "m11"].merge(choose_items(bank, 60, random_state=0))
    again = asked.tail(1).assign(inclusion_probability=0.5)
    for both in (pd.concat([asked, again]), pd.concat([again, asked])):
        with pytest.raises(ValueError, match=f"Item {again['item'].iloc[0]} .*from .* to 0.5"):
            UnitLevelModel(bank).fit(both, both["score"])
    UnitLevelModel(bank).fit(pd.concat([asked, asked]), [*asked["score"], *asked["score"]])


def test_informative_items_without_probabilities_are_not_a_random_sample():
    rows = simulated(13, n_items=250, seed=2)
    bank = ItemBank().fit(rows[rows["model"] < "m11"])
    asked = rows[rows["model"] == "m12"].merge(choose_items(bank, 500, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = UnitLevelModel(bank).fit(asked, asked["score"])
    assert model.random_sample_ == {"m12": True}
    lost = asked.drop(columns="inclusion_probability")
    with pytest.warns(UserWarning, match="less predictable.*inclusion_probability"):
        model = UnitLevelModel(bank).fit(lost, lost["score"])
    assert model.random_sample_ == {"m12": False}


def draws_of_pairs(n_topics, asked_of, n_sets, level, seed=0):
    """Whether intervals of two scores and of their difference cover all items."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_sets):
        n_items = 300 // n_topics
        rows = simulated(10, n_topics, n_items, int(rng.integers(2**31)), shift=level)
        bank = ItemBank().fit(rows[rows["model"] < "m08"])
        new = rows[rows["model"] >= "m08"]
        items = new["item"].unique()
        asked = new[new["item"].isin(rng.choice(items, asked_of, replace=False))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pair = compare_models(asked, "m08", "m09", bank=bank).estimate
            board = leaderboard(asked, bank=bank).estimate
        truth = new.groupby("model")["score"].mean()
        at = truth[list(board.labels)].to_numpy()
        apart = truth["m08"] - truth["m09"]
        found.append(
            [*((board.low <= at) & (at <= board.high)), pair.low[0] <= apart <= pair.high[0]]
        )
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("n_topics", [6, 1], ids=["answers drawn", "sums drawn"])
@pytest.mark.parametrize("level", [-5.0, 0.0, 5.0], ids=["hard", "ordinary", "easy"])
def test_scores_and_differences_cover(level, n_topics):
    """Near 0, in the middle and near 1: 200 benchmarks, 60 of 300 items."""
    covered = draws_of_pairs(n_topics, 60, 200, level)
    assert covered[:, :2].sum() >= binom.ppf(0.001, 400, 0.95)
    assert covered[:, 2].sum() >= binom.ppf(0.001, 200, 0.95)
