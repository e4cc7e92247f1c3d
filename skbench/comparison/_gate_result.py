"""The result of a gate, in words, as a table, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field

import numpy as np
import pandas as pd

from skbench._numbers import markdown_text, number, score_form
from skbench._printed import Printed, records
from skbench.comparison._gate_worst import verdict_on_worst
from skbench.comparison.extreme_groups import Extremes, likely_in_words
from skbench.stats.ranking import noninferiority

LOW_POWER = 0.5  # below it the sentence on power comes first
_MARKS = {"pass": "✅", "fail": "❌", "undecided": "⚠️"}
_ROWS_SHOWN = 20
_LONGEST = 120  # of a name in sentences and tables
_ENDS = ("value", "low", "high")


@dataclass(frozen=True, eq=False, repr=False)
class GateResult(Printed):
    """Verdict of a gate, and its power.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        The decision.
    difference, low, high : float
        Candidate minus baseline, with its interval, in the units of the score.
    margin : float
        Tolerated loss, in the units of the score.
    power : float
        Power of this gate (see `gate`); nan if the items do not determine it.
    items_needed : int or nan
        Number of such items at which the power is 0.8. If all items were answered alike and the
        power is unknown, the number of items at which the gate passes.
    standard_error : float
        Standard error of the difference; 0 if the models never differ.
    n_items : int
        Number of items compared.
    baseline, candidate : str
        Names of the models.
    scores : tuple of two floats
        Mean scores of baseline and candidate.
    fail : {"worse", "margin"}
        As in `gate`.
    confidence_level : float
        Confidence level of the interval.
    method : str
        Method of the interval.
    topics : DataFrame or None
        One row per topic: difference, low, high, n_items, the one-sided p-value for a loss, the
        p-value adjusted for the number of topics, and `worse`. `worse` is True where the adjusted
        p-value is at most the false discovery rate; only `worse` is a decision. Each interval
        holds for one topic, unadjusted, so some exclude 0 or clear the margin by chance.
    item_verdicts : DataFrame or None
        One row per item that both models answered several times: means and runs, p_value, whether
        it flipped, the probability of a flip by noise, the adjusted p-value, and the verdict
        "worse", "better", "noise" (a flip that noise explains) or "same".
    remarks : tuple of str
        Further remarks, in sentences.
    floor : float or None
        Floor for the worst topic.
    worst : Extremes or None
        Worst and best topic of the candidate, if a floor was given.
    own_means : Series or None
        Means of the candidate's own items by topic, if a floor was given without a bank.
    """

    verdict: str
    difference: float
    low: float
    high: float
    margin: float
    power: float
    items_needed: float
    standard_error: float
    n_items: int
    baseline: str
    candidate: str
    scores: tuple
    fail: str
    confidence_level: float
    method: str
    topics: pd.DataFrame | None = None
    item_verdicts: pd.DataFrame | None = None
    remarks: tuple = field(default=())
    floor: float | None = None
    worst: Extremes | None = None
    own_means: pd.Series | None = None

    @property
    def expected_flips(self) -> float:
        """Expected number of flipped items by noise alone; nan if unknown."""
        if self.item_verdicts is None:
            return math.nan
        return float(self.item_verdicts["chance_of_flip"].sum(min_count=1))

    def sentences(self) -> list[str]:
        """Return the result in words. If the power is below 0.5, the power comes first."""
        low, high, difference = map(self._number, (self.low, self.high, self.difference))
        old, new, loss = *map(_short, (self.baseline, self.candidate)), f"{self.margin:.4g}"
        ends = f"{low} to {high}" if np.isfinite(self.low) else "unknown"
        interval = f"({100 * self.confidence_level:.4g}% interval {ends})"
        mean_verdict = noninferiority.decide(self.low, self.high, self.margin, self.fail)
        beyond = self.fail == "margin"
        if not np.isfinite(self.low):
            reason = f"so the tolerated loss of {loss} cannot be tested"
        elif mean_verdict == "pass":
            reason = f"so any loss is smaller than the tolerated loss of {loss}"
        elif mean_verdict == "fail" and beyond:
            reason = f"so {new} is worse than {old} by more than the tolerated loss of {loss}"
        elif mean_verdict == "fail":
            reason = f"so {new} is significantly worse than {old} and the loss may exceed {loss}"
        elif beyond:
            reason = f"but the interval includes losses on both sides of the tolerated {loss}"
        else:
            reason = f"but the interval includes both no loss and the tolerated loss of {loss}"
        because = "" if mean_verdict == self.verdict else " because of the worst topic"
        verdict = (
            f"{self.verdict.upper()}{because}: {new} - {old} = {difference} {interval}, {reason}."
        )
        words = [verdict, self._on_power()]
        if not self.power >= LOW_POWER:
            words.reverse()
        return [*words, *self._on_worst(), *self._on_topics(), *self._on_items(), *self.remarks]

    def _on_worst(self):
        """The worst topic and its verdict, in sentences."""
        if self.worst is None:
            return []
        value, low, high = map(self._number, self.worst.to_frame().loc["worst", list(_ENDS)])
        place = {"fail": "is below", "pass": "is not below", "undecided": "may be below"}
        chance = self.worst.worst_probability
        likely = likely_in_words(chance.set_axis([_short(label) for label in chance.index]))
        verdict, own = verdict_on_worst(self.worst, self.own_means, self.floor), self.own_means
        words = [
            f"The worst topic of {_short(self.candidate)} is most likely {likely}.",
            f"Its score, {value} ({100 * self.confidence_level:.4g}% interval {low} to {high}), "
            f"{place[verdict]} the floor of {self.floor:.4g}.",
        ]
        if verdict == "undecided" and self.worst.to_frame().loc["worst", "low"] >= self.floor:
            least = self._number(own.min())
            words.append(f"The answered items of {_short(own.idxmin())} have a mean of {least}.")
        return [" ".join(words)]

    def _number(self, value, sign=""):
        """A number in the units of the score, with the same digits as the others."""
        return number(value, f"{sign}{score_form([self.difference, self.low, self.high])}")

    def _on_power(self):
        """The power and the items needed, in sentences."""
        if math.isnan(self.power):
            unknown = "The power of this gate is unknown because the items show no variation."
            enough = math.isnan(self.items_needed) or self.verdict == "pass"
            if enough:
                return unknown
            return f"{unknown} It would pass with {self.items_needed:,} such items."
        size = f"{100 * self.power:.0f}% with {self.n_items:,} items"
        needed = f"takes {self.items_needed:,} such items."
        words = (
            f"The power to detect a loss of {self.margin:.4g} is {size}. A power of 80% {needed}"
        )
        if self.fail == "margin":
            words = (
                f"A candidate that is as good as the baseline passes with probability {size}. "
                f"A probability of 80% {needed}"
            )
        return f"This gate has low power. {words}" if self.power < LOW_POWER else words

    def worst_topic(self) -> dict | None:
        """Return floor, value, low, high, verdict, and the topics' probabilities, for JSON."""
        if self.worst is None:
            return None
        topics = [
            {"topic": _text(label), "probability": float(p)}
            for label, p in self.worst.worst_probability.items()
        ]
        ends = self.worst.to_frame().loc["worst", list(_ENDS)].astype(float).to_dict()
        verdict = verdict_on_worst(self.worst, self.own_means, self.floor)
        return {"floor": self.floor, **ends, "verdict": verdict, "topics": topics}

    def _worse_topics(self):
        return self.topics[self.topics["worse"]].sort_values("difference")

    def _on_topics(self):
        """The topics that are significantly worse, in a sentence."""
        if self.topics is None:
            return []
        worse = self._worse_topics()["difference"]
        if worse.empty:
            return [f"None of {len(self.topics)} topics is significantly worse, after adjustment."]
        lost = [f"{_short(label)} ({self._number(x, '+')})" for label, x in worse[:5].items()]
        more = f" and {len(worse) - 5} more" if len(worse) > 5 else ""
        are = "is" if len(worse) == 1 else "are"
        return [
            f"{len(worse)} of {len(self.topics)} topics {are} significantly worse, after "
            f"adjustment: {', '.join(lost)}{more}."
        ]

    def _on_items(self):
        """The items that changed significantly, in sentences."""
        if self.item_verdicts is None:
            return []
        counts = self.item_verdicts["verdict"].value_counts()
        words = (
            f"Of {len(self.item_verdicts)} items with repeated runs, {counts.get('worse', 0)} are "
            f"significantly worse and {counts.get('better', 0)} significantly better"
        )
        if math.isnan(self.expected_flips):
            return [f"{words}."]
        flipped = int(self.item_verdicts["flipped"].sum())
        expected = f"noise alone would flip {self.expected_flips:.1f} on average"
        return [f"{words}. {flipped} flipped, and {expected}."]

    def to_frame(self) -> pd.DataFrame:
        """Return one row: verdict, difference, low, high, margin, power, items_needed and more."""
        row = asdict(self) | {"score_baseline": self.scores[0], "score_candidate": self.scores[1]}
        for name in ("scores", "topics", "item_verdicts", "remarks", "floor", "worst", "own_means"):
            row.pop(name)
        return pd.DataFrame([row])

    def to_json(self) -> str:
        """Return the whole result as a JSON document; unknown numbers are null."""
        document = records(self.to_frame())[0]
        document |= {"remarks": list(self.remarks), "sentences": self.sentences()}
        for name in ("topics", "item_verdicts"):
            frame = getattr(self, name)
            document[name] = None if frame is None else records(frame.reset_index())
        document["worst"] = self.worst_topic()
        return json.dumps(document, indent=1, default=str, allow_nan=False)

    def to_markdown(self) -> str:
        """Return the verdict and a table, for the summary of a pull request."""
        others, enough = self.sentences(), self.power >= LOW_POWER
        verdict = others.pop(0 if enough else 1)
        low_power = [] if enough else [markdown_text(others.pop(0)), ""]
        power = "unknown" if math.isnan(self.power) else f"{100 * self.power:.0f}%"
        needed = "unknown" if math.isnan(self.items_needed) else f"{self.items_needed:,}"
        cells = [
            *map(self._number, self.scores),
            *(self._number(x, "+") for x in (self.difference, self.low, self.high)),
            f"{self.margin:.4g}", f"{self.n_items:,}", power, needed,
        ]  # fmt: skip
        lines = [
            f"### {_MARKS[self.verdict]} {markdown_text(verdict)}",
            "",
            *low_power,
            "| baseline (old) | candidate (new) | new - old | low | high | tolerated loss | items "
            "| power | items for power 80% |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
            f"| {' | '.join(cells)} |",
            "",
        ]
        if self.topics is not None and self.topics["worse"].any():
            lines += ["| significantly worse topic | new - old | adjusted p-value | items |",
                      "|---|---:|---:|---:|"]  # fmt: skip
            lines += [
                f"| {markdown_text(_short(row.Index))} | {self._number(row.difference, '+')} "
                f"| {row.adjusted:.2g} | {row.n_items} |"
                for row in self._worse_topics().head(_ROWS_SHOWN).itertuples()
            ] + [""]
        return "\n".join([*lines, *(f"- {markdown_text(text)}" for text in others), ""])

    def _printed(self):
        return self.sentences()


def _text(label):
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _short(label):
    """A label as text; only both ends of a very long one."""
    text = _text(label)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 40]}…{text[-39:]}"
