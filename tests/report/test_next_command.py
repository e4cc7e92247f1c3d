"""The last line of `skbench doctor` is a command that runs as it stands, exit 0."""

import shlex
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from skbench.report.doctor import doctor
from skbench.report.passk import passk

FIXTURES = Path(__file__).parents[1] / "readers" / "fixtures"
FOLDERS = sorted(
    folder for kind in FIXTURES.iterdir() if kind.is_dir() for folder in kind.iterdir()
)


def pasted(command):
    """What a command does that is typed as it stands."""
    program, name, *arguments = shlex.split(command)
    assert program == "skbench"
    return CliRunner().invoke(getattr(import_module(f"skbench.report.{name}"), name), arguments)


def last_command(path):
    result = CliRunner().invoke(doctor, [str(path)])
    lines = result.output.strip().splitlines()
    commands = [line.removeprefix("next: ") for line in lines]
    return result, lines, [command for command in commands if command.startswith("skbench ")]


@pytest.mark.parametrize(
    "folder", [f for f in FOLDERS if f.is_dir()], ids=lambda f: f"{f.parent.name}/{f.name}"
)
def test_every_fixture(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result, lines, _ = last_command(folder)
    assert result.exit_code == 0, result.output
    assert len(lines) <= 24
    assert lines[-1].startswith("next: skbench ")
    done = pasted(lines[-1].removeprefix("next: "))
    assert done.exit_code == 0, done.output


TABLES = {
    "models": {"id": range(4), "m1": [1, 0, 0, 1], "m2": [1, 1, 0, 1]},
    "metrics": {
        "question": list("abcd"),
        "faithfulness": [1, 0, 0, 1],
        "answer_relevancy": [0, 1, 1, 0.5],
    },
    "judge": {"id": range(4), "human": [1, 0, 1, 0], "gpt4_eval": [1, 1, 1, 0]},
    "attempts": {"task_id": list("aabb"), "attempt": [1, 2, 1, 2], "passed": [1, 0, 0, 0]},
    "versions": {
        "model": "m",
        "version": list("1122"),
        "item": [1, 2, 1, 2],
        "score": [1, 0, 1, 1],
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_every_command_that_is_offered_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results of mine.csv"
    pd.DataFrame(TABLES[name]).to_csv(path, index=False)
    _, _, commands = last_command(path)
    assert commands
    for command in commands:
        done = pasted(command)
        assert done.exit_code == 0, (command, done.output)


def test_passk_leaves_out_items_with_too_few_answers_where_it_is_told_to(tmp_path):
    table = pd.DataFrame(
        {
            "task_id": list("aaabbbc"),
            "attempt": [1, 2, 3, 1, 2, 3, 1],
            "passed": [1, 0, 1, 0, 0, 0, 1],
        }
    )
    path = tmp_path / "a.csv"
    table.to_csv(path, index=False)
    refused = CliRunner().invoke(passk, [str(path), "-k", "2"])
    assert refused.exit_code == 1
    assert "1 of 3 items of a model have fewer than 2 answers, first item 'c'" in refused.stderr
    command = refused.stderr.strip().splitlines()[-1]
    done = pasted(command)
    assert done.exit_code == 0, done.output
    assert "left out" in done.stderr
    whole = table[table["task_id"] != "c"]
    whole.to_csv(path, index=False)
    assert CliRunner().invoke(passk, [str(path), "-k", "2"]).stdout == done.stdout
