"""The table of formats: name, title, the keys a file of it has, and what reads it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from skbench.readers._agents import SWE_BENCH, TAU, TAU2
from skbench.readers._apps import DEEPEVAL, MLFLOW, OPENAI
from skbench.readers._benchmarks import MT_BENCH, MTEB, OPENCOMPASS
from skbench.readers._euroeval import euroeval_logs
from skbench.readers._every_eval_ever import EVERY_EVAL_EVER
from skbench.readers._helm import helm_logs
from skbench.readers._inspect import inspect_logs
from skbench.readers._lm_eval import lm_eval_logs
from skbench.readers._promptfoo import PROMPTFOO
from skbench.readers._records import RecordFormat, record_logs
from skbench.readers._tests import JUNIT, PYTEST


class Format(NamedTuple):
    """A format of evaluation logs."""

    title: str
    signs: tuple  # sets of keys, of which a file's outermost object has one whole
    logs: Callable  # (paths, options, bad, notes) -> list of Log


def _of_records(title, form: RecordFormat, *signs):
    return Format(title, signs, partial(record_logs, form))


# The first whose signs fit is taken.
FORMATS = {
    "lm-eval": Format(
        "lm-evaluation-harness",
        ({"doc_id", "filtered_resps"}, {"doc_id", "resps", "target"}),
        lm_eval_logs,
    ),
    "every-eval-ever": _of_records(
        "Every Eval Ever", EVERY_EVAL_EVER, {"evaluation_id", "sample_id", "evaluation"}
    ),
    "promptfoo": _of_records(
        "promptfoo", PROMPTFOO, {"promptIdx", "testIdx", "success"}, {"evalId", "results"}
    ),
    "inspect": Format("Inspect", ({"eval", "status"},), inspect_logs),
    "helm": Format("HELM", ({"instance_id", "stats"},), helm_logs),
    "euroeval": Format("EuroEval", ({"dataset", "model", "results"},), euroeval_logs),
    "tau2": _of_records("tau2-bench", TAU2, {"timestamp", "info", "tasks"}),
    "tau-bench": _of_records("tau-bench", TAU, {"task_id", "reward", "traj"}),
    "swe-bench": _of_records("SWE-bench", SWE_BENCH, {"total_instances", "resolved_instances"}),
    "deepeval": _of_records("DeepEval", DEEPEVAL, {"testCases"}),
    "mlflow": _of_records("MLflow", MLFLOW, {"columns", "data"}),
    "openai-evals": _of_records("OpenAI evals", OPENAI, {"spec"}),
    "mt-bench": _of_records("MT-Bench", MT_BENCH, {"question_id", "judge", "score", "turn"}),
    "opencompass": _of_records("OpenCompass", OPENCOMPASS, {"details"}),
    "mteb": _of_records("MTEB", MTEB, {"task_name", "mteb_version"}),
    "junit": _of_records("JUnit XML", JUNIT),
    "pytest-json": _of_records("pytest-json-report", PYTEST, {"exitcode", "root", "environment"}),
}
TITLES = {name: form.title for name, form in FORMATS.items()} | {"table": "tables"}
