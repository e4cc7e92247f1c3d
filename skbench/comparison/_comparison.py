"""The result of comparing models, as a table and in sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._numbers import number, score_form
from skbench._printed import Printed, PrintedTable
from skbench.containers import Estimate
from skbench.stats.intervals.moments import divided

POWER = 0.8  # of `items_needed`
_SIGNIFICANCE = {"tied": "not significant", "unknown": "of unknown significance"}


class Later:
    """A field computed by a function without arguments when it is first read."""

    def __set_name__(self, owner, name):
        self.name = name

    def __set__(self, instance, value):
        vars(instance)[self.name] = value

    def __get__(self, instance, owner):
        if instance is None:
            raise AttributeError(self.name)  # the field has no default
        value = vars(instance)[self.name]
        if callable(value):
            value = vars(instance)[self.name] = value()
        return value


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Printed):
    """Differences between pairs of models, one row per pair (and group).

    Attributes
    ----------
    estimate : Estimate
        Differences, a minus b, with standard errors and intervals.
    p_value : ndarray of shape (n_comparisons,)
        Two-sided p-values, adjusted as requested.
    test : str
        "McNemar, exact", "t test", or both if some items are missing.
    df : ndarray of shape (n_comparisons,)
        Degrees of freedom of the interval.
    correlation : ndarray of shape (n_comparisons,)
        Correlation of the two means; 0 for models that share no items.
    unpaired_standard_error : ndarray of shape (n_comparisons,)
        Standard error if the two models had answered different items.
    n_items : ndarray of int of shape (n_comparisons,)
        Number of shared items; 0 if the models share none.
    n_behind : ndarray of shape (n_comparisons,)
        Number of items that the standard error is based on: the shared items. If there are none,
        or if an item bank supplies the rest, the smaller number of the two models' own items.
    items_needed : ndarray of shape (n_comparisons,)
        Number of such items at which the interval excludes 0 with power 0.8 if the true
        difference is the observed one; at most the population size. nan if the models share none.
    omega2 : ndarray of shape (n_comparisons,)
        Variance that one item adds to the difference, for `required_items`. It includes the
        effect of clusters, and the variance of single answers unless `noise` is known.
    noise : ndarray of shape (n_comparisons,)
        Variance of repeated answers to one item, summed over both models; nan if items were
        answered once.
    remarks : tuple of str
        Further remarks, in sentences.
    """

    estimate: Estimate
    p_value: np.ndarray
    test: str
    df: np.ndarray
    correlation: np.ndarray
    unpaired_standard_error: np.ndarray
    n_items: np.ndarray
    n_behind: np.ndarray
    items_needed: np.ndarray = Later()  # a search for each pair, which a leaderboard does not need
    omega2: np.ndarray
    noise: np.ndarray
    remarks: tuple

    @property
    def verdict(self) -> np.ndarray:
        """Verdict on a: "better" or "worse" if the interval excludes 0, "tied", or "unknown"."""
        e = self.estimate
        known = np.isfinite(e.low) | (self.p_value == 1)
        words = np.array(["unknown", "tied", "better", "worse"], dtype=object)
        return words[np.select([e.high < 0, e.low > 0, known], [3, 2, 1], 0)]

    @property
    def variance_reduction(self) -> np.ndarray:
        """Share of the unpaired variance that pairing removes; negative if pairing adds some."""
        return 1 - divided(self.estimate.standard_error, self.unpaired_standard_error) ** 2

    def to_frame(self) -> pd.DataFrame:
        """Return one row per comparison, indexed by the two models and the group."""
        e = self.estimate
        columns = {name: getattr(e, name) for name in ("value", "low", "high", "standard_error")}
        own = ("df", "p_value", "correlation", "variance_reduction", "n_items", "items_needed")
        columns |= {name: getattr(self, name) for name in own}
        return pd.DataFrame(columns, index=e.labels).rename(columns={"value": "difference"})

    def sentences(self, position: int = 0) -> list[str]:
        """Return one comparison in words: the result, the effect of pairing, the items needed.

        Parameters
        ----------
        position : int, default=0
            Row of ``to_frame()``.

        Returns
        -------
        list of str
        """
        row = self.to_frame().iloc[position]
        a, b, *group = self.estimate.labels[position]
        where = f" in {', '.join(map(str, group))}" if group else ""
        level = f"{100 * self.estimate.confidence_level:.4g}%"
        names = ("difference", "standard_error", "low", "high")
        form, verdict = score_form(row[list(names)]), self.verdict[position]
        value, error, low, high = row[list(names)]
        head = f"{a} - {b}{where} ="
        if verdict in ("better", "worse"):
            head = f"{a} is {verdict} than {b}{where} by"
        if verdict == "worse":
            value, low, high = -value, -high, -low
        value, error, low, high = (number(x, form) for x in (value, error, low, high))
        ends = f"{low} to {high}" if np.isfinite(row["low"]) else "unknown"
        p_value = f"p {p_in_words(row['p_value'])}, {self.test}"
        return [
            f"{head} {value} (standard error {error}, {level} interval {ends}).",
            f"The difference is {_SIGNIFICANCE.get(verdict, 'significant')} ({p_value}).",
            *_on_pairing(row, number(self.unpaired_standard_error[position], form)),
            *_on_items(row, number(row["difference"], form)),
        ]

    def __len__(self):
        return len(self.estimate)

    def _printed(self):
        if len(self) == 1:
            return [*self.sentences(), *self.remarks]
        head = (
            f"{len(self)} comparisons by the {self.estimate.method}, with "
            f"{100 * self.estimate.confidence_level:.4g}% intervals and p-values by the {self.test}"
        )
        table = self.to_frame().drop(columns=["variance_reduction", "df"])
        return [head, PrintedTable(table, digits=3), *self.remarks]


def _on_pairing(row, unpaired):
    """The effect of pairing, in sentences."""
    if not row["n_items"]:
        return ["The models share no items, so they are unpaired and their variances are added."]
    saved = row["variance_reduction"]
    if not np.isfinite([saved, row["correlation"]]).all():
        return []
    change = "removes" if saved >= 0 else "adds"
    return [
        f"Pairing on {row['n_items']:.0f} shared items {change} {100 * abs(saved):.0f}% of the "
        f"variance (correlation {row['correlation']:z.2f}).",
        f"Without shared items the standard error would be {unpaired}.",
    ]


def _on_items(row, difference):
    """The number of items that would detect a difference of this size, in a sentence."""
    if np.isinf(row["items_needed"]):
        return ["No number of items can detect a true difference of 0."]
    if np.isnan(row["items_needed"]):
        return []
    return [
        f"If the true difference is {difference}, {np.ceil(row['items_needed'] - 1e-9):.0f} such "
        f"items give a new comparison a power of {100 * POWER:.0f}%."
    ]


def p_in_words(p_value):
    """A p-value with its relation: "= 0.03", "< 0.0001" or "unknown"."""
    if np.isnan(p_value):
        return "unknown"
    return "< 0.0001" if p_value < 1e-4 else f"= {p_value:.2g}"
