"""`skbench arena`: layouts of votes, and errors."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from skbench import BradleyTerry
from skbench.report.arena import arena
from skbench.report.items import items


@pytest.fixture
def votes():
    """Votes on three models, ada far better than the others, some of them ties."""
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=300)
    second = (first + rng.integers(1, 3, size=300)) % 3
    d = 1.5 * ((first == 0) * 1.0 - (second == 0))
    y = (rng.random(300) < 1 / (1 + np.exp(-d))) * 1.0
    y[rng.random(300) < 0.1] = 0.5
    names = np.array(["ada", "bob", "cyd"])
    return pd.DataFrame({"model_a": names[first], "model_b": names[second], "winner": y})


def run(table, path, *options):
    table.to_csv(path, index=False)
    return CliRunner().invoke(arena, [str(path), *options])


def document_of(table, path, *options):
    result = run(table, path, *options, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def layouts(votes):
    y, pair = votes["winner"], votes[["model_a", "model_b"]]
    names = np.select([y == 1, y == 0], [pair["model_a"], pair["model_b"]], "tie")
    sides = y.map({1: "model_a", 0: "model_b", 0.5: "tie (bothbad)"})
    letters = y.map({1: "A", 0: "B", 0.5: "draw"})
    flags = {"winner_model_a": y == 1, "winner_model_b": y == 0, "winner_tie": y == 0.5}
    return {
        "names": pair.assign(winner=names),
        "models that are numbers": pair.assign(winner=names).replace(
            {"ada": 1, "bob": 2, "cyd": 3}
        ),
        "sides": pair.assign(winner=sides, turn=1, judge="h1"),
        "letters": pair.set_axis(["Left", "Right"], axis=1).assign(preference=letters),
        "numbers": pair.set_axis(["model_1", "model_2"], axis=1).assign(Winner=y),
        "one column for each": pair.assign(**{k: flag * 1 for k, flag in flags.items()}),
    }


@pytest.mark.parametrize("kind", [
    "names", "models that are numbers", "sides", "letters", "numbers", "one column for each"
])  # fmt: skip
def test_layouts_give_the_same_numbers(votes, tmp_path, kind):
    document, _ = document_of(layouts(votes)[kind], tmp_path / "v.csv")
    frame = BradleyTerry().fit(votes, votes["winner"]).leaderboard("elo").to_frame()
    rows = pd.DataFrame(document["models"])
    shared = ["rank", "rank_low", "rank_high", "n"]
    assert rows[shared].to_numpy().tolist() == frame[shared].to_numpy().tolist()
    assert rows["value"].to_numpy() == pytest.approx(frame["estimate"].to_numpy())
    assert document["may_be_best"] == [rows["model"][0]] and document["votes_needed"] == 0
    assert document["n_votes"] == 300


@pytest.mark.parametrize("kind", ["sides", "one column for each", "winners and losers"])
@pytest.mark.parametrize("swap", [False, True])
def test_models_0_and_1_and_columns_named_the_other_way_round(votes, tmp_path, kind, swap):
    pair = votes[votes[["model_a", "model_b"]].ne("cyd").all(axis=1) & (votes["winner"] != 0.5)]
    expected = BradleyTerry().fit(pair, pair["winner"]).estimate("elo").value  # ada first
    pair = pair.assign(
        model_a=(pair["model_a"] == "bob") * 1, model_b=(pair["model_b"] == "bob") * 1
    )
    won = pair["model_a"].where(pair["winner"] == 1, pair["model_b"])
    table = {"winners and losers": pd.DataFrame({"winner": won, "loser": 1 - won})}
    options = ["--model-a", "model_b", "--model-b", "model_a"] * (swap and kind not in table)
    document, _ = document_of((layouts(pair) | table)[kind], tmp_path / "v.csv", *options)
    assert [row["value"] for row in document["models"]] == pytest.approx(expected)


@pytest.mark.parametrize("judge", [False, True])
@pytest.mark.parametrize("kind", ["flags", "0 flags", ".jsonl", ".parquet"])
def test_no_winner_is_blank_in_every_layout(votes, tmp_path, kind, judge):
    rows, path = np.arange(300), tmp_path / "v.csv"
    sides, options = layouts(votes)["sides"]["winner"], ["--judge", "verdict"] * judge
    table = votes.assign(winner=sides.mask(rows % 3 == 1), verdict=np.where(rows % 7, sides, ""))
    expected, _ = document_of(table, path, *options)
    if "flags" in kind:
        flags = layouts(votes)["one column for each"].iloc[:, 2:].astype(float)
        flags[rows % 3 == 1] = 0 if kind == "0 flags" else np.nan
        table.drop(columns="winner").join(flags).to_csv(path, index=False)
    else:
        table, path = table.fillna({"winner": ""}), path.with_suffix(kind)
        if kind == ".jsonl":
            table.to_json(path, orient="records", lines=True)
        else:
            table.to_parquet(path)
    result = CliRunner().invoke(arena, [str(path), *options, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["n_votes"], found["models"]) == (expected["n_votes"], expected["models"])


@pytest.mark.parametrize("cell", [1, "yes"])
def test_flags_without_one_winner_name_their_row(votes, tmp_path, cell):
    table = layouts(votes)["one column for each"].astype(object)
    table.loc[20, ["winner_model_a", "winner_model_b"]] = [cell, 1]
    output = " ".join(run(table, tmp_path / "v.csv").stderr.split())
    assert ("Row 21 has several" if cell == 1 else "row 21 is 'yes'") in output


def test_winners_and_losers(votes, tmp_path):
    decided = votes[votes["winner"] != 0.5].reset_index(drop=True)
    a_won, (a, b) = decided["winner"] == 1, (decided["model_a"], decided["model_b"])
    table = pd.DataFrame({"Winner": a.where(a_won, b), "Loser": b.where(a_won, a)})
    document, _ = document_of(table, tmp_path / "v.csv")
    frame = BradleyTerry().fit(decided, decided["winner"]).leaderboard("elo").to_frame()
    values = [row["value"] for row in document["models"]]
    assert values == pytest.approx(frame["estimate"].to_numpy())


def test_json_lines_and_other_names(votes, tmp_path):
    path = tmp_path / "v.jsonl"
    votes.set_axis(["x.one", "x.two", "who"], axis=1).to_json(path, orient="records", lines=True)
    options = ["--model-a", "x.one", "--model-b", "x.two", "--winner", "who", "--scale", "logit"]
    result = CliRunner().invoke(arena, [str(path), *options, "--json"])
    models = json.loads(result.stdout)["models"]
    assert sum(row["value"] for row in models) == pytest.approx(0)


def test_a_sentence_comes_first_and_the_judge_is_named_and_not_used(votes, tmp_path):
    document, notes = document_of(votes.assign(prediction=1), tmp_path / "v.csv")
    assert document["models"] == document_of(votes, tmp_path / "v.csv")[0]["models"]
    assert "'prediction'" in notes and "not used" in notes
    assert run(votes, tmp_path / "v.csv").stdout.startswith("ada (")


def test_judge_with_few_human_votes(votes, tmp_path):
    table = votes.assign(verdict=votes["winner"].where(np.arange(300) % 7 > 0, 0.5))
    table.loc[np.arange(300) % 3 > 0, "winner"] = np.nan
    table.loc[299, "verdict"] = np.nan
    document, notes = document_of(table, tmp_path / "v.csv", "--judge", "verdict")
    known = table[:299]
    model = BradleyTerry(judge="verdict").fit(known, known["winner"])
    values = [row["value"] for row in document["models"]]
    assert values == pytest.approx(model.estimate("elo").value)
    assert (document["n_votes"], document["n_verdicts"], document["judge"]) == (100, 299, "verdict")
    assert document["judge_power"] == model.lambda_ > 0.5
    assert document["effective_votes"] == model.effective_sample_size_ > 120
    assert re.search("1 votes .*'verdict'", notes)
    printed = " ".join(run(table, tmp_path / "v.csv", "--judge", "verdict").stdout.split())
    assert "100 human votes" in printed and "299 verdicts" in printed


def test_useless_judge(votes, tmp_path):
    result = run(votes.assign(verdict="tie"), tmp_path / "v.csv", "--judge", "verdict")
    text = " ".join(result.stdout.split())
    assert "300 human votes" in text and "'verdict'" in text and "precise" not in text


def test_undecided_pairs_report_how_many_votes_decide(votes, tmp_path):
    result = run(votes[:24], tmp_path / "v.csv")
    text = " ".join(result.stdout.split())
    assert text.startswith("3 of 3 models") and re.search(r"\d more votes .*\bada\b", text)


@pytest.mark.parametrize("names", [
    ("one", "two", "winner"), ("one", "two", "best"), ("model_a", "model_b", "best")
])  # fmt: skip
def test_refusals_offer_votes_only_with_commands_that_run(votes, tmp_path, names):
    """Columns of constants, flags and other words are not suggested as winners or models."""
    winner = np.where(votes["winner"] >= 0.5, votes["model_a"], votes["model_b"])
    table = votes.assign(winner=winner).set_axis(names, axis=1)
    table = table.assign(turn=1, toxic=np.arange(300) % 2, language="en", note="hm")
    result = run(table, tmp_path / "some votes.csv")
    (command,) = result.stderr.strip().splitlines()[1:]
    words = shlex.split(command)
    assert result.exit_code == 1 and tuple(words[4::2]) == names
    done = CliRunner().invoke(arena, words[2:])
    assert done.stdout.startswith("ada (")


def test_numbers_are_offered_by_name_or_where_there_are_ties(votes, tmp_path):
    table = votes.rename(columns={"winner": "y"}).assign(turn=1, coin=np.arange(300) % 2)
    result = run(table.assign(their_vote=table["y"].round()), tmp_path / "v.csv")
    commands = result.stderr.strip().splitlines()[1:]
    assert [shlex.split(line)[-1] for line in commands] == ["their_vote", "y"]


def test_blank_winners_and_models_against_themselves_are_left_out(votes, tmp_path):
    extra = [("ada", "ada", 1), ("bob", "cyd", np.nan)]
    table = pd.concat([votes, pd.DataFrame(extra, columns=votes.columns)])
    document, notes = document_of(table, tmp_path / "v.csv")
    assert document["n_votes"] == 300
    assert "2 votes" in notes


@pytest.mark.parametrize(("column", "cell"), [("winner", "zoe"), ("model_b", None)])
def test_rows_are_counted_from_1(votes, tmp_path, column, cell):
    table = votes.assign(winner=votes["model_a"]).head(50)
    table.loc[6, column] = cell
    assert " row 7" in " ".join(run(table, tmp_path / "v.csv").stderr.split())


def test_clusters_covariates_and_a_picture(votes, tmp_path):
    table = votes.assign(prompt=np.arange(300) // 3, length=np.arange(300) % 7 - 3.0)
    model = BradleyTerry(covariates="length", position=True, ties="davidson")
    model.fit(table, table["winner"], cluster=table["prompt"])
    options = ["--cluster", "prompt", "--covariates", "length", "--position", "--ties", "davidson"]
    picture = tmp_path / "a.png"
    document, _ = document_of(table, tmp_path / "v.csv", *options, "--plot", str(picture))
    assert picture.stat().st_size > 0 and "clusters" in document["method"]
    found = pd.DataFrame(document["covariates"]).set_index("covariate")
    pd.testing.assert_frame_equal(found, model.coef_, check_index_type=False)


def test_models_that_nobody_beat_are_named(votes, tmp_path):
    table = pd.concat([votes, pd.DataFrame([("top", "ada", 1.0)], columns=votes.columns)])
    document, notes = document_of(table, tmp_path / "v.csv")
    row = next(row for row in document["models"] if row["model"] == "top")
    assert row["value"] is None and (row["rank_low"], row["rank_high"]) == (1, 4)
    assert "top (" in notes and "top (" in document["remarks"][0]
    printed = run(table, tmp_path / "v.csv")
    conclusion = " ".join(printed.stdout.split("\n\n")[0].split())
    assert "top (unknown)" in conclusion and "invalid value" not in printed.stderr


def test_a_folder_of_votes_is_not_offered_to_a_command_that_reads_one_file(tmp_path):
    vote = '{"model_1": "a", "model_2": "b", "winner": "model_1"}\n'
    (tmp_path / "votes.jsonl").write_text(vote * 3)
    output = CliRunner().invoke(items, [str(tmp_path)])
    assert (
        output.exit_code == 1 and "vote" in output.stderr and "skbench arena" not in output.stderr
    )
    output = CliRunner().invoke(items, [str(tmp_path / "votes.jsonl")])
    assert "skbench arena" in output.stderr
