"""`skbench gate`: exit codes, formats, stored baselines."""

import json
from functools import partial

import commands
import numpy as np
import pandas as pd
import pytest

from skbench import gate as decide
from skbench.report.gate import gate

run = partial(commands.run, gate)


@pytest.fixture
def files(written):
    """Old and three new results of 200 items: as before, clearly worse, a bit worse."""
    rng = np.random.default_rng(0)
    item = np.arange(200)
    frame = pd.DataFrame({"model": "m", "topic": item % 4, "item": item})
    right = rng.random(200) < 0.8
    scores = {"old": right, "same": right, "worse": right & (item % 3 > 0),
              "doubt": right & (item % 67 > 0)}  # fmt: skip
    return {
        name: written(frame.assign(score=score * 1.0), f"{name}.csv")
        for name, score in scores.items()
    }


@pytest.mark.parametrize(("new", "code"), [("same", 0), ("worse", 3), ("doubt", 4)])
def test_exit_codes(files, new, code):
    result = run(files["old"], files[new], "--margin", 0.02)
    assert result.exit_code == code, result.output
    assert {0: "PASS", 3: "FAIL", 4: "UNDECIDED"}[code] in result.stdout


@pytest.mark.parametrize(("choice", "code"), [("pass", 0), ("fail", 3)])
def test_undecided_may_be_decided(files, choice, code):
    result = run(files["old"], files["doubt"], "--margin", 0.02, "--undecided", choice)
    assert result.exit_code == code
    assert f"taken as {choice}" in result.stderr


def test_json_is_the_function(files):
    result = run(files["old"], files["worse"], "--margin", 0.02, "--by", "topic", "--json")
    document = json.loads(result.stdout)
    rows = [pd.read_csv(files[f]).assign(model=m) for f, m in (("old", "a"), ("worse", "b"))]
    expected = decide(pd.concat(rows), "a", "b", 0.02, by="topic")
    assert document["pairs"][0]["low"] == expected.low
    assert document["power"] == expected.power
    assert [row["worse"] for row in document["topics"]] == expected.topics["worse"].tolist()


def test_markdown_is_a_table(files):
    result = run(files["old"], files["worse"], "--margin", 0.02, "--markdown", "--by", "topic")
    assert result.exit_code == 3
    assert result.stdout.startswith("### ❌ fail: m (new) against m (old)")
    assert "| topic that got worse |" in result.stdout


def test_blind_gate_says_so_in_its_first_line(files):
    result = run(files["old"], files["doubt"], "--margin", 0.005)
    assert result.stdout.splitlines()[0].startswith("This gate is close to blind")


def test_baseline_is_stored_only_if_it_passes(files, tmp_path):
    stored = tmp_path / "baseline.csv"
    assert run(files["old"], files["worse"], "--margin", 0.02, "--save-baseline", stored).exit_code
    assert not stored.exists()
    run(files["old"], files["same"], "--margin", 0.02, "--save-baseline", stored)
    pd.testing.assert_series_equal(
        pd.read_csv(stored)["score"], pd.read_csv(files["same"])["score"]
    )
    assert run(stored, files["worse"], "--margin", 0.02).exit_code == 3
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_rows_without_ids_are_paired_in_one_file_only(written):
    wide = pd.DataFrame({"gpt-4o": [1, 0, 1, 1] * 9, "claude-3": [1, 1, 0, 1] * 9})
    old, new = written(wide, "old.csv"), written(wide[::-1], "new.csv")
    names = ["--baseline", "gpt-4o", "--candidate", "claude-3", "--margin", 0.9]
    assert run(old, old, *names).exit_code == 0
    refused = run(old, new, *names)
    assert refused.exit_code == 1
    assert "rows of two files are not paired by their number" in " ".join(refused.stderr.split())


def test_repeated_runs_are_compared_item_by_item(files, written):
    twice = written(pd.concat([pd.read_csv(files["old"])] * 2), "twice.csv")
    repeats = ["--item", "item", "--cluster", "item"]
    result = run(twice, twice, "--margin", 0.03, "--json", *repeats)
    assert len(json.loads(result.stdout)["items"]) == 200
