"""`skbench gate`: exit codes, formats, stored baselines."""

import json
from functools import partial
from pathlib import Path

import commands
import numpy as np
import pandas as pd
import pytest

from skbench import gate as decide
from skbench.readers import read_items
from skbench.report.gate import gate

run = partial(commands.run, gate)
FIXTURES = Path(__file__).parents[1] / "readers" / "fixtures"


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
    assert f"(--undecided {choice})" in result.stdout


def test_json_is_the_function(files):
    result = run(files["old"], files["worse"], "--margin", 0.02, "--by", "topic", "--json")
    document = json.loads(result.stdout)
    rows = [pd.read_csv(files[f]).assign(model=m) for f, m in (("old", "a"), ("worse", "b"))]
    expected = decide(pd.concat(rows), "a", "b", 0.02, by="topic")
    assert document["pairs"][0]["low"] == expected.low
    assert document["power"] == expected.power
    assert [row["worse"] for row in document["topics"]] == expected.topics["worse"].tolist()


def test_worst_topic_below_its_floor_fails(files):
    given = files["old"], files["same"], "--margin", 0.2
    result = run(*given, "--by", "topic", "--worst", "99%", "--json")
    document = json.loads(result.stdout)
    rows = [pd.read_csv(files[f]).assign(model=m) for f, m in (("old", "a"), ("same", "b"))]
    expected = decide(pd.concat(rows), "a", "b", 0.2, by="topic", worst=0.99).worst_topic()
    assert (result.exit_code, document["worst"]) == (3, expected)
    assert document["sentences"][0].startswith("FAIL") and "worst" in document["sentences"][0]
    beyond = run(*given, "--by", "topic", "--worst", 70)
    assert "--worst 70" in beyond.stderr
    assert "--by" in run(*given, "--worst", 0.5).stderr


def test_markdown_is_a_table(files):
    result = run(files["old"], files["worse"], "--margin", 0.02, "--markdown", "--by", "topic")
    assert result.exit_code == 3
    assert result.stdout.startswith("### ❌ FAIL: m (new) - m (old) = -")
    assert "(95% interval -" in result.stdout.splitlines()[0]
    assert any(line.endswith("| 50 |") for line in result.stdout.splitlines())


def test_low_power_is_in_the_first_line(files):
    result = run(files["old"], files["doubt"], "--margin", 0.005)
    assert "0.005 is 0% with 200 items" in " ".join(result.stdout.splitlines()[:2])


def test_baseline_is_stored_only_if_it_passes(files, tmp_path):
    stored = tmp_path / "baseline.csv"
    assert run(files["old"], files["worse"], "--margin", 0.02, "--save-baseline", stored).exit_code
    assert not stored.exists()
    run(files["old"], files["same"], "--margin", 0.02, "--save-baseline", stored)
    pd.testing.assert_series_equal(
        pd.read_csv(stored)["score"], pd.read_csv(files["same"])["score"]
    )
    assert run(stored, files["worse"], "--margin", 0.02).exit_code == 3
    before = stored.read_text()
    wide = "--margin", 0.9, "--fail", "margin"
    moved = run(stored, files["worse"], *wide, "--save-baseline", stored)
    assert moved.exit_code == 0 and stored.read_text() != before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_rows_without_ids_are_paired_in_one_file_only(written):
    wide = pd.DataFrame({"gpt-4o": [1, 0, 1, 1] * 9, "claude-3": [1, 1, 0, 1] * 9})
    old, new = written(wide, "old.csv"), written(wide[::-1], "new.csv")
    names = ["--baseline", "gpt-4o", "--candidate", "claude-3", "--margin", 0.9]
    assert run(old, old, *names).exit_code == 0
    refused = run(old, new, *names)
    assert refused.exit_code == 1
    assert refused.stderr.splitlines()[-1].startswith("skbench: ")
    assert "--item" in refused.stderr.splitlines()[-1]


def test_repeated_runs_are_compared_item_by_item(files, written):
    twice = written(pd.concat([pd.read_csv(files["old"])] * 2), "twice.csv")
    repeats = ["--item", "item", "--cluster", "item"]
    result = run(twice, twice, "--margin", 0.03, "--json", *repeats)
    assert len(json.loads(result.stdout)["items"]) == 200


