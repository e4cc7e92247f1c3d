"""`skbench trend`: orders of versions, and scores of different judges."""

import json
import re
import shlex
from functools import partial
from pathlib import Path

import commands
import numpy as np
import pandas as pd
import pytest
from commands import crossed

from skbench import trend as find_trend
from skbench.readers import read_with_notes
from skbench.report.trend import trend

run, parsed = partial(commands.run, trend), partial(commands.parsed, trend)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    hard = rng.random(60)

    def score(version, item):
        return float(rng.random() < 0.9 - 0.15 * version - 0.4 * hard[item])

    return crossed(score, version=range(4), item=range(60))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "versions.csv"


def test_numbers_are_those_of_python_and_the_result_comes_first(rows, file, tmp_path):
    rows = rows.assign(model=rows["version"].map("ada-2024-0{}-01".format)).replace(
        {"model": {"ada-2024-00-01": "ada-2023-07-01"}}
    )
    rows = rows.drop(columns="version")
    rows.to_csv(file, index=False)
    known, document = find_trend(rows), parsed(file)
    found = pd.DataFrame(document["trend"])
    np.testing.assert_allclose(found["value"], known.estimate.value)
    assert document["unit"] == "year" and found["verdict"][0] == "falling"
    assert document["models"][0]["order"] == "2023-07-01"
    picture = tmp_path / "trend.svg"
    result = run(file, "--plot", picture)
    assert result.stdout.startswith("The score falls by ") and picture.stat().st_size > 1000
    rows.assign(part=rows["item"] % 3).to_csv(file, index=False)
    (line, *_) = run(file, "--by", "part", "--csv").stdout.splitlines()
    assert (
        line.startswith("topic,value,low,high") and len(parsed(file, "--by", "part")["topics"]) == 3
    )


@pytest.mark.parametrize("names", ["model and version", "version alone", "names"])
def test_suggested_orders_work(rows, file, names):
    text = rows.assign(version=rows["version"].map("1.{}".format).replace({"1.3": "1.10"}))
    if names == "model and version":
        text["model"] = "ada"
    if names == "names":
        text["version"] = "release " + text["version"]
    text.to_csv(file, index=False)
    options = ["--model", "version"] * (names != "model and version")
    result = run(file, *options)
    assert result.exit_code == 1 and not result.stdout
    output = result.stderr.splitlines()[-1]
    assert "--order" in output
    order = ",".join(output.rpartition(": ")[2].removesuffix(".").split(", "))
    assert [name.split()[-1] for name in order.split(",")] == ["1.0", "1.1", "1.2", "1.10"]
    found = parsed(file, *options, "--order", order)
    np.testing.assert_allclose(found["trend"][0]["value"], find_trend(rows).estimate.value[0])


ANY = [("none", "csv", "date"), ("one", "parquet", "number"), ("own", "csv", "number")]


@pytest.mark.parametrize(("models", "form", "kind"), ANY)
def test_a_column_of_any_name_distinguishes_versions(rows, tmp_path, models, form, kind):
    """Numbers and dates give the results of the function; 1.10 differs from 1.1."""
    names = {
        "none": {},
        "one": {"model": "ada"},
        "own": {"model": rows["version"].map("m{}".format)},
    }
    bare, path = rows.drop(columns="version"), tmp_path / f"r.{form}"

    def write(*values):
        table = bare.assign(**names[models], since=rows["version"].map(dict(enumerate(values))))
        table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path, index=False)
        return table

    dates = "2024-01", "2024-03", "2025-01", "2025-07"
    table = write(*(dates if kind == "date" else (1.8, 1.9, 2.0, 1.1)))
    known = find_trend(table, "since").estimate.value
    for more in ([], ["--cluster", "item", "--model", "since"]):
        found = parsed(path, "--order", "since", *more)["trend"]
        np.testing.assert_allclose([row["value"] for row in found], known)
    write("1.1", "1.8", "1.9", "1.10")
    result = run(path, "--order", "since")
    assert result.exit_code == 1 and "text" in result.stderr
    assert ("--model since --order" in result.stderr) == (models != "own")
    order = result.stderr.split("they are: ")[1].strip().removesuffix(".").replace(", ", ",")
    found = parsed(path, "--order", order, *["--model", "since"] * (models != "own"))["trend"]
    np.testing.assert_allclose(found[0]["value"], find_trend(rows).estimate.value[0])
    wrong = run(path, "--order", "sinc")
    assert wrong.exit_code == 1 and "'since'?" in wrong.stderr


