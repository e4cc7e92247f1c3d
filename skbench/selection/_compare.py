"""`compare_estimators`: which estimator on these data, when nobody knows the truth."""

from dataclasses import dataclass, replace

from skbench._checks import check_option
from skbench._random import as_generator
from skbench.containers import Estimate
from skbench.selection._candidates import Data, check_estimators, seeded, split_risk
from skbench.selection._comparison import RiskComparison


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorComparison:
    """Which estimator to use, how sure that is, and its estimates.

    Parameters
    ----------
    risk : RiskComparison
        Estimated risks of all candidates.
    best : str
        Candidate with the smallest estimated risk.
    choice : str
        What to use: the best if it is clearly better than the safest, else the
        safest.
    n_standard_errors : float
        What "clearly" means.
    estimator : estimator
        The choice, fitted on all items.
    estimate : Estimate
        Its estimates, with `sample_size_ratio` from the split items.
    """

    risk: RiskComparison
    best: str
    choice: str
    n_standard_errors: float
    estimator: object
    estimate: Estimate

    @property
    def safest(self):
        """The candidate to which the others are compared."""
        return self.risk.reference

    def to_frame(self):
        """One row per candidate.

        Returns
        -------
        DataFrame
            The columns of `RiskComparison.to_frame`, and chosen (bool).
        """
        table = self.risk.to_frame()
        return table.assign(chosen=table.index == self.choice)

    def __repr__(self):
        return f"{self._verdict()}\n{self.risk!r}"

    def _verdict(self):
        if self.best == self.safest:
            return f"Use {self.choice!r}: no other has a smaller estimated risk."
        difference, error = self.risk.difference(self.best, self.safest)
        less = 100 * -difference / self.risk.risk[self.safest]
        figures = (
            f"{self.best!r} has {less:.0f} % less squared error than {self.safest!r}, "
            f"{-difference / error:.1f} standard errors"
        )
        if self.choice == self.best:
            return f"Use {self.choice!r}: {figures}."
        return f"Use {self.choice!r}: {figures}, which is too little to tell from chance."


def compare_estimators(
    estimators,
    items,
    by=None,
    *,
    safest=None,
    n_standard_errors=1.0,
    n_splits=10,
    n_repeats=1,
    confidence_level=0.95,
    random_state=None,
    n_jobs=None,
    **summary_options,
):
    """Choose between estimators by their estimated risk on these items.

    Parameters
    ----------
    estimators : dict of str to estimator
        Candidates, not fitted; they are copied.
    items : dataframe or GroupSummary
        As in `split_items_risk`.
    by : str or list of str, default=None
        Columns that define the groups; required with a dataframe.
    safest : str, default=None
        Candidate to fall back on, by default the first of `estimators`.
    n_standard_errors : float, default=1.0
        How many standard errors of the difference the best must be better by.
    n_splits, n_repeats : int, default=10 and 1
        As in `split_items_risk`.
    confidence_level : float, default=0.95
        Level of the intervals of the estimates.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the deals, and of estimators whose `random_state` is None.
    n_jobs : int, default=None
        Folds worked on at the same time (joblib).
    **summary_options
        Further arguments of `summarize_items`.

    Returns
    -------
    EstimatorComparison
        Its repr is the answer in words and a table.

    Raises
    ------
    ValueError
        As in `split_items_risk`, or if the safest candidate fails.
    TypeError
        If `estimators` is no dict of estimators.

    Warns
    -----
    UserWarning
        If a candidate fails; it is then out of the running.

    Notes
    -----
    The rule: take the candidate with the smallest estimated risk, unless it is
    better than the safest by less than `n_standard_errors` standard errors of their
    difference; then take the safest. Where the data cannot tell, nothing is risked.
    Risks are those of `split_items_risk`, differences between candidates are free of
    most of the noise in both.

    When not to use it: as proof that one candidate is the best. The choice is a
    safety net against candidates that fail on the data at hand; candidates a few
    percent apart are told apart by luck. Nor are its intervals corrected for the
    choice, which matters little with a handful of candidates and some 40 topics.

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
    check_estimators(estimators)
    safest = next(iter(estimators)) if safest is None else safest
    check_option("safest", safest, estimators)
    rng = as_generator(random_state)
    data = Data(items, by, summary_options)
    candidates = {name: (estimator, []) for name, estimator in estimators.items()}
    risk = split_risk(candidates, data, safest, n_splits, n_repeats, rng, n_jobs)
    if safest in risk.errors:
        raise ValueError(f"The safest candidate {safest!r} failed: {risk.errors[safest]}")
    best = risk.risk.idxmin()
    choice = chosen(risk, best, n_standard_errors)
    estimator = seeded(estimators[choice], int(rng.integers(2**31)))
    estimator.fit(**data.summary.fit_args)
    ratio = risk.sample_size_ratio(choice, confidence_level)
    return EstimatorComparison(
        risk=risk,
        best=best,
        choice=choice,
        n_standard_errors=n_standard_errors,
        estimator=estimator,
        estimate=replace(estimator.estimate(confidence_level), sample_size_ratio=ratio),
    )


def chosen(risk, best, n_standard_errors):
    """The best candidate, unless it is not clearly better than the reference."""
    difference, error = risk.difference(best, risk.reference)
    # A nan error (a single topic) is no evidence: the safest stays.
    return best if difference < -n_standard_errors * error else risk.reference
