"""`skbench passk` and `skbench sequential` give the numbers of the functions."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from commands import crossed, run

from skbench import SequentialComparison, pass_at_k
from skbench.report.passk import passk
from skbench.report.sequential import sequential


@pytest.fixture
def runs(tmp_path):
    """Eight runs of 20 items by two models, as answers and as counts."""
    rng = np.random.default_rng(0)
    cells = crossed(lambda m, i: 0, model=["ada", "bob"], item=range(20)).drop(columns="score")
    counts = cells.assign(topic=lambda x: x["item"] % 2, n_runs=8)
    counts["n_correct"] = rng.binomial(8, np.tile(rng.beta(0.5, 0.5, 20), 2))
    rows = counts.loc[counts.index.repeat(8)].assign(epoch=np.tile(range(8), 40))
    rows["score"] = (rows["epoch"] < rows["n_correct"]) * 1
    counts.to_csv(tmp_path / "counts.csv", index=False)
    rows.drop(columns=["n_correct", "n_runs"]).to_csv(tmp_path / "runs.csv", index=False)
    return tmp_path, counts


def test_passk_is_the_function_on_answers_and_on_counts(runs):
    folder, counts = runs
    expected = pass_at_k(counts, 5, all_of_them=True)
    asked = "-k", 5, "--all", "--json", "--compare", "ada,bob"
    for name in ("counts.csv", "runs.csv"):
        result = run(passk, folder / name, *asked)
        document = json.loads(result.stdout)
        assert [row["low"] for row in document["groups"]] == pytest.approx(expected.low)
        pair = expected.compare("ada", "bob").estimate.value[0]
        assert document["pairs"][0]["value"] == pytest.approx(pair)
    assert run(passk, folder / "counts.csv", "--by", "topic", "--csv").stdout.count("\n") == 5
    counts.assign(half=counts["item"] // 10).to_csv(folder / "halves.csv", index=False)
    assert "\nada / 0 / 1 " in run(passk, folder / "halves.csv", "--by", "topic,half").stdout
    text = run(passk, folder / "counts.csv", "--flaky", "--markdown").stdout
    assert "\n| model | pass@3 | low | high |\n" in text and " of 8 runs (" in text
    # Rows of one item are runs, even without a column that numbers them.
    pd.read_csv(folder / "runs.csv").drop(columns="epoch").to_csv(folder / "bare.csv")
    bare = json.loads(run(passk, folder / "bare.csv", *asked).stdout)
    assert [row["low"] for row in bare["groups"]] == pytest.approx(expected.low)
    wrong = run(passk, folder / "counts.csv", "-k", 9)
    assert wrong.exit_code == 1 and "-k 8" in wrong.stderr
    assert run(passk, folder / "counts.csv", "--compare", "ada").exit_code == 2


@pytest.fixture
def race(tmp_path):
    """Rows as two models answer item after item, and the first 60 of them."""
    rng = np.random.default_rng(0)
    a, b = rng.random(300) < 0.8, rng.random(300) < 0.6
    rows = pd.DataFrame({"model": np.tile(["ada", "bob"], 300), "item": np.arange(600) // 2,
                         "score": np.ravel([a, b], order="F") * 1})  # fmt: skip
    rows.to_csv(tmp_path / "all.csv", index=False)
    rows.head(60).to_csv(tmp_path / "part.csv", index=False)
    return tmp_path, a, b


def test_sequential_continues_its_state(race):
    folder, a, b = race
    state = folder / "state.json"
    first = run(sequential, folder / "part.csv", "ada", "bob", "--state", state)
    assert (first.exit_code, "undecided" in first.stdout) == (4, True)
    both = SequentialComparison(names=("ada", "bob"))
    both.update(a[:30], b[:30])
    assert state.read_text() == both.to_json()
    rows = pd.read_csv(folder / "all.csv").sample(frac=1, random_state=0)
    rows.to_csv(folder / "all.csv", index=False)  # the order of items does not matter
    result = run(sequential, folder / "all.csv", "ada", "bob", "--state", state, "--json")
    expected = both.update(a[30:], b[30:])
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (document["verdict"], document["pairs"][0]["low"]) == ("ada", expected.low)
    again = run(sequential, folder / "all.csv", "ada", "bob", "--state", state, "--json")
    assert json.loads(again.stdout) == document
    other = run(sequential, folder / "all.csv", "ada", "bob", "--state", state, "--margin", 0.1)
    assert other.exit_code == 1 and "margin=None" in other.stderr


def test_files_that_contradict_the_state(race):
    folder = race[0]
    state, rows = folder / "state.json", pd.read_csv(folder / "all.csv")
    run(sequential, folder / "all.csv", "ada", "bob", "--state", state)
    before = state.read_text()
    for table, words in [
        (rows[20:], "10 of 300 .* 290 items"),
        (rows.assign(item="x" + rows["item"].astype(str)), "300 of 300 "),
        (rows.assign(topic="t"), "300 of 300 "),
        (rows.assign(score=rows["score"] ^ (rows["item"] == 7)), "1 of 300 .* item 7 "),
    ]:
        table.to_csv(folder / "other.csv", index=False)
        wrong = run(sequential, folder / "other.csv", "ada", "bob", "--state", state)
        assert wrong.exit_code == 1 and re.search(
            f"other.csv' .*state.json': {words}", wrong.stderr
        )
    for text in ("", before[:99], "[]", before.replace('"ada", "bob"', '"bob", "ada"')):
        state.write_text(text)
        wrong = run(sequential, folder / "all.csv", "ada", "bob", "--state", state)
        assert wrong.exit_code == 1 and "state.json' " in wrong.stderr
        assert state.read_text() == text


def test_ids_that_start_again_in_a_second_topic_are_known_by_their_topic(race):
    folder = race[0]
    rows = pd.read_csv(folder / "all.csv").head(80)
    rows["topic"], rows["item"] = rows["item"] % 2, rows["item"] // 2
    for table in (rows[rows["topic"] == 1], rows):
        table.to_csv(folder / "topics.csv", index=False)
        asked = "ada", "bob", "--state", folder / "state.json", "--json"
        result = run(sequential, folder / "topics.csv", *asked)
        assert json.loads(result.stdout)["n_items"] == len(table) // 2
    state = SequentialComparison.load(folder / "state.json")
    assert all((topic, item) in state for topic in range(2) for item in range(20))


def test_clusters_count_by_their_means_and_one_that_grows_is_refused(race):
    folder = race[0]
    rows = pd.read_csv(folder / "all.csv").assign(passage=lambda x: x["item"] // 15)
    rows[:300].to_csv(folder / "half.csv", index=False)
    rows.assign(passage=rows["passage"].clip(upper=9)).to_csv(folder / "grown.csv", index=False)
    rows.to_csv(folder / "whole.csv", index=False)
    asked = "ada", "bob", "--cluster", "passage", "--state", folder / "state.json", "--json"
    means = rows.groupby(["passage", "model"])["score"].mean().unstack()
    both = SequentialComparison()
    for name, part in (("half.csv", means[:10]), ("whole.csv", means[10:])):
        document = json.loads(run(sequential, folder / name, *asked).stdout)
        expected = both.update(part["ada"], part["bob"], items=part.index)
        assert document["n_items"] == expected.n_items
        assert document["pairs"][0]["low"] == pytest.approx(expected.low)
        wrong = run(sequential, folder / "grown.csv", *asked)
        words = "item 9 " if name == "half.csv" else "not among"
        assert wrong.exit_code == 1 and re.search(words, wrong.stderr)


def test_state_keeps_its_models(race):
    folder = race[0]
    rows = pd.read_csv(folder / "all.csv").assign(score=1)
    rows.to_csv(folder / "alike.csv", index=False)
    for name in ("bare1.csv", "bare2.csv"):  # a file name is not a model name
        rows[::2].drop(columns="model").to_csv(folder / name, index=False)
    goal = "--target", 0.5
    for first, second, code in [
        (["alike.csv", "ada", *goal], ["alike.csv", "bob", *goal], 1),
        (["alike.csv", "ada", "bob"], ["alike.csv", "bob", "ada"], 1),
        (["bare1.csv", *goal], ["bare2.csv", *goal], 0),
    ]:
        state = "--state", folder / f"{len(first)}{code}.json"
        for (name, *asked), exit_code in ((first, {0, 4}), (second, {code})):
            result = run(sequential, folder / name, *asked, *state)
            assert result.exit_code in exit_code
        assert ("with name" in result.stderr) == code


def test_sequential_of_one_model_and_errors(race):
    folder = race[0]
    result = run(sequential, folder / "all.csv", "ada", "--target", 0.5, "--markdown")
    assert result.exit_code == 0 and "| ada | above | 300 |" in result.stdout
    for arguments, code, words in [
        (["ada"], 2, "--target"),
        (["--target", 0.5], 1, "'ada', 'bob'"),
        (["ada", "bob", "--target", 0.5], 2, "--target"),
        (["ada", "bob", "--margin", 1], 1, "margin must be"),
    ]:
        wrong = run(sequential, folder / "all.csv", *arguments)
        assert wrong.exit_code == code and words in wrong.stderr
