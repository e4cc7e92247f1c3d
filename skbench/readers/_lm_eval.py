"""Read lm-evaluation-harness: samples_*.jsonl and results_*.json, or results in memory."""

import json
import math
import re

import numpy as np

from skbench._checks import listed
from skbench._notes import LOST, Note
from skbench.readers._answers import Answer, Format, Run
from skbench.readers._json import document, records
from skbench.readers.loading import without_suffixes

# Fields of a sample that are not metrics.
_FIELDS = frozenset(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash "
    "target_hash schema_version".split()
)
_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(.+?)(?:_({_TIME}))?\.jsonl?(?:\.(?:gz|bz2|xz))?$")
# Keys of model_args that name the model, in the order in which the program looks for them.
_NAMING = ("peft", "delta", "pretrained", "model", "path", "engine")
_SETTINGS = (
    "model model_args model_sha gen_kwargs chat_template_sha system_instruction_sha"
).split()


class SamplesInMemory:
    """Samples of one task that `lm_eval.simple_evaluate` returned."""

    unit = "task"

    def __init__(self, results, task, run):
        self.results, self.task, self.run = results, task, f"results {run}"
        self.name = f"{task} in {self.run}"

    def __str__(self):
        return self.name

    def records(self):
        """Yield the samples as the program would write them."""
        for number, sample in enumerate(self.results["samples"][self.task], start=1):
            kept = {name: sample[name] for name in sample if name not in ("arguments", "resps")}
            text = json.dumps(kept | {"target": str(sample.get("target"))}, default=_plain)
            yield f"sample {number}", json.loads(text)


def in_memory(results, run):
    """Return the tasks of a result of `lm_eval.simple_evaluate`, in the order of their files."""
    samples = results.get("samples")
    if not isinstance(samples, dict) or not samples:
        keys = f"only {listed(results, most=6)}" if results else "nothing"
        raise ValueError(
            f"A mapping must be the result of lm_eval.simple_evaluate with its samples, but this "
            f"one contains {keys}. Pass log_samples=True to simple_evaluate."
        )
    return [SamplesInMemory(results, task, run) for task in sorted(samples)]


def _plain(value):
    """Convert a value that JSON cannot represent, as the program does."""
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, set) else str(value)


def _records(path, bad, notes):
    """Yield samples. The head has a run per filter, and the metrics for which lower is better."""
    if isinstance(path, SamplesInMemory):
        results, task, name, samples = path.results, path.task, path.run, path.records()
    else:
        match = _SAMPLES_NAME.match(path.name)
        task, time = match.groups() if match else (None, None)
        results = _results(path.parent, time)
        task = task or _task_in_old_name(path, results)
        name, samples = "/".join([*path.parent.parts, time or path.name]), records(path, bad)
    model, invented = _model(path, results, notes)
    config = results.get("config") or {}
    run = Run(
        model=model,
        topic=task,
        name=name,
        settings=repr([(results | config).get(key) for key in _SETTINGS]),
        invented=invented,
    )
    higher = (results.get("higher_is_better") or {}).get(task) or {}
    head = {"run": run, "runs": {}, "lower": {name for name in higher if not higher[name]}}
    items = set()
    for number, record in samples:
        items.add(record.get("doc_id"))
        yield number, record, head
    expected = (results.get("n-samples") or {}).get(task)
    expected = expected.get("effective") if isinstance(expected, dict) else None
    if expected and expected != len(items):
        text = f"{str(path)!r} has {len(items)} samples, but its results report {expected}"
        notes.append(Note(text, LOST))


def _answer(record, head, path):
    name = record.get("filter", "none")
    run = head["runs"].get(name)
    if run is None:
        run = head["runs"][name] = head["run"]._replace(filter=name)
    metrics = record.get("metrics")
    if metrics is None:
        metrics = [key for key in record if key not in _FIELDS]
    return Answer(
        run,
        record["doc_id"],
        {metric: record.get(metric) for metric in metrics if metric not in head["lower"]},
        digest=record.get("doc_hash"),
        confidence=_confidence(record.get("filtered_resps")),
    )


def _confidence(responses):
    """Return the likeliest choice's share of the likelihood of all choices, nan for free text."""
    if not isinstance(responses, list) or len(responses) < 2:
        return math.nan
    try:
        logs = [float(value) for value, _ in responses]
    except (TypeError, ValueError):
        return math.nan
    highest = max(logs)
    if math.isinf(highest):
        return math.nan
    return 1 / sum(math.exp(value - highest) for value in logs)


def _task_in_old_name(path, results):
    """Return the task in a name such as pretrained__org__model_task.jsonl."""
    tasks = results.get("configs") or results.get("results") or {}
    stem = min(path.stem, without_suffixes(path), key=len)
    ends = [task for task in tasks if stem.endswith(task)]
    return max(ends, key=len, default=stem)


def _results(folder, time):
    """Return the summary that was written with the samples, or {}."""
    pattern = f"*_{time}.json" if time else "*results*.json"
    found = [path for path in sorted(folder.glob(pattern)) if not path.name.startswith("samples_")]
    if len(found) != 1:
        return {}
    results = document(found[0])
    return results if isinstance(results, dict) else {}


def _model(path, results, notes):
    """Return the name of the model, and whether the program invented it."""
    arguments = (results.get("config") or {}).get("model_args") or ""
    if isinstance(arguments, dict):
        arguments = ",".join(f"{key}={value}" for key, value in arguments.items())
    given = (re.search(rf"(?:^|,)\s*{key}=([^,]+)", arguments) for key in _NAMING)
    named = next(filter(None, given), None)
    if results.get("model_name"):
        return results["model_name"], not named
    if named:
        return named.group(1), False
    if isinstance(path, SamplesInMemory):
        return str((results.get("config") or {}).get("model") or "unnamed"), True
    folder = path.resolve().parent.name
    note = (
        f"no results_*.json in {str(path.parent)!r} names the model, so the folder's name "
        f"{folder!r} is used"
    )
    if note not in notes:
        notes.append(note)
    return folder, False


LM_EVAL = Format(
    "lm-eval",
    "lm-evaluation-harness",
    ({"doc_id", "filtered_resps"}, {"doc_id", "resps", "target"}),
    _records,
    _answer,
    item_name="doc_id",
)
