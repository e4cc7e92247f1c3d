"""Evaluations of applications: OpenAI evals, DeepEval, evaluation tables of MLflow."""

import json
from hashlib import sha1

from skbench.readers._answers import Answer, Format, Run, records_in
from skbench.readers._json import document, records, value_at
from skbench.readers.loading import without_suffixes


def _digest(value):
    text = json.dumps(value, sort_keys=True, default=str)
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _openai_events(path, bad, notes):
    """Events with scores; the head is the line that describes the evaluation."""
    spec = {}
    for number, record in records(path, bad):
        spec = record.get("spec", spec)
        if record.get("type") in ("match", "metrics") and record.get("sample_id") is not None:
            yield number, record, spec


def _openai(event, spec, path):
    """An event of a sample (evals/record.py, RunSpec in evals/base.py)."""
    models = spec.get("completion_fns") or [without_suffixes(path)]
    return Answer(
        Run(
            model=",".join(map(str, models)),
            topic=str(spec.get("eval_name") or without_suffixes(path)),
            name=spec.get("run_id"),
            settings=repr(value_at(spec, "run_config.command_line_args")),
        ),
        str(event["sample_id"]),
        event.get("data") or {},
    )


def _deepeval(case, run, path):
    """A test case of a test run (deepeval/test_run/api.py); it need not name a model."""
    metrics = case.get("metricsData") or []
    return Answer(
        Run(
            model=str(value_at(run, "hyperparameters.model") or without_suffixes(path)),
            topic=str(run.get("testFile") or "test cases"),
        ),
        str(case["name"]),
        {metric["name"]: metric.get("score") for metric in metrics if not metric.get("error")},
        digest=_digest(case.get("input")),
    )


def _mlflow_rows(path, bad, notes):
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
    """A row of eval_results_table.json (mlflow/models/evaluation); the file names the model."""
    return Answer(
        Run(model=without_suffixes(path), topic="evaluation table"),
        str(row["row"]),
        {name.split("/")[0]: value for name, value in row.items() if name.endswith("/score")},
        digest=_digest(row.get("inputs")),
    )


OPENAI = Format("OpenAI evals", ({"spec"},), _openai_events, _openai, "sample_id", in_parts=True)
DEEPEVAL = Format("DeepEval", ({"testCases"},), records_in("testCases"), _deepeval, "name")
MLFLOW = Format("MLflow", ({"columns", "data"},), _mlflow_rows, _mlflow, "row")
