"""Read promptfoo: JSON (version 3) or JSON Lines, one object per test and provider."""

import json
from hashlib import sha1

from skbench.readers._answers import Format, answer_of, number, records_by_line
from skbench.readers._json import document, value_at
from skbench.readers.loading import without_suffixes

_ERROR = 2  # failureReason of a test whose provider gave no answer


def _results(path, bad, notes):
    try:
        whole = document(path)
    except ValueError:  # one result per line
        return records_by_line(path, bad, notes)
    if "success" in whole:
        return [(1, whole, "")]
    results = value_at(whole, "results.results")
    if not isinstance(results, list):
        raise ValueError(
            f"{str(path)!r} has no list results.results, which promptfoo writes since version "
            f"0.94. Export the evaluation again with: promptfoo export eval ID -o results.json."
        )
    suite = value_at(whole, "config.description") or ""
    return ((f"result {number}", result, suite) for number, result in enumerate(results, start=1))


def _answer(result, suite, path):
    provider = result["provider"]
    if isinstance(provider, dict):
        provider = provider.get("label") or provider["id"]
    # A repeated test has a new number but the same variables.
    case = result.get("testCase") or {}
    same = [result.get("vars"), case.get("description"), case.get("assert")]
    text = json.dumps(same, sort_keys=True, default=str)
    failed = result.get("failureReason") == _ERROR
    own = {"success": result["success"], "score": result["score"]}
    return answer_of(
        str(provider),
        without_suffixes(path),
        sha1(text.encode(), usedforsecurity=False).hexdigest()[:12],
        {} if failed else own | (result.get("namedScores") or {}),
        suite=suite or "",
        costs={
            # Outside the response, 0 stands for unknown.
            "tokens": value_at(result, "response.tokenUsage.total"),
            "seconds": number(result.get("latencyMs")) / 1000,
            "cost": value_at(result, "response.cost"),
        },
        version=value_at(result, "prompt.label") or value_at(result, "prompt.raw") or "",
    )


_SIGNS = ({"promptIdx", "testIdx", "success"}, {"evalId", "results"})
PROMPTFOO = Format("promptfoo", "promptfoo", _SIGNS, _results, _answer, "test", repeats=True)
