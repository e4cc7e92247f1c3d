"""Runs of a stochastic test, and the interval of its probability of passing."""

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from skbench._numbers import number, score_form
from skbench._parameters import Range, checked  # skbench._types would import pandas
from skbench.stats.sequential import truncated_binomial


class Runs:
    """A test that is run until an interval of its probability of passing decides."""

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
        self.passes, self.fails, self.low, self.high = 0, 0, 0.0, 1.0
        aim = {"fail": "above", "pass": "below"}[undecided]
        self._points = _points(runs, min_pass, confidence_level, aim)

    def add(self, passed):
        """Count a run, and return whether to stop."""
        self.passes += passed
        self.fails += not passed
        n, k, _ = self._points
        (at,) = np.nonzero((n == self._n) & (k == self.passes))
        if at.size == 0:
            return False
        plan = self._points, self.min_pass, at[0], self.confidence_level
        self.low, self.high = truncated_binomial.stopped_interval(*plan)
        return True

    @property
    def verdict(self):
        """The verdict of the interval: "pass", "fail" or "undecided"."""
        if self.low >= self.min_pass:
            return "pass"
        return "fail" if self.high < self.min_pass else "undecided"

    @property
    def passed(self):
        """Whether the test passes."""
        return "pass" in (self.verdict, self.verdict == "undecided" and self.undecided)

    @property
    def _n(self):
        return self.passes + self.fails

    def __str__(self):
        value = self.passes / self._n if self._n else float("nan")
        numbers = value, self.low, self.high
        value, low, high = (number(x, score_form(numbers)) for x in numbers)
        words = (
            f"{self.verdict}: {self.passes:,} of {self._n:,} runs passed, {value} "
            f"({100 * self.confidence_level:.4g}% interval {low} to {high}, "
            f"min_pass {self.min_pass:g})"
        )
        if self.verdict != "undecided":
            return words
        if self._n < self.runs:
            cannot = "pass" if self.undecided == "fail" else "fail"
            words += f"; it can no longer {cannot} within {self.runs:,} runs"
        return f"{words}; counts as {self.undecided}"


@lru_cache(maxsize=64)
def _points(runs, min_pass, confidence_level, aim):
    """Return the results at which a test stops. Raise if there are too few runs to decide."""
    least = truncated_binomial.least_trials(min_pass, confidence_level, aim)
    if runs >= least:
        return truncated_binomial.stopping_points(runs, min_pass, confidence_level, aim)
    never, other, remedy = {
        "above": ("passes", "pass", "fail only if the probability is below min_pass"),
        "below": ("fails", "fail", "pass only if the probability is above min_pass"),
    }[aim]
    raise ValueError(
        f"runs={runs} is too few. Even if every run {never}, {least:,} runs are needed to show "
        f"that the probability of passing is {aim} min_pass={min_pass:g}. Pass more runs, or "
        f"undecided={other!r} to {remedy}."
    )
