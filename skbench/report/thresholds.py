"""Thresholds a user may set: crossed only where the interval leaves no doubt."""

from typing import NamedTuple

from skbench._numbers import number, score_form
from skbench.report.options import in_unit


class Verdict(NamedTuple):
    """The option as typed, whether it was crossed beyond doubt, and the same in words."""

    threshold: str
    crossed: bool
    sentence: str


def verdicts(findings, known_range, fail_under, fail_if_worse_than):
    """What became of the thresholds that were set."""
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
    told = "all models are clearly at it or above"
    if below.any():
        told = f"crossed by {_named(models[below])}"
    elif unknown.any():
        told = f"undecided for {_named(models[unknown])}"
    return Verdict(threshold, bool(below.any()), f"{threshold}: {told}.")


def _named(rows):
    ends = rows[["low", "high"]]
    told = ends.map(number, form=score_form(ends)).agg(" to ".join, axis=1)
    return ", ".join(f"{name} ({text})" for name, text in told.items())


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
        return Verdict(threshold, True, f"{threshold}: crossed, {worse} clearly worse.")
    return Verdict(threshold, False, f"{threshold}: no model is clearly worse.")
