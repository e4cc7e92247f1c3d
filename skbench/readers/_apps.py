"""Read evaluations of applications: OpenAI evals, DeepEval, evaluation tables of MLflow."""

import json
import re
from hashlib import sha1

from skbench.readers._answers import Format, answer_of
from skbench.readers._found import UnfinishedRun
from skbench.readers._json import beginning, document, records, value_at
from skbench.readers.loading import without_suffixes


def _digest(value):
    text = json.dumps(value, sort_keys=True, default=str)
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _samples(path, bad, notes):
    """Yield samples with their events. The head is the line that describes the evaluation."""
    spec, found, finished = {}, {}, False
    for number, record in records(path, bad):
        spec = record.get("spec", spec)
        finished = finished or "final_report" in record
        name = record.get("sample_id")
        if name is not None:
            sample = found.setdefault(
                name, (number, {"sample_id": name, "scores": {}, "tokens": []})
            )[1]
            if record.get("type") in ("match", "metrics"):
                sample["scores"] |= record.get("data") or {}
            elif record.get("type") == "sampling":
                sample["tokens"].append(value_at(record, "data.usage.total_tokens"))
    if not finished:
        notes.append(UnfinishedRun(f"the run in {str(path)!r} did not finish (no final report)"))
    yield from ((number, sample, spec) for number, sample in found.values())


def _openai(sample, spec, path):
    """Convert a sample (evals/record.py, RunSpec in evals/base.py)."""
    return answer_of(
        ",".join(map(str, spec.get("completion_fns") or [without_suffixes(path)])),
        str(spec.get("eval_name") or without_suffixes(path)),
        str(sample["sample_id"]),
        sample["scores"],
        name=spec.get("run_id"),
        # Some of several requests may be a judge's.
        costs={"tokens": sample["tokens"][0]} if len(sample["tokens"]) == 1 else {},
    )


def _cases(path, bad, notes):
    """Yield the test cases and conversations of a test run."""
    run = document(path)
    run = run.get("testRunData", run)
    run = run | {"graders": tuple(sorted(set(_graders(run))))}
    for key in ("testCases", "conversationalTestCases"):
        for number, case in enumerate(run.get(key) or [], start=1):
            yield f"{key} {number}", case, run


def _graders(run):
    """Yield each metric with its judge, if the judge is named."""
    for case in run.get("testCases") or []:
        metrics = case.get("metricsData") if isinstance(case, dict) else None
        for metric in metrics if isinstance(metrics, list) else []:
            if isinstance(metric, dict) and isinstance(metric.get("evaluationModel"), str):
                yield str(metric.get("name")), f"model {metric['evaluationModel']}"


def _deepeval(case, run, path):
    """Convert a test case (deepeval/test_run/api.py). It need not name a model."""
    metrics = case.get("metricsData") or []
    return answer_of(
        str(value_at(run, "hyperparameters.model") or without_suffixes(path)),
        str(run.get("testFile") or "test cases"),
        str(case["name"]),
        {metric["name"]: metric.get("score") for metric in metrics if not metric.get("error")},
        digest=_digest(case["input"]) if "input" in case else None,  # a conversation has none
        graders=run["graders"],
        costs={"seconds": case.get("completionTime"), "cost": case.get("tokenCost")},
    )


def _rows(path, bad, notes):
    """Yield the rows of a table with the keys columns and data. The head is the run's name."""
    table = document(path)
    about = path.parent.parent / "meta.yaml"  # of the run, if MLflow tracks to a folder
    text = beginning(about, 2**16).decode("utf-8", "replace") if about.exists() else ""
    named = re.search(r"^run_name: (.+)$", text, re.M)
    for number, cells in enumerate(table["data"], start=1):
        row = dict(zip(table["columns"], cells, strict=False))
        if len(row) < max(len(cells), len(table["columns"])):
            bad.refuse(path, f"row {number}", "does not have one cell per column")
            continue
        yield f"row {number}", row | {"row": number}, named[1] if named else without_suffixes(path)


def _mlflow(row, model, path):
    """Convert a row of eval_results_table.json (mlflow/models/evaluation)."""
    scores = {name.split("/")[0]: value for name, value in row.items() if name.endswith("/score")}
    return answer_of(
        model,
        "evaluation table",
        str(row["row"]),
        scores,
        digest=_digest(row.get("inputs")),
        costs={"tokens": row.get("token_count"), "seconds": row.get("latency")},
    )


OPENAI = Format("openai-evals", "OpenAI evals", ({"spec"},), _samples, _openai, "sample_id")
DEEPEVAL = Format(
    "deepeval", "DeepEval", ({"testCases"}, {"testRunData"}), _cases, _deepeval, "name"
)
_MLFLOW_SIGNS = ({"columns", "data"},)
MLFLOW = Format("mlflow", "MLflow", _MLFLOW_SIGNS, _rows, _mlflow, "row", word=b'/score"')
