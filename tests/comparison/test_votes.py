"""Votes between two models: outcomes, infinite ratings, coverage and error rates."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from skbench import BradleyTerry, rank_confidence_sets
from skbench.items.votes import vote_outcomes

MODELS = np.array(["ada", "bob", "cyd", "dan", "eve"])


def make_votes(rating, n, rng, ties=0.0, judges=None, spread=0.0, sizes=None):
    """Votes of random pairs; with `judges`, each has ratings of its own around these."""
    rating = np.asarray(rating, dtype=float)
    first = rng.integers(len(rating), size=n)
    second = (first + rng.integers(1, len(rating), size=n)) % len(rating)
    judge = rng.choice(judges or 1, size=n, p=sizes)
    own = rating + rng.normal(0, spread, (judges or 1, len(rating)))
    d = own[judge, first] - own[judge, second]
    outcome = (rng.random(n) < 1 / (1 + np.exp(-d))) * 1.0
    outcome[rng.random(n) < ties] = 0.5
    return pd.DataFrame({"model_a": first, "model_b": second, "y": outcome, "judge": judge})


@pytest.fixture
def votes():
    table = make_votes([0.8, 0.4, 0, -0.4, -0.8], 400, np.random.default_rng(0), ties=0.15)
    return table.assign(model_a=MODELS[table["model_a"]], model_b=MODELS[table["model_b"]])


@pytest.mark.parametrize("kind", ["names", "sides", "text"])
def test_ways_to_write_a_winner(votes, kind):
    y = votes["y"]
    winners = {
        "names": np.select([y == 1, y == 0], [votes["model_a"], votes["model_b"]], "tie"),
        "sides": y.map({1: "model_a", 0: "model_b", 0.5: "tie (bothbad)"}),
        "text": y.astype(str).to_numpy(),
    }
    one, other = BradleyTerry().fit(votes, y), BradleyTerry().fit(votes, winners[kind])
    pd.testing.assert_series_equal(one.ratings_, other.ratings_)


def test_models_called_a_and_b_are_names():
    assert vote_outcomes(["a", "c", "draw"], ["b", "c", "a"], ["a"] * 3).tolist() == [0, 1, 0.5]
    assert vote_outcomes(["a", "b", "b"], ["a", "a", "c"], ["b"] * 3).tolist() == [1, 0, 0]  # both
    assert vote_outcomes([0, 1, 2], [0, 1, 1], [1, 2, 2]).tolist() == [1, 1, 0]  # names, too
    assert vote_outcomes(["tie", "z", "draw"], ["tie"] * 3, ["z"] * 3).tolist() == [1, 0, 0.5]


@pytest.mark.parametrize("judge", [None, "j"])
@pytest.mark.parametrize(("a", "b", "y", "other"), [
    (0, 1, [1.0, 0.0, 0.5], ["model_a", "model_b", "tie"]),
    ("0", "1", ["1.0", "0.0", "0.5"], ["model_a", "model_b", "tie"]), ("b", "a", ["a", "b", "tie"], [1, 0, 0.5])
])  # fmt: skip
def test_a_winner_that_may_be_a_name_or_an_outcome_is_refused(judge, a, b, y, other):
    table = pd.DataFrame({"model_a": [a] * 3, "model_b": [b] * 3, "j": y})
    with pytest.raises(ValueError, match="row 0 ") as error:
        BradleyTerry(judge=judge).fit(table, y if judge is None else [1, np.nan, 0.5])
    assert all(str(word) in str(error.value) for word in other)  # the remedy works
    assert vote_outcomes(other, table["model_a"], table["model_b"]).tolist() == [1, 0, 0.5]


def test_sides_that_are_names_of_the_columns_are_these_columns(votes):
    """Whichever column is passed as the first."""
    sides = votes["y"].map({1: "model_a", 0: "model_b", 0.5: "tie"})
    one = BradleyTerry().fit(votes, sides)
    other = BradleyTerry("model_b", "model_a").fit(votes, sides)
    pd.testing.assert_series_equal(one.ratings_, other.ratings_)
    with pytest.raises(ValueError, match="row 0 .*'left'.*'model_b', 'model_a'"):
        BradleyTerry("model_b", "model_a").fit(votes, ["left"] * len(votes))


@pytest.mark.parametrize("judge", [None, "verdict"])
def test_order_sides_and_engines_change_nothing(votes, judge):
    cluster, y = np.arange(400) // 4, votes["y"]
    votes = votes.assign(verdict=np.where(np.arange(400) % 5, y, 0.5))
    y = y if judge is None else y.where(np.arange(400) % 3 == 0)
    one = BradleyTerry(judge=judge).fit(votes, y, cluster)
    turned = votes.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    turned = turned.assign(y=1 - y, verdict=1 - votes["verdict"], cluster=cluster)
    turned = pl.from_pandas(turned.sample(frac=1, random_state=0))
    other = BradleyTerry(judge=judge).fit(turned, turned["y"], turned["cluster"])
    pd.testing.assert_series_equal(one.ratings_, other.ratings_)
    pd.testing.assert_frame_equal(one.covariance_, other.covariance_)


def test_scikit_learn_habits(votes):
    model = BradleyTerry("model_a", covariates=["judge"], ties="davidson")
    assert clone(model).get_params() == model.get_params()
    X, y = votes.query("y != 0.5"), votes["y"][votes["y"] != 0.5].astype(int)
    losses = cross_val_score(BradleyTerry(), X, y, scoring="neg_log_loss")
    assert np.all(losses > -np.log(2))  # better than a coin
    fitted = BradleyTerry().fit(X, y)
    assert np.mean(fitted.predict(X) == y) == fitted.score(X, y) > 0.5
    with pytest.raises(ValueError, match="finite rating"):
        fitted.predict_proba(pd.DataFrame({"model_a": ["zoe"], "model_b": ["ada"]}))


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_chances_add_up_and_are_calibrated(votes, ties):
    model = BradleyTerry(ties=ties).fit(votes, votes["y"])
    chances = model.predict_proba(votes)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert chances @ model.classes_ @ np.ones(400) == pytest.approx(votes["y"].sum(), abs=15)
    if ties == "davidson":
        assert chances[:, 1].sum() == pytest.approx((votes["y"] == 0.5).sum())


def test_leaderboard_is_the_single_inference_of_rank_sets(votes):
    model = BradleyTerry().fit(votes, votes["y"])
    board, df = model.leaderboard("elo"), model.df_.to_numpy()
    df = np.minimum(df[:, None], df)
    sets = rank_confidence_sets(model.ratings_, covariance=model.covariance_, df=df)
    frame, expected = board.to_frame(), sets.to_frame()
    assert frame["rank_low"].tolist() == expected["low"].tolist()
    assert frame["rank_high"].tolist() == expected["high"].tolist()
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5]
    points = 1000 + 400 / np.log(10) * model.estimate().value
    assert frame["estimate"].to_numpy() == pytest.approx(points)
    needed = model.votes_needed().to_numpy()
    assert np.array_equal(needed == 0, board.rank_sets.better | board.rank_sets.better.T)


def test_models_without_a_finite_rating_are_named_and_may_have_any_rank(votes):
    extra = [("top", "ada", 1.0), ("bob", "low", 1.0), ("far", "off", 1.0), ("off", "far", 1.0)]
    extra = pd.DataFrame(extra, columns=["model_a", "model_b", "y"])
    table = pd.concat([votes, extra], ignore_index=True)
    with pytest.warns(UserWarning, match=r"top \(.*\), low \(.*\).*off"):
        model = BradleyTerry().fit(table, table["y"])
    assert model.standing_[["ada", "top", "low"]].tolist() == [0, np.inf, -np.inf]
    board = model.leaderboard()
    frame, odd = board.to_frame(), ["top", "low", "far", "off"]
    assert np.isnan(frame.loc[odd, "estimate"]).all() and "top" in board.rank_sets.best()
    assert (frame.loc[odd, "rank_low"] == 1).all() and (frame.loc[odd, "rank_high"] == 9).all()
    assert frame["rank"].iloc[:2].tolist() == [1, 2] and frame.index[0] == "top"
    alone = BradleyTerry().fit(votes, votes["y"])
    assert model.ratings_[alone.models_].to_numpy() == pytest.approx(alone.ratings_.to_numpy())
    assert frame["n"].sum() == 2 * len(table)


@pytest.mark.parametrize(("n", "high"), [(7, 6), (11, 5)])
def test_direct_votes_rank_a_model_that_never_lost(votes, n, high):
    """Of fifteen pairs, seven wins of seven are not significant, eleven are: 2^-10 < 0.05 / 15."""
    extra = pd.DataFrame({"model_a": ["top"] * n, "model_b": "eve", "y": 1.0})
    table = pd.concat([votes, extra], ignore_index=True)
    for cluster, expected in ((None, high), (np.append(np.arange(400), [400] * n), 6)):
        with pytest.warns(UserWarning, match="top"):
            model = BradleyTerry().fit(table, table["y"], cluster)
        assert model.leaderboard().rank_sets.to_frame().loc["top", "high"] == expected


@pytest.mark.parametrize(
    ("rows", "cluster", "words"),
    [
        ([("ada", "bob", 1), ("bob", "cyd", 1)], None, "rating"),
        ([("ada", "bob", 0.5), ("bob", "cyd", 0.5)], None, "rating"),
        ([("ada", "bob", 1), ("ada", "bob", 0)], [1, 1], "one cluster"),
        ([("ada", "bob", 1), ("ada", "ada", 0)], None, "row 1"),
        ([("ada", "bob", 1), ("ada", None, 0)], None, "name"),
        ([("ada", "bob", "ada"), ("ada", "bob", "zoe")], None, "row 1 is 'zoe'"),
        ([("ada", "bob", 1), ("ada", "bob", 2)], None, "row 1 is '2'"),
        ([("ada", "bob", 1), ("ada", "bob", None)], None, "row 1"),
    ],
)
def test_refused(rows, cluster, words):
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "y"])
    with pytest.raises(ValueError, match=words):
        BradleyTerry().fit(table, table["y"], cluster)


def judged(table, share, agree, rng):
    """Keep a share of human votes; add a judge that favors model 0."""
    verdict = np.where(rng.random(len(table)) < agree, table["y"], rng.integers(2, size=len(table)))
    favored = (table["model_a"] == 0) * 1.0 - (table["model_b"] == 0)
    biased = favored * (rng.random(len(table)) < 0.4)
    verdict = np.select([biased > 0, biased < 0], [1.0, 0.0], verdict)
    y = table["y"].where(rng.random(len(table)) < share)
    return table.assign(judge=verdict, y=y)


def test_with_a_judge_only_human_votes_decide_on_finite_ratings():
    rng = np.random.default_rng(3)
    table = judged(make_votes([0.5, 0, -0.5], 900, rng), 0.3, 0.9, rng)
    extra = pd.DataFrame({"model_a": 3, "model_b": [0, 1, 2], "y": np.nan, "judge": [1.0, 0, 0.5]})
    table = pd.concat([table, extra], ignore_index=True)
    with pytest.warns(UserWarning, match="rating: 3 "):
        model = BradleyTerry(judge="judge").fit(table, table["y"])
    assert model.wins_.to_numpy().sum() == table["y"].notna().sum()
    assert model.effective_sample_size_ > 1.2 * table["y"].notna().sum() and 0 < model.lambda_ <= 1
    names = np.array(["a", "b", "c", "d"])
    text = table.assign(model_a=names[table["model_a"]], model_b=names[table["model_b"]])
    text["judge"] = np.select([table["judge"] == 1, table["judge"] == 0],
                              [text["model_a"], text["model_b"]], "tie")  # fmt: skip
    y = table["y"].map({1: "model_a", 0: "model_b", 0.5: "tie"})
    with pytest.warns(UserWarning, match="rating: d "):
        other = BradleyTerry(judge="judge").fit(text, y)
    assert other.ratings_.to_numpy() == pytest.approx(model.ratings_.to_numpy(), nan_ok=True)


@pytest.mark.parametrize(
    ("change", "settings", "words"),
    [
        ({"judge": None}, {}, "'judge'.* row 0"),
        ({"judge": "zoe"}, {}, "'judge'.* row 0 .*'zoe'"),
        ({"y": np.nan}, {}, "judge="),
        ({"judge": 0.513}, {}, "0.5"),
        ({}, {"ties": "davidson"}, "davidson"),
        ({}, {"judge": "verdict"}, "'verdict'"),
    ],
)
def test_refused_with_a_judge(votes, change, settings, words):
    table = votes.rename(columns={"judge": "_"}).assign(judge=votes["y"]).assign(**change)
    with pytest.raises(ValueError, match=words):
        BradleyTerry(**{"judge": "judge"} | settings).fit(table, table["y"])


def test_ties_alone_and_rows_by_their_labels(votes):
    with pytest.raises(ValueError, match="ties"):
        BradleyTerry().fit(votes, np.full(len(votes), 0.5))
    table = votes.set_axis(np.arange(1, len(votes) + 1))
    with pytest.raises(ValueError, match="row 4"):
        BradleyTerry().fit(table, table["y"].where(table.index != 4))


def test_position_and_length_are_separated_from_the_models():
    """The longer answer and the first one win more often; ada writes longer ones."""
    rng = np.random.default_rng(1)
    table = make_votes([0, 0, 0], 4000, rng)
    length = rng.normal(0, 1, 4000) + (table["model_a"] == 0) - 1.0 * (table["model_b"] == 0)
    wins = rng.random(4000) < 1 / (1 + np.exp(-(0.4 + 0.7 * length)))
    model = BradleyTerry(covariates="length", position=True)
    model.fit(table.assign(length=length), wins * 1)
    error = (model.coef_["value"] - [0.4, 0.7]) / model.coef_["standard_error"]
    assert np.all(np.abs(error) < 3)
    assert model.leaderboard().rank_sets.better.any() == False  # noqa: E712
    naive = BradleyTerry().fit(table, wins * 1).leaderboard()
    assert list(naive.rank_sets.best()) == [0]


@pytest.mark.filterwarnings("ignore:No finite rating")
@pytest.mark.parametrize("judge", [None, "prediction"])
def test_ratings_of_all_votes_are_covered_by_small_samples(data_folder, judge):
    table = pd.read_csv(data_folder / "arena_votes_dev.csv.gz")
    whole, covered = BradleyTerry().fit(table, table["winner"]).ratings_, []
    for seed in range(10):
        part = table.sample(1000, random_state=seed)
        rows = part if judge is None else table
        y = part["winner"].reindex(rows.index)
        e = BradleyTerry(judge=judge).fit(rows, y).estimate().to_frame().dropna()
        truth = whole[e.index] - whole[e.index].mean()
        covered += [*((e["low"] <= truth) & (truth <= e["high"]))]
    assert len(covered) > 300 and np.mean(covered) >= 0.92


SETTINGS = {
    "few votes": {"rating": np.zeros(10), "n": 100},
    "very few votes": {"rating": np.zeros(3), "n": 24},
    "ties": {"rating": np.zeros(10), "n": 400, "ties": 0.2},
    "3 judges": {"rating": np.zeros(5), "n": 300, "judges": 3, "spread": 0.5},
    "10 uneven judges": {
        "rating": np.zeros(5), "n": 600, "judges": 10, "spread": 0.5,
        "sizes": np.arange(1, 11) / 55,
    },
    "20 judges": {"rating": np.zeros(12), "n": 600, "judges": 20, "spread": 0.5},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No finite rating")
@pytest.mark.parametrize("name", SETTINGS)
def test_family_error_of_ranks(name):
    rng, wrong, covered = np.random.default_rng(0), 0, []
    for _ in range(400):
        table = make_votes(rng=rng, **SETTINGS[name])
        try:
            cluster = table["judge"] if "judges" in SETTINGS[name] else None
            model = BradleyTerry().fit(table, table["y"], cluster)
        except ValueError:  # no model both won and lost
            continue
        wrong += model.leaderboard().rank_sets.better.any()
        e = model.estimate()
        covered.append(np.nanmean((e.low <= 0) & (e.high >= 0)))
    assert wrong <= binom.ppf(0.999, 400, 0.06)
    assert np.mean(covered) >= 0.93


JUDGED = {  # how often the judge agrees (beside coins, and its favor), and widths beside people's
    "good judge": ({"rating": [0.8, 0.4, 0, 0, -0.4, -0.8], "n": 3000}, 0.9, 0.8),
    "good judge, few votes": ({"rating": np.zeros(6), "n": 800}, 0.9, 0.85),
    "useless judge": ({"rating": np.zeros(6), "n": 800}, 0.0, 1.01),
    "20 people": (
        {"rating": np.zeros(5), "n": 1500, "judges": 20, "spread": 0.5}, 0.9, 1.0,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No finite rating")
@pytest.mark.parametrize("name", JUDGED)
def test_prediction_powered_intervals_cover_and_a_good_judge_narrows_them(name):
    """If models are equal, a judge that favors one does not make any of them better."""
    (settings, agree, narrow), rng = JUDGED[name], np.random.default_rng(0)
    rating, covered, widths, wrong = np.array(settings["rating"]), [], [], 0
    for _ in range(150):
        table = make_votes(rng=rng, **settings).rename(columns={"judge": "person"})
        table = judged(table, 0.2, agree, rng)
        cluster = "person" if "judges" in settings else None
        people = table.dropna()
        model = BradleyTerry(judge="judge").fit(table, table["y"], table.get(cluster))
        alone = BradleyTerry().fit(people, people["y"], people.get(cluster))
        e, plain = (x.estimate().to_frame().sort_index() for x in (model, alone))
        covered.append(((e["low"] <= rating) & (rating <= e["high"])).sum())
        widths.append(((e["high"] - e["low"]) / (plain["high"] - plain["low"])).mean())
        better = model.leaderboard().rank_sets.better
        places = model.models_.to_numpy()
        wrong += np.any(better & (rating[places][:, None] <= rating[places]))
    assert np.sum(covered) / (150 * len(rating)) >= 0.93
    assert wrong <= binom.ppf(0.999, 150, 0.06)
    assert np.mean(widths) <= narrow


RARELY_BIASED = {  # votes, people's, models, and in how many of its losses the judge favors one
    "3 models": (10_000, 100, 3, 0.05),
    "few votes": (3000, 60, 3, 0.2),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No finite rating")
@pytest.mark.parametrize("name", RARELY_BIASED)
def test_a_judge_with_a_rare_bias(name):
    """It otherwise agrees with humans, so there are few disagreements or none."""
    n_votes, n, n_models, bias = RARELY_BIASED[name]
    rng, covered, wrong, widths = np.random.default_rng(0), [], 0, []
    for _ in range(200):
        table = make_votes(np.zeros(n_models), n_votes, rng)
        favored = rng.random(n_votes) < bias
        table["judge"] = table["y"].mask(favored & (table["model_a"] == 0), 1)
        table["judge"] = table["judge"].mask(favored & (table["model_b"] == 0), 0)
        people = table[:n]
        model = BradleyTerry(judge="judge").fit(table, table["y"].where(table.index < n))
        e, alone = (
            x.estimate().to_frame().sort_index()
            for x in (model, BradleyTerry().fit(people, people["y"]))
        )
        covered.append((e["low"] <= 0) & (e["high"] >= 0))
        wrong += model.leaderboard().rank_sets.better.any()
        widths.append(((e["high"] - e["low"]) / (alone["high"] - alone["low"])).mean())
    assert np.mean(covered, axis=0).min() >= binom.ppf(0.01, 200, 0.95) / 200
    assert wrong <= binom.ppf(0.999, 200, 0.06)
    assert np.mean(widths) <= 0.7


@pytest.mark.slow
def test_votes_needed_decide_with_the_power_they_promise():
    """At the true difference, this number of votes decides in 0.8 of cases."""

    def fitted(n, wins):
        table = pd.DataFrame({"model_a": ["ada"] * n, "model_b": "bob"})
        return BradleyTerry().fit(table, np.repeat([1, 0], [wins, n - wins]))

    n = 50 + int(fitted(50, 30).votes_needed().iloc[0, 1])
    wins = np.random.default_rng(0).binomial(n, 0.6, 400)
    decided = [fitted(n, k).leaderboard().rank_sets.better.any() for k in wins]
    low, high = binom.ppf([0.001, 0.999], 400, 0.8) / 400
    assert low <= np.mean(decided) <= high
