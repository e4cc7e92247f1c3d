"""`skbench arena`: votes in the layouts that people have, and what is refused."""

import json
import shlex
from functools import partial

import commands
import numpy as np
import pandas as pd
import pytest

from skbench import BradleyTerry
from skbench.report.arena import arena


@pytest.fixture
def votes():
    """Votes on three models, ada far better than the others, some of them ties."""
    rng = np.random.default_rng(0)
    names = np.array(["ada", "bob", "cyd"])
    first = rng.integers(3, size=300)
    second = (first + rng.integers(1, 3, size=300)) % 3
    d = 1.5 * ((first == 0) * 1.0 - (second == 0))
    y = (rng.random(300) < 1 / (1 + np.exp(-d))) * 1.0
    y[rng.random(300) < 0.1] = 0.5
    return pd.DataFrame({"model_a": names[first], "model_b": names[second], "y": y})


run = partial(commands.run, arena)
parsed = partial(commands.parsed, arena)


def document_of(table, path, *options):
    if path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False)
    result = run(path, *options, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def layouts(votes):
    y, sides = votes["y"], ["model_a", "model_b"]
    pair = votes[sides]
    names = np.select([y == 1, y == 0], [pair["model_a"], pair["model_b"]], "tie")
    words = {1: "model_a", 0: "model_b", 0.5: "tie (bothbad)"}
    return {
        "names": pair.assign(winner=names),
        "sides": pair.assign(winner=y.map(words), turn=1, judge="h1"),
        "letters": pair.set_axis(["Left", "Right"], axis=1).assign(
            preference=y.map({1: "A", 0: "B", 0.5: "draw"})
        ),
        "numbers": pair.set_axis(["model_1", "model_2"], axis=1).assign(Winner=y),
        "one column for each": pair.assign(
            winner_model_a=(y == 1) * 1, winner_model_b=(y == 0) * 1, winner_tie=(y == 0.5) * 1
        ),
        "winners and losers": pd.DataFrame(
            {"winner": np.where(y == 0, pair["model_b"], pair["model_a"]),
             "loser": np.where(y == 0, pair["model_a"], pair["model_b"])}
        ),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["names", "sides", "letters", "numbers", "one column for each"])
def test_layouts_give_the_same_numbers(votes, tmp_path, kind):
    document, _ = document_of(layouts(votes)[kind], tmp_path / "v.csv")
    frame = BradleyTerry().fit(votes, votes["y"]).leaderboard("elo").to_frame()
    rows = pd.DataFrame(document["models"]).set_index("model")
    shared = ["rank", "rank_low", "rank_high", "n"]
    assert rows[shared].to_numpy().tolist() == frame[shared].to_numpy().tolist()
    assert rows["value"].to_numpy() == pytest.approx(frame["estimate"].to_numpy())
    assert document["may_be_best"] == ["ada"] and document["votes_needed"] == 0
    assert document["n_votes"] == 300


def test_winners_and_losers_and_models_that_are_numbers(votes, tmp_path):
    decided = votes[votes["y"] != 0.5].reset_index(drop=True)
    table = layouts(decided)["winners and losers"].replace({"ada": 1, "bob": 2, "cyd": 3})
    document, _ = document_of(table, tmp_path / "v.csv")
    frame = BradleyTerry().fit(decided, decided["y"]).leaderboard("elo").to_frame()
    values = [row["value"] for row in document["models"]]
    assert values == pytest.approx(frame["estimate"].to_numpy())
    table = votes.replace({"ada": 1, "bob": 2, "cyd": 3})
    table["winner"] = np.select([votes["y"] == 1, votes["y"] == 0],
                                [table["model_a"], table["model_b"]], "tie")  # fmt: skip
    document, _ = document_of(table, tmp_path / "v.csv")
    assert document["may_be_best"] == ["1"] and document["n_votes"] == 300


def test_json_lines_and_other_names(votes, tmp_path):
    table = votes.set_axis(["x.one", "x.two", "who"], axis=1)
    options = ["--model-a", "x.one", "--model-b", "x.two", "--winner", "who", "--scale", "logit"]
    document, _ = document_of(table, tmp_path / "v.jsonl", *options)
    assert sum(row["value"] for row in document["models"]) == pytest.approx(0)


def test_a_sentence_comes_first_and_the_judge_is_named_and_not_used(votes, tmp_path, written):
    table = votes.rename(columns={"y": "winner"}).assign(prediction=1, judge="expert")
    path = written(table)
    result = run(path)
    assert "'judge'" not in result.stderr  # who voted, and no verdict
    assert result.stdout.startswith("ada is the best of 3 models")
    assert "'prediction'" in result.stderr and "not used" in result.stderr
    plain, _ = document_of(table.drop(columns="prediction"), tmp_path / "p.csv")
    assert parsed(path)["models"] == plain["models"]


def test_undecided_pairs_say_how_many_votes_decide(votes, written):
    result = run(written(votes.iloc[:24].rename(columns={"y": "winner"}), "v.csv"))
    assert "may be the best of 3 models" in result.stdout.splitlines()[0]
    assert "more votes between ada and" in " ".join(result.stdout.split())


def test_what_cannot_be_told_is_refused_with_commands_that_run(votes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "some votes.csv"
    names = np.where(votes["y"] >= 0.5, votes["model_a"], votes["model_b"])
    table = votes.assign(best=names, note="hm").drop(columns="y")
    for columns in (["one", "two", "winner", "note"], ["model_a", "model_b", "best", "note"]):
        table.set_axis(columns, axis=1).to_csv(path, index=False)
        result = run(path)
        assert result.exit_code == 1
        commands = result.stderr.strip().splitlines()[1:]
        assert commands and not any("note" in command for command in commands)
        done = [run(*shlex.split(line)[2:]) for line in commands]
        assert any(one.exit_code == 0 and "best of 3 models" in one.stdout for one in done)
        assert all(one.exit_code in (0, 1) and one.output for one in done)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--winner", "winer"], "Did you mean 'winner'"),
        (["--cluster", "prompt"], "prompt"),
        (["--covariates", "length"], "length"),
        (["--winner", "model_b_score"], "row 0"),
    ],
)
def test_wrong_columns(votes, written, options, words):
    path = written(votes.rename(columns={"y": "winner"}).assign(model_b_score=7), "v.csv")
    result = run(path, *options)
    assert result.exit_code == 1
    assert words in result.stderr and "Traceback" not in result.output


