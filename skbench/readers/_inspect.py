"""Inspect AI: .eval archives, of which header and summaries are read, and .json logs."""

import json
from hashlib import sha1

from skbench._notes import LOST, Note
from skbench.readers._answers import Answer, Format, Run, is_label
from skbench.readers._archive import Archive
from skbench.readers._json import beginning, document, parse, value_at

# Inspect's own scale, including partial credit and no answer.
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_LONGEST_INPUT = 5120  # letters of a text that a summary keeps
# Options of a scorer that say what judges, and by which prompt.
_OF_A_JUDGE = "model template instructions grade_pattern partial_credit".split()
# What changes how answers are fetched, not what they are.
_ERRANDS = frozenset("max_retries timeout attempt_timeout max_connections batch".split())


def _records(path, bad, notes):
    """Samples; the head is the run, with the fields that the log declares as labels."""
    header, samples = _read(path)
    about, status = header["eval"], header.get("status", "started")
    if status != "success":
        expected = len((about.get("dataset") or {}).get("sample_ids") or [])
        epochs = (about.get("config") or {}).get("epochs") or 1
        text = (
            f"{str(path)!r} did not finish (status {status!r}): "
            f"{len(samples)} of {expected * epochs} samples"
        )
        notes.append(Note(text, LOST))
    declared = []
    for role, key in (("cluster", "cluster"), ("part", "group_key")):
        name = _declared([about.get("scorers"), header.get("results")], key)
        field = f"metadata.{name}"
        if name and all(is_label(value_at(sample, field)) for sample in samples):
            declared.append((role, field))
    run = _run(about)._replace(declared=tuple(declared))
    for number, sample in enumerate(samples, start=1):
        yield f"sample {number}", sample, run


def _answer(sample, run, path):
    return Answer(
        run,
        sample["id"],
        _scores(sample.get("scores") or {}),
        attempt=sample.get("epoch", 1),
        digest=_digest(sample.get("input")),
        costs=_costs(sample, run.model),
        **{role: value_at(sample, field) for role, field in run.declared},
    )


def _costs(sample, model):
    """Usage of the model itself, not of a judge; time without waits for limits and retries."""
    usage = sample.get("model_usage")
    own = usage.get(model) if isinstance(usage, dict) else None
    found = {"tokens": value_at(own, "total_tokens"), "cost": value_at(own, "total_cost")}
    return found | {"seconds": sample.get("working_time")}


def _run(about):
    settings = [about.get("model_base_url")]
    for arguments in (about.get("model_args") or {}, about.get("model_generate_config") or {}):
        # Only what can be compared: objects are written down in full, or not at all.
        plain = {k: v for k, v in arguments.items() if isinstance(v, (str, int, float))}
        settings.append(sorted(item for item in plain.items() if item[0] not in _ERRANDS))
    return Run(
        model=str(about.get("model")),
        topic=str(about.get("task", "")).rsplit("/", 1)[-1],
        settings=repr(settings),
        arguments=tuple((k, repr(v)) for k, v in (about.get("task_args") or {}).items()),
        graders=tuple(_graders(about)),
    )


def _graders(about):
    """The name of each scorer with a judge, and what the log declares of it."""
    role = value_at(about, "model_roles.grader.model")
    scorers = about.get("scorers")
    for scorer in scorers if isinstance(scorers, list) else ():
        name = str(value_at(scorer, "name")).rsplit("/", 1)[-1]
        told = {key: value_at(scorer, f"options.{key}") for key in _OF_A_JUDGE}
        told = {key: value for key, value in told.items() if value}
        if name.startswith("model_graded"):
            # Without any, a model judges its own answers.
            told = {"model": role or about.get("model")} | told
        if told:
            yield name, ", ".join(f"{key} {value!s}" for key, value in sorted(told.items()))


def _declared(value, key):
    """The first text under a key at any depth, None where there is none."""
    if isinstance(value, dict):
        found = value.get(key)
        if isinstance(found, str) and found:
            return found
        value = list(value.values())
    if isinstance(value, list):
        return next(filter(None, (_declared(part, key) for part in value)), None)
    return None


def _read(path):
    """Header and summaries."""
    if beginning(path, 2) != b"PK":
        log = document(path)
        return log, log.get("samples") or []
    archive = Archive(path)
    names = archive.names()
    start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if start is None:
        raise ValueError(f"{archive.path!r} is no log of Inspect: it has no header.json.")
    parts = [name for name in names if name == "summaries.json"]
    # A run that was cut off leaves its journal.
    journal = [n for n in names if n.startswith("_journal/summaries/") and n.endswith(".json")]
    parts = parts or sorted(journal, key=lambda name: (len(name), name))
    return _member(archive, start), [sample for name in parts for sample in _member(archive, name)]


def _member(archive, name):
    try:
        return parse(archive.read(name))
    except (ValueError, RecursionError) as error:
        if archive.path in str(error):
            raise
        raise ValueError(f"{archive.path!r}, member {name!r} is no JSON: {error}.") from None


def _scores(by_scorer):
    """Scores by scorer, or scorer/key where a scorer gives several."""
    scores = {}
    for scorer, score in by_scorer.items():
        value = score.get("value")
        parts = value if isinstance(value, dict) else {"": value}
        for key, part in parts.items():
            name = f"{scorer}/{key}" if key else scorer
            scores[name] = _GRADES.get(part, part) if isinstance(part, str) else part
    return scores


def _digest(question):
    """Of the texts of a question, as far as summaries keep them; None where there is none."""
    messages = question if isinstance(question, list) else [{"content": question}]
    try:
        texts = [text for message in messages for text in _texts(message["content"])]
    except (KeyError, TypeError, AttributeError):
        return None
    joined = json.dumps(texts, ensure_ascii=False).encode("utf-8", "replace")
    return sha1(joined, usedforsecurity=False).hexdigest() if texts else None


def _texts(content):
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for part in content or ():
        kind = part["type"]
        # Summaries say "(Image)" in place of one.
        yield part["text"][:_LONGEST_INPUT] if kind == "text" else f"({kind.capitalize()})"


INSPECT = Format("inspect", "Inspect", ({"eval", "status"},), _records, _answer, item_name="id")
