"""Read Inspect logs: header and summaries of .eval archives, or .json logs."""

import json
from hashlib import sha1

from skbench.readers._answers import Answer, Format, Run, is_label
from skbench.readers._archive import Archive
from skbench.readers._found import UnfinishedRun
from skbench.readers._json import beginning, document, parse, value_at

# Inspect's grades: correct, incorrect, partial credit, no answer.
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_LONGEST_INPUT = 5120  # characters of a text that a summary keeps
# Options of a scorer that define the judge and its prompt.
_JUDGE_OPTIONS = "model template instructions grade_pattern partial_credit".split()
# Settings that do not affect the answers.
_CONNECTION = frozenset("max_retries timeout attempt_timeout max_connections batch".split())


def _records(path, bad, notes):
    """Yield samples. The head is the run, with the fields that the log declares as labels."""
    header, samples = _read(path)
    about, status = header["eval"], header.get("status", "started")
    if status != "success":
        expected = len((about.get("dataset") or {}).get("sample_ids") or [])
        epochs = (about.get("config") or {}).get("epochs") or 1
        text = (
            f"the run in {str(path)!r} did not finish (status {status!r}, "
            f"{len(samples)} of {expected * epochs} samples)"
        )
        notes.append(UnfinishedRun(text))
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
    """Return usage of the model, not of a judge, and time without waits for limits and retries."""
    usage = sample.get("model_usage")
    own = usage.get(model) if isinstance(usage, dict) else None
    found = {"tokens": value_at(own, "total_tokens"), "cost": value_at(own, "total_cost")}
    return found | {"seconds": sample.get("working_time")}


def _run(about):
    settings = [about.get("model_base_url")]
    for arguments in (about.get("model_args") or {}, about.get("model_generate_config") or {}):
        # Objects may be logged in different ways, so only plain values are compared.
        plain = {k: v for k, v in arguments.items() if isinstance(v, (str, int, float))}
        settings.append(sorted(item for item in plain.items() if item[0] not in _CONNECTION))
    return Run(
        model=str(about.get("model")),
        topic=str(about.get("task", "")).rsplit("/", 1)[-1],
        settings=repr(settings),
        arguments=tuple((k, repr(v)) for k, v in (about.get("task_args") or {}).items()),
        graders=tuple(_graders(about)),
    )


def _graders(about):
    """Yield the name of each scorer with a judge, and a description of the judge."""
    role = value_at(about, "model_roles.grader.model")
    scorers = about.get("scorers")
    for scorer in scorers if isinstance(scorers, list) else ():
        name = str(value_at(scorer, "name")).rsplit("/", 1)[-1]
        known = {key: value_at(scorer, f"options.{key}") for key in _JUDGE_OPTIONS}
        known = {key: value for key, value in known.items() if value}
        if name.startswith("model_graded"):
            # By default, a model judges its own answers.
            known = {"model": role or about.get("model")} | known
        if known:
            yield name, ", ".join(f"{key} {value!s}" for key, value in sorted(known.items()))


def _declared(value, key):
    """Return the first text under a key at any depth, or None."""
    if isinstance(value, dict):
        found = value.get(key)
        if isinstance(found, str) and found:
            return found
        value = list(value.values())
    if isinstance(value, list):
        return next(filter(None, (_declared(part, key) for part in value)), None)
    return None


def _read(path):
    """Return the header and the samples of a log."""
    if beginning(path, 2) != b"PK":
        log = document(path)
        return log, log.get("samples") or []
    archive = Archive(path)
    names = archive.names()
    start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if start is None:
        raise ValueError(f"{archive.path!r} is not an Inspect log, because it has no header.json.")
    parts = [name for name in names if name == "summaries.json"]
    # An interrupted run leaves only its journal.
    journal = [n for n in names if n.startswith("_journal/summaries/") and n.endswith(".json")]
    parts = parts or sorted(journal, key=lambda name: (len(name), name))
    return _member(archive, start), [sample for name in parts for sample in _member(archive, name)]


def _member(archive, name):
    try:
        return parse(archive.read(name))
    except (ValueError, RecursionError) as error:
        if archive.path in str(error):
            raise
        raise ValueError(f"{archive.path!r}, member {name!r} is not JSON: {error}.") from None


def _scores(by_scorer):
    """Return scores by scorer, or by scorer/key if a scorer gives several."""
    scores = {}
    for scorer, score in by_scorer.items():
        value = score.get("value")
        parts = value if isinstance(value, dict) else {"": value}
        for key, part in parts.items():
            name = f"{scorer}/{key}" if key else scorer
            scores[name] = _GRADES.get(part, part) if isinstance(part, str) else part
    return scores


def _digest(question):
    """Return a digest of the texts of a question, as far as summaries keep them, or None."""
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
        # Summaries replace an image by "(Image)".
        yield part["text"][:_LONGEST_INPUT] if kind == "text" else f"({kind.capitalize()})"


INSPECT = Format("inspect", "Inspect", ({"eval", "status"},), _records, _answer, item_name="id")
