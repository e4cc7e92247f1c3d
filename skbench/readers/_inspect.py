"""Inspect AI: .eval archives, of which header and summaries are read, and .json logs."""

import json
import math
from hashlib import sha1
from pathlib import Path

from skbench._checks import listed
from skbench.readers._archive import Archive
from skbench.readers._json import document, fast_loads, parse, value_at
from skbench.readers._logs import Log, choose

# Inspect's own scale, including partial credit and no answer.
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_LONGEST_INPUT = 5120  # letters of a text that a summary keeps
# What changes how answers are fetched, not what they are.
_ERRANDS = frozenset("max_retries timeout attempt_timeout max_connections batch".split())
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def inspect_logs(paths, options, bad, notes):
    """Logs of all files."""
    files, every = [], []
    for path in paths:
        try:
            header, samples = _read(path)
            own = _as_declared(header, samples, options)
            scored = _scored(path, samples, own, bad)
        except ValueError as error:
            if not bad.skip or len(paths) == 1:
                raise
            bad.refuse(path, "whole file", str(error))
            continue
        _say_how_it_ended(path, header, samples, notes)
        files.append((path, header, scored))
        every.append(own)
    options = _agreed(options, every, {_task(header) for _, header, _ in files}, notes)
    offers = [(_task(header), _names(scored)) for _, header, scored in files if scored]
    if not offers:
        raise ValueError(f"No sample in {str(paths[0])!r} has a score.")
    _say_what_differs([header for _, header, scored in files if scored], notes)
    chosen = choose(offers, options.score, "score", "score= (--score)", notes)
    return [
        _log(path, header, scored, chosen[_task(header)], options)
        for path, header, scored in files
        if scored
    ]


def _as_declared(header, samples, options):
    """The options with the cluster and the group_key that a log declares for its metrics."""
    about = [header["eval"].get("scorers"), header.get("results")]
    wanted = {"cluster": "cluster"} | ({"topic": "group_key"} if options.declared else {})
    for option, key in wanted.items():
        name = _declared(about, key)
        if name is None or getattr(options, option) is not None:
            continue
        field = f"metadata.{name}"
        if all(_is_label(value_at(sample, field)) for sample in samples):
            options = options._replace(**{option: field})
    return options


def _agreed(options, every, tasks, notes):
    """The options with what all logs declare alike, groups only within one task."""
    for option, how in (("cluster", "--cluster id"), ("topic", "--by task")):
        fields = {getattr(own, option) for own in every}
        if getattr(options, option) is not None or len(fields) > 1 or fields <= {None}:
            continue
        if option == "topic" and len(tasks) > 1:
            continue
        field = fields.pop()
        if field == options.cluster:
            continue
        options = options._replace(**{option: field})
        notes.append(f"{option}: {field}, as the log declares it ({how} to overrule it)")
    return options


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


def _is_label(value):
    return isinstance(value, (str, int, float)) and value == value


