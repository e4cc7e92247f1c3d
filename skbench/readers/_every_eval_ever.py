"""Read Every Eval Ever: instance-level JSON Lines, one line per sample and metric."""

from skbench.readers._answers import Format, answer_of, number, records_by_line
from skbench.readers._json import value_at


def _answer(record, head, path):
    # A filter of lm-evaluation-harness after the name of the task scores the same answers.
    used = value_at(record, "metadata.filter")
    score = None if record.get("error") else value_at(record, "evaluation.score")
    return answer_of(
        record["model_id"],
        record["evaluation_name"].removesuffix(f"/{used}" if used else ""),
        str(record["sample_id"]),
        {record.get("evaluation_result_id") or "score": score},
        digest=record.get("sample_hash"),
        name=record["evaluation_id"],
        costs={
            "tokens": value_at(record, "token_usage.total_tokens"),
            "seconds": number(value_at(record, "performance.latency_ms")) / 1000,
        },
    )


EVERY_EVAL_EVER = Format(
    "every-eval-ever",
    "Every Eval Ever",
    ({"evaluation_id", "sample_id", "evaluation"},),
    records_by_line,
    _answer,
    item_name="sample_id",
    in_parts=True,
)
