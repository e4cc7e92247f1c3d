"""`skbench judge --previous` and `--repeats`."""

import io
import json
from functools import partial

import commands
import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from skbench import judge_agreement
from skbench.report.judge import judge

run = partial(commands.run, judge)
parsed = partial(commands.parsed, judge)


def made(n=80):
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.6
    rows = pd.DataFrame({"item": [f"q{i}" for i in range(n)], "human": truth * 1.0})
    for name, error in (("old", 0.25), ("new", 0.1), ("more", 0.1), ("most", 0.1)):
        rows[name] = np.where(rng.random(n) < error, ~truth, truth) * 1.0
    rows.loc[40:, "human"] = rows.loc[:3, "old"] = rows.loc[60:, "most"] = np.nan
    return rows


def test_json_is_the_function(written):
    rows = made()
    arguments = [written(rows, "judged.csv"), "--judge", "new", "--previous", "old"]
    arguments += ["--repeats", "more,most", "--human", "human"]
    document = parsed(*arguments)
    card = judge_agreement(
        rows, judges="new", previous="old", repeats=["more", "most"], random_state=0
    )
    assert document["changes"] == [
        {"judge": "new", "previous": "old"}
        | {k: None if np.isnan(v) else v for k, v in card.changes.items()}
    ]
    frame = pd.DataFrame(document["noise"]).set_index("verdicts")
    pd.testing.assert_frame_equal(frame, card.noise)
    text = " ".join(run(*arguments).stdout.split())
    for sentence in card.sentences():
        assert sentence in text


def test_verdicts_in_rows_below_each_other(written):
    rows = made()
    names = ["new", "more", "most"]
    parts = [rows[["item", "human"]].assign(run=i, verdict=rows[n]) for i, n in enumerate(names)]
    long = pd.concat(parts).sample(frac=1, random_state=0)
    path = written(long, "long.csv")
    options = ("--judge", "verdict", "--repeats", "run", "--human", "human")
    card = judge_agreement(rows, judges="new", repeats=["more", "most"], random_state=0)
    found = parsed(path, *options)
    assert_allclose(pd.DataFrame(found["noise"]).set_index("verdicts"), card.noise)
    assert found["n_labels"] == 40
    csv = run(path, "--judge", "verdict", "--repeats", "run", "--csv").stdout
    assert_allclose(pd.read_csv(io.StringIO(csv), index_col=0), card.noise)
    # A column that numbers the verdicts may have any name.
    other = long.rename(columns={"run": "asked"})
    found = parsed(written(other, "other.csv"), "--judge", "verdict", "--repeats", "asked")
    assert_allclose(pd.DataFrame(found["noise"]).set_index("verdicts"), card.noise)
    bare = written(other.drop(columns="item"), "bare.csv")
    bare = run(bare, "--judge", "verdict", "--repeats", "asked")
    assert bare.exit_code == 1 and "'asked'" in bare.stderr and "--repeats" in bare.stderr
    again = written(rows.assign(item=np.arange(80) // 2), "again.csv")  # no number, though twice
    found = parsed(again, "--judge", "new", "--repeats", "more")["noise"]
    free = judge_agreement(rows.assign(item=np.arange(80) // 2), None, "new", repeats="more",
                           cluster="item").noise  # fmt: skip
    assert found[0]["share"] == free["share"][1]
    twice = run(written(pd.concat([long, long[:1]]), "twice.csv"), *options)
    assert twice.exit_code == 1 and "--repeats run" in twice.stderr
    unnamed = run(written(long.drop(columns="item"), "unnamed.csv"), *options)
    assert unnamed.exit_code == 1 and "'item'" in unnamed.stderr
    other = run(written(long.assign(human=np.arange(240) % 2), "other.csv"), *options)
    assert other.exit_code == 1 and "--repeats" in other.stderr


def test_words_count_by_an_event(written):
    rows = made()[["new", "old", "more"]].replace({1.0: "good", 0.0: "bad"})
    arguments = [written(rows, "words.csv"), "--judge", "new", "--previous", "old"]
    found = parsed(*arguments, "--event", "Good")["changes"][0]
    free = judge_agreement(rows, None, "new", previous="old", event="good").changes
    assert found["bias_change"] == free["bias_change"]
    assert parsed(*arguments)["changes"][0]["bias_change"] is None
    wrong = run(*arguments, "--repeats", "more")
    assert wrong.exit_code == 1 and "--event" in wrong.stderr
    yes = rows.replace({"good": "Yes", "bad": "no"})
    found = parsed(written(yes, "yes.csv"), *arguments[1:])["changes"][0]
    assert found["bias_change"] == free["bias_change"]
    # An abstention of one version excludes the answer; of both versions, it is a verdict.
    yes.loc[70:, "old"] = "unsure"
    found = parsed(written(yes, "one.csv"), *arguments[1:])["changes"][0]
    assert found["n"] == 66 and found["flips"] < 0.4
    yes.loc[75:, "new"] = "unsure"
    found = parsed(written(yes, "both.csv"), *arguments[1:])["changes"][0]
    assert found["n"] == 76 and found["flips"] == np.mean((yes["new"] != yes["old"])[4:])


def test_usage(written):
    path = written(made(), "judged.csv")
    for options, words in (
        (["--judge", "new"], "--human"),
        (["--judge", "new,more", "--previous", "old"], "new, more"),
        (["--judge", "new", "--previous", "old", "--bounds", "0", "1"], "--previous"),
        (["--judge", "new", "--human", "human", "--card", "--by", "item"], "--by"),
        (["--judge", "new", "--repeats", "more", "--by", "item"], "--repeats"),
        (["--judge", "new", "--previous", "old", "--labels", "x", "--id", "item"], "--human"),
    ):
        result = run(path, *options)
        assert result.exit_code == 2 and words in result.stderr, result.stderr
    document = json.loads(run(path, "--judge", "new", "--previous", "old", "--json").stdout)
    assert document["n_labels"] == 0 and document["changes"][0]["error_change"] is None
