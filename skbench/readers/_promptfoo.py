"""promptfoo: results as JSON (version 3) or JSON Lines, one object per test and provider."""

import json
import math
from hashlib import sha1

from skbench.readers._json import (
    LARGEST_DOCUMENT,
    document,
    fast_loads,
    open_bytes,
    parse,
    records,
    value_at,
)
from skbench.readers._logs import Log, choose
from skbench.readers.loading import without_suffixes

_LONGEST_PROMPT = 60  # letters of a prompt in the name of a model
_ERROR = 2  # failureReason of a test whose provider gave no answer


def promptfoo_logs(paths, options, bad, notes):
    """Logs of all files."""
    found = {}
    for path in paths:
        for place, result in _results(path, bad):
            try:
                model, prompt, item, scores, labels = _row(result, options)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                bad.refuse(path, place, error)
                continue
            rows = found.setdefault(path, {}).setdefault((model, prompt), {})
            rows.setdefault(item, []).append((scores, *labels))
    offers = [(_topic(path), _names(runs)) for path, runs in found.items()]
    chosen = choose(offers, options.score, "score", "score= (--score)", notes)
    short = _short(dict.fromkeys(prompt for runs in found.values() for _, prompt in runs))
    return [
        _log(path, name, rows, chosen[_topic(path)], options)
        for path, runs in found.items()
        for name, rows in _named(runs, short, path, notes)
    ]


def _by_lines(path):
    """Whether there is a result per line; a document may stand on one line too."""
    with open_bytes(path) as file:
        line = file.readline(LARGEST_DOCUMENT).removeprefix(b"\xef\xbb\xbf").lstrip()
    try:
        return "results" not in parse(line, fast_loads())
    except (TypeError, ValueError):
        return line.startswith(b'{"')


def _results(path, bad):
    if _by_lines(path):
        return records(path, bad)
    results = value_at(document(path), "results.results")
    if not isinstance(results, list):
        raise ValueError(
            f"{str(path)!r} has no list results.results, as promptfoo writes it since version "
            f"0.94. Export the evaluation anew: promptfoo export eval ID -o results.json."
        )
    return ((f"result {number}", result) for number, result in enumerate(results, start=1))


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
    return without_suffixes(path)


def _short(prompts):
    """Prompts in a line, as long as names may be; numbered where these are the same."""
    alike = {}
    for prompt in prompts:
        line = " ".join(str(prompt).split())
        if len(line) > _LONGEST_PROMPT:
            line = line[: _LONGEST_PROMPT - 3] + "..."
        alike.setdefault(line, []).append(prompt)
    return {
        prompt: f"{line} ({number})" if len(same) > 1 else line
        for line, same in alike.items()
        for number, prompt in enumerate(same, start=1)
    }


def _named(runs, short, path, notes):
    """Providers, with their prompt where they had several."""
    providers = [provider for provider, _ in runs]
    if len(set(providers)) == len(providers):
        return [(provider, rows) for (provider, _), rows in runs.items()]
    notes.append(
        f"{str(path)!r} has several prompts per provider: a model is a provider and prompt"
    )
    return [(f"{provider} | {short[prompt]}", rows) for (provider, prompt), rows in runs.items()]


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