def write_log(folder, model, judge, rows, template=None):
    options = {"model": judge, "template": template}
    scorer = {"name": "model_graded_qa", "options": {k: v for k, v in options.items() if v}}
    about = {"task": "facts", "model": model, "scorers": [scorer], "dataset": {}, "config": {}}
    samples = [
        {"id": int(item), "epoch": 1, "input": f"question {item}",
         "scores": {"model_graded_qa": {"value": "C" if score else "I"}}}
        for item, score in zip(rows["item"], rows["score"], strict=True)
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": about, "samples": samples}
    (folder / f"{model}.json").write_text(json.dumps(log))


JUDGES = {
    "one judge": ({}, None),
    "another judge": ({1: "gpt-5"}, "model gpt-5"),
    "its own judge": (dict.fromkeys(range(4)), "model ada-v1"),
    "another prompt": ({2: ("gpt-4", "Be strict: {answer}")}, "Be strict"),
}


@pytest.mark.parametrize("name", JUDGES)
def test_scores_of_another_judge_need_same_scale(rows, tmp_path, name):
    judges, words = JUDGES[name]
    for version, own in rows.groupby("version"):
        judge = judges.get(version, "gpt-4")
        judge, prompt = judge if isinstance(judge, tuple) else (judge, None)
        write_log(tmp_path, f"ada-v{version}", judge, own, prompt)
    result = run(tmp_path)
    if words is None:
        assert result.exit_code == 0, result.stderr
        return
    assert result.exit_code == 1 and not result.stdout and words in result.stderr
    command = shlex.split(result.stderr.splitlines()[-1])
    assert command[:2] == ["skbench", "trend"] and command[-1] == "--same-scale"
    assert "falls" in run(*command[2:]).stdout
    # Judges of excluded versions do not matter.
    alike = [v for v in range(4) if v not in judges]
    if len(alike) > 1:
        some = ",".join(f"ada-v{v}" for v in alike)
        assert run(tmp_path, "--order", some).exit_code == 0
        renamed = [
            "--rename",
            f"ada-v{alike[0]}=old",
            "--order",
            some.replace(f"ada-v{alike[0]}", "old"),
        ]
        assert run(tmp_path, *renamed).exit_code == 0


def test_other_logs_that_declare_a_judge(tmp_path):
    fixtures = Path(__file__).parents[1] / "readers" / "fixtures"
    found = read_with_notes(fixtures / "mt_bench" / "single").graders
    assert found["math"] == {"alpha": {"model gpt-4"}, "beta": {"model gpt-4"}}
    for path in (fixtures / "deepeval" / "two_models").rglob("*.json"):
        text = path.read_text()
        named = re.sub('("success": ?(true|false),)', r'\1"evaluationModel": "gpt-4",', text)
        (tmp_path / path.name).write_text(named)
    (graders,) = read_with_notes(tmp_path).graders.values()
    assert set().union(*graders.values()) == {"model gpt-4"}


def test_a_column_that_names_the_judge(rows, file):
    rows = rows.rename(columns={"version": "model"}).replace({"model": {3: 30}})
    rows.assign(judge=np.where(rows["model"] == 30, "gpt-5", "gpt-4")).to_csv(file, index=False)
    result = run(file)
    assert result.exit_code == 1 and "gpt-5" in result.stderr
    assert run(file, "--same-scale").exit_code == 0
    assert run(file, "--order", "0,1,2").exit_code == 0
