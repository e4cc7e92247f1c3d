"""Pass, fail or undecided: is a candidate no worse than a baseline, and could one tell?"""

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

# Below, no number of items gives the power that is asked for.
GateLevel: TypeAlias = Annotated[float, Range(0.8, 1, "low", "Write 0.95 for 95%.")]
Loss: TypeAlias = Annotated[
    float,
    Range(
        0,
        closed="neither",
        remedy="It is the tolerated loss, and no number of items shows that a candidate loses "
        "nothing. Pass 0.02 for two points of a score from 0 to 1.",
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
    """Whether a candidate may take the place of a baseline, by the items both answered.

    Parameters
    ----------
    items : dataframe
        One row per answer of a model to an item, in any dataframe that narwhals reads.
    baseline, candidate : str
        Names of the two models.
    margin : float
        Tolerated loss, above 0, in the units of the score.
    relative : bool, default=False
        Whether `margin` is a share of the baseline's mean, taken as known.
    fail : {"worse", "margin"}, default="worse"
        Fail a candidate shown to be worse (unless shown to be within the margin), or only one
        shown to be worse by more than the margin.
    worst : float, default=None
        Floor for the candidate's worst topic of `by`, in the units of the score. The gate then also
        fails where the interval of the worst topic's score lies below it, and passes only where
        neither that interval (`extremes`) nor the candidate's own mean on any topic reaches below
        (with a bank: that interval).
    missing : {"drop", "wrong"}, default="drop"
        Items that one of the two did not answer: left out with a warning, or scored 0.
    bank : ItemBank, default=None
        Earlier models' answers. The difference is then that on all items of the bank, from joint
        posterior draws (`ItemBank.sample`).
    model, item, topic, score, cluster : str
        Columns, as in `compare_models`.
    by : str or list of str, default=None
        Columns of topics, one row of `topics` each; with a bank, its one column of topics. The
        verdict is one on all items, which count equally: topics have none, and their intervals
        are those of single topics, not adjusted for their number.
    bounds, population
        As in `compare_models`; with `by`, a `population` for each topic.
    confidence_level : float, default=0.95
        Level of the two-sided interval, at least 0.8. A candidate that is exactly as good fails
        with probability ``(1 - confidence_level) / 2``.
    false_discovery_rate : float, default=0.05
        Expected share of false discoveries (Benjamini and Hochberg) among the topics, and among
        the items, reported to have changed.

    Returns
    -------
    GateResult
        With `verdict`, `difference`, `low`, `high`, `margin`, `power`, `items_needed`.

    Raises
    ------
    ValueError
        For a margin that is not above 0, `worst` without topics or beyond all scores, models that
        share no items, and as `compare_models` does.

    Warns
    -----
    UserWarning
        If items were answered by one of the two only.

    Notes
    -----
    The interval is that of `compare_models` for candidate minus baseline; for bounded scores that
    are not right and wrong, the one worst case more, an item or a whole cluster, counts in the mean
    of the low end as well, as a loss that is rare and large is missed most often. The gate passes
    where ``low > -margin``, else fails where ``high < 0`` (or ``high < -margin``), else is
    undecided.

    The worst topic is that of joint draws: with a bank of its posterior, else of `MixedModel`
    fitted to the topics of both models (4000 draws, always the same). The interval is that of the
    lowest score of all topics, so no correction for their number is due; it also holds that of the
    mean of the lowest topics, of as many as may be equal. At 0.95, a candidate whose worst topic is
    at the floor failed in at most 3.8% of gates of sixteen settings, some with topics that share
    the lowest score. A topic whose own mean is below the floor rules out a pass, except with a
    bank; so does one of which the candidate answered no item. A pass is still no proof for a topic
    of few items, since its draws are shrunk toward the others: one of five items at 0.5, among five
    of 100 items at 0.9, passed a floor of 0.7 in 14.5% of gates; one of ten items in 7%.

    `power` is the probability that this gate, with this number of such items, fails a candidate
    that is worse by the margin; for ``fail="margin"``, that it passes one that is as good.
    `items_needed` is for a power of 0.8. Both are of the interval that is printed: by McNemar's
    exact test for right and wrong answers, else by a noncentral t
    (test_stated_power_is_the_simulated_one), with a bank by the posterior's standard deviation.

    When not to use it: repeatedly while answers come in, for which there is
    `SequentialComparison`; to prove that a candidate is better.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import gate
    >>> rng = np.random.default_rng(0)
    >>> items = pd.DataFrame({
    ...     "model": np.repeat(["old", "new"], 300), "item": [*range(300)] * 2,
    ...     "score": np.r_[rng.random(300) < 0.8, rng.random(300) < 0.6] * 1.0})
    >>> print(gate(items[items["item"] < 20], "old", "new", margin=0.02))
    This gate is close to blind: ...
    >>> print(gate(items, "old", "new", margin=0.05).verdict)
    fail
    """
    by = names_of(by)
    if worst is not None and not by:
        raise ValueError(f"worst={worst:g} needs topics. Pass by=, their column.")
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
    """What a result takes from its evidence as it is."""
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
    """Of the difference, and of the worst topic if there is a floor: the less favorable one."""
    whole = evidence.whole
    verdict = noninferiority.decide(whole["low"], whole["high"], evidence.margin, fail)[0]
    verdicts = {str(verdict)}
    if floor is not None:
        verdicts.add(verdict_on_worst(evidence.worst, evidence.own_means, floor))
    return next(name for name in ("fail", "undecided", "pass") if name in verdicts)


def _topics(found, labels, rate):
    """One row per topic, and which got worse at the false discovery rate."""
    if found is None:
        return None
    known = found["n_items"] > 0
    adjusted = np.ones(known.size)
    adjusted[known] = false_discovery_control(found["worse"][known])
    frame = {name: found[name] for name in ("difference", "low", "high", "n_items")}
    frame |= {"p_value": found["worse"], "adjusted": adjusted, "worse": adjusted <= rate}
    return pd.DataFrame(frame, index=labels)
