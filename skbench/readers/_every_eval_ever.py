"""Every Eval Ever: instance-level JSON Lines, one line per sample and metric."""

import math

from skbench.readers._json import records, value_at
from skbench.readers._records import Answer, RecordFormat


def _samples(path, bad):
    """All metrics of a sample together, as the lines of a file hold them one by one."""
    found = {}
    for number, record in records(path, bad):
        key = tuple(record.get(name) for name in ("evaluation_id", "model_id", "sample_id"))
        name = record.get("evaluation_result_id") or "score"
        try:
            metrics = found.setdefault((*key, _task(record)), (number, record, {}))[2]
            if name in metrics:
                raise ValueError(f"repeats sample_id {record['sample_id']!r} of score {name!r}")
            metrics[name] = _score(record)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            bad.refuse(path, number, error)
    yield from (sample for sample in found.values() if sample[2])


def _task(record):
    """The task; a filter of lm-evaluation-harness behind its name judges the same answers."""
    used = value_at(record, "metadata.filter")
    return record["evaluation_name"].removesuffix(f"/{used}" if used else "")


def _score(record):
    score = value_at(record, "evaluation.score")
    if score is None or record.get("error"):
        return math.nan
    if not isinstance(score, (int, float)) or math.isinf(score):
        raise ValueError(f"evaluation.score is {score!r}, which is no finite number")
    return float(score)


def _answer(record, metrics, path):
    return Answer(
        model=record["model_id"],
        topic=_task(record),
        item=str(record["sample_id"]),
        scores=metrics,
        run=record["evaluation_id"],
        digest=record.get("sample_hash"),
    )


EVERY_EVAL_EVER = RecordFormat(_samples, _answer, "sample_id")
