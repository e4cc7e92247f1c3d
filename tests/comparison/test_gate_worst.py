"""A gate with a floor for the worst topic."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from skbench import ItemBank, MixedModel, extremes, gate, summarize_items

N_TOPICS, N_ITEMS = 6, 50


def rows_of(rng, old, new, n_items=N_ITEMS):
    """Scores of two models, from their accuracies on every topic."""
    item = np.arange(len(old) * n_items)
    frame = pd.DataFrame({"topic": [f"t{k}" for k in item // n_items], "item": item})
    return pd.concat(
        frame.assign(model=name, score=(rng.random(item.size) < np.repeat(p, n_items)) * 1.0)
        for name, p in (("old", old), ("new", new))
    )


@pytest.fixture(scope="module")
def rows():
    """The new model is as good except on one topic."""
    accuracy = np.array([0.9, 0.85, 0.8, 0.9, 0.8, 0.85])
    return rows_of(np.random.default_rng(0), accuracy, np.where(np.arange(6) == 4, 0.4, accuracy))


def test_verdict_is_that_of_the_worst_topic(rows):
    assert gate(rows, "old", "new", 0.5, by="topic").verdict == "pass"
    g = summarize_items(rows, ["model", "topic"])
    draws = MixedModel().fit(**g.fit_args).sample(4000, random_state=0)
    expected = extremes(draws, by="model").to_frame().loc[("new", "worst")]
    for floor, verdict in [(0.1, "pass"), (0.4, "undecided"), (0.7, "fail")]:
        result = gate(rows, "old", "new", 0.5, by="topic", worst=floor)
        found = result.worst_topic()
        for name in ("value", "low", "high"):
            assert found[name] == pytest.approx(expected[name], abs=0.01)  # of 4000 draws
        assert (found["floor"], found["verdict"], result.verdict) == (floor, verdict, verdict)
        assert max(found["topics"], key=lambda row: row["probability"])["topic"] == "t4"
        head, *others = result.sentences()
        assert head.startswith(verdict.upper())
        assert ("worst topic" in head) == (verdict != "pass")
        assert any(" t4 (" in text for text in others)
    assert json.loads(result.to_json())["worst"] == found


def test_names_and_columns_of_topics_change_nothing(rows):
    expected = gate(rows, "old", "new", 0.5, by="topic", worst=0.4).worst_topic()
    other = rows.assign(topic=9 - rows["topic"].str[1].astype(int), half="a").sample(
        frac=1, random_state=0
    )
    found = gate(other, "old", "new", 0.5, by=["half", "topic"], worst=0.4).worst_topic()
    assert [found[name] for name in ("low", "high")] == [expected["low"], expected["high"]]
    assert max(found["topics"], key=lambda row: row["probability"])["topic"] == "a / 5"


def test_no_floor_is_passed_above_the_mean_of_a_topic():
    """Draws shrink a topic of five items, three of them right, to others of 100."""
    topics = {"small": (5, 3)} | {f"t{k}": (100, 88 + k) for k in range(5)}
    rows = pd.concat(
        pd.DataFrame({"topic": name, "item": range(n), "score": (np.arange(n) < right) * 1.0})
        for name, (n, right) in topics.items()
    )
    rows = pd.concat([rows.assign(model="old"), rows.assign(model="new")])
    result = gate(rows, "old", "new", 0.3, worst=0.7, by="topic")
    assert result.verdict == result.worst_topic()["verdict"] == "undecided"
    assert any("small" in text and "0.6" in text for text in result.sentences())
    assert gate(rows, "old", "new", 0.3, worst=0.6, by="topic").verdict == "pass"


def test_difference_decides_too(rows):
    worse = rows.assign(score=rows["score"] * ((rows["model"] == "old") | (rows["item"] % 3 > 0)))
    result = gate(worse, "old", "new", 0.05, by="topic", worst=0.01)
    assert (result.worst_topic()["verdict"], result.verdict) == ("pass", "fail")


def test_blanks_that_count_as_wrong_lower_the_floor(rows):
    gaps = rows[(rows["model"] == "old") | (rows["topic"] != "t0") | (rows["item"] > 40)]
    found = gate(gaps, "old", "new", 0.9, by="topic", worst=0.5, missing="wrong").worst_topic()
    assert max(found["topics"], key=lambda row: row["probability"])["topic"] == "t0"


def test_worst_score_is_unknown_if_a_topic_has_no_answers(rows):
    """The gate cannot pass then, but another topic below the floor still fails it."""
    gaps = rows[(rows["model"] == "old") | ~rows["topic"].isin(["t0", "t4"])]
    for floor, verdict in [(0.3, "undecided"), (0.95, "fail")]:
        with pytest.warns() as caught:
            result = gate(gaps, "old", "new", 0.5, by="topic", worst=floor)
        assert (result.verdict, result.worst_topic()["verdict"]) == (verdict, verdict)
        assert "'t0', 't4'" in result.remarks[-1]
        assert "unknown to 0." in repr(result)
        reported = " ".join(str(warning.message) for warning in caught)
        assert "('new', 't0')" in reported and "00000" not in reported
        assert {warning.filename for warning in caught} == {__file__}
    one = gaps[(gaps["model"] == "old") | (gaps["topic"] == "t1")]
    with (
        pytest.warns(),
        pytest.raises(ValueError, match="'new' .* 't1'"),
    ):
        gate(one, "old", "new", 0.5, by="topic", worst=0.3)
    with pytest.raises(ValueError, match=r"\('new', 't\d'\)"):
        gate(rows, "old", "new", 0.5, by="topic", worst=0.3, cluster="topic")


def test_where_all_items_were_asked_the_worst_topic_is_known(rows):
    sizes = dict.fromkeys(rows["topic"].unique(), N_ITEMS)
    result = gate(rows, "old", "new", 0.9, by="topic", worst=0.5, population=sizes)
    found, new = result.worst_topic(), rows[rows["model"] == "new"]
    assert found["low"] == pytest.approx(new.groupby("topic")["score"].mean().min())
    assert found["high"] == pytest.approx(found["low"])


def test_with_a_bank_the_worst_topic_is_that_of_its_draws():
    rng = np.random.default_rng(0)
    ease = rng.normal(1, 1, N_TOPICS * N_ITEMS)
    p = 1 / (1 + np.exp(-ease - rng.normal(0, 0.5, (8, 1))))
    answers = rows_of(rng, p[0], p[1], 1).assign(topic=lambda x: x["item"] // N_ITEMS)
    past = pd.concat(
        rows_of(rng, one, one, 1).query("model == 'old'").assign(model=f"past {k}")
        for k, one in enumerate(p[2:])
    ).assign(topic=lambda x: x["item"] // N_ITEMS)
    asked = answers[answers["item"] % 5 == 0]
    bank = ItemBank().fit(past)
    result = gate(asked, "old", "new", 0.5, bank=bank, by="topic", worst=0.01)
    draws = bank.sample(asked, ["model", "topic"])
    expected = extremes(draws, by="model").to_frame().loc[("new", "worst")]
    found = result.worst_topic()
    assert (found["value"], found["low"]) == pytest.approx((expected["value"], expected["low"]))
    assert result.verdict == "pass"


@pytest.mark.parametrize(
    ("options", "reported"),
    [({}, "by="), ({"by": "topic", "worst": 70}, "worst=70"), ({"by": "one"}, "two")],
)
def test_floors_without_meaning_are_refused(rows, options, reported):
    with pytest.raises(ValueError, match=reported):
        gate(rows.assign(one="x"), "old", "new", 0.1, **{"worst": 0.5} | options)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_worst_topic_at_the_floor_rarely_decides():
    """Neither fails nor passes in more than 2.5% of sets; the floor is the true lowest accuracy.

    Topics are equal in every second set, in half of these all but an easy one.
    """
    decided = []
    for seed in range(70):
        rng = np.random.default_rng(seed)
        both = 1 + rng.normal(0, 0.5 * (seed % 2), N_TOPICS) + np.array([[0.0], [0.3]])
        both[:, 0] += 3 * (seed % 4 == 2)
        accuracy = 1 / (1 + np.exp(-both))
        rows = rows_of(rng, *accuracy, 30)
        result = gate(rows, "old", "new", 0.1, by="topic", worst=float(accuracy[1].min()))
        decided.append(result.worst_topic()["verdict"])
    most = binom.ppf(0.9995, len(decided), 0.025)
    assert decided.count("fail") <= most
    assert decided.count("pass") <= most
