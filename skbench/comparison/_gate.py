"""Decide whether a candidate is no worse than a baseline: pass, fail or undecided."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from skbench._checks import names_of
from skbench._types import Bank, Label, Level, Names, OpenBounds, Population, Range, Rows, checked
from skbench.comparison._gate_evidence import of_bank, of_items, with_unknown_topics
from skbench.comparison._gate_result import GateResult
from skbench.comparison._gate_worst import verdict_on_worst
from skbench.stats.ranking import noninferiority

# Below it, no number of items gives a power of 0.8.
GateLevel: TypeAlias = Annotated[float, Range(0.8, 1, "low", "Write 0.95 for 95%.")]
Loss: TypeAlias = Annotated[
    float,
    Range(
        0,
        closed="neither",
        remedy="The tolerated loss must be above 0, because no number of items can prove that "
        "there is no loss. Pass 0.02 for two percentage points.",
    ),
]


@checked
def gate(
    items: Rows,
    baseline: Label,
    candidate: Label,
    margin: Loss,
    *,
    relative: bool = False,
    fail: Literal["worse", "margin"] = "worse",
    worst: float | None = None,
    missing: Literal["drop", "wrong"] = "drop",
    bank: Bank | None = None,
    model: str = "model",
    item: str = "item",
    topic: Names | None = "topic",
    score: str = "score",
    cluster: str | None = None,
    by: Names | None = None,
    bounds: OpenBounds | None = None,
    population: Population | None = None,
    confidence_level: GateLevel = 0.95,
    false_discovery_rate: Level = 0.05,
) -> GateResult:
    """Test whether a candidate may replace a baseline (non-inferiority on shared items).

    Parameters
    ----------
    items : dataframe
        Per-item scores, one row per model and item, in any dataframe that narwhals reads.
    baseline, candidate : str
        Names of the two models.
    margin : float
        Tolerated loss (non-inferiority margin), above 0, in the units of the score.
    relative : bool, default=False
        Whether `margin` is a proportion of the baseline's mean. The sampling error of this mean is
        ignored.
    fail : {"worse", "margin"}, default="worse"
        With "worse", the gate fails if the candidate is significantly worse and a loss as large as
        the margin cannot be ruled out. With "margin", the gate fails only if the loss is
        significantly larger than the margin.
    worst : float, default=None
        Floor for the candidate's score on its worst topic (see `by`). The gate fails if the whole
        interval of the worst topic's score (`extremes`) is below the floor. To pass, the whole
        interval must be at or above the floor. Without a bank, the candidate's mean on every topic
        must also reach the floor.
    missing : {"drop", "wrong"}, default="drop"
        How to treat items that one of the two models did not answer: skip them with a warning,
        or score them 0.
    bank : ItemBank, default=None
        Item bank of earlier models' answers. With a bank, the difference is estimated for all
        items of the bank, from joint posterior draws (`ItemBank.sample`).
    model, item, topic, score, cluster : str
        Columns, as in `compare_models`.
    by : str or list of str, default=None
        Columns that define the topics. With a bank, pass the bank's topic column. With `by`, the
        attribute `topics` of the result has one row per topic. The verdict still refers to all
        items, with equal weights. Intervals of topics are not adjusted for multiple comparisons.
    bounds, population
        As in `compare_models`. With `by`, `population` has one number per topic.
    confidence_level : float, default=0.95
        Confidence level of the two-sided interval, at least 0.8. A candidate that is exactly as
        good as the baseline fails with probability ``(1 - confidence_level) / 2``, by default
        2.5%.
    false_discovery_rate : float, default=0.05
        False discovery rate (Benjamini and Hochberg) of the topics reported as changed, and of
        the items reported as changed.

    Returns
    -------
    GateResult
        With `verdict`, `difference`, `low`, `high`, `margin`, `power`, `items_needed`.

    Raises
    ------
    ValueError
        If `margin` is not above 0, or the models share no items. If `worst` is given without
        topics or is outside the range of scores. Also as in `compare_models`.

    Warns
    -----
    UserWarning
        If some items were answered by only one of the two models.

    Notes
    -----
    The interval is that of `compare_models` for candidate minus baseline. The gate passes if
    ``low > -margin``. Otherwise it fails if ``high < 0`` (``fail="worse"``) or ``high < -margin``
    (``fail="margin"``). In all other cases, the gate is undecided.

    If scores have known bounds, t intervals are widened to allow for rare differences that the
    sample missed (`skbench.stats.worst_case` has the formula). If scores are not binary, the lower
    limit also starts from a smaller mean difference. This is the mean of the sample plus one item
    (for clustered scores, one cluster) with the lowest possible difference.

    **Worst topic.** The score of the worst topic is estimated from 4000 joint posterior draws of
    all topics, with a fixed seed. The draws come from the bank, or from a `MixedModel` fitted to
    the topics of both models. The interval is that of the minimum over topics, so no adjustment for
    the number of topics is needed.

    The gate cannot pass if the candidate has no answers in a topic. If a topic has few items, a
    pass is only weak evidence that the topic reaches the floor, because its draws are shrunk toward
    the other topics.

    **Power.** `power` is the probability that a gate with this number of items fails a candidate
    whose loss equals the margin. With ``fail="margin"``, `power` is the probability that an equally
    good candidate passes. `items_needed` is the number of items for a power of 0.8. `power` and
    `items_needed` are computed from McNemar's exact test for binary scores, from a noncentral t
    distribution for other scores, and from the posterior standard deviation with a bank.

    When not to use it: repeatedly during a run (use `SequentialComparison`); to show that a
    candidate is better (use `compare_models`).

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import gate
    >>> rng = np.random.default_rng(0)
    >>> items = pd.DataFrame({
    ...     "model": np.repeat(["old", "new"], 300), "item": [*range(300)] * 2,
    ...     "score": np.r_[rng.random(300) < 0.8, rng.random(300) < 0.6] * 1.0})
    >>> print(gate(items[items["item"] < 20], "old", "new", margin=0.02))
    This gate has low power. ...
    >>> print(gate(items, "old", "new", margin=0.05).verdict)
    fail
    """
    by = names_of(by)
    if worst is not None and not by:
        raise ValueError(f"worst={worst:g} needs topics. Pass their column as by=.")
    columns = {"model": model, "item": item, "topic": topic, "score": score, "cluster": cluster}
    settings = {"bounds": bounds, "population": population}
    pair, level = (candidate, baseline), confidence_level
    goal = margin, relative, fail, level, worst
    if bank is None:
        evidence = of_items(items, pair, columns, by, missing, goal, settings, false_discovery_rate)
    else:
        evidence = of_bank(bank, items, pair, columns, by, missing, goal, settings)
    evidence = with_unknown_topics(evidence, candidate)
    return GateResult(
        verdict=_verdict(evidence, fail, worst),
        baseline=baseline,
        candidate=candidate,
        fail=fail,
        confidence_level=level,
        topics=_topics(evidence.by_topic, evidence.topics, false_discovery_rate),
        floor=worst,
        **_figures(evidence),
    )


def _figures(evidence):
    """Fields that a result copies from its evidence."""
    whole, (new, old) = evidence.whole, evidence.scores
    ends = ("difference", "low", "high", "standard_error")
    kept = ("margin", "method", "item_verdicts", "remarks", "worst", "own_means")
    return {
        **{name: float(whole[name][0]) for name in ends},
        **{name: getattr(evidence, name) for name in kept},
        **evidence.power,
        "n_items": int(whole["n_items"][0]),
        "scores": (float(old), float(new)),
    }


def _verdict(evidence, fail, floor):
    """The less favorable of the verdicts on the difference and on the worst topic."""
    whole = evidence.whole
    verdict = noninferiority.decide(whole["low"], whole["high"], evidence.margin, fail)[0]
    verdicts = {str(verdict)}
    if floor is not None:
        verdicts.add(verdict_on_worst(evidence.worst, evidence.own_means, floor))
    return next(name for name in ("fail", "undecided", "pass") if name in verdicts)


def _topics(found, labels, rate):
    """One row per topic, with `worse` at the false discovery rate."""
    if found is None:
        return None
    known = found["n_items"] > 0
    adjusted = np.ones(known.size)
    adjusted[known] = false_discovery_control(found["worse"][known])
    frame = {name: found[name] for name in ("difference", "low", "high", "n_items")}
    frame |= {"p_value": found["worse"], "adjusted": adjusted, "worse": adjusted <= rate}
    return pd.DataFrame(frame, index=labels)