def check_stored(stored, old, new, *options, models=None):
    """The stored baseline gives the same verdict as the original file."""
    options, found = [*options, "--margin", 0.9, "--undecided", "pass", "--json"], []
    same, both = [], []
    if models is not None:
        same, both = (["--baseline", models[0], "--candidate", models[i]] for i in (0, -1))
    first = run(old, old, *options, *same, "--save-baseline", stored)
    assert first.exit_code == 0, first.output
    for path in (old, stored):
        result = run(path, new, *options, *both)
        assert result.exit_code in (0, 3), result.output
        found.append(json.loads(result.stdout))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "ids, change, options",
    [
        (
            lambda x: x.map("{:03}".format),
            lambda f: f[f["level"].eq("l") & f["subject"].eq("s")],
            ["--format", "table"],
        ),
        (
            lambda x: x / 2,
            lambda f: f[f["level"] == "l"].rename(columns={"subject": "item"}),
            ["--by", "item"],
        ),
        (lambda x: x, lambda f: f.rename(columns={"subject": "topic"}), ["--by", "level"]),
        (lambda x: x * 1.0, lambda f: f, ["--by", "subject,level", "--cluster", "passage"]),
        (
            lambda x: x + 2**62,
            lambda f: pd.concat([f, f.assign(run=2, acc=1.0)]),
            ["--by", "subject,level"],
        ),
        (
            pd.to_datetime,
            lambda f: pd.concat([f, f.assign(acc=1.0)]),
            ["--by", "level,subject", "--cluster", "qid"],
        ),
    ],
    ids=["one topic", "topic item", "topics", "clusters", "numbered runs", "runs"],
)
def test_stored_baseline_gives_the_same_verdict(tmp_path, ids, change, options):
    levels = {"model": "ab", "subject": "st", "level": "lm", "qid": range(12)}
    rng = np.random.default_rng(0)
    frame = commands.crossed(lambda *_: rng.integers(2) * 1.0, **levels)
    frame["passage"], frame["qid"] = ids(frame["qid"] // 3), ids(frame["qid"])
    frame = change(frame.rename(columns={"score": "acc"}).assign(run=1))
    paths = tmp_path / "a.parquet", tmp_path / "b.parquet"
    frame[frame["model"] == "a"].to_parquet(paths[0])
    frame[frame["model"] == "b"].iloc[:-5].to_parquet(paths[1])
    check_stored(tmp_path / "stored.csv", *paths, "--item", "qid", "--score", "acc", *options)


def test_stored_baseline_of_a_wide_table(tmp_path):
    wide = pd.DataFrame(np.random.default_rng(0).integers(2, size=(40, 2)), columns=["x", "y"])
    wide.rename_axis("qid").to_csv(tmp_path / "wide.csv")
    options = ["--models", "x,y", "--item", "qid", "--rename", "x=old", "--skip-bad-lines"]
    paths = [tmp_path / name for name in ("stored.csv", "wide.csv", "wide.csv")]
    check_stored(*paths, *options, models=["old", "y"])


LOGS = (
    ["helm"],
    ["opencompass"],
    ["inspect/two_models", "--by", "target", "--cluster", "metadata.page"],
    ["lm_eval", "--by", "doc.answer"],
    ["deepeval/two_models", "--by", "metadata.topic", "--score", "Right Answer"],
    *([name] for name in (
        "inspect/epochs every_eval_ever junit lm_eval mlflow mt_bench mteb openai_evals promptfoo "
        "promptfoo_runs pytest_json swe_bench tau2"
    ).split()),
)  # fmt: skip


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (i > 2)) for i, case in enumerate(LOGS)]
)
def test_stored_baseline_of_logs(tmp_path, case):
    path, options = FIXTURES / case[0], case[1:]
    items = read_items(path, score=options[-1] if "--score" in options else None)
    bounds = ["--bounds", min(items["score"].min(), 0), max(items["score"].max(), 1)]
    models = sorted(items["model"].unique())
    check_stored(tmp_path / "stored.csv", path, path, *options, *bounds, models=models)
