"""Scores and costs: significant dominance, and missing costs."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from skbench import leaderboard, tradeoff
from skbench.stats.ranking.frontier import skewed_ends

PRICES = {"big": 4.0, "mid": 2.0, "old": 2.0, "tiny": 1.0}
CHANCES = {"big": 0.9, "mid": 0.85, "old": 0.4, "tiny": 0.35}


def make_rows(sigma=0.0, n=120, seed=0):
    rng = np.random.default_rng(seed)
    long = rng.normal(0, 1, n)
    parts = []
    for name, chance in CHANCES.items():
        noise = sigma * (0.8 * long + 0.6 * rng.normal(0, 1, n)) - sigma**2 / 2
        columns = {"model": name, "item": np.arange(n), "topic": np.where(np.arange(n) < 40, "a", "b")}  # fmt: skip
        columns |= {"score": (rng.random(n) < chance) * 1.0, "cost": PRICES[name] * np.exp(noise)}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def test_list_prices():
    """Of two models with the same price, the worse is dominated; cheaper models are not."""
    found = tradeoff(make_rows())
    table = found.to_frame()
    assert table["dominated_by"].to_dict() == {"big": None, "mid": None, "old": "mid", "tiny": None}
    assert table["on_observed_frontier"].tolist() == table["may_be_on_frontier"].tolist()
    for name in ("cost", "cost_low", "cost_high"):
        assert table[name].to_dict() == PRICES
    reported = " ".join(found.sentences())
    assert (
        "3 of 4" in reported
        and re.search(r"\bold\b[^.]*\bmid\b", reported)
        and "all models" in repr(found)
    )
    assert "same cost (2)" in reported and "lower cost" not in reported
    tiny_gap = make_rows().replace({"cost": {2.0: 4.000001, 1.0: 4.000002, 4.0: 4.0}})
    reported = " ".join(tradeoff(tiny_gap).sentences())
    assert "a lower cost (4 against 4.000001)" in reported


@pytest.mark.parametrize("options", [{}, {"topics": "topic"}, {"cluster": "item"}])
def test_verdicts_are_those_of_pairs_of_scores_and_of_costs(options):
    """Agree with paired differences, and with the scores of the leaderboard."""
    rows = make_rows(0.8, seed=4)
    found, board = tradeoff(rows, **options), leaderboard(rows, **options)
    wide = rows.pivot(index=["topic", "item"], columns="model", values="cost")[
        board.estimate.labels
    ]
    assert list(found.score.labels) == list(board.estimate.labels)
    np.testing.assert_allclose(found.score.value, board.estimate.value)
    means = wide.groupby("topic").mean().mean() if "topics" in options else wide.mean()
    np.testing.assert_allclose(found.cost.value, means)
    if "topics" not in options:
        n, level = len(wide), 1 - 0.05 / 6
        for j, k in np.ndindex(4, 4):
            d = (wide.iloc[:, j] - wide.iloc[:, k]).to_numpy()
            x = (d - d.mean())[:, None] / np.sqrt(n * (n - 1))
            high = skewed_ends([d.mean()], np.sum(x**2, axis=0), x, [n - 1], level).high[0]
            assert found.dominates[j, k] == (board.rank_sets.better[j, k] and high < 0)
    assert found.to_frame()["dominated"].sum() <= 2 and not found.dominates[:, 0].any()


def test_where_low_scores_are_good():
    rows = make_rows(0.5)
    loss = rows.assign(score=1 - rows["score"])
    one, other = tradeoff(rows), tradeoff(loss, greater_is_better=False)
    names = one.score.labels
    a, b = (x.to_frame().loc[names] for x in (one, other))
    np.testing.assert_array_equal(a["dominated_by"], b["dominated_by"])
    np.testing.assert_allclose(a["score"], 1 - b["score"])
    np.testing.assert_array_equal(a["on_observed_frontier"], b["on_observed_frontier"])
    assert other.score.value[0] == other.score.value.min()


def test_unit_and_order_do_not_matter():
    rows = make_rows(0.8, seed=4)
    one, other = tradeoff(rows), tradeoff(rows.assign(cost=rows["cost"] * 1e6).iloc[::-1])
    np.testing.assert_array_equal(one.dominates, other.dominates)
    np.testing.assert_allclose(one.cost.high * 1e6, other.cost.high)


def test_costs_that_are_not_there():
    """They are skipped with a warning, list prices stay exact, and unknown costs are reported."""
    rows = make_rows(0.5)
    rows.loc[rows["model"] == "old", "cost"] = 2.0
    rows.loc[
        rows["model"].eq("tiny") | (rows["item"] % 7 == 1) & rows["model"].ne("mid"), "cost"
    ] = np.nan
    with pytest.warns(UserWarning) as reported:
        found = tradeoff(rows)
    reported = [str(w.message) for w in reported]
    assert re.search("154 of 480 rows .*'cost'", reported[0]) and "'old'" in reported[1]
    table = found.to_frame()
    assert np.isnan(table.loc["tiny", "cost"]) and table.loc["tiny", "may_be_on_frontier"]
    assert not table.loc["tiny", "on_observed_frontier"] and "tiny" in found.remarks[0]
    assert table.loc["old", ["cost_low", "cost", "cost_high"]].tolist() == [2, 2, 2]
    np.testing.assert_allclose(table["score"], tradeoff(make_rows()).to_frame()["score"])


def test_single_costs_of_zero_cause_a_warning():
    rows = make_rows(0.5)
    rows.loc[:9, "cost"] = 0.0
    with pytest.warns(UserWarning, match=r"1 of 4 models .* 'big' \(10 of 120\)"):
        tradeoff(rows)
    free = rows.assign(cost=rows["cost"].where(rows["model"] != "big", 0.0))
    with pytest.warns(UserWarning, match="1 of 4 models.* 'big'"):
        found = tradeoff(free)
    assert found.to_frame().loc["big", "cost_high"] == 0


def test_costs_with_a_constant_difference_are_not_significant():
    """Nor are exact copies, because the variance of the difference is unknown."""
    rows = make_rows(0.5)
    best = rows.loc[rows["model"] == "mid", "cost"].to_numpy()
    rows.loc[rows["model"] == "old", "cost"] = best + 1
    rows.loc[rows["model"] == "tiny", "cost"] = best
    assert not tradeoff(rows).to_frame()["dominated"].any()


@pytest.mark.filterwarnings("ignore:4 of 4 models")
def test_one_model_and_models_that_share_no_items():
    rows = make_rows(0.5)
    one = tradeoff(rows[rows["model"] == "big"])
    assert len(one) == 1 and not one.dominates.any()
    apart = rows.assign(item=rows["model"] + rows["item"].astype(str))
    with pytest.warns(UserWarning, match="'"):
        assert not tradeoff(apart).dominates.any()


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        ({}, {"cost": "score"}, "both 'score'"),
        ({"cost": -1.0}, {}, "480 of 480 .*'cost' .* -1.0 in row 0 "),
        ({"cost": 0.0}, {}, "'cost' are 0"),
        ({"cost": np.nan}, {}, "'cost'"),
        ({"cost": np.inf}, {}, "480 .*infinite"),
        ({"cost": "$1"}, {}, r"'\$1' in row 0 \(model 'big', item 0\).*currency"),
        ({"cost": ["1"] * 7 + ["free"] + ["2"] * 472}, {}, r"'free'.* row 7\b"),
        ({"cost": "1"}, {}, "'cost'.*text"),
        ({}, {"cost": "price"}, "price"),
    ],
)
def test_refuses(change, options, match):
    with pytest.raises(ValueError, match=match):
        tradeoff(make_rows().assign(**change), **options)


def of_tied_frontier(rng, size):
    """Three models with list prices, and three of better scores with skewed costs of that mean."""
    cluster = np.arange(30 * size) // size
    chance = np.array([0.3, 0.3, 0.3, 0.9, 0.9, 0.9])
    right = rng.random((len(cluster), 6)) < chance
    costs = np.where(chance > 0.5, np.exp(rng.normal(0, 1, (30, 6)) - 0.5)[cluster], 1.0)
    i, m = np.indices(right.shape)
    columns = {"model": m, "item": i, "cluster": cluster[i], "score": right * 1.0, "cost": costs}
    return pd.DataFrame({name: x.ravel() for name, x in columns.items()})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:3 of 6 models")
@pytest.mark.parametrize("size", [1, 2])
def test_frontiers_are_named_wrongly_in_a_twentieth_at_most(size):
    """All mean costs are equal; paired t tests err in 0.17 of samples."""
    rng, n_trials, wrong = np.random.default_rng(5), 80, 0
    for _ in range(n_trials):
        rows = of_tied_frontier(rng, size)
        wrong += tradeoff(rows, cluster="cluster" if size > 1 else None).dominates.any()
    assert wrong <= binom.ppf(0.999, n_trials, 0.05)
