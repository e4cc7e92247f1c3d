"""Suggested commands run without changes and exit with 0."""

import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run
from walks import one_in

from skbench.report.doctor import doctor
from skbench.report.passk import passk

FIXTURES = Path(__file__).parents[1] / "readers" / "fixtures"
FOLDERS = sorted(
    folder for kind in FIXTURES.iterdir() if kind.is_dir() for folder in kind.iterdir()
)


def pasted(command):
    """Run a suggested command."""
    program, name, *arguments = shlex.split(command)
    assert program == "skbench"
    return run(getattr(import_module(f"skbench.report.{name}"), name), *arguments)


def last_command(path):
    result = run(doctor, path)
    lines = result.output.strip().splitlines()
    commands = [line.removeprefix("Next: ").removeprefix("Or: ") for line in lines]
    return result, lines, [command for command in commands if command.startswith("skbench ")]


@pytest.mark.parametrize(
    "folder", one_in(3, filter(Path.is_dir, FOLDERS)), ids=lambda f: f"{f.parent.name}/{f.name}"
)
def test_every_fixture(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result, lines, _ = last_command(folder)
    assert result.exit_code == 0, result.output
    assert len(lines) <= 24
    assert lines[-1].startswith("Next: skbench ")
    done = pasted(lines[-1].removeprefix("Next: "))
    assert done.exit_code == 0, done.output


VOTES = {"model_a": np.resize(list("xyz"), 60), "model_b": np.resize(list("yzxzxy"), 60)}
TABLES = {
    "models": {"id": range(4), "m1": [1, 0, 0, 1], "m2": [1, 1, 0, 1]},
    "metrics": {"question": list("abcd"), "faithfulness": [1, 0, 0, 1],
                "answer_relevancy": [0, 1, 1, 0.5]},
    "judge": {"id": range(4), "human": [1, 0, 1, 0], "gpt4_eval": [1, 1, 1, 0]},
    "attempts": {"task_id": list("aabb"), "attempt": [1, 2, 1, 2], "passed": [1, 0, 0, 0]},
    "versions": {"model": "m", "version": list("1122"), "item": [1, 2, 1, 2], "score": [1, 0, 1, 1]},
    "unequal attempts": {"task_id": list("aabbb"), "attempt": [1, 2, 1, 2, 3], "passed": 1},
    "single scores": {"model": list("aabb"), "task": list("xyxy"), "acc": [0.3, 0.4, 0.5, 0.2]},
    "failures": {"id": range(6), "score": [1, "error", 0, "timeout", "N/A", 1]},
    "votes": VOTES | {"winner": np.resize(["model_a", "model_b", "tie", "tie"], 60)},
    "judged votes": VOTES | {"winner": np.resize(["model_a", "tie", "model_b", "tie"], 60), "prediction": "tie"},
    "one column per outcome": VOTES | {
        "winner_model_a": np.resize([1, 0, 0, 0], 60),
        "winner_model_b": np.resize([0, 1, 0, 0], 60),
        "winner_tie": np.resize([0, 0, 1, 1], 60),
    },
    "predictions": {
        "sex": np.resize(["f", "m"], 60),
        "y_true": np.resize([1, 0, 0], 60),
        "y_pred": np.resize([1, 0, 1, 0], 60),
    },
    "many metrics": {name: [0.1, 0.9, 0.4] for name in (
        "faithfulness answer_relevancy context_precision context_recall bleu rouge meteor chrf "
        "coherence fluency toxicity relevance".split()
    )},
    "gaps": {
        "model": np.resize([f"m{i}" for i in range(15)], 400),
        "task": np.resize(list("abcdefg"), 400),
        "id": np.arange(400) % 97,
        "repeat": np.arange(400),
        "passage": np.arange(400) % 97 // 3,
        "passed": np.resize([1, 0, 0], 400),
        "human": 1,
        "gpt4_eval": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_every_command_that_is_offered_runs(name, tmp_path, written, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(pd.DataFrame(TABLES[name]), "results of mine.csv")
    _, lines, commands = last_command(path)
    assert commands and lines[-1].endswith(commands[-1])
    assert len(lines) - len(commands) <= 24
    for command in commands:
        done = pasted(command)
        assert done.exit_code == 0, (command, done.output)


def test_passk_drop_short(written):
    attempts = {"attempt": [1, 2, 3, 1, 2, 3, 1], "passed": [1, 0, 1, 0, 0, 0, 1]}
    table = pd.DataFrame({"task_id": list("aaabbbc")} | attempts)
    path = written(table, "a.csv")
    refused = run(passk, path, "-k", 2)
    assert refused.exit_code == 1
    assert "1 of 3 items" in refused.stderr and "'c'" in refused.stderr
    done = pasted(refused.stderr.strip().splitlines()[-1])
    assert done.exit_code == 0, done.output
    assert "1 of 3 items" in done.stderr
    table[table["task_id"] != "c"].to_csv(path, index=False)
    shown = [out.split("Next:")[0] for out in (run(passk, path, "-k", 2).stdout, done.stdout)]
    assert shown[0] == shown[1]


def test_options_and_arguments_of_a_suggestion_are_as_typed(tmp_path):
    table = {
        "model": list("aabb"),
        "topic": "law",
        "item": [1, 2, 1, 2],
        "w1": 1,
        "w2": [0, 1, 1, 0],
    }
    pd.DataFrame(table).to_csv(tmp_path / "r.csv", index=False)
    compare = import_module("skbench.report.compare").compare
    sizes = ["--population", "law=3", "--bounds", 0, 1]
    (command, *_) = [
        line
        for line in run(compare, tmp_path / "r.csv", "--by", "topic", *sizes).output.splitlines()
        if line.startswith("skbench compare")
    ]
    assert "None" not in command and "--population law=3" in command
    assert pasted(command).exit_code == 0


@pytest.mark.parametrize("margin", ["3%", "0.1234567%"])
def test_a_percentage_of_a_suggestion_stays_a_percentage(tmp_path, margin):
    paths = [tmp_path / f"{name}.csv" for name in ("old", "new")]
    table = pd.DataFrame({"item": range(6), "w1": [0, 100] * 3, "w2": [50, 0] * 3})
    for path in paths:
        table.to_csv(path, index=False)
    gate = import_module("skbench.report.gate").gate
    result = run(gate, *paths, "--margin", margin)
    commands = [line for line in result.stderr.splitlines() if line.startswith("skbench gate")]
    assert commands and all(f"--margin {margin}" in command for command in commands)


def test_a_suggestion_names_models_only_where_its_command_does(tmp_path):
    table = pd.DataFrame({"mode": ["cot", "direct"] * 8, "item": [i // 2 for i in range(8)] * 2})
    path = tmp_path / "r.csv"
    table.assign(correct=[0, 1, 1, 0] * 4).to_csv(path, index=False)
    compare = import_module("skbench.report.compare").compare
    lines = run(compare, path, "direct", "cot").output.splitlines()
    commands = [line for line in lines if line.startswith("skbench ")]
    assert any("passk" in command for command in commands)
    for command in commands:
        assert "unexpected" not in pasted(command).stderr
