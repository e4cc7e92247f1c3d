"""Formats of records: agents, applications, benchmarks, tests; runs and answers that failed."""

import json
import subprocess
import sys

import pytest

from skbench import read_items
from skbench.readers import read_with_notes


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return path


def lines(path, *records):
    return write(path, "\n".join(map(json.dumps, records)))


def answers(rows):
    """(model, topic, item, score) of all rows."""
    return [tuple(row) for row in rows.items[["model", "topic", "item", "score"]].to_numpy()]


def simulation(task, trial, reward, reason="agent_stop"):
    info = None if reward is None else {"reward": reward}
    return {"task_id": task, "trial": trial, "reward_info": info, "termination_reason": reason}


def tau2_results(llm, *simulations):
    """As src/tau2/data_model/simulation.py of tau2-bench declares it."""
    agent = {"implementation": "llm_agent", "llm": llm, "llm_args": {"temperature": 0.0}}
    environment = {"domain_name": "airline", "policy": "Be polite."}
    info = {"num_trials": 2, "agent_info": agent, "environment_info": environment}
    tasks = [{"id": "0", "description": {}}, {"id": "1", "description": {}}]
    return {"timestamp": "2025", "info": info, "tasks": tasks, "simulations": list(simulations)}


def test_tau2_trials_are_repeats_and_never_items(tmp_path):
    runs = [simulation("0", 0, 1.0), simulation("0", 1, 0.0), simulation("1", 0, 0.0)]
    failed = simulation("1", 1, None, "infrastructure_error")
    rows = read_with_notes(write(tmp_path / "a.json", tau2_results("gpt-4.1", *runs, failed)))
    assert rows.formats == ["tau2"]
    assert answers(rows) == [
        ("gpt-4.1", "airline", "airline/0", 1.0),
        ("gpt-4.1", "airline", "airline/0", 0.0),
        ("gpt-4.1", "airline", "airline/1", 0.0),
    ]
    assert list(rows.items["repeat"]) == [1, 2, 1]
    assert list(rows.items["cluster"]) == list(rows.items["item"])
    assert any("1 of 4 scores are missing" in note for note in rows.notes)
    assert len(rows.blank) == 1


def test_tau_bench(tmp_path):
    runs = [{"task_id": i, "reward": i % 2, "info": {}, "traj": [], "trial": 0} for i in range(3)]
    runs.append({"task_id": 3, "reward": 0.0, "info": {"error": "boom"}, "traj": [], "trial": 0})
    rows = read_with_notes(write(tmp_path / "gpt-4o.json", runs))
    assert rows.formats == ["tau-bench"]
    assert [row[3] for row in answers(rows)] == [0.0, 1.0, 0.0]
    assert rows.items["model"].unique() == ["gpt-4o"]


def test_swe_bench_counts_empty_patches_as_wrong_and_errors_as_no_answer(tmp_path):
    names = [f"django__django-{i}" for i in range(4)]
    report = {
        "total_instances": 300,
        "submitted_instances": 4,
        "resolved_instances": 1,
        "submitted_ids": names,
        "resolved_ids": names[:1],
        "unresolved_ids": names[1:2],
        "empty_patch_ids": names[2:3],
        "error_ids": names[3:],
        "schema_version": 2,
    }
    rows = read_with_notes(write(tmp_path / "org__agent.run1.json", report))
    assert rows.formats == ["swe-bench"]
    assert [(m, t, s) for m, t, _, s in answers(rows)] == [
        ("org/agent", "django/django", score) for score in (1.0, 0.0, 0.0)
    ]
    assert len(rows.blank) == 1
    del report["submitted_ids"]
    with pytest.raises(ValueError, match="is not written as expected: KeyError\\('submitted_ids"):
        read_items(write(tmp_path / "b.json", report))


def test_openai_evals(tmp_path):
    spec = {"completion_fns": ["gpt-4"], "eval_name": "sums.s1", "run_id": "r", "run_config": {}}
    event = {"run_id": "r", "event_id": 0, "sample_id": "sums.0", "type": "sampling", "data": {}}
    match = event | {"type": "match", "data": {"correct": True, "expected": "4"}}
    other = match | {"sample_id": "sums.1", "data": {"correct": False, "expected": "5"}}
    path = lines(tmp_path / "log.jsonl", {"spec": spec}, event, match, other, {"final_report": {}})
    rows = read_with_notes(path)
    assert rows.formats == ["openai-evals"]
    assert answers(rows) == [
        ("gpt-4", "sums.s1", "sums.s1/sums.0", 1.0),
        ("gpt-4", "sums.s1", "sums.s1/sums.1", 0.0),
    ]


def test_deepeval(tmp_path):
    def case(name, score, error=None):
        metrics = [{"name": "Answer Relevancy", "score": score, "success": True, "error": error}]
        return {"name": name, "input": f"What is {name}?", "success": True, "metricsData": metrics}

    cases = [case("a", 0.5), case("b", 1.0), case("c", None, "no key")]
    run = {"testCases": cases, "hyperparameters": {"model": "gpt-4o"}}
    rows = read_with_notes(write(tmp_path / "run.json", run))
    assert rows.formats == ["deepeval"]
    assert [row[3] for row in answers(rows)] == [0.5, 1.0]
    assert rows.columns["score"] == "Answer Relevancy"
    assert rows.items["model"].unique() == ["gpt-4o"]


