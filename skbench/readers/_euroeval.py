"""EuroEval: euroeval_benchmark_results.jsonl, one line per model and dataset."""

import json
import math
import re
from typing import NamedTuple

from skbench.readers._json import records
from skbench.readers._logs import Log, choose

# Kept among the scores of an evaluation, but none themselves.
_NO_SCORES = re.compile(r"failed_instances|speed")
# Old versions wrote these into the name of the model.
_MODE_IN_NAME = re.compile(r"\s*\(([^()]*(?:few-shot|zero-shot|val)[^()]*)\)$")


def euroeval_logs(paths, options, bad, notes):
    """Logs of all files."""
    options.refuse_fields("EuroEval")
    found, seen = [], set()
    for path in paths:
        for number, record in records(path, bad):
            try:
                evaluation = _evaluation(record)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                bad.refuse(path, number, error)
                continue
            key = (path, evaluation.model, evaluation.mode, evaluation.dataset)
            if key in seen:
                bad.refuse(
                    path, number, f"repeats model {evaluation.model!r} on {evaluation.dataset!r}"
                )
                continue
            seen.add(key)
            found.append((path, evaluation))
    offers = [(e.dataset, list(e.scores)) for _, e in found]
    chosen = choose(offers, options.score, "score", "score= (--score)", notes)
    if found:
        notes.append(
            "EuroEval keeps one score per bootstrap sample of the test set, not per item: the "
            "items here are these samples. Use RepeatedRuns and MeanRankScore; intervals that "
            "take them for items are too short"
        )
        several = [e.dataset for _, e in found if "/" in (e.language or "")]
        if several:
            notes.append(
                f"data set {several[0]!r} is of several languages, taken as one of its own: "
                "rename it in the column language to count it to another"
            )
    # Files older than version 16 know neither.
    places = [name for name in ("task", "language") if all(getattr(e, name) for _, e in found)]
    return [_log(path, evaluation, chosen, places) for path, evaluation in found]


class _Evaluation(NamedTuple):
    """One line; scores by metric, one for each bootstrap sample."""

    model: str
    mode: str
    dataset: str
    scores: dict
    task: str | None
    language: str | None


def _evaluation(record):
    """A line, in any of three versions."""
    if "model_info" in record:
        return _from_every_eval_ever(record)
    model, mode = record["model"], []
    if match := _MODE_IN_NAME.search(model):
        model, mode = model[: match.start()], [match.group(1)]
    else:
        if record.get("generative") and record.get("few_shot") is False:
            mode.append("zero-shot")
        if record.get("validation_split"):
            mode.append("val")
    scores = _columns(record["results"]["raw"])
    return _Evaluation(model, ", ".join(mode), record["dataset"], scores, *_place(record))


def _from_every_eval_ever(record):
    """Since version 17 results are in the schema of Every Eval Ever, scores in a string."""
    details = record["eval_library"]["additional_details"]
    mode = []
    generative = (record["model_info"].get("additional_details") or {}).get("generative")
    if generative == "true" and details.get("few_shot") == "false":
        mode.append("zero-shot")
    if details.get("validation_split") == "true":
        mode.append("val")
    name, scores = record["model_info"]["name"], _columns(details["raw_results"])
    return _Evaluation(name, ", ".join(mode), details["dataset"], scores, *_place(details))


def _place(details):
    """Task and language, None where not told; several languages as one."""
    # ScandEval called them by the other name.
    languages = details.get("languages") or details.get("dataset_languages")
    if isinstance(languages, str) and languages.startswith("["):
        languages = json.loads(languages)
    if isinstance(languages, list):
        languages = "/".join(map(str, languages))
    return details.get("task"), languages or details.get("language")


def _columns(raw):
    """Scores of all runs by metric."""
    if isinstance(raw, str):
        raw = json.loads(raw)
    if isinstance(raw, dict):
        raw = raw.get("test") or next(iter(raw.values()))
    if not isinstance(raw, list) or not raw:
        raise ValueError("has no raw results")
    columns = {}
    for run, scores in enumerate(raw):
        for name, value in scores.items():
            if isinstance(value, (int, float)) and not _NO_SCORES.search(name):
                if math.isinf(value):
                    raise ValueError(f"{name} is infinite")
                column = columns.setdefault(name, [math.nan] * len(raw))
                column[run] = value
    if not columns:
        raise ValueError("has no score that is a number")
    return columns


def _log(path, evaluation, chosen, places):
    score_name = chosen[evaluation.dataset]
    values = evaluation.scores[score_name]
    columns = {"item": list(range(1, len(values) + 1)), "score": values}
    told = {"dataset": evaluation.dataset, **{name: getattr(evaluation, name) for name in places}}
    return Log(
        path=str(path),
        run=f"{path.as_posix()}/{evaluation.mode or 'few-shot'}",
        model=evaluation.model,
        topic=evaluation.dataset,
        score_name=score_name,
        item_name="run",
        columns=columns | {name: [value] * len(values) for name, value in told.items()},
        settings=evaluation.mode,
    )
