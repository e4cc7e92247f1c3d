"""lm-evaluation-harness: samples_*.jsonl beside results_*.json."""

import math
import re
from array import array
from functools import cache

import numpy as np

from skbench.readers._json import document, label_at, records
from skbench.readers._logs import Log, choose
from skbench.readers.loading import without_suffixes

# Fields of a sample that are no metric.
_FIELDS = frozenset(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash "
    "target_hash schema_version".split()
)
_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(.+?)(?:_({_TIME}))?\.jsonl?(?:\.(?:gz|bz2|xz))?$")
# Keys of model_args that name the model, in the order in which the program looks for them.
_NAMING = [
    re.compile(rf"(?:^|,)\s*{key}=([^,]+)")
    for key in ("peft", "delta", "pretrained", "model", "path", "engine")
]


class _Samples:
    """Columns of the samples of one filter, in the order of the file."""

    def __init__(self):
        self.seen = set()
        self.items, self.lines, self.labels, self.digests = [], array("q"), [], []
        self.likelihoods, self.n_choices = array("d"), []
        self.scores = {}
        self.numeric, self.not_numbers = set(), {}

    def add_scores(self, record, names):
        """Append one score per metric, nan where the record has none."""
        size = len(self.items)
        for name in names:
            column = self.scores.get(name)
            if column is None:
                column = self.scores[name] = array("d", [math.nan]) * size
            value = record.get(name)
            if isinstance(value, (float, int)):
                self.numeric.add(name)
            else:
                if value is not None:
                    self.not_numbers.setdefault(name, {})[size] = _in_short(value)
                value = math.nan
            column.append(value)
        if len(names) < len(self.scores):
            for column in self.scores.values():
                column.extend([math.nan] * (size + 1 - len(column)))

    def add_choices(self, responses):
        """Append the logarithms of the likelihoods of the choices, if it is about choices."""
        size = len(self.likelihoods)
        if isinstance(responses, list) and len(responses) > 1:
            try:
                self.likelihoods.extend([float(value) for value, _ in responses])
            except (TypeError, ValueError):
                del self.likelihoods[size:]
        self.n_choices.append(len(self.likelihoods) - size)

    def confidence(self):
        """Share of the likeliest choice in the likelihood of all, nan for free answers."""
        sizes = np.array(self.n_choices)
        shares = np.full(len(sizes), np.nan)
        chosen = np.flatnonzero(sizes)
        if chosen.size:
            starts = np.cumsum(sizes)[chosen] - sizes[chosen]
            logs = np.array(self.likelihoods)
            highest = np.maximum.reduceat(logs, starts)
            with np.errstate(invalid="ignore"):
                relative = np.exp(logs - np.repeat(highest, sizes[chosen]))
            shares[chosen] = 1 / np.add.reduceat(relative, starts)
        return shares

    def refuse_infinite(self, path, bad):
        """Infinite scores are no scores: nan where bad lines are skipped."""
        for name, column in self.scores.items():
            for row in np.flatnonzero(np.isinf(column)):
                bad.refuse(path, self.lines[row], f"{name} is infinite")
                column[row] = math.nan

    def refuse_not_numbers(self, score, path, bad):
        """What is no number among the numbers of a score: nan where bad lines are skipped."""
        for row, value in self.not_numbers.get(score, {}).items():
            bad.refuse(path, self.lines[row], f"{score} is {value}, no number")

    def metrics(self, higher_is_better):
        """Names of the metrics that are numbers, if not all, and of which more is better."""
        return [
            name
            for name in self.scores
            if (name in self.numeric or name not in self.not_numbers)
            and higher_is_better.get(name, True)
        ]


def _in_short(value):
    return repr(value[:40]) if isinstance(value, str) else f"a {type(value).__name__}"


def lm_eval_logs(paths, options, bad, notes):
    """Logs of all sample files."""
    results_of = cache(_results)
    files = []
    for path in paths:
        found = _filters(path, options, bad)
        task, time = _task_and_time(path)
        results = results_of(path.parent, time)
        task = task or _task_in_old_name(path, results)
        files.append((path, task, time, results, found))
    files = [file for file in files if file[4]]
    filters = choose(
        [(task, list(found)) for _, task, _, _, found in files],
        options.filter,
        "filter",
        "filter= (--filter)",
        notes,
    )
    files = [(*file[:4], file[4][filters[file[1]]]) for file in files]
    scores = choose(
        [
            (task, samples.metrics(results.get("higher_is_better", {}).get(task) or {}))
            for _, task, _, results, samples in files
        ],
        options.score,
        "score",
        "score= (--score)",
        notes,
    )
    _say_what_is_missing(files, notes)
    for path, task, _, _, samples in files:
        samples.refuse_not_numbers(scores[task], path, bad)
    return [_log(*file, scores[file[1]], options, notes) for file in files]


