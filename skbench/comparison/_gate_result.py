"""What a gate decided, in words, as a table, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field

import numpy as np
import pandas as pd

POWER = 0.8  # for which `items_needed` is counted
BLIND = 0.5  # a gate with less power says so before anything else
_MARKS = {"pass": "✅ pass", "fail": "❌ fail", "undecided": "⚠️ undecided"}
_ROWS_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class GateResult:
    """Verdict of a gate, and what it is worth.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        What the gate decided.
    difference, low, high : float
        Candidate minus baseline, with its interval, score units.
    margin : float
        Loss that is put up with, score units.
    power : float
        Chance that this gate decides what its margin is for, see `gate`; nan where the
        items do not tell.
    items_needed : int or nan
        Number of items like these at which the power is 0.8.
    standard_error : float
        Of the difference; 0 where the models never differ.
    n_items : int
        Items that count.
    baseline, candidate : str
        Names of the models.
    scores : tuple of two floats
        Mean scores of baseline and candidate.
    fail : {"worse", "margin"}
        What fails.
    confidence_level : float
        Of the interval.
    method : str
        Of the interval.
    topics : DataFrame or None
        One row per topic: difference, low, high, n_items, p_value that it did not get
        worse, the same adjusted, and `worse`.
    item_verdicts : DataFrame or None
        One row per item that both answered several times: means and runs, p_value,
        whether it flipped, the chance that noise alone flips it, the adjusted p-value and
        the verdict "worse", "better", "noise" (flipped, and noise explains it) or "same".
    remarks : tuple of str
        What else there is to know, in sentences.

    Examples
    --------
    >>> from skbench import gate
    >>> items = pd.DataFrame({"model": ["old"] * 60 + ["new"] * 60,
    ...                       "item": [*range(60)] * 2, "score": [1.0] * 118 + [0.0] * 2})
    >>> print(gate(items, "old", "new", margin=0.02))
    This gate is close to blind: its power against a loss of 0.02 is 0 % at 60 items;
    80 % takes 394 such items.
    UNDECIDED: new - old = -0.03333 (95 % interval -0.1136 to 0.02884, margin 0.02).
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

    @property
    def expected_flips(self) -> float:
        """Number of flipped items that noise alone would make; nan where unknown."""
        if self.item_verdicts is None:
            return math.nan
        return float(self.item_verdicts["chance_of_flip"].sum(min_count=1))

    def sentences(self) -> list[str]:
        """The result in words; a blind gate says so first.

        Returns
        -------
        list of str
        """
        level = f"{100 * self.confidence_level:.4g} %"
        ends = "unknown"
        if np.isfinite(self.low):
            ends = f"{self.low:.4g} to {self.high:.4g}"
        verdict = (
            f"{self.verdict.upper()}: {self.candidate} - {self.baseline} = {self.difference:.4g} "
            f"({level} interval {ends}, margin {self.margin:.4g})."
        )
        words = [verdict, self._on_power()]
        if not self.power >= BLIND:
            words.reverse()
        return [*words, *self._on_topics(), *self._on_items(), *self.remarks]

    def _on_power(self):
        if math.isnan(self.power):
            return "The power of this gate is unknown: the items do not tell how they vary."
        what = (
            f"power against a loss of {self.margin:.4g}"
            if self.fail == "worse"
            else "chance to pass a candidate that is as good"
        )
        size = f"{100 * self.power:.0f} % at {self.n_items:,} items; 80 % takes "
        size += f"{self.items_needed:,} such items."
        if self.power < BLIND:
            return f"This gate is close to blind: its {what} is {size}"
        return f"Its {what} is {size}"

    def _on_topics(self):
        if self.topics is None:
            return []
        worse = self.topics[self.topics["worse"]].sort_values("difference")
        if worse.empty:
            return [f"No topic of {len(self.topics)} is shown to have got worse."]
        named = [
            f"{_text(label)} ({difference:+.3g})"
            for label, difference in zip(worse.index, worse["difference"], strict=True)
        ]
        more = f" and {len(named) - 5} more" if len(named) > 5 else ""
        return [
            f"{len(worse)} of {len(self.topics)} topics got worse: {', '.join(named[:5])}{more}."
        ]

    def _on_items(self):
        if self.item_verdicts is None:
            return []
        counts = self.item_verdicts["verdict"].value_counts()
        worse, better = counts.get("worse", 0), counts.get("better", 0)
        words = (
            f"Of {len(self.item_verdicts)} items with repeated runs, {worse} got worse and "
            f"{better} better beyond noise"
        )
        if math.isnan(self.expected_flips):
            return [f"{words}."]
        flipped = int(self.item_verdicts["flipped"].sum())
        return [f"{words}; {flipped} flipped, and noise alone flips {self.expected_flips:.1f}."]

    def to_frame(self) -> pd.DataFrame:
        """One row: verdict, difference, low, high, margin, power, items_needed and more."""
        row = asdict(self) | {"score_baseline": self.scores[0], "score_candidate": self.scores[1]}
        for name in ("scores", "topics", "item_verdicts", "remarks"):
            row.pop(name)
        return pd.DataFrame([row])

    def to_json(self) -> str:
        """All of the result as a JSON document; what is not known is null.

        Returns
        -------
        str
        """
        document = _records(self.to_frame())[0]
        document["remarks"] = list(self.remarks)
        document["sentences"] = self.sentences()
        for name in ("topics", "item_verdicts"):
            frame = getattr(self, name)
            document[name] = None if frame is None else _records(frame.reset_index())
        return json.dumps(document, indent=1, default=str, allow_nan=False)

    def to_markdown(self) -> str:
        """A table for the summary of a pull request.

        Returns
        -------
        str
        """
        first, *others = self.sentences()
        ends = [f"{x:+.4f}" if np.isfinite(x) else "unknown" for x in (self.low, self.high)]
        power = "unknown" if math.isnan(self.power) else f"{100 * self.power:.0f} %"
        needed = "unknown" if math.isnan(self.items_needed) else f"{self.items_needed:,}"
        lines = [
            f"### {_MARKS[self.verdict]}: {self.candidate} against {self.baseline}",
            "",
            first if self.power < BLIND else "",
            "",
            "| baseline | candidate | difference | low | high | margin | items | power | needed |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
            f"| {self.scores[0]:.4f} | {self.scores[1]:.4f} | {self.difference:+.4f} | {ends[0]} "
            f"| {ends[1]} | {self.margin:.4g} | {self.n_items:,} | {power} | {needed} |",
            "",
        ]
        if self.topics is not None:
            worse = self.topics[self.topics["worse"]].sort_values("difference").head(_ROWS_SHOWN)
            lines += [
                "| topic that got worse | difference | low | high | items |",
                "|---|---:|---:|---:|---:|",
            ]
            lines += [
                f"| {_text(row.Index)} | {row.difference:+.4f} | {row.low:+.4f} "
                f"| {row.high:+.4f} | {row.n_items} |"
                for row in worse.itertuples()
            ] + [""]
        told = [text for text in others if not text.startswith(self.verdict.upper())]
        return "\n".join([*lines, *(f"- {text}" for text in told), ""])

    def __repr__(self):
        return "\n".join(self.sentences())


def _text(label):
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _records(frame):
    return [
        {name: _known(value) for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


def _known(value):
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