def _read(path):
    """Header and summaries."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"PK"
    if zipped:
        return _from_archive(Archive(path))
    log = document(path)
    if not isinstance(log, dict) or not isinstance(log.get("eval"), dict):
        raise ValueError(f"{str(path)!r} is no log of Inspect: it has no field 'eval'.")
    return log, log.get("samples") or []


def _from_archive(archive):
    names = set(archive.names())
    start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if start is None:
        raise ValueError(f"{archive.path!r} is no log of Inspect: it has no header.json.")
    header = _member(archive, start, dict)
    if "summaries.json" in names:
        return header, _member(archive, "summaries.json", list)
    # A run that was cut off leaves its journal.
    parts = [n for n in names if n.startswith("_journal/summaries/") and n.endswith(".json")]
    parts.sort(key=lambda name: (len(name), name))
    return header, [summary for name in parts for summary in _member(archive, name, list)]


def _member(archive, name, kind):
    try:
        value = parse(archive.read(name), fast_loads())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{archive.path!r}, member {name!r} is no JSON: {error}.") from None
    if not isinstance(value, kind):
        raise ValueError(f"{archive.path!r}, member {name!r} holds no {kind.__name__}.")
    return value


def _say_how_it_ended(path, header, samples, notes):
    expected = ((header.get("eval") or {}).get("dataset") or {}).get("sample_ids") or []
    epochs = (header["eval"].get("config") or {}).get("epochs") or 1
    status = header.get("status", "started")
    if status != "success":
        notes.append(
            f"{str(path)!r} did not finish (status {status!r}): "
            f"{len(samples)} of {len(expected) * epochs} samples"
        )


def _say_what_differs(headers, notes):
    """Name the arguments in which runs of one task differ."""
    runs = {}
    for header in headers:
        runs.setdefault(_task(header), []).append(header["eval"].get("task_args") or {})
    for task, given in runs.items():
        values = {
            key: list(dict.fromkeys(repr(a.get(key)) for a in given)) for a in given for key in a
        }
        differing = [f"{key} ({listed(vs, most=4)})" for key, vs in values.items() if len(vs) > 1]
        if differing:
            notes.append(
                f"runs of task {task!r} differ in its arguments: {listed(differing, most=4)}"
            )


def _scored(path, samples, options, bad):
    """What is needed of each sample: item, epoch, scores by name, digest, topic, cluster."""
    rows, seen = [], set()
    for number, sample in enumerate(samples, start=1):
        try:
            key = (sample["id"], sample.get("epoch", 1))
            if key in seen:
                raise ValueError(f"repeats item {key[0]!r}, epoch {key[1]}")
            scores = _scores(sample.get("scores") or {})
            digest = _digest(sample.get("input"))
            labels = options.labels_of(sample)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            malformed = isinstance(error, (TypeError, AttributeError))
            bad.refuse(path, f"sample {number}", "is no sample" if malformed else error)
            continue
        seen.add(key)
        rows.append((*key, scores, digest, *labels))
    return rows


def _scores(by_scorer):
    """Scores by scorer, or scorer/key where a scorer gives several."""
    scores = {}
    for scorer, score in by_scorer.items():
        value = score.get("value")
        if isinstance(value, dict):
            scores |= {f"{scorer}/{key}": _number(part, scorer) for key, part in value.items()}
        elif not isinstance(value, list):
            scores[scorer] = _number(value, scorer)
    return scores


def _number(value, scorer):
    if value is None:
        return math.nan
    if isinstance(value, str):
        known = _GRADES.get(value, _WORDS.get(value.lower()))
        try:
            value = float(value) if known is None else known
        except ValueError:
            raise ValueError(f"scorer {scorer!r} gives {value!r}, which is no number") from None
    if not isinstance(value, (int, float)) or math.isinf(value):
        raise ValueError(f"scorer {scorer!r} gives {value!r}, which is no finite number")
    return float(value)


def _digest(question):
    """Of the texts of a question, as far as summaries keep them; None where there is none."""
    messages = question if isinstance(question, list) else [{"content": question}]
    try:
        texts = [text for message in messages for text in _texts(message["content"])]
    except (KeyError, TypeError, AttributeError):
        return None
    if not texts:
        return None
    joined = json.dumps(texts, ensure_ascii=False)
    return sha1(joined.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def _texts(content):
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for part in content or ():
        kind = part["type"]
        # Summaries say "(Image)" in place of one.
        yield part["text"][:_LONGEST_INPUT] if kind == "text" else f"({kind.capitalize()})"


def _names(rows):
    return list(dict.fromkeys(name for row in rows for name in row[2]))


def _task(header):
    return str(header["eval"].get("task", "")).rsplit("/", 1)[-1]


def _log(path, header, rows, score, options):
    items, epochs, scores, digests, topics, clusters = zip(*rows, strict=True)
    columns = {"item": items, "score": [found.get(score, math.nan) for found in scores]}
    if len(set(items)) < len(items) or len(set(epochs)) > 1:
        columns["repeat"] = epochs
    columns |= options.label_columns(topics, clusters)
    about = header["eval"]
    return Log(
        path=str(path),
        run=Path(path).as_posix(),
        model=str(about.get("model")),
        topic=_task(header),
        score_name=score,
        item_name="id",
        columns=columns,
        settings=[
            about.get("model_base_url"),
            _plain(about.get("model_args") or {}),
            _plain(about.get("model_generate_config") or {}),
        ],
        digests=list(digests) if all(digests) else None,
    )


def _plain(arguments):
    """Only what can be told from the log: objects are written down in full, or not at all."""
    plain = {k: v for k, v in arguments.items() if isinstance(v, (str, int, float))}
    return sorted(item for item in plain.items() if item[0] not in _ERRANDS)
