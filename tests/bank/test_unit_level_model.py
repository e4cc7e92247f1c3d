"""`UnitLevelModel`: estimates, edges, warnings, sampling."""

import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import simulated
from scipy.stats import binom

from skbench import (
    ItemBank,
    MixedModel,
    UnitLevelModel,
    choose_items,
    items_needed,
    make_items,
)

COLUMNS = ["model", "topic", "item"]


def fitted(bank, asked, **options):
    return UnitLevelModel(bank, **options).fit(asked[COLUMNS], asked["score"])


def errors(bank, new, asked):
    truth = new.groupby("topic")["score"].mean()
    e = fitted(bank, asked).estimate(by="topic")
    return e, truth.loc[list(e.labels)].to_numpy()


def test_all_items_asked_is_the_mean(bank, new):
    model = fitted(bank, new)
    e = model.estimate()
    truth = new.groupby("topic")["score"].mean()
    np.testing.assert_allclose(e.value, truth, atol=1e-9)
    np.testing.assert_allclose(e.high - e.low, 0, atol=1e-9)
    assert model.estimate(by="model").value[0] == pytest.approx(new["score"].mean())


def test_the_whole_is_made_of_the_topics(bank, new):
    asked = new.groupby("topic").sample(8, random_state=0)
    model = fitted(bank, asked, sampled="not random")
    parts, whole = model.estimate(by=["topic", "model"]), model.estimate(by="model")
    assert whole.value[0] == pytest.approx(parts.value.mean(), abs=1e-9)  # topics of one size
    assert parts.labels.names == ["topic", "model"]
    p = model.predict(new[COLUMNS])
    left = ~new["item"].isin(asked["item"]).to_numpy()
    # Means of 2,000 draws: four standard errors.
    expected = (asked["score"].sum() + p[left].sum()) / len(new)
    assert abs(whole.value[0] - expected) < 4 * whole.standard_error[0] / np.sqrt(2000)


@pytest.mark.parametrize("answer", [0, 1])
@pytest.mark.parametrize("n", [1, 8])
def test_all_right_or_all_wrong(bank, new, answer, n):
    asked = new.groupby("topic").sample(n, random_state=0).assign(score=answer)
    e = fitted(bank, asked).estimate()
    assert np.all(np.isfinite(e.to_frame()[["value", "low", "high"]].to_numpy(dtype=float)))
    assert np.all((e.low >= 0) & (e.low < e.high) & (e.high <= 1))
    # Seen answers bound what is possible.
    bound = n * answer / 50, 1 - n * (1 - answer) / 50
    assert np.all(e.low >= bound[0] - 1e-9) and np.all(e.high <= bound[1] + 1e-9)
    # The model may be all right, or all wrong, throughout.
    for by in ("topic", "model"):
        e = fitted(bank, asked).estimate(by=by)
        np.testing.assert_allclose(e.high if answer else e.low, answer)


def test_one_item_and_topics_never_asked(bank, new):
    e = fitted(bank, new.head(1)).estimate()
    assert len(e) == 6 and np.all(e.high - e.low > 0.2) and np.all(np.isfinite(e.value))
    some = new[new["topic"].isin(["t0", "t1"])].groupby("topic").sample(20, random_state=0)
    e = fitted(bank, some).estimate(by="topic").to_frame()
    width = e["high"] - e["low"]
    assert width.loc[["t0", "t1"]].max() < width.loc[["t2", "t3", "t4", "t5"]].min()


def test_one_topic_and_no_topics(past, new):
    one = past[past["topic"] == "t0"]
    asked = new[new["topic"] == "t0"].sample(15, random_state=0)
    with_topic = fitted(ItemBank().fit(one), asked).estimate(by="model")
    bank = ItemBank().fit(one.drop(columns="topic"))
    plain = UnitLevelModel(bank).fit(asked[["model", "item"]], asked["score"]).estimate(by="model")
    assert with_topic.value[0] == pytest.approx(plain.value[0])


