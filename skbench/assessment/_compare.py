"""`compare_estimators`: choose an estimator without known true values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from skbench._checks import check_option
from skbench._printed import Printed
from skbench._random import as_generator, seeded
from skbench._types import AtLeastTwo, Count, Jobs, Level, Names, RandomState, Rows, checked
from skbench.assessment._candidate import Candidate, called_with, estimators_of_groups
from skbench.assessment._risk import split_risk
from skbench.assessment._risk_comparison import RiskComparison
from skbench.assessment._splits import Data
from skbench.containers import Estimate, GroupSummary


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorComparison(Printed):
    """The chosen estimator, its estimates, and the estimated risks of all candidates.

    Parameters
    ----------
    risk : RiskComparison
        Estimated risks of all candidates.
    best : str
        Candidate with the smallest estimated risk.
    choice : str
        Candidate to use: the best one after a penalty for uncertainty.
    estimator : estimator
        The chosen estimator, fitted to all items.
    estimate : Estimate
        Its estimates, with `sample_size_ratio` from the split items.

    Examples
    --------
    >>> from skbench import DirectEstimator, JamesStein, compare_estimators, make_items
    >>> items = make_items(3, 20, 10, topic_std=0.3, random_state=0).items
    >>> comparison = compare_estimators(
    ...     {"direct": DirectEstimator(), "James-Stein": JamesStein()},
    ...     items, ["model", "topic"], n_splits=5, random_state=0)
    >>> comparison.choice, comparison.safest
    ('James-Stein', 'direct')
    """

    risk: RiskComparison
    best: str
    choice: str
    estimator: object
    estimate: Estimate

    @property
    def safest(self) -> str:
        """The candidate that all others are compared with."""
        return self.risk.reference

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate.

        Returns
        -------
        DataFrame
            The columns of `RiskComparison.to_frame`, and chosen (bool).
        """
        table = self.risk.to_frame()
        return table.assign(chosen=table.index == self.choice)

    def _printed(self):
        words = f"Use {self.choice!r}."
        if self.choice != self.best:
            words += f" {self.best!r} has a smaller but more uncertain estimated risk."
        return [words, *self.risk._printed()]


@checked
def compare_estimators(
    estimators: Mapping[str, Any],
    items: Rows | GroupSummary,
    by: Names | None = None,
    *,
    safest: str | None = None,
    n_splits: AtLeastTwo = 10,
    n_repeats: Count = 1,
    confidence_level: Level = 0.95,
    random_state: RandomState = None,
    n_jobs: Jobs = None,
    **summary_options: Any,
) -> EstimatorComparison:
    """Choose between estimators by their estimated risk on these items.

    Parameters
    ----------
    estimators : dict of str to estimator, list of (str, estimator), or one estimator
        Candidates, not fitted; they are copied.
    items : dataframe or GroupSummary
        As in `estimated_risk`.
    by : str or list of str, default=None
        Columns that define the groups; required with a dataframe.
    safest : str, default=None
        Candidate to use in case of doubt. None is the first of `estimators`.
    n_splits, n_repeats : int, default=10 and 1
        As in `estimated_risk`.
    confidence_level : float, default=0.95
        Confidence level of the intervals of the estimates.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits, and of unset random states inside the estimators, at any depth.
    n_jobs : int, default=None
        Number of folds processed in parallel (joblib).
    **summary_options
        Further arguments of `summarize_items`.

    Returns
    -------
    EstimatorComparison
        Its printed form is a recommendation and a table.

    Raises
    ------
    ValueError
        As in `estimated_risk`, or if the safest candidate fails.
    TypeError
        If `estimators` are not estimators.

    Warns
    -----
    UserWarning
        If a candidate fails. It is then never chosen.

    Notes
    -----
    A candidate is chosen only if its estimated risk is below that of the safest candidate by at
    least one standard error of the difference. Among several such candidates, the rule chooses the
    smallest sum of this difference (candidate minus safest) and its standard error.
    `~skbench.assessment.RiskComparison.choice` applies the rule with other multiples of the
    standard error.

    On real evaluations (benchmarks/selection.py), the rule reduced the largest of ten mean regrets
    from 1.23 to 1.15, and their average from 1.06 to 1.05. Part of these data was used to choose
    the rule.

    **When not to use it:** to prove that one candidate is best. If risks differ by a few percent,
    the choice depends on chance. The intervals of the estimates are not adjusted for the choice.
    With a handful of candidates and about 40 topics, this matters little.

    References
    ----------
    .. [1] Neufeld, Dharamshi, Gao and Witten (2024). Data thinning for
       convolution-closed distributions. Journal of Machine Learning Research 25.

    Examples
    --------
    >>> from skbench import DirectEstimator, JamesStein, compare_estimators, make_items
    >>> data = make_items(4, 30, 10, topic_std=0.3, random_state=0)
    >>> candidates = {"direct": DirectEstimator(), "James-Stein": JamesStein()}
    >>> comparison = compare_estimators(
    ...     candidates, data.items, ["model", "topic"], random_state=0)
    >>> comparison.choice
    'James-Stein'
    """
    estimators = estimators_of_groups(estimators)
    safest = next(iter(estimators)) if safest is None else safest
    check_option("safest", safest, estimators)
    rng = as_generator(random_state)
    data = Data(items, by, summary_options)
    candidates = {name: Candidate(estimator) for name, estimator in estimators.items()}
    risk = split_risk(candidates, data, safest, n_splits, n_repeats, rng, n_jobs)
    if safest in risk.errors:
        raise ValueError(f"The safest candidate {safest!r} failed: {risk.errors[safest]}")
    best = risk.risk.idxmin()
    choice = risk.choice()
    estimator = seeded(estimators[choice], int(rng.integers(2**31)))
    called_with(estimator.fit, data.summary.fit_args)
    ratio = risk.sample_size_ratio(choice, confidence_level)
    return EstimatorComparison(
        risk=risk,
        best=best,
        choice=choice,
        estimator=estimator,
        estimate=replace(estimator.estimate(confidence_level), sample_size_ratio=ratio),
    )
