"""What an answer took, as its log says: tokens, seconds and cost."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from reading import FOLDER
from writing import write, write_lines

from skbench import read_items
from skbench.readers import read_with_notes

COSTS = ["tokens", "seconds", "cost"]


def file_of(folder, pattern="*.json*"):
    return sorted((FOLDER / folder).rglob(pattern))[0]


def changed(folder, change, tmp_path, pattern="*.json*"):
    """The records of a fixture, each by what `change` makes of it and its number."""
    path = file_of(folder, pattern)
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for number, record in enumerate(records):
            change(record, number)
        return write_lines(tmp_path / path.name, *records)
    log = json.loads(path.read_text())
    change(log)
    return write(tmp_path / path.name, log)


def test_inspect_as_written():
    log = json.loads(file_of("inspect/epochs_json").read_text())
    items = read_items(FOLDER / "inspect" / "epochs_json")
    assert items["seconds"].tolist() == [sample["working_time"] for sample in log["samples"]]
    assert items["tokens"].eq(14).all() and "cost" not in items
    archives = read_items(FOLDER / "inspect" / "two_models")
    assert archives["tokens"].eq(14).all() and archives["seconds"].gt(0).all()


def test_inspect_leaves_out_what_the_judge_took(tmp_path):
    usage = {"org/m-4.1": {"total_tokens": 30, "total_cost": 0.5}, "judge": {"total_tokens": 999}}
    samples = [
        {"id": i, "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": usage} for i in range(2)
    ]
    samples[1] |= {"model_usage": {"judge": usage["judge"]}, "working_time": 2.5}
    head = {"status": "success", "eval": {"task": "t", "model": "org/m-4.1"}}
    items = read_items(write(tmp_path / "log.json", head | {"samples": samples}))
    expected = pd.DataFrame([[30, math.nan, 0.5], [math.nan, 2.5, math.nan]], columns=COSTS)
    pd.testing.assert_frame_equal(items[COSTS], expected)


def test_promptfoo_where_a_provider_failed():
    """The row of an answer that failed says 0 tokens and a cost of 0, and is left out."""
    results = [
        result
        for name in ("alpha", "beta")
        for result in json.loads(file_of("promptfoo_runs", f"{name}.json").read_text())["results"][
            "results"
        ]
    ]
    rows = read_with_notes(FOLDER / "promptfoo_runs" / "two_models")
    expected = [
        (result["response"]["tokenUsage"]["total"], result["latencyMs"] / 1000)
        for result in results
        if result["failureReason"] != 2
    ]
    assert list(rows.items[COSTS[:2]].itertuples(index=False, name=None)) == expected
    assert rows.blank["tokens"].isna().all() and len(rows.blank)


def of_tau2(log):
    for number, run in enumerate(log["simulations"]):
        run.update(agent_cost=0.25 * number, duration=10.0 + number)


def of_every_eval_ever(record, number):
    item = int(record["sample_id"])  # which has a record for each metric
    record["token_usage"] = {"total_tokens": 100 + item}
    record["performance"] = {"latency_ms": 500.0 + item}


def of_deepeval(log):
    for number, case in enumerate(log.get("testRunData", log)["testCases"]):
        case.update(tokenCost=0.25 * number, completionTime=10.0 + number)


def of_mlflow(table):
    table["columns"] += ["token_count", "latency"]
    table["data"] = [[*row, 100 + i, 10.0 + i] for i, row in enumerate(table["data"])]


def of_openai(record, number):
    if record.get("type") == "sampling":
        record["data"]["usage"] = {"total_tokens": 100 + record["event_id"]}


@pytest.mark.parametrize(
    ("folder", "change", "found"),
    [
        ("tau2/one_file", of_tau2, {"cost": [0, 0.25], "seconds": [10, 11]}),
        ("every_eval_ever/sums", of_every_eval_ever, {"tokens": [100], "seconds": [0.5]}),
        ("deepeval/two_models", of_deepeval, {"cost": [0, 0.25], "seconds": [10, 11]}),
        ("mlflow/version_3", of_mlflow, {"tokens": [100, 101], "seconds": [10, 11]}),
        ("openai_evals/two_models", of_openai, {"tokens": [100]}),
    ],
)
def test_other_programs(tmp_path, folder, change, found):
    pattern = "*.jsonl" if change in (of_every_eval_ever, of_openai) else "*.json"
    items = read_items(changed(folder, change, tmp_path, pattern))
    assert {name: items[name].head(len(v)).tolist() for name, v in found.items()} == found
    assert [name for name in COSTS if name in items and name not in found] == []


def test_of_several_requests_of_openai_evals_some_may_be_a_judges(tmp_path):
    path = file_of("openai_evals/two_models", "*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for number, record in enumerate(records):
        of_openai(record, number)
    records += [record for record in records if record.get("type") == "sampling"][:1]
    items = read_items(write_lines(tmp_path / path.name, *records))
    assert items["tokens"].isna().sum() == 1


def test_helm_adds_prompt_and_output():
    items = read_items(FOLDER / "helm")
    parts = [
        read_items(FOLDER / "helm", score=f"num_{part}_tokens")["score"]
        for part in ("prompt", "output")
    ]
    np.testing.assert_array_equal(items["tokens"], sum(parts))
    runtime = read_items(FOLDER / "helm", score="inference_runtime")["score"]
    np.testing.assert_array_equal(items["seconds"], runtime)


@pytest.mark.parametrize("odd", ["7", True, None, [7], {"x": 7}, math.nan, 10**400])
def test_what_is_no_number_is_no_cost_and_refuses_nothing(tmp_path, odd):
    log = json.loads(file_of("tau2/one_file").read_text())
    for run in log["simulations"]:
        run.update(agent_cost=odd, duration=odd)
    path = write(tmp_path / "a.json", log)
    expected = read_items(file_of("tau2/one_file"))
    pd.testing.assert_frame_equal(read_items(path), expected.drop(columns=["seconds", "cost"]))