def _task_and_time(path):
    match = _SAMPLES_NAME.match(path.name)
    return match.groups() if match else (None, None)


def _task_in_old_name(path, results):
    """The task in a name such as pretrained__org__model_task.jsonl."""
    tasks = results.get("configs") or results.get("results") or {}
    stem = min(path.stem, without_suffixes(path), key=len)
    ends = [task for task in tasks if stem.endswith(task)]
    return max(ends, key=len, default=stem)


def _results(folder, time):
    """The summary that was written with the samples, {} where there is none."""
    pattern = f"*_{time}.json" if time else "*results*.json"
    found = [path for path in sorted(folder.glob(pattern)) if not path.name.startswith("samples_")]
    if len(found) != 1:
        return {}
    results = document(found[0])
    return results if isinstance(results, dict) else {}


def _filters(path, options, bad):
    """Samples of each filter of a file."""
    found = {}
    fields = {"topic": options.topic, "cluster": options.cluster}
    fields = {name: field for name, field in fields.items() if field is not None}
    for number, record in records(path, bad):
        try:
            doc_id = record["doc_id"]
            name = record.get("filter", "none")
            samples = found.get(name)
            if samples is None:
                samples = found[name] = _Samples()
            if doc_id in samples.seen:
                raise ValueError(f"repeats doc_id {doc_id!r} of filter {name!r}")
            names = record.get("metrics")
            if names is None:
                names = [key for key in record if key not in _FIELDS]
            labels = {name: label_at(record, at) for name, at in fields.items()} if fields else ()
        except (KeyError, TypeError, ValueError) as error:
            bad.refuse(path, number, error)
            continue
        samples.add_scores(record, names)
        samples.seen.add(doc_id)
        samples.items.append(doc_id)
        samples.lines.append(number)
        samples.digests.append(record.get("doc_hash"))
        samples.add_choices(record.get("filtered_resps"))
        samples.labels.append(labels)
    for samples in found.values():
        samples.refuse_infinite(path, bad)
    return found


def _say_what_is_missing(files, notes):
    for path, task, _, results, samples in files:
        said = (results.get("n-samples") or {}).get(task)
        expected = said.get("effective") if isinstance(said, dict) else None
        if expected and expected != len(samples.items):
            notes.append(
                f"{str(path)!r} holds {len(samples.items)} samples, but its results speak "
                f"of {expected}"
            )


def _log(path, task, time, results, samples, score, options, notes):
    model, invented = _model(path, results, notes)
    columns = {"item": samples.items, "score": samples.scores[score]}
    for field in samples.labels[0]:
        columns[field] = [labels[field] for labels in samples.labels]
    confidence = samples.confidence()
    if not np.isnan(confidence).all():
        columns["confidence"] = confidence
    config = results.get("config") or {}
    return Log(
        path=str(path),
        run="/".join([*path.parent.parts, time or path.name]),
        model=model,
        topic=task,
        score_name=score,
        item_name="doc_id",
        columns=columns,
        settings=[
            *(config.get(key) for key in ("model", "model_args", "model_sha", "gen_kwargs")),
            *(results.get(key) for key in ("chat_template_sha", "system_instruction_sha")),
        ],
        invented=invented,
        digests=samples.digests if all(samples.digests) else None,
    )


def _model(path, results, notes):
    """The name of the model, and whether the program made it up."""
    arguments = (results.get("config") or {}).get("model_args") or ""
    if isinstance(arguments, dict):
        arguments = ",".join(f"{key}={value}" for key, value in arguments.items())
    named = next(filter(None, (key.search(arguments) for key in _NAMING)), None)
    if results.get("model_name"):
        return results["model_name"], not named
    if named:
        return named.group(1), False
    folder = path.resolve().parent.name
    note = f"no results_*.json with a model's name in {str(path.parent)!r}: model named {folder!r}"
    if note not in notes:
        notes.append(note)
    return folder, False
