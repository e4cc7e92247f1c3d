"""Runs of one stochastic test, and what they show of its probability to pass."""

from bisect import bisect
from typing import Annotated, Literal

from skbench._numbers import number, score_form
from skbench._parameters import Range, checked  # of skbench._types, which takes pandas
from skbench.stats.sequential.betting import confidence_sequence

_MOST = 10**9  # runs


class Runs:
    """A test that is run until an interval of its probability to pass decides."""

    @checked
    def __init__(
        self,
        runs: Annotated[int, Range(1)],
        min_pass: Annotated[float, Range(0, 1, "neither", "Write 0.8 for 80%.")],
        confidence_level: Annotated[float, Range(0, 1, "neither", "Write 0.95 for 95%.")] = 0.95,
        undecided: Literal["fail", "pass"] = "fail",
    ):
        self.runs, self.min_pass = runs, min_pass
        self.confidence_level, self.undecided = confidence_level, undecided
        self.passes = self.fails = 0
        self.low, self.high, self.verdict = 0.0, 1.0, "undecided"
        self._check_plan()

    def add(self, passed):
        """Count a run; return whether to stop."""
        self.passes += passed
        self.fails += not passed
        low, high = self._ends(self.passes, self.fails)
        self.low, self.high = max(low, self.low), min(high, self.high)
        if self.low > self.min_pass:
            self.verdict = "pass"
        elif self.high < self.min_pass:
            self.verdict = "fail"
        return self.verdict != "undecided" or not self._matters(self.runs - self._n)

    @property
    def passed(self):
        """Whether the test is to pass."""
        return "pass" in (self.verdict, self.verdict == "undecided" and self.undecided)

    @property
    def _n(self):
        return self.passes + self.fails

    def _ends(self, passes, fails):
        return confidence_sequence([0.0, 1.0], [fails, passes], self.confidence_level)

    def _matters(self, more):
        """Whether so many more runs can change what becomes of the test."""
        if self.undecided == "fail":
            return self._ends(self.passes + more, self.fails)[0] > self.min_pass
        return self._ends(self.passes, self.fails + more)[1] < self.min_pass

    def _check_plan(self):
        """Refuse fewer runs than the verdict needs that differs from `undecided`."""
        if self._matters(self.runs):
            return
        needed = 1 + bisect(range(1, _MOST), False, key=self._matters)
        never, other, remedy = {
            "fail": ("passes", "pass", "fail only what is shown to be below"),
            "pass": ("fails", "fail", "pass only what is shown to be above"),
        }[self.undecided]
        raise ValueError(
            f"runs={self.runs} is too few: if every run {never}, {needed:,} runs show that the "
            f"probability to pass is {'above' if other == 'pass' else 'below'} "
            f"min_pass={self.min_pass:g}. Give as many, or undecided={other!r} to {remedy}."
        )

    def __str__(self):
        value = self.passes / self._n if self._n else float("nan")
        numbers = value, self.low, self.high
        value, low, high = (number(x, score_form(numbers)) for x in numbers)
        words = (
            f"{self.verdict}: {self.passes:,} of {self._n:,} runs passed, {value} "
            f"({100 * self.confidence_level:.4g}% interval {low} to {high} at all looks, "
            f"min_pass {self.min_pass:g})"
        )
        if self.verdict != "undecided":
            return words
        if self._n < self.runs:
            cannot = "pass" if self.undecided == "fail" else "fail"
            words += f"; it can no longer {cannot} within {self.runs:,} runs"
        return f"{words}; taken as {self.undecided}"
