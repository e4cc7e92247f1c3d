"""Every Eval Ever: instance-level JSON Lines, one line per sample and metric."""

import math

from skbench.readers._json import records, value_at
from skbench.readers._logs import Log, choose


def every_eval_ever_logs(paths, options, bad, notes):
    """Logs of all files."""
    found = {}
    for path in paths:
        for number, record in records(path, bad):
            try:
                run, score, row = _row(record, options)
                columns = found.setdefault((path, *run), {}).setdefault(score, {})
                if row[0] in columns:
                    raise ValueError(f"repeats sample_id {row[0]!r} of score {score!r}")
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                bad.refuse(path, number, error)
                continue
            columns[row[0]] = row[1:]
    offers = [(topic, list(scores)) for (*_, topic), scores in found.items()]
    chosen = choose(offers, options.score, "score", "score= (--score)", notes)
    return [_log(run, scores[chosen[run[-1]]], chosen, options) for run, scores in found.items()]


def _row(record, options):
    """Run, score name, and item with its score, digest, topic and cluster."""
    name = record["evaluation_name"]
    # A filter of lm-evaluation-harness stands behind the task; both judge the same answers.
    used = value_at(record, "metadata.filter")
    if used:
        name = name.removesuffix(f"/{used}")
    score = value_at(record, "evaluation.score")
    if score is None or record.get("error"):
        score = math.nan
    if not isinstance(score, (int, float)) or math.isinf(score):
        raise ValueError(f"evaluation.score is {score!r}, which is no finite number")
    labels = options.labels_of(record)
    run = (record["evaluation_id"], record["model_id"], name)
    item = (str(record["sample_id"]), float(score), record.get("sample_hash"), *labels)
    return run, record.get("evaluation_result_id") or "score", item


def _log(run, samples, chosen, options):
    path, evaluation, model, topic = run
    scores, digests, topics, clusters = zip(*samples.values(), strict=True)
    columns = {"item": list(samples), "score": scores, **options.label_columns(topics, clusters)}
    return Log(
        path=str(path),
        run=evaluation,
        model=model,
        topic=topic,
        score_name=chosen[topic],
        item_name="sample_id",
        columns=columns,
        digests=list(digests) if all(digests) else None,
    )
