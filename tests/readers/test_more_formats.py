"""Formats of records where something is amiss: runs that failed, damaged and untrusted files."""

import json
import re

from reading import FOLDER, message, notes_of
from writing import write

from skbench import read_items
from skbench.readers import read_with_notes

TAU2 = FOLDER / "tau2" / "one_file" / "gpt-alpha_airline.json"


def test_tau_bench(tmp_path):
    runs = [{"task_id": i, "reward": i % 2, "info": {}, "traj": [], "trial": 0} for i in range(3)]
    runs.append({"task_id": 3, "reward": 0.0, "info": {"error": "boom"}, "traj": [], "trial": 0})
    rows = read_with_notes(write(tmp_path / "gpt-4o.json", runs))
    assert rows.formats == ["tau-bench"]
    assert rows.items["score"].tolist() == [0.0, 1.0, 0.0]
    assert rows.items["model"].unique() == ["gpt-4o"]


def test_swe_bench_of_another_layout_is_refused(tmp_path):
    report = json.loads(next((FOLDER / "swe_bench").rglob("*.json")).read_text())
    del report["submitted_ids"]
    text = message(write(tmp_path / "b.json", report))
    assert "'submitted_ids'" in text


def test_mteb_revisions_of_a_model_are_models(tmp_path):
    for revision in ("aaa", "bbb"):
        subset = {"main_score": 0.5, "hf_subset": "en", "languages": ["eng-Latn"]}
        result = {"task_name": "Banking77", "mteb_version": "2.0", "scores": {"test": [subset]}}
        write(tmp_path / "e5" / revision / "Banking77.json", result)
    rows = read_with_notes(tmp_path)
    assert rows.formats == ["mteb"]
    assert list(rows.items["item"]) == ["Banking77/test en"] * 2
    assert rows.items["model"].nunique() == 2


def test_a_run_that_failed_does_not_spoil_a_folder(tmp_path):
    good = write(tmp_path / "a.json", TAU2.read_text())
    failed = json.loads(TAU2.read_text())
    failed["info"]["agent_info"]["llm"] = "claude"
    failed["simulations"] = [run | {"reward_info": None} for run in failed["simulations"]]
    write(tmp_path / "b.json", failed)
    rows = read_with_notes(tmp_path)
    assert set(rows.items["model"]) == {"gpt-alpha"}
    assert "skipped 1 of 2 runs" in notes_of(rows)
    good.unlink()
    assert "'airline'" in message(tmp_path)


def test_damaged_record_is_refused_with_its_place(tmp_path):
    run = json.loads(TAU2.read_text())
    run["simulations"] = [run["simulations"][0], {"trial": 0}]
    path = write(tmp_path / "a.json", run)
    assert re.search("simulations 2: .*'task_id'", message(path))
    assert len(read_items(path, skip_bad_lines=True)) == 1
