"""Read EuroEval: euroeval_benchmark_results.jsonl, one line per model and data set."""

import json
import re

from skbench.readers._answers import MISFITS, Answer, Format, Run, misfit
from skbench.readers._json import records, value_at

# Entries among the scores that are not scores.
_NO_SCORES = re.compile(r"failed_instances|speed")
# Old versions appended these to the model's name.
_MODE_IN_NAME = re.compile(r"\s*\(([^()]*(?:few-shot|zero-shot|val)[^()]*)\)$")


def _records(path, bad, notes):
    """Yield the scores of each bootstrap sample. The head is the run."""
    seen, several = set(), None
    for number, record in records(path, bad):
        try:
            run, scores = _run(path, record)
            again = run in seen
        except MISFITS as error:
            bad.refuse(path, number, misfit(error, "run as EuroEval writes it"))
            continue
        if again:
            bad.refuse(path, number, f"repeats model {run.model!r} on {run.topic!r}")
            continue
        seen.add(run)
        several = several or ("/" in dict(run.about).get("language", "") and run.topic)
        for sample, values in enumerate(scores, start=1):
            yield number, {"sample": sample, "scores": values}, run
    if several:
        notes.append(
            f"data set {several!r} has several languages, which count as one language of their "
            "own (change the column language to count it elsewhere)"
        )


def _answer(record, run, path):
    scores = {
        name: value
        for name, value in record["scores"].items()
        if isinstance(value, (int, float)) and not _NO_SCORES.search(name)
    }
    return Answer(run, record["sample"], scores)


def _run(path, record):
    """Return the run of a line, in any of three versions, and the scores of its samples."""
    details = record
    if "model_info" in record:  # since version 17, which uses the schema of Every Eval Ever
        details = record["eval_library"]["additional_details"] | {
            "model": record["model_info"]["name"],
            "generative": value_at(record, "model_info.additional_details.generative"),
        }
    model, raw = details["model"], details.get("raw_results") or value_at(record, "results.raw")
    mode = [
        name
        for name, applies in {
            "zero-shot": _yes(details.get("generative")) and _no(details.get("few_shot")),
            "val": _yes(details.get("validation_split")),
        }.items()
        if applies
    ]
    if match := _MODE_IN_NAME.search(model):
        model, mode = model[: match.start()], [match.group(1)]
    raw = json.loads(raw) if isinstance(raw, str) else raw
    if isinstance(raw, dict):
        raw = raw.get("test") or next(iter(raw.values()), None)
    if not isinstance(raw, list) or not raw:
        raise KeyError("results.raw")
    dataset, mode = details["dataset"], ", ".join(mode)
    # Files before version 16 have neither task nor language.
    about = {"dataset": dataset, "task": details.get("task"), "language": _languages(details)}
    return Run(
        model=model,
        topic=dataset,
        name=f"{path.as_posix()}/{mode or 'few-shot'}",
        settings=mode,
        about=tuple((name, value) for name, value in about.items() if value),
    ), raw


def _yes(value):
    return value in (True, "true")


def _no(value):
    return value in (False, "false")


def _languages(details):
    """Return the language, or several joined. ScandEval used the second key."""
    languages = details.get("languages") or details.get("dataset_languages")
    if isinstance(languages, str) and languages.startswith("["):
        languages = json.loads(languages)
    if isinstance(languages, list):
        languages = "/".join(map(str, languages))
    return languages or details.get("language")


EUROEVAL = Format(
    "euroeval",
    "EuroEval",
    ({"dataset", "model", "results"},),
    _records,
    _answer,
    item_name="run",
    word=b'"raw',
    note="EuroEval keeps one score per bootstrap sample of the test set, so these samples are the "
    "items here. Use RepeatedRuns and MeanRankScore, because intervals for items are too short",
)