def test_blank_winners_and_models_against_themselves_are_left_out(votes, tmp_path):
    extra = pd.DataFrame({"model_a": ["ada", "bob"], "model_b": ["ada", "cyd"], "y": [1, np.nan]})
    table = pd.concat([votes, extra]).rename(columns={"y": "winner"})
    document, notes = document_of(table, tmp_path / "v.csv")
    assert document["n_votes"] == 300
    assert "2 votes without a winner, or with one model twice" in notes


def test_clusters_covariates_and_a_picture(votes, tmp_path):
    path = tmp_path / "v.csv"
    table = votes.assign(prompt=np.arange(300) // 3, length=np.arange(300) % 7 - 3.0)
    table.rename(columns={"y": "winner"}).to_csv(path, index=False)
    settings = {"covariates": ["length"], "position": True, "ties": "davidson"}
    model = BradleyTerry(**settings).fit(votes.assign(length=table["length"]), votes["y"],
                                         cluster=table["prompt"])  # fmt: skip
    options = ["--cluster", "prompt", "--covariates", "length", "--position", "--ties", "davidson"]
    result = run(path, *options, "--plot", str(tmp_path / "a.png"), "--json")
    document = json.loads(result.stdout)
    assert (tmp_path / "a.png").stat().st_size > 0
    assert [row["covariate"] for row in document["covariates"]] == ["position", "length"]
    values = [row["value"] for row in document["covariates"]]
    assert values == pytest.approx(model.coef_["value"].tolist())
    assert "clusters" in document["method"]


def test_models_that_nobody_beat_are_named(votes, tmp_path):
    table = pd.concat(
        [votes, pd.DataFrame({"model_a": ["top"], "model_b": ["ada"], "y": [1.0]})]
    ).rename(columns={"y": "winner"})
    document, notes = document_of(table, tmp_path / "v.csv")
    row = next(row for row in document["models"] if row["model"] == "top")
    assert row["value"] is None and (row["rank_low"], row["rank_high"]) == (1, 4)
    assert "top" in notes and "infinite" in notes
    assert any("infinite" in text for text in document["remarks"])
    printed = run(tmp_path / "v.csv")
    assert printed.exit_code == 0
    assert "top (an infinite rating)" in printed.stdout.splitlines()[0]
    assert "invalid value" not in printed.stderr
