"""What a gate decided, in words, as a table, as Markdown and as JSON."""

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

BLIND = 0.5  # a gate with less power says so before anything else
_MARKS = {"pass": "✅", "fail": "❌", "undecided": "⚠️"}
_ROWS_SHOWN = 20
_LONGEST = 120  # of a name in sentences and tables
_ENDS = ("value", "low", "high")
_ADJUSTED = "After adjustment for the number of topics"


@dataclass(frozen=True, eq=False, repr=False)
class GateResult(Printed):
    """Verdict of a gate, and its power.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        The decision.
    difference, low, high : float
        Candidate minus baseline, with its interval, in score units.
    margin : float
        Tolerated loss, in score units.
    power : float
        Power of this gate, see `gate`; nan where the items do not determine it.
    items_needed : int or nan
        Number of items like these at which the power is 0.8; if all were answered alike and do not
        tell the power, at which the gate passes.
    standard_error : float
        Standard error of the difference; 0 where the models never differ.
    n_items : int
        Number of items compared.
    baseline, candidate : str
        Names of the models.
    scores : tuple of two floats
        Mean scores of baseline and candidate.
    fail : {"worse", "margin"}
        As in `gate`.
    confidence_level : float
        Level of the interval.
    method : str
        Method of the interval.
    topics : DataFrame or None
        One row per topic: difference, low, high, n_items, the p-value against not having got
        worse, the same adjusted for the number of topics, and `worse`, where that is at most the
        false discovery rate. Only `worse` is a decision. The interval is that of one topic alone,
        not adjusted for their number: by chance some exclude 0, or clear the margin.
    item_verdicts : DataFrame or None
        One row per item that both answered several times: means and runs, p_value, whether it
        flipped, the chance that noise alone flips it, the adjusted p-value and the verdict
        "worse", "better", "noise" (flipped, explained by noise) or "same".
    remarks : tuple of str
        Further remarks, in sentences.
    floor : float or None
        The floor for the worst topic.
    worst : Extremes or None
        Worst and best topic of the candidate, if a floor was given.
    own_means : Series or None
        Means of the candidate's own items by topic, if a floor was given and no bank.
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
        """Number of flipped items that noise alone would make; nan where unknown."""
        if self.item_verdicts is None:
            return math.nan
        return float(self.item_verdicts["chance_of_flip"].sum(min_count=1))

    def sentences(self) -> list[str]:
        """The result in words; a blind gate says so first."""
        low, high, difference = map(self._number, (self.low, self.high, self.difference))
        old, new = map(_short, (self.baseline, self.candidate))
        ends = f"{low} to {high}" if np.isfinite(self.low) else "unknown"
        verdict = (
            f"{self.verdict.upper()}{self._by_worst()}: {new} - {old} = {difference} "
            f"({100 * self.confidence_level:.4g}% interval {ends}, margin {self.margin:.4g})."
        )
        words = [verdict, self._on_power()]
        if not self.power >= BLIND:
            words.reverse()
        return [*words, *self._on_worst(), *self._on_topics(), *self._on_items(), *self.remarks]

    def _by_worst(self):
        """What to add to the verdict where the worst topic alone decides."""
        alone = noninferiority.decide(self.low, self.high, self.margin, self.fail)
        return "" if alone == self.verdict else " by the worst topic"

    def _on_worst(self):
        """The worst topic and its verdict, in a sentence."""
        if self.worst is None:
            return []
        value, low, high = map(self._number, self.worst.to_frame().loc["worst", list(_ENDS)])
        value = " of those answered, is unknown" if value == "unknown" else f", is at {value}"
        place = {"fail": "is below", "pass": "is not below", "undecided": "may be below"}
        chance = self.worst.worst_probability
        likely = likely_in_words(chance.set_axis([_short(label) for label in chance.index]))
        verdict, own = verdict_on_worst(self.worst, self.own_means, self.floor), self.own_means
        alone = verdict == "undecided" and self.worst.to_frame().loc["worst", "low"] >= self.floor
        so = (
            f": the items of {_short(own.idxmin())} have {self._number(own.min())}" if alone else ""
        )
        return [
            f"The worst topic of {_short(self.candidate)}, most likely {likely}{value} "
            f"({100 * self.confidence_level:.4g}% interval {low} to {high}), and "
            f"{place[verdict]} {self.floor:.4g}{so}."
        ]

    def _number(self, value, sign=""):
        """A number in score units, with as many digits as all others have."""
        return number(value, f"{sign}{score_form([self.difference, self.low, self.high])}")

    def _on_power(self):
        """The power in a sentence."""
        if math.isnan(self.power):
            unknown = "The power of this gate is unknown: the items do not tell how they vary."
            enough = math.isnan(self.items_needed) or self.verdict == "pass"
            return unknown if enough else f"{unknown} {self.items_needed:,} such items would pass."
        what = (
            f"power against a loss of {self.margin:.4g}"
            if self.fail == "worse"
            else "chance to pass a candidate that is as good"
        )
        size = f"{100 * self.power:.0f}% at {self.n_items:,} items; 80% takes "
        size += f"{self.items_needed:,} such items."
        if self.power < BLIND:
            return f"This gate is close to blind: its {what} is {size}"
        return f"Its {what} is {size}"

    def worst_topic(self) -> dict | None:
        """Floor, value, low, high, verdict, and the topics with their probabilities, for JSON."""
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
        """Topics that got worse, in a sentence."""
        if self.topics is None:
            return []
        worse = self._worse_topics()["difference"]
        if worse.empty:
            return [f"{_ADJUSTED}, no topic of {len(self.topics)} is shown to have got worse."]
        lost = [f"{_short(label)} ({self._number(x, '+')})" for label, x in worse[:5].items()]
        more = f" and {len(worse) - 5} more" if len(worse) > 5 else ""
        return [
            f"{_ADJUSTED}, {len(worse)} of {len(self.topics)} got worse: {', '.join(lost)}{more}."
        ]

    def _on_items(self):
        """Items that changed beyond noise, in a sentence."""
        if self.item_verdicts is None:
            return []
        counts = self.item_verdicts["verdict"].value_counts()
        words = (
            f"Of {len(self.item_verdicts)} items with repeated runs, {counts.get('worse', 0)} got "
            f"worse and {counts.get('better', 0)} better beyond noise"
        )
        if math.isnan(self.expected_flips):
            return [f"{words}."]
        flipped = int(self.item_verdicts["flipped"].sum())
        return [f"{words}; {flipped} flipped, and noise alone flips {self.expected_flips:.1f}."]

    def to_frame(self) -> pd.DataFrame:
        """One row: verdict, difference, low, high, margin, power, items_needed and more."""
        row = asdict(self) | {"score_baseline": self.scores[0], "score_candidate": self.scores[1]}
        for name in ("scores", "topics", "item_verdicts", "remarks", "floor", "worst", "own_means"):
            row.pop(name)
        return pd.DataFrame([row])

    def to_json(self) -> str:
        """The whole result as a JSON document; unknown numbers are null."""
        document = records(self.to_frame())[0]
        document |= {"remarks": list(self.remarks), "sentences": self.sentences()}
        for name in ("topics", "item_verdicts"):
            frame = getattr(self, name)
            document[name] = None if frame is None else records(frame.reset_index())
        document["worst"] = self.worst_topic()
        return json.dumps(document, indent=1, default=str, allow_nan=False)

    def to_markdown(self) -> str:
        """The verdict and a table, for the summary of a pull request."""
        others, seeing = self.sentences(), self.power >= BLIND
        verdict = others.pop(0 if seeing else 1)
        blind = [] if seeing else [markdown_text(others.pop(0)), ""]
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
            *blind,
            "| baseline (old) | candidate (new) | new - old | low | high | margin | items "
            "| power | needed |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
            f"| {' | '.join(cells)} |",
            "",
        ]
        if self.topics is not None and self.topics["worse"].any():
            lines += ["| topic that got worse | new - old | adjusted p-value | items |",
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
    """The same in sentences and tables; of a very long name, both ends."""
    text = _text(label)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 40]}…{text[-39:]}"