def test_mlflow_tables_share_rows_with_the_same_inputs(tmp_path):
    columns = ["inputs", "outputs", "answer_correctness/v1/score"]
    for model, score in (("a", 5), ("b", 3)):
        data = [["q1", "x", score], ["q2", "y", 1]]
        write(tmp_path / f"{model}.json", {"columns": columns, "data": data})
    rows = read_with_notes(tmp_path)
    assert rows.formats == ["mlflow"]
    assert rows.columns["score"] == "answer_correctness"
    assert rows.items.groupby("item")["model"].nunique().eq(2).all()


def test_mt_bench_judgments_are_clustered_by_question(tmp_path):
    judged = [
        {"question_id": q, "model": "vicuna", "judge": ["gpt-4", "x"], "score": s, "turn": t}
        for q, t, s in ((81, 1, 9), (81, 2, 7), (111, 1, 3), (111, 2, -1))
    ]
    rows = read_with_notes(lines(tmp_path / "gpt-4_single.jsonl", *judged))
    assert rows.formats == ["mt-bench"]
    assert [(t, s) for _, t, _, s in answers(rows)] == [
        ("writing", 9.0),
        ("writing", 7.0),
        ("math", 3.0),
    ]
    assert list(rows.items["cluster"]) == ["81", "81", "111"]


def test_opencompass(tmp_path):
    details = {"type": "GEN", "0": {"pred": "A", "correct": True}, "1": {"correct": False}}
    path = write(tmp_path / "llama" / "siqa.json", {"accuracy": 50.0, "details": details})
    rows = read_with_notes(path)
    assert rows.formats == ["opencompass"]
    assert answers(rows) == [("llama", "siqa", "siqa/0", 1.0), ("llama", "siqa", "siqa/1", 0.0)]


def test_mteb_revisions_of_a_model_are_models(tmp_path):
    for revision in ("aaa", "bbb"):
        subset = {"main_score": 0.5, "hf_subset": "en", "languages": ["eng-Latn"]}
        result = {"task_name": "Banking77", "mteb_version": "2.0", "scores": {"test": [subset]}}
        write(tmp_path / "e5" / revision / "Banking77.json", result)
    rows = read_with_notes(tmp_path)
    assert rows.formats == ["mteb"]
    assert list(rows.items["item"]) == ["Banking77/test en"] * 2
    assert rows.items["model"].nunique() == 2


def test_tests_that_pytest_wrote_itself(tmp_path):
    write(
        tmp_path / "test_sums.py",
        "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\n"
        "@pytest.mark.skip\ndef test_c(): pass\n"
        "@pytest.fixture\ndef broken(): raise RuntimeError\ndef test_d(broken): pass\n",
    )
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=agent.xml", "test_sums.py"]
    subprocess.run([*command, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True)
    rows = read_with_notes(tmp_path / "agent.xml")
    assert rows.formats == ["junit"]
    assert answers(rows) == [
        ("agent", "test_sums", "test_sums/test_a", 1.0),
        ("agent", "test_sums", "test_sums/test_b", 0.0),
    ]
    assert len(rows.blank) == 2  # skipped, or broken before the test began


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite name="a"></testsuite>', "declares a document"),
        ("<testsuite><testcase name='a'>", "is no XML, or is cut off"),
    ],
)
def test_xml_that_is_not_trusted(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        read_items(write(tmp_path / "a.xml", text))


def test_pytest_json_report(tmp_path):
    outcomes = ("passed", "failed", "error", "xpassed")
    tests = [{"nodeid": f"t.py::test_{i}", "outcome": o} for i, o in enumerate(outcomes)]
    report = {"created": 1.0, "exitcode": 1, "root": "/", "environment": {}, "tests": tests}
    rows = read_with_notes(write(tmp_path / "agent.json", report))
    assert rows.formats == ["pytest-json"]
    assert [row[3] for row in answers(rows)] == [1.0, 0.0, 1.0]


def test_a_run_that_failed_does_not_spoil_a_folder(tmp_path):
    good = [simulation("0", 0, 1.0), simulation("1", 0, 0.0)]
    bad = [simulation("0", 0, None), simulation("1", 0, None)]
    write(tmp_path / "a.json", tau2_results("gpt-4.1", *good))
    write(tmp_path / "b.json", tau2_results("claude", *bad))
    rows = read_with_notes(tmp_path)
    assert set(rows.items["model"]) == {"gpt-4.1"}
    assert any("1 of 2 runs have no score at all, left out: claude" in n for n in rows.notes)
    (tmp_path / "a.json").unlink()
    with pytest.raises(ValueError, match="runs failed, or were cancelled"):
        read_items(tmp_path)


def test_damaged_record_is_refused_with_its_place(tmp_path):
    run = tau2_results("gpt-4.1", simulation("0", 0, 1.0), {"trial": 0})
    path = write(tmp_path / "a.json", run)
    with pytest.raises(ValueError, match="simulations 2: has no field 'task_id'"):
        read_items(path)
    assert len(read_items(path, skip_bad_lines=True)) == 1
