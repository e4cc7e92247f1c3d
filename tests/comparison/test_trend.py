"""Trend over versions: formulas, other tests, orders, and simulated versions."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom
from scipy.stats import t as student_t

from skbench import compare_models, trend

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

OPEN = (-np.inf, np.inf)


def rows(scores, versions, **columns):
    """Item rows of a table of items and versions, without missing scores."""
    table = pd.DataFrame(scores, columns=pd.Index(versions, name="version"))
    table = table.assign(item=np.arange(len(table)), **columns)
    return table.melt(["item", *columns], var_name="version", value_name="score").dropna()


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 1)) + rng.normal(size=(40, 4)) + 0.2 * np.arange(4)


def test_the_slope_is_the_mean_of_the_items_own(scores):
    x = np.array([1.0, 2.0, 4.0, 8.0])
    found = trend(rows(scores, x), bounds=OPEN)
    own = np.polyfit(x, scores.T, 1)[0]
    error = own.std(ddof=1) / np.sqrt(40)
    half = student_t.ppf(0.975, 39) * error
    expected = [own.mean(), own.mean() - half, own.mean() + half, error, 39]
    columns = ["value", "low", "high", "standard_error", "df"]
    np.testing.assert_allclose(found.to_frame().loc["slope", columns].astype(float), expected)
    assert found.unit == "unit of version" and found.n_items == 40
    np.testing.assert_allclose(found.scores.value, scores.mean(axis=0))
    last = found.sentences()[1]
    assert last.startswith("From 1.0 to 8.0 ")


@pytest.mark.parametrize("kind", ["normal", "binary", "clusters", "gaps"])
def test_the_change_is_that_of_two_models(scores, kind):
    if kind == "binary":
        scores = (scores > 0) * 1.0
    if kind == "gaps":
        scores[::3, 1], scores[1::5, 0] = np.nan, np.nan
    items = rows(scores, range(4), passage=np.arange(40) // 4)
    options = {"cluster": "passage" if kind == "clusters" else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        change = trend(items, **options).to_frame().loc["change"]
        pairs = compare_models(items, model="version", adjust="none", **options).to_frame()
    (pair,) = pairs.loc[pairs.index.isin([(3, 0), (0, 3)])].itertuples()
    sign = 1 if pair.Index == (3, 0) else -1
    np.testing.assert_allclose(change["value"], sign * pair.difference)
    for name in ("standard_error", "p_value", "df"):
        np.testing.assert_allclose(change[name], getattr(pair, name))
    ends = sorted([sign * pair.low, sign * pair.high])
    np.testing.assert_allclose(change[["low", "high"]].astype(float), ends)


DAYS = ["2024-01-01", "2024-03-01", "2024-12-31", "2026-01-01"]
AWARE = pd.to_datetime(DAYS).tz_localize("Asia/Tokyo")
ORDERS = {
    "dates": pd.to_datetime(DAYS),
    "text": DAYS,
    "time zone": AWARE,
    "text with a zone": [day.isoformat() for day in AWARE],
    "days": [day.date() for day in pd.to_datetime(DAYS)],
    "years": (pd.to_datetime(DAYS) - pd.Timestamp(0)) / pd.Timedelta(days=365.25),
}


@pytest.mark.parametrize("name", ORDERS)
def test_dates_are_years_however_they_are_written(scores, name):
    items = rows(scores, range(4), topic="x")
    items["day"] = items["version"].map(dict(enumerate(ORDERS[name])))
    found, expected = trend(items, "day", model="version"), trend(items, list(range(4)))
    years = trend(items.assign(day=items["version"].map(dict(enumerate(ORDERS["years"])))), "day")
    np.testing.assert_allclose(found.estimate.value, years.estimate.value)
    np.testing.assert_allclose(found.scores.low, expected.scores.low)
    assert found.unit == ("unit of day" if name == "years" else "year")
    assert ("UTC" in " ".join(found.remarks)) == name.startswith("text")
    other = trend(pl.from_pandas(items.sample(frac=1, random_state=0)), "day", model="version")
    np.testing.assert_allclose(other.to_frame().iloc[:, :6], found.to_frame().iloc[:, :6])


NAMES = {
    "as listed": (list("dbca"), list("dbca"), "version"),
    "dates in names": ([f"ada-{day}" for day in DAYS], "version", "year"),
    "short dates": (["ada-20240101", "ada-20240301", "ada-20241231", "ada-20260101"], "version", "year"),
    "of a reader": ([f"ada | {day}" for day in DAYS], "version", "year"),
    "numbers in names": (["v2 ada", "v9 ada", "v10 ada", "v12 ada"], "version", "version number"),
    "text of numbers": (["2", "9", "10", "12"], "version", "unit of version"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_one_model_in_several_versions_is_recognised(scores, name):
    names, order, unit = NAMES[name]
    items = rows(scores, names)
    if name not in ("as listed", "text of numbers"):
        items = items.rename(columns={"version": "model"})
    elif name == "text of numbers":
        items["model"] = "ada"  # one model, whose versions are another column
    found = trend(items, order)
    assert list(found.scores.labels) == names and found.unit == unit
    np.testing.assert_allclose(found.scores.value, scores.mean(axis=0))


def test_versions_that_are_not_listed_are_left_out(scores):
    found = trend(rows(scores, list("abcd")), ["a", "d"])
    pair = compare_models(rows(scores, list("abcd")), "d", "a", model="version").to_frame()
    np.testing.assert_allclose(found.estimate.value, pair["difference"].iloc[0])
    assert "b, c" in found.remarks[0]


WRONG = {
    "text": (dict(zip(range(4), ["v1", "v10", "v9", "v8"], strict=True)), "order=.* 0, 1, 2, 3"),
    "months": (dict(enumerate(["May 2024", "Jun", "Nov", "Jan 2025"])), "2024-05-13"),
    "days": (dict(enumerate(["13/02/2024", "01/03/2024", "1/4", "2/5"])), "2024-05-13"),
    "seconds": ({i: 1714521600 + 3e6 * i for i in range(4)}, "2024-05-01"),
    "milliseconds": ({i: 1714521600000 + 3e9 * i for i in range(4)}, "2024-05-01"),
    "minor versions": ({0: "1.9", 1: "1.10", 2: "2.0", 3: "2.1"}, "order"),
    "no day": ({0: "2024-02-30", 1: "2024-03-01", 2: "2024-03-02", 3: "2024-03-03"}, "order"),
    "number of a day": ({0: 20240101, 1: 20240201, 2: 20240301, 3: 20240401}, "date"),
    "one value": (dict.fromkeys(range(4), 7), "place"),
    "two kinds": ({0: "2024-01-01T00:00Z", 1: "2024-01-02", 2: "2025-01-02", 3: "2026-01-02"}, "zone"),
    "infinite": ({0: 0, 1: 1, 2: 2, 3: np.inf}, "finite"),
    "blank": ({0: 0, 1: 1, 2: 2}, "'place'"),
    "bool": ({0: False, 1: True, 2: False, 3: True}, "order"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_unclear_order_raises(scores, name):
    places, words = WRONG[name]
    items = rows(scores, range(4))
    items["place"] = items["version"].map(places)
    with pytest.raises(ValueError, match=words):
        trend(items, "place", model="version")


def test_other_mistakes_are_refused(scores):
    items = rows(scores, range(4))
    with pytest.raises(ValueError, match="1"):
        trend(items, [0, 1, 1])
    with pytest.raises(ValueError, match="'x'"):
        trend(items, [0, "x"])
    with pytest.raises(ValueError, match="version"):
        trend(items, [2])
    for only in ("one", "1.10"):
        single = items[items["version"] == 1].assign(version=only)
        with pytest.raises(ValueError, match="version"):
            trend(single.rename(columns={"version": "model"}))
    with pytest.raises(ValueError, match="version"):
        two = pd.concat([items.assign(model="a"), items.assign(model="b")])
        trend(two)
    with pytest.raises(ValueError, match="'version'"):
        trend(items.rename(columns={"version": "model"}).replace({"model": {1: "one"}}))
    apart = items[(items["version"] == 3) != (items["item"] < 20)]
    with pytest.raises(ValueError, match="Version 3"):
        trend(apart)
    with pytest.raises(ValueError, match="cluster"):
        trend(pd.concat([items, items]))


def test_repeated_answers_count_once(scores):
    items = rows(scores, range(4))
    once, twice = trend(items, bounds=OPEN), pd.concat([items, items])
    found = trend(twice, cluster="item", bounds=OPEN)
    np.testing.assert_allclose(found.estimate.low, once.estimate.low)


def test_two_versions_at_one_place_and_names_do_not_count(scores):
    x = dict(zip("abcd", [0, 1, 1, 5], strict=True))
    found = []
    for names in ("abcd", "acbd"):
        items = rows(scores, list(names))
        items["place"] = items["version"].map(dict(zip(names, x.values(), strict=True)))
        found.append(trend(items, "place", model="version"))
    one, other = found
    np.testing.assert_array_equal(one.scores.low, other.scores.low)
    np.testing.assert_array_equal(one.estimate.low, other.estimate.low)
    own = np.polyfit(list(x.values()), scores.T, 1)[0]
    np.testing.assert_allclose(one.estimate.value[0], own.mean())
    # At an end, the versions there count equally.
    items = rows(scores, list("abcd"))
    items["place"] = items["version"].map({"a": 0, "b": 0, "c": 1, "d": 2})
    change = scores[:, 3].mean() - scores[:, :2].mean()
    both = trend(items, "place", model="version")
    np.testing.assert_allclose(both.estimate.value[1], change)
    assert "a and b" in both.sentences()[1] or "b and a" in both.sentences()[1]


def test_answers_that_are_all_alike_are_no_certainty():
    items = rows(np.ones((30, 3)), range(3))
    with pytest.warns(UserWarning, match="nan"):
        found = trend(items)
    table = found.to_frame()
    assert table["standard_error"].isna().all() and (table["verdict"] == "undecided").all()
    # One worst case more: a 31st item that falls from 1 to 0, half a point per version.
    half = student_t.ppf(0.975, 29) * np.sqrt(30 / (31**2 * 29)) * 0.5
    np.testing.assert_allclose(table.loc["slope", ["low", "high"]].astype(float), [-half, half])
    with pytest.warns(UserWarning, match="nan"):
        nothing = trend(rows(np.full((30, 3), 7.3), range(3))).to_frame()
    assert nothing[["low", "high"]].isna().all(axis=None)


def test_one_cluster_is_no_spread(scores):
    with pytest.warns(UserWarning, match="one cluster"):
        found = trend(rows(scores, range(4), passage="x"), cluster="passage")
    assert np.isnan(found.estimate.low).all() and (found.verdict == "unknown").all()


def test_topics_by_themselves(scores):
    topic = np.repeat(["law", "art", "gone", "up"], 10)
    scores[topic == "up"] += 2 * np.arange(4)
    gone = scores[topic == "gone"]
    gone[:, 1:] = np.nan  # one version only has this topic
    scores[topic == "gone"] = gone
    items = rows(scores, range(4), topic=topic)
    with pytest.warns(UserWarning, match="gone"):
        found = trend(items, by="topic", bounds=OPEN)
    assert found.topics.loc["gone", "slope":"adjusted_p"].isna().all()
    known = found.topics.drop(index="gone")
    for name, row in known.iterrows():
        own = trend(items[items["topic"] == name], bounds=OPEN).to_frame().loc["slope"]
        np.testing.assert_allclose(row[["slope", "p_value"]].astype(float), [own["value"], own["p_value"]])  # fmt: skip
    excludes = (known["low"] > 0) | (known["high"] < 0)
    assert ((known["adjusted_p"] <= 0.05) == excludes).all() and excludes["up"]
    assert "up +2" in found.sentences()[2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_slow_decline_is_found_and_none_is_invented():
    """Eight versions on 200 shared items: one point lost by each, or none."""
    from trend import make_versions

    shown = {}
    for loss in (0.01, 0.0):
        rng, found, covered = np.random.default_rng(0), [], []
        for _ in range(300):
            items, truth = make_versions(rng, loss)
            slope = trend(items).to_frame().loc["slope"]
            found.append(slope["verdict"] in ("rising", "falling"))
            covered.append(slope["low"] <= truth <= slope["high"])
        shown[loss] = np.mean(found)
        assert np.sum(covered) >= binom.ppf(0.001, 300, 0.95)
    covered = []
    for _ in range(150):
        items, truth = make_versions(rng, 0.01, 100, cluster_size=5)
        slope = (
            trend(items[rng.random(len(items)) < 0.7], cluster="cluster").to_frame().loc["slope"]
        )
        covered.append(slope["low"] <= truth <= slope["high"])
    assert np.sum(covered) >= binom.ppf(0.001, 150, 0.95)
    assert shown[0.01] >= 0.55 and shown[0.0] <= 0.06


@pytest.mark.slow
def test_scores_next_to_1_hold_for_all_versions_at_once():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        found = trend(rows((rng.random((30, 5)) < 0.98) * 1.0, range(5))).scores
        hits += np.all((found.low <= 0.98) & (found.high >= 0.98))
    assert hits >= binom.ppf(0.01, 200, 0.95)
