"""promptfoo: results as JSON (version 3) or JSON Lines, one object per test and provider."""

import json
from hashlib import sha1

from skbench.readers._json import (
    LARGEST_DOCUMENT,
    document,
    fast_loads,
    open_bytes,
    parse,
    value_at,
)
from skbench.readers._records import Answer, RecordFormat, finite, records_by_line
from skbench.readers.loading import without_suffixes

_ERROR = 2  # failureReason of a test whose provider gave no answer


def _results(path, bad):
    if _by_lines(path):
        return records_by_line(path, bad)
    results = value_at(document(path), "results.results")
    if not isinstance(results, list):
        raise ValueError(
            f"{str(path)!r} has no list results.results, as promptfoo writes it since version "
            f"0.94. Export the evaluation anew: promptfoo export eval ID -o results.json."
        )
    return ((f"result {number}", result, {}) for number, result in enumerate(results, start=1))


def _by_lines(path):
    """Whether there is a result per line; a document may stand on one line too."""
    with open_bytes(path) as file:
        line = file.readline(LARGEST_DOCUMENT).removeprefix(b"\xef\xbb\xbf").lstrip()
    try:
        return "results" not in parse(line, fast_loads())
    except (TypeError, ValueError):
        return line.startswith(b'{"')


def _provider(result):
    provider = result["provider"]
    if isinstance(provider, dict):
        provider = provider.get("label") or provider["id"]
    return str(provider)


def _answer(result, _, path):
    # A repeated test gets a number of its own; its variables stay the same.
    case = result.get("testCase") or {}
    same = [result.get("vars"), case.get("description"), case.get("assert")]
    text = json.dumps(same, sort_keys=True, default=str)
    scores = {"success": float(result["success"]), "score": float(result["score"])}
    scores = finite(scores | (result.get("namedScores") or {}))
    return Answer(
        model=_provider(result),
        version=value_at(result, "prompt.label") or value_at(result, "prompt.raw") or "",
        topic=without_suffixes(path),
        item=sha1(text.encode(), usedforsecurity=False).hexdigest()[:12],
        scores={} if result.get("failureReason") == _ERROR else scores,
    )


PROMPTFOO = RecordFormat(_results, _answer, "test", repeats=True)
