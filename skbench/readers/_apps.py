"""Evaluations of applications: OpenAI evals, DeepEval, evaluation tables of MLflow."""

import json
from hashlib import sha1

from skbench.readers._json import document, records, value_at
from skbench.readers._records import Answer, RecordFormat, finite, records_in
from skbench.readers.loading import without_suffixes


def _digest(value):
    text = json.dumps(value, sort_keys=True, default=str)
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _openai_samples(path, bad):
    """Events of each sample together; the head is the line that describes the evaluation."""
    spec, found = {}, {}
    for number, record in records(path, bad):
        spec = record.get("spec", spec)
        name = record.get("sample_id")
        if name is None or record.get("type") not in ("match", "metrics"):
            continue
        sample = found.setdefault(name, (number, {"sample_id": name, "scores": {}}))[1]
        sample["scores"] |= record.get("data") or {}
    yield from ((number, sample, spec) for number, sample in found.values())


def _openai(sample, spec, path):
    """A sample (evals/record.py, RunSpec in evals/base.py)."""
    models = spec.get("completion_fns") or [without_suffixes(path)]
    return Answer(
        model=",".join(map(str, models)),
        topic=str(spec.get("eval_name") or without_suffixes(path)),
        item=str(sample["sample_id"]),
        scores=finite(sample["scores"]),
        run=spec.get("run_id"),
        settings=spec.get("run_config", {}).get("command_line_args"),
    )


def _deepeval(case, run, path):
    """A test case of a test run (deepeval/test_run/api.py); no model need be told."""
    metrics = {
        metric["name"]: metric.get("score")
        for metric in case.get("metricsData") or []
        if not metric.get("error")
    }
    return Answer(
        model=str(value_at(run, "hyperparameters.model") or without_suffixes(path)),
        topic=str(run.get("testFile") or "test cases"),
        item=str(case["name"]),
        scores=finite(metrics),
        digest=_digest(case.get("input")),
    )


def _mlflow_rows(path, bad):
    """Rows of a table that is written by columns and data."""
    table = document(path)
    if not any(str(name).endswith("/score") for name in table["columns"]):
        raise ValueError(
            f"{str(path)!r} has no column of scores as MLflow names them, such as "
            "answer_correctness/v1/score. Save another table as CSV."
        )
    for number, cells in enumerate(table["data"], start=1):
        row = dict(zip(table["columns"], cells, strict=True))
        yield f"row {number}", row | {"row": number}, table


def _mlflow(row, table, path):
    """A row of eval_results_table.json (mlflow/models/evaluation); the file says which model."""
    scores = {name.split("/")[0]: value for name, value in row.items() if name.endswith("/score")}
    return Answer(
        model=without_suffixes(path),
        topic="evaluation table",
        item=str(row["row"]),
        scores=finite(scores),
        digest=_digest(row.get("inputs")),
    )


OPENAI = RecordFormat(_openai_samples, _openai, "sample_id")
DEEPEVAL = RecordFormat(records_in("testCases"), _deepeval, "name")
MLFLOW = RecordFormat(_mlflow_rows, _mlflow, "row")
