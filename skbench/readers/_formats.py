"""The table of formats: name, title, the keys a file of it has, and what reads it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from skbench.readers._euroeval import euroeval_logs
from skbench.readers._every_eval_ever import EVERY_EVAL_EVER
from skbench.readers._helm import helm_logs
from skbench.readers._inspect import inspect_logs
from skbench.readers._lm_eval import lm_eval_logs
from skbench.readers._promptfoo import PROMPTFOO
from skbench.readers._records import RecordFormat, record_logs


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
}
TITLES = {name: form.title for name, form in FORMATS.items()} | {"table": "tables"}
