"""The result of a trend over versions, as a table and in sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._checks import listed, plain
from skbench._numbers import number, score_form, slope_form
from skbench._printed import Printed
from skbench.comparison._comparison import p_in_words
from skbench.containers import Estimate

_MOST_NAMED = 5  # topics in a sentence


@dataclass(frozen=True, eq=False, repr=False)
class Trend(Printed):
    """Trend of the scores over versions.

    Attributes
    ----------
    estimate : Estimate
        Labeled "slope" (score per unit of the order) and "change" (last minus first version).
    p_value, df : ndarray of shape (2,)
        Two-sided p-values for a slope and a change of 0, and degrees of freedom.
    test : tuple of two str
        Tests of slope and change.
    scores : Estimate
        Mean scores of the versions in order, with simultaneous intervals for all versions.
    order : Series of length n_versions
        Number or date (UTC) of each version.
    unit : str
        Unit of the order: "version" (a step in a list), "year" (for dates), or "unit of" the
        column.
    topics : DataFrame or None
        One row per group of `by`: slope, low, high, standard_error, df, p_value, adjusted_p
        (Benjamini-Hochberg), verdict, n_items and n_versions.
    topic_level : float
        Confidence level of the intervals of `topics`. An interval excludes 0 if and only if
        adjusted_p is at most 1 minus `confidence_level`. nan without topics.
    n_items, n_clusters : int
        Numbers of items that at least two versions answered, and of clusters of these items.
    remarks : tuple of str
        Further remarks, in sentences.
    """

    estimate: Estimate
    p_value: np.ndarray
    df: np.ndarray
    test: tuple
    scores: Estimate
    order: pd.Series
    unit: str
    topics: pd.DataFrame | None
    topic_level: float
    n_items: int
    n_clusters: int
    remarks: tuple = ()

    @property
    def verdict(self) -> np.ndarray:
        """Verdicts on slope and change: "rising" or "falling" if the interval excludes 0.

        Otherwise "undecided", or "unknown" if there is no interval.
        """
        return verdicts(self.estimate.low, self.estimate.high, self.p_value)

    def to_frame(self) -> pd.DataFrame:
        """Return rows "slope" and "change": value, interval, error, df, p_value, verdict."""
        e = self.estimate
        columns = {name: getattr(e, name) for name in ("value", "low", "high", "standard_error")}
        columns |= {"df": self.df, "p_value": self.p_value, "verdict": self.verdict}
        return pd.DataFrame(columns, index=e.labels)

    def sentences(self) -> list[str]:
        """Return the trend in words: slope, change, and the topics with a significant slope.

        Returns
        -------
        list of str
        """
        slope, change = self.to_frame().itertuples()
        form = slope_form([slope.value, slope.low, slope.high])
        level = f"{100 * self.estimate.confidence_level:.4g}%"
        words = {
            "rising": "The score rises by",
            "falling": "The score falls by",
            "undecided": "The trend is not significant. The slope is",
            "unknown": "The slope is",
        }
        ends = _between(slope, form)
        sentences = [
            f"{words[slope.verdict]} {number(_size(slope), form)} per {self.unit} "
            f"({level} interval of the slope {ends}, p {p_in_words(slope.p_value)}, "
            f"{self.test[0]})."
        ]
        form, x = score_form([change.value, change.low, change.high]), self.order
        first, last = (
            " and ".join(str(plain(name)) for name in x.index[x == end])
            for end in (x.min(), x.max())
        )
        sentences.append(
            f"From {first} to {last} the score changes by {number(change.value, form)} "
            f"({level} interval {_between(change, form)}, p {p_in_words(change.p_value)}, "
            f"{self.test[1]})."
        )
        return sentences if self.topics is None else [*sentences, self._of_topics()]

    def _of_topics(self):
        """The topics with a significant trend, in a sentence."""
        rate = f"false discovery rate {100 * (1 - self.estimate.confidence_level):.4g}%"
        shown = self.topics[self.topics["verdict"].isin(["rising", "falling"])]
        n = f"{len(shown) or 'None'} of {len(self.topics)} topics"
        if shown.empty:
            return f"{n} has a significant trend ({rate})."
        form = slope_form(shown["slope"])
        slopes = shown["slope"].sort_values(key=abs, ascending=False, kind="stable")
        each = [f"{as_text(name)} {number(slope, '+' + form)}" for name, slope in slopes.items()]
        return (
            f"{n} {'have' if len(shown) > 1 else 'has'} a significant trend ({rate}): "
            f"{listed(each, most=_MOST_NAMED)} per {self.unit}."
        )

    def __len__(self):
        return len(self.scores)

    def _printed(self):
        return [*self.sentences(), *self.remarks]


def verdicts(low, high, p_value):
    known = np.isfinite(low) | (p_value == 1)
    words = np.where(known, "undecided", "unknown").astype(object)
    words[low > 0], words[high < 0] = "rising", "falling"
    return words


def _between(row, form):
    known = np.isfinite(row.low)
    return f"{number(row.low, form)} to {number(row.high, form)}" if known else "unknown"


def _size(row):
    return abs(row.value) if row.verdict in ("rising", "falling") else row.value


def as_text(name):
    return ", ".join(map(str, plain(name))) if isinstance(name, tuple) else str(plain(name))
