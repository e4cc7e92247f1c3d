"""`skbench report --cost`: the same as `tradeoff`, in words, tables, JSON and on the page."""

import numpy as np
import pandas as pd
import pytest
from commands import crossed, parsed, run
from writing import write

from skbench import make_items, read_items, tradeoff
from skbench.report.report import report


@pytest.fixture
def file(tmp_path):
    items = make_items(n_models=4, n_topics=3, n_items=40, random_state=0).items
    rate = items["model"].map({"model-0": 1, "model-1": 9, "model-2": 4, "model-3": 2})
    noise = np.random.default_rng(0).lognormal(0, 0.5, len(items))
    items = items.assign(**{"usage.total_tokens": rate * 100 * noise, "latency_ms": 7.0})
    items.to_csv(tmp_path / "r.csv", index=False)
    return tmp_path / "r.csv", items


def test_report_has_the_sentences_of_tradeoff(file, tmp_path):
    path, items = file
    page = tmp_path / "r.html"
    document = parsed(report, path, "--cost", "usage.total_tokens", "--html", page)
    expected = tradeoff(items, cost="usage.total_tokens")
    table = expected.to_frame()
    assert document["tradeoff"]["sentences"] == expected.sentences()
    assert expected.sentences()[0] in document["headline"]
    found = document["tradeoff"]["models"]
    assert [row["dominated_by"] for row in found] == table["dominated_by"].tolist()
    assert any(row["dominated"] for row in found)
    for name in ("cost", "cost_low", "cost_high", "score_low"):
        np.testing.assert_allclose([row[name] for row in found], table[name], rtol=1e-9)
    assert 'id="tradeoff"' in page.read_text()
    out = run(report, path, "--cost", "usage.total_tokens")
    assert (
        expected.sentences()[0] in " ".join(out.stdout.split())
        and "not used: usage.total_tokens" not in out.stderr
    )
    assert parsed(report, path)["tradeoff"] is None


def test_cost_without_a_column_lists_some(file):
    out = run(report, file[0], "--cost")
    assert out.exit_code == 1
    assert "--cost usage.total_tokens" in out.stderr and "--cost latency_ms" in out.stderr
    out = run(report, file[0], "--cost", "latency")
    assert out.exit_code == 1 and "'latency_ms'?" in out.stderr


@pytest.mark.parametrize("column", ["cost_a", ""])
def test_cost_of_a_file_with_a_column_per_model_is_refused(written, column):
    wide = pd.DataFrame({"item": range(9), "score_a": 1, "score_b": [0, 1, 1] * 3})
    path = written(wide.assign(cost_a=0.1, cost_b=0.2))
    out = run(report, path, "--models", "score_*", *(["--cost", column] if column else ["--cost"]))
    assert out.exit_code == 1 and "--cost" in out.stderr


def test_an_answer_that_is_not_there_has_no_cost(written):
    """Least of all that of another model."""
    rows = pd.DataFrame({"model": list("aaaaabbbb"), "item": [*range(5), *range(4)]})
    rows = rows.assign(
        score=[1, 0, 1, 1, 0, 1, 0, 0, 1], tokens=rows["model"].map({"a": 1, "b": 9})
    )
    found = parsed(report, written(rows), "--cost", "tokens", "--missing", "wrong")["tradeoff"]
    assert {row["model"]: row["cost"] for row in found["models"]} == {"a": 1, "b": 9}


@pytest.mark.parametrize("name", ["cost", "joules"])
def test_costs_of_repeated_answers_are_averaged(written, name):
    levels = {"run": [0, 1], "model": ["a", "b"], "item": range(8)}
    rows = crossed(lambda run, model, item: item % 3 <= run, **levels)
    rows = rows.assign(**{name: 1.0 + 8 * rows["run"], "family": rows["item"] // 2})
    found = parsed(report, written(rows), "--cost", name, "--cluster", "family")["tradeoff"]
    assert [row["cost"] for row in found["models"]] == [5, 5]


@pytest.fixture
def logs(tmp_path):
    """The same runs of Inspect with and without what they took."""
    rng = np.random.default_rng(0)
    for model, tokens in {"large": 900, "small": 100}.items():
        samples, bare = [], []
        for i in range(30):
            bare.append(
                {"id": i, "epoch": 1, "scores": {"score": {"value": int(rng.random() < 0.6)}}}
            )
            usage = {f"org/{model}": {"total_tokens": tokens + int(rng.integers(50))}}
            samples.append(bare[i] | {"model_usage": usage, "working_time": rng.random()})
        head = {"status": "success", "eval": {"task": "t", "model": f"org/{model}"}}
        for folder, found in {"with": samples, "without": bare}.items():
            write(tmp_path / folder / "logs" / f"{model}.json", head | {"samples": found})
    return tmp_path / "with" / "logs", tmp_path / "without" / "logs"


def test_costs_of_logs(logs):
    out = run(report, logs[0], "--cost")
    assert "--cost tokens" in out.stderr and "--cost seconds" in out.stderr
    out = run(report, logs[1], "--cost")
    assert out.exit_code == 1 and "No column" in out.stderr
    document = parsed(report, logs[0], "--cost", "tokens")["tradeoff"]
    assert document["sentences"] == tradeoff(read_items(logs[0]), cost="tokens").sentences()
    assert [row["model"] for row in document["models"] if row["cost"] > 500] == ["org/large"]


@pytest.mark.parametrize("more", [[], ["--missing", "wrong"]])
def test_costs_of_logs_change_nothing_else(logs, more):
    found, bare = (run(report, folder, *more) for folder in logs)
    assert found.exit_code == 0
    texts = [out.stdout.partition("\nNext:\n")[0] for out in (found, bare)]  # paths differ
    assert (texts[0], found.stderr) == (texts[1], bare.stderr)
