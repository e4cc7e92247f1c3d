"""`skbench judge --card`, `--event`, and verdicts on pairs."""

import json
from functools import partial

import commands
import numpy as np
import pandas as pd
import pytest

from skbench import judge_agreement
from skbench.report.judge import judge

run = partial(commands.run, judge)
parsed = partial(commands.parsed, judge)


@pytest.fixture
def file(written):
    rng = np.random.default_rng(0)
    human = rng.random(200) < 0.6
    rows = pd.DataFrame({"id": np.arange(200), "human": np.where(human, "Yes", "no")})
    for name, error in (("j1", 0.1), ("j2", 0.3)):
        rows[name] = np.where(rng.random(200) < error, ~human, human) * 1
    rows.loc[120:, "human"] = rows.loc[150:, "j2"] = None
    return written(rows, "judged.csv")


def test_json_is_the_function(file):
    result = run(file, "--judge", "j1,j2", "--human", "human", "--card", "--json")
    document = json.loads(result.stdout)
    rows = pd.read_csv(file)
    rows["human"] = rows["human"].map({"Yes": 1.0, "no": 0.0})
    card = judge_agreement(rows, judges=["j1", "j2"], random_state=0)
    frame = pd.DataFrame(document["judges"]).set_index("judge")
    pd.testing.assert_frame_equal(frame, card.to_frame())
    assert document["effective_judges"]["value"] == card.effective_judges
    assert document["n_labels"] == 120


def test_card_in_words_and_as_markdown(file):
    arguments = (file, "--judge", "j1,j2", "--human", "human", "--card")
    result = run(*arguments)
    text = " ".join(result.stdout.split())
    assert "120 human labels" in text
    assert "j1" in text and "200 rows" in text and "j2" in text and "150 rows" in text
    assert "50 of 200 rows" in result.stderr
    wrong = run(*arguments, "--event", "u")
    assert wrong.exit_code == 1 and "--event u" in wrong.stderr and "Yes, no." in wrong.stderr
    assert run(*arguments, "--markdown").stdout.startswith("| judge | labels | kappa |")


def test_event_counts_one_word(written):
    rng = np.random.default_rng(1)
    words = np.array(["good", "fair", "bad"])
    human = words[rng.integers(0, 3, 150)]
    verdict = np.where(rng.random(150) < 0.8, human, words[rng.integers(0, 3, 150)])
    path = written(pd.DataFrame({"human": human, "judge": verdict}), "words.csv")
    arguments = (path, "--judge", "judge", "--human", "human")
    assert "--event WORD" in run(*arguments).stderr
    found = parsed(*arguments, "--event", "Good")["groups"][0]
    assert found["value"] == pytest.approx(np.mean(human == "good"))
    assert found["judge"] == pytest.approx(np.mean(verdict == "good"))
    wrong = run(*arguments, "--event", "great")
    assert wrong.exit_code == 1 and "bad, fair, good" in wrong.stderr


def test_pairs_of_models_and_who_was_shown_first(written):
    rng = np.random.default_rng(2)
    winner = np.array(["model_a", "model_b", "tie"])
    human = winner[rng.choice(3, 300, p=[0.5, 0.3, 0.2])]
    first = winner[rng.integers(0, 2, 300)]
    judged = np.where(rng.random(300) < 0.3, first, human)
    rows = pd.DataFrame({"human": human, "judge": judged, "shown": first})
    arguments = (written(rows, "arena.csv"), "--judge", "judge", "--human", "human")
    found = parsed(*arguments)["groups"][0]
    expected = np.mean(human == "model_a") - np.mean(human == "model_b")
    assert found["value"] == pytest.approx(expected)
    card = run(*arguments, "--card", "--first", "shown", "--event", "model_a", "--json")
    bias = pd.DataFrame(json.loads(card.stdout)["position_bias"]).set_index("judge")
    assert bias.loc["judge", "low"] > 0.1
    assert bias.loc["human", "low"] < 0 < bias.loc["human", "high"]


def test_options_of_the_card_need_it(file):
    result = run(file, "--judge", "j1", "--human", "human", "--first", "id")
    assert result.exit_code == 2 and "--first" in result.stderr and "--card" in result.stderr
    result = run(file, "--judge", "j1", "--human", "human", "--labels", "labels.csv")
    assert result.exit_code == 2 and "--labels and --id" in result.stderr


def test_winners_in_one_column_for_each_outcome(tmp_path):
    rng = np.random.default_rng(3)
    outcomes = np.array(["model_a", "model_b", "tie"])
    human, judged = outcomes[rng.integers(0, 3, (2, 90))]
    judged = np.where(rng.random(90) < 0.7, human, judged)
    words = pd.DataFrame({"winner": human, "judge": judged})
    hot = pd.DataFrame({f"winner_{end}": (human == end) * 1 for end in outcomes})
    hot = hot.assign(judge=judged)
    options = {"human": "winner", "judges": "judge", "event": "model_a", "random_state": 0}
    expected = judge_agreement(words, **options).to_frame()
    pd.testing.assert_frame_equal(judge_agreement(hot, **options).to_frame(), expected)
    found = []
    for frame in (words, hot):
        frame.to_csv(tmp_path / "arena.csv", index=False)
        arguments = ("--judge", "judge", "--human", "winner", "--json")
        found.append(json.loads(run(tmp_path / "arena.csv", *arguments).stdout))
    assert found[0] == found[1]
    with pytest.raises(ValueError, match="winner_tie"):
        judge_agreement(hot.assign(winner_tie=1), **options)