def test_ids_that_nearly_match_get_a_hint(bank, past, new):
    asked = new.groupby("topic").sample(8, random_state=0)
    moved = asked.assign(topic=np.where(asked["topic"] == "t0", "t1", asked["topic"]))
    with pytest.warns(UserWarning, match="8 of 48 rows"):
        fitted(bank, moved)
    text = asked.assign(item=asked["item"].astype(str))
    short = ItemBank().fit(past.assign(item=past["item"].astype(str)))
    zeros = text.assign(item=np.where(text["topic"] == "t0", "00" + text["item"], text["item"]))
    with pytest.warns(UserWarning, match="zeros"):
        fitted(short, zeros)


def test_items_that_the_bank_lacks(bank, new):
    asked = new.groupby("topic").sample(8, random_state=0)
    more = asked.head(4).assign(item=[1001, 1002, 1003, 1004], topic=["t0", "t0", "t9", "t9"])
    both = pd.concat([asked, more])
    with pytest.warns(UserWarning):
        model = fitted(bank, both)
    assert len(model.estimate()) == 6
    sizes = {f"t{t}": 50 for t in range(6)} | {"t0": 80, "t9": 30}
    e = model.estimate(by="topic", population=sizes).to_frame()
    assert e.loc["t9", "high"] - e.loc["t9", "low"] > 0.3
    listed = pd.concat([new, more])[["topic", "item"]]
    with pytest.warns(UserWarning, match="4 of 304 rows.* 1001"):
        e2 = model.estimate(by="topic", population=listed).to_frame()
    assert list(e2.index) == list(e.index)
    # Two items are all there is of t9, and both were seen.
    assert e2.loc["t9", "value"] == pytest.approx(more["score"].iloc[2:].mean())
    assert e2.loc["t9", "high"] == pytest.approx(e2.loc["t9", "low"])
    with pytest.raises(ValueError):
        model.estimate(population={"t0": 10})
    with pytest.raises(ValueError):
        model.estimate(population={"t77": 10})


def test_ids_of_other_types_are_named_or_made_one_type(past, new):
    asked = new.groupby("topic").sample(8, random_state=0)
    texts = past.assign(item=past["item"].astype(str))
    bank, whole = ItemBank().fit(texts), texts[["topic", "item"]].drop_duplicates()
    expected = fitted(bank, asked.assign(item=asked["item"].astype(str))).estimate().value
    mixed = asked.assign(item=[str(i) if i % 2 else i for i in asked["item"]])
    model = fitted(bank, mixed)
    for population in (None, whole, pytest.importorskip("polars").from_pandas(whole)):
        np.testing.assert_array_equal(model.estimate(population=population).value, expected)
    with pytest.raises(ValueError, match="population"):
        model.estimate(population=whole.assign(item=whole["item"].astype(int)))
    with pytest.warns(UserWarning, match="300 of 300 rows"):
        model.estimate(population=whole.assign(item="x" + whole["item"]))
    half = whole.assign(item=np.where(whole["topic"] == "t0", "0" + whole["item"], whole["item"]))
    with pytest.warns(UserWarning, match="50 of 300 rows"):
        model.sample(n_draws=9, population=half)
    with pytest.raises(ValueError, match="population"):
        model.estimate(population=whole.head(0))
    with pytest.raises(ValueError, match="inclusion_probability .*'often'"):
        UnitLevelModel(bank).fit(mixed.assign(inclusion_probability="often"), mixed["score"])


def test_the_target_among_the_past(bank, past, new):
    known = past[past["model"] == "m03"].head(60)
    with pytest.raises(ValueError, match="without"):
        fitted(bank, known)
    with pytest.warns(UserWarning, match="m03"):
        fitted(bank, known.assign(model="m03 again"))


def test_percents_and_a_bank_of_shares_get_a_warning(bank, new):
    with pytest.warns(UserWarning, match="'m12' reach 100"):
        fitted(bank, new.assign(score=100 * new["score"]))


