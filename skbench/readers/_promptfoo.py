"""promptfoo: results as JSON (version 3) or JSON Lines, one object per test and provider."""

import json
import math
from hashlib import sha1

from skbench.readers._json import document, records, value_at
from skbench.readers._logs import Log, choose

_ERROR = 2  # failureReason of a test whose provider gave no answer


def promptfoo_logs(paths, options, bad, notes):
    """Logs of all files; parameters as in `lm_eval_logs`."""
    found = {}
    for path in paths:
        for number, result in _results(path, bad):
            try:
                model, prompt, item, scores, labels = _row(result, options)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                bad.refuse(path, number if _by_lines(path) else f"result {number}", error)
                continue
            rows = found.setdefault(path, {}).setdefault((model, prompt), {})
            rows.setdefault(item, []).append((scores, *labels))
    offers = [(_topic(path), _names(runs)) for path, runs in found.items()]
    chosen = choose(offers, options.score, "score", "score= (--score)", notes)
    return [
        _log(path, name, rows, chosen[_topic(path)], options)
        for path, runs in found.items()
        for name, rows in _named(runs, path, notes)
    ]


def _by_lines(path):
    with open(path, "rb") as file:
        return file.read(256).lstrip().startswith(b'{"')


def _results(path, bad):
    if _by_lines(path):
        return records(path, bad)
    results = value_at(document(path), "results.results")
    if not isinstance(results, list):
        raise ValueError(
            f"{str(path)!r} has no list results.results, as promptfoo writes it since version "
            f"0.94. Export the evaluation anew: promptfoo export eval ID -o results.json."
        )
    return enumerate(results, start=1)


def _row(result, options):
    """Provider, prompt, item, scores by name, and topic and cluster."""
    provider = result["provider"]
    if isinstance(provider, dict):
        provider = provider.get("label") or provider["id"]
    prompt = value_at(result, "prompt.label") or value_at(result, "prompt.raw") or ""
    # A repeated test gets a number of its own; its variables stay the same.
    case = result.get("testCase") or {}
    same = [result.get("vars"), case.get("description"), case.get("assert")]
    text = json.dumps(same, sort_keys=True, default=str)
    item = sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]
    answered = result.get("failureReason") != _ERROR
    scores = {
        "success": float(result["success"]),
        "score": float(result["score"]),
        **{name: float(value) for name, value in (result.get("namedScores") or {}).items()},
    }
    if any(map(math.isinf, scores.values())):
        raise ValueError("has an infinite score")
    return str(provider), prompt, item, scores if answered else {}, options.labels_of(result)


def _names(runs):
    """success, score, then the named ones."""
    scores = (row[0] for rows in runs.values() for tries in rows.values() for row in tries)
    names = list(dict.fromkeys(name for found in scores for name in found))
    return names or ["success"]


def _topic(path):
    return path.name.split(".")[0]


def _named(runs, path, notes):
    """Providers, with their prompt where they had several."""
    providers = [provider for provider, _ in runs]
    if len(set(providers)) == len(providers):
        return [(provider, rows) for (provider, _), rows in runs.items()]
    notes.append(
        f"{str(path)!r} has several prompts per provider: a model is a provider and prompt"
    )
    return [(f"{provider} | {prompt}", rows) for (provider, prompt), rows in runs.items()]


def _log(path, model, rows, score, options):
    tries = [(item, n, *row) for item, rs in rows.items() for n, row in enumerate(rs, start=1)]
    items, numbers, scores, topics, clusters = zip(*tries, strict=True)
    columns = {"item": items, "score": [found.get(score, math.nan) for found in scores]}
    if max(numbers) > 1:
        columns["repeat"] = numbers
    columns |= options.label_columns(topics, clusters)
    return Log(
        path=str(path),
        run=path.as_posix(),
        model=model,
        topic=_topic(path),
        score_name=score,
        item_name="test",
        columns=columns,
    )
