"""Thresholds of `skbench report`, tested with intervals."""

from typing import NamedTuple

from skbench._numbers import number, score_form
from skbench.report.options import in_unit


class Verdict(NamedTuple):
    """The option as typed, whether it is significantly violated, and a sentence about it."""

    threshold: str
    crossed: bool
    sentence: str


def verdicts(findings, known_range, fail_under, fail_if_worse_than):
    """Return the verdict on each threshold that was set."""
    found = []
    if fail_under is not None:
        limit = in_unit(fail_under, known_range, "--fail-under", is_score=True)
        found.append(_under(findings, limit))
    if fail_if_worse_than is not None:
        found.append(_worse(findings, fail_if_worse_than))
    return found


def _under(findings, limit):
    models = findings.models.set_index("model")
    threshold = f"--fail-under {limit:g}"
    below = models["high"] < limit
    unknown = ~((models["low"] >= limit) | below)
    outcome = "PASS, the intervals of all models are at or above it"
    if below.any():
        outcome = f"FAIL, the interval is below it for {_named(models[below])}"
    elif unknown.any():
        outcome = f"UNDECIDED, the interval includes it for {_named(models[unknown])}"
    return Verdict(threshold, bool(below.any()), f"{threshold}: {outcome}.")


def _named(rows):
    ends = rows[["low", "high"]]
    intervals = ends.map(number, form=score_form(ends)).agg(" to ".join, axis=1)
    return ", ".join(f"{name} ({text})" for name, text in intervals.items())


def _worse(findings, name):
    from skbench.items.roles import check_model

    threshold = f"--fail-if-worse-than {name}"
    known = [str(model) for model in findings.board.estimate.labels]
    check_model(name, known)
    pairs = findings.pairs
    first = pairs["model_a"] == name
    second = pairs["model_b"] == name
    lost = first & (pairs["verdict"] == "better") | second & (pairs["verdict"] == "worse")
    if lost.any():
        worse = ", ".join(pairs["model_b"].where(first, pairs["model_a"])[lost])
        return Verdict(threshold, True, f"{threshold}: FAIL, significantly worse: {worse}.")
    return Verdict(threshold, False, f"{threshold}: PASS, no model is significantly worse.")