def test_a_sample_that_is_not_random_gets_a_warning(bank, past, new):
    easy = bank.items_.assign(d=bank.easiness_).sort_values("d").groupby("topic").tail(12)
    asked = new[new["item"].isin(easy["item"])]
    with pytest.warns(UserWarning, match="easier"):
        model = fitted(bank, asked)
    assert model.random_sample_ == {"m12": False}
    truth = new["score"].mean()
    e = model.estimate(by="model")
    assert e.low[0] < truth < e.high[0]
    assert abs(e.value[0] - truth) < 0.5 * abs(asked["score"].mean() - truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(bank, asked, sampled="not random")
        fitted(bank, new.groupby("topic").sample(12, random_state=3))


def test_equal_items_count_as_a_random_sample(past, new):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bank = ItemBank().fit(past[past["model"] == "m00"].assign(score=1))
    asked = new.groupby("topic").sample(4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted(bank, asked).random_sample_ == {"m12": True}


@pytest.mark.parametrize("kind", ["one", "identical", "coin", "contaminated"])
def test_poor_pasts_stay_close_to_direct(past, new, kind):
    rng = np.random.default_rng(0)
    some = past[past["model"] == "m00"]
    if kind == "identical":
        some = pd.concat([some, some.assign(model="copy"), some.assign(model="copy 2")])
    if kind == "coin":
        some = some.assign(score=rng.integers(0, 2, len(some)))
    if kind == "contaminated":
        some = pd.concat([past, some.assign(model="leaked", score=1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bank = ItemBank().fit(some)
    ours, direct, covered = [], [], []
    for seed in range(6):
        asked = new.groupby("topic").sample(10, random_state=seed)
        e, truth = errors(bank, new, asked)
        ours.append((e.value - truth) ** 2)
        direct.append((asked.groupby("topic")["score"].mean().loc[list(e.labels)] - truth) ** 2)
        covered.append((e.low <= truth) & (truth <= e.high))
    assert np.mean(ours) < 0.9 * np.mean(direct)
    assert np.sum(covered) >= binom.ppf(0.001, 36, 0.95)  # 6 samples of 6 topics


def test_several_models_and_their_summary(bank, rows):
    two = rows[rows["model"] > "m10"]
    asked = two[two["item"] % 5 == 0]
    model = fitted(bank, asked)
    e = model.estimate(by="model")
    alone = fitted(bank, asked[asked["model"] == "m12"]).estimate(by="model")
    assert list(e.labels) == ["m11", "m12"]
    assert abs(e.value[1] - alone.value[0]) < 0.05
    by_topic = model.estimate(by="topic")
    both = model.estimate()
    np.testing.assert_allclose(by_topic.value, both.value.reshape(2, -1).mean(axis=0))
    g = model.summary_
    assert len(g) == 12 and list(g.groups[:2]) == ["t0", "t1"]
    estimate = MixedModel().fit(**g.fit_args).estimate()
    assert np.all(np.isfinite(estimate.value)) and np.all(estimate.high > estimate.low)


def test_scores_that_are_not_right_or_wrong(rows):
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, len(rows))
    easy = rows.groupby("item")["score"].transform("mean")
    real = rows.assign(score=10 * (easy + noise + 0.02 * (rows["model"] == "m12")))
    past, new = real[real["model"] < "m11"], real[real["model"] == "m12"]
    asked = new.groupby("topic").sample(8, random_state=0)
    e, truth = errors(ItemBank().fit(past), new, asked)
    direct = asked.groupby("topic")["score"].mean().to_numpy()
    assert np.mean((e.value - truth) ** 2) < 0.5 * np.mean((direct - truth) ** 2)
    assert np.mean((e.low <= truth) & (truth <= e.high)) >= 5 / 6
    # Units do not matter.
    double = [f.assign(score=3 - 2 * f["score"]) for f in (past, asked)]
    other = fitted(ItemBank().fit(double[0]), double[1]).estimate(by="topic")
    error = other.standard_error / np.sqrt(2000)  # of means of draws
    assert np.all(np.abs(other.value - (3 - 2 * e.value)) < 6 * error)
    # Right and wrong answers of the past, real scores of the target.
    mixed = fitted(ItemBank().fit(rows[rows["model"] < "m11"]), asked).estimate(by="topic")
    assert np.mean((mixed.value - truth) ** 2) < 0.5 * np.mean((direct - truth) ** 2)
    assert np.mean((mixed.low <= truth) & (truth <= mixed.high)) >= 5 / 6


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ({"model": ["a"], "item": [3]}, [np.nan], "y .* row 0 .*nan"),
        ({"model": ["a"], "topic": ["t0"], "item": ["3"]}, [1.0], "'a'.*'3'"),
        ({"model": ["a"]}, [1.0], "'item'"),
        ({"model": [None], "item": [3]}, [1.0], "model"),
        ({"model": ["a"], "item": [-3]}, [1.0], "item -3"),
        ({"model": [], "item": []}, [], "X"),
    ],
)
def test_bad_rows_are_refused(bank, X, y, message):
    with pytest.raises(ValueError, match=message):
        UnitLevelModel(bank).fit(pd.DataFrame(X), y)


def test_bad_options_are_refused(bank, new):
    with pytest.raises(ValueError):
        fitted(bank, new.head(5)).estimate(by="item")
    with pytest.raises(ValueError):
        fitted(bank, new.head(5)).predict(new.head(2).assign(model="x"))


def test_chosen_items_are_spread_and_known(bank, new):
    chosen = choose_items(bank, 48, chances="equal", random_state=0)
    assert len(chosen) == 48 and (chosen.groupby("topic").size() == 8).all()
    np.testing.assert_allclose(chosen["inclusion_probability"], 0.16)
    assert chosen.equals(choose_items(bank, 48, chances="equal", random_state=0))
    asked = new.merge(chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = UnitLevelModel(bank).fit(asked.drop(columns="score"), asked["score"])
    assert abs(model.estimate(by="model").value[0] - new["score"].mean()) < 0.15
    with pytest.raises(ValueError):
        choose_items(bank, 301)


def test_informative_items_have_their_stated_probabilities(bank, new):
    """Chances of items hold, and so do sums."""
    drawn = [choose_items(bank, 60, random_state=s) for s in range(100)]
    taken = pd.concat(drawn).merge(bank.items_.assign(easiness=bank.easiness_))
    hard = np.abs(taken["easiness"] - bank.easiness_.mean()) > 2
    # Shares of groups of items, by 1 / chance: binomial bands, 60 x 100 draws at least as even.
    share = np.sum(hard / taken["inclusion_probability"]) / (100 * 300)
    truth = np.mean(np.abs(bank.easiness_ - bank.easiness_.mean()) > 2)
    assert abs(share - truth) < 4 * np.sqrt(truth / (100 * 60))
    assert drawn[0]["inclusion_probability"].min() >= 0.25 * 0.2 * 0.999
    counts = taken.groupby("item").size() / 100
    chance = taken.groupby("item")["inclusion_probability"].first()
    z = (counts - chance) / np.sqrt(chance * (1 - chance) / 100)
    assert np.abs(z).max() < 4.5  # of 300 items
    p = taken["easiness"].abs().groupby(taken["inclusion_probability"] > 0.2).mean()
    assert p[True] < p[False]


@pytest.mark.parametrize("chances", ["equal", "informative"])
def test_few_items_of_three_kinds_are_taken_with_their_chances(chances):
    """Of ten balanced samples the best one had 3.98 of the 20 items of the middle, not 3.26."""
    score = [1] * 30 + [0] * 10 + [1] * 10 + [0] * 30
    past = pd.DataFrame({"model": np.repeat(["ada", "bob"], 40), "item": [*range(40)] * 2})
    bank = ItemBank().fit(past.assign(score=score))
    weights = [
        np.sum(1 / drawn.loc[drawn["item"].between(10, 29), "inclusion_probability"])
        for drawn in (choose_items(bank, 6, chances=chances, random_state=s) for s in range(300))
    ]
    assert abs(np.mean(weights) - 20) < 4 * np.std(weights) / np.sqrt(300)


@pytest.mark.slow
@pytest.mark.parametrize("n_past", [2, 10])
def test_intervals_cover_on_simulated_truth(n_past):
    """One new model per simulated world, so whole benchmarks are independent."""
    whole, topics, gain = [], [], []
    for seed in range(250):
        rows = simulated(n_past + 1, seed=seed)
        new = rows[rows["model"] == f"m{n_past:02d}"]
        bank = ItemBank().fit(rows[rows["model"] != f"m{n_past:02d}"])
        asked = new.groupby("topic").sample(10, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fitted(bank, asked)
        e = model.estimate(by="model")
        truth = new["score"].mean()
        whole.append(e.low[0] <= truth <= e.high[0])
        parts, at = model.estimate(by="topic"), new.groupby("topic")["score"].mean().to_numpy()
        topics.append(np.mean((parts.low <= at) & (at <= parts.high)))
        direct = asked.groupby("topic")["score"].mean().to_numpy()
        gain.append([np.mean((parts.value - at) ** 2), np.mean((direct - at) ** 2)])
    assert binom.ppf(0.001, 250, 0.95) <= np.sum(whole)
    # Topics of a world are alike: the error of their mean is that of 250 worlds.
    error = np.std(topics) / np.sqrt(250)
    assert np.mean(topics) >= 0.95 - 3 * error
    assert np.mean(topics) <= 0.98  # at 98% intervals would be a fifth too wide
    ours, direct = np.mean(gain, axis=0)
    assert ours < 0.6 * direct


@pytest.fixture(scope="module")
def real_scores():
    """Seven models with scores in [0, 1] on 160 items, the last one new."""
    items = make_items(n_models=7, n_topics=4, n_items=40, random_state=0).items
    items["item"] = items.groupby(["model"]).cumcount()
    items["score"] = 0.7 * items["score"] + np.random.default_rng(0).uniform(0, 0.3, len(items))
    new = items["model"] == "model-6"
    return items[~new], items[new]


def test_equal_answers_leave_others_uncertain(real_scores):
    past, new = real_scores
    asked = new.groupby("topic").head(10)
    model = UnitLevelModel(ItemBank().fit(past), sampled="random").fit(asked, np.ones(40))
    for by in ("model", "topic"):
        e = model.estimate(by=by)
        assert np.all(e.high - e.low > 0.01)
        assert np.all((e.low < e.value) & (e.value < e.high) & (e.high <= 1))


def test_bounds_that_are_known_hold(real_scores):
    past, new = real_scores
    percent = ItemBank().fit(past.assign(score=100 * past["score"]))
    asked, y = new.groupby("topic").head(10), np.where(np.arange(40) == 0, 0.0, 100.0)
    e = UnitLevelModel(percent, bounds=(0, 100)).fit(asked, y).estimate(by=["model", "topic"])
    assert e.high.max() <= 100 and e.low.min() >= 0
    with pytest.raises(ValueError):
        UnitLevelModel(percent, bounds=(0, 50)).fit(asked, y)


def test_all_items_asked_is_their_mean(real_scores):
    past, new = real_scores
    y = np.linspace(0, 1, len(new)) ** 3
    e = UnitLevelModel(ItemBank().fit(past)).fit(new, y).estimate(by="model")
    np.testing.assert_allclose([e.value[0], e.low[0], e.high[0]], y.mean(), rtol=1e-9)


@pytest.mark.parametrize(
    ("size", "message"),
    [(3, "3 .*'new'.* 6"), (7.5, "7.5")],
)
def test_population_is_no_smaller_than_what_was_asked(real_scores, size, message):
    past, new = real_scores
    more = pd.DataFrame({"model": "model-6", "topic": "new", "item": np.arange(1000, 1006)})
    asked = pd.concat([new.groupby("topic").head(10), more])
    bank = ItemBank().fit(past)
    with pytest.warns(UserWarning):
        model = UnitLevelModel(bank).fit(asked, np.resize([0.2, 0.9, 0.5], len(asked)))
    with pytest.raises(ValueError, match=message):
        model.estimate(by="topic", population=dict.fromkeys(bank.topics_, 40.0) | {"new": size})


def test_items_needed_beyond_those_tried():
    """Half widths go about as the root of 1 / n - 1 / N, to 0 only at the end."""
    items = make_items(n_models=7, n_topics=4, n_items=40, random_state=0).items
    bank = ItemBank().fit(items.assign(item=items.groupby("model").cumcount()))
    widths = (0.05, 0.02, 0.01, 0.001)
    found = [items_needed(bank, width, n_models=1, random_state=0) for width in widths]
    sizes = [needed.n_items for needed in found]
    assert sizes == sorted(sizes) and sizes[-1] == 160
    by_topic = items_needed(bank, 0.05, by="topic", n_models=1, random_state=0)
    assert by_topic.n_items > sizes[0]
    with pytest.raises(ValueError, match="20"):
        items_needed(ItemBank().fit(items.groupby("model").head(12)), 0.1)
    n, width = found[2].half_widths.index[-1], found[2].half_widths["model"].min()
    assert width > 0.01
    expected = 1 / ((0.01 / width) ** 2 * (1 / n - 1 / 160) + 1 / 160)
    assert sizes[2] == np.ceil(expected)
