"""Evaluations of applications: OpenAI evals, DeepEval, evaluation tables of MLflow."""

import json
import re
from hashlib import sha1

from skbench.readers._answers import Format, answer_of, records_in
from skbench.readers._json import document, records, value_at
from skbench.readers.loading import without_suffixes


def _digest(value):
    text = json.dumps(value, sort_keys=True, default=str)
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _events(path, bad, notes):
    """Events with scores; the head is the line that describes the evaluation."""
    spec, finished = {}, False
    for number, record in records(path, bad):
        spec = record.get("spec", spec)
        finished = finished or "final_report" in record
        if record.get("type") in ("match", "metrics") and record.get("sample_id") is not None:
            yield number, record, spec
    if not finished:
        notes.append(f"{str(path)!r} has no final report: the run did not finish")


def _openai(event, spec, path):
    """An event of a sample (evals/record.py, RunSpec in evals/base.py)."""
    return answer_of(
        ",".join(map(str, spec.get("completion_fns") or [without_suffixes(path)])),
        str(spec.get("eval_name") or without_suffixes(path)),
        str(event["sample_id"]),
        event.get("data") or {},
        name=spec.get("run_id"),
        settings=repr(value_at(spec, "run_config.command_line_args")),
    )


def _deepeval(case, run, path):
    """A test case of a test run (deepeval/test_run/api.py); it need not name a model."""
    metrics = case.get("metricsData") or []
    return answer_of(
        str(value_at(run, "hyperparameters.model") or without_suffixes(path)),
        str(run.get("testFile") or "test cases"),
        str(case["name"]),
        {metric["name"]: metric.get("score") for metric in metrics if not metric.get("error")},
        digest=_digest(case.get("input") or case.get("turns")),
    )


def _rows(path, bad, notes):
    """Rows of a table that is written by columns and data; the head is the name of the run."""
    table = document(path)
    about = path.parent.parent / "meta.yaml"  # of the run, where tracking is a folder
    named = re.search(r"^run_name: (.+)$", about.read_text(), re.M) if about.exists() else None
    for number, cells in enumerate(table["data"], start=1):
        row = dict(zip(table["columns"], cells, strict=True))
        yield f"row {number}", row | {"row": number}, named[1] if named else without_suffixes(path)


def _mlflow(row, model, path):
    """A row of eval_results_table.json (mlflow/models/evaluation)."""
    scores = {name.split("/")[0]: value for name, value in row.items() if name.endswith("/score")}
    digest = _digest(row.get("inputs"))
    return answer_of(model, "evaluation table", str(row["row"]), scores, digest=digest)


OPENAI = Format("OpenAI evals", ({"spec"},), _events, _openai, "sample_id", in_parts=True)
_CASES = records_in("testCases", "conversationalTestCases")
DEEPEVAL = Format("DeepEval", ({"testCases"},), _CASES, _deepeval, "name")
MLFLOW = Format("MLflow", ({"columns", "data"},), _rows, _mlflow, "row")
