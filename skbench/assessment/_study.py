"""`RepeatedSamplingStudy`: judge estimators by repeated sampling from full results."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from typing import Annotated, Any, Self

import pandas as pd
from joblib import Memory
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_memory

from skbench._checks import listed, names_of
from skbench._jobs import results
from skbench._printed import Printed, PrintedTable
from skbench._progress import steps
from skbench._random import as_generator
from skbench._types import (
    Count,
    Jobs,
    Level,
    Names,
    OpenShare,
    Path,
    RandomState,
    Rows,
    Variance,
    checked,
)
from skbench._warnings import warn
from skbench.assessment import _summary
from skbench.assessment._candidate import as_candidates
from skbench.assessment._population import design, population
from skbench.assessment._repetition import RESULT_COLUMNS, Trial, cached_result, key_of, repetition


@checked
class RepeatedSamplingStudy(Printed):
    """Evaluate estimators by repeated sampling from complete results.

    Each repetition samples a few items, runs every estimator, and compares the estimates with the
    means over all items.

    Parameters
    ----------
    estimators : dict of str to estimator, list of (str, estimator), or one estimator
        Each estimator is one of:

        - an estimator of skbench,
        - any object with the methods ``fit(X, y, sigma2, n, groups, sampling)`` and ``estimate``
          of skbench's estimators (the argument `sampling` is optional),
        - a scikit-learn regressor, evaluated without intervals,
        - a `skbench.assessment.Candidate`.

        An estimator with ``random_state=None`` gets a new seed in every repetition.
    n_items : int, float or "proportional", default=10
        Number of items sampled from each group, or from each topic if models share items. With an
        int, groups with fewer than ``4 * n_items`` items are excluded. A float between 0 and 1 is a
        fraction of the items. With "proportional", the fraction is such that the smallest group
        with at least 50 items has a sample of 10 items.
    n_repeats : int, default=100
        Number of repetitions.
    replace : bool, default=False
        Whether to sample with replacement. If True, no group is excluded as too small.
    share_items : bool, default=True
        Whether models that answered the same items (by item id) also have the same sample of items.
        If False, each group is sampled separately.
    variance : str, default="smoothed"
        Sampling variance of binary scores, as in `summarize_items`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of samples and estimators.
    n_jobs : int, default=None
        Number of repetitions run in parallel, if the first repetitions show that this saves time.
        ``joblib.parallel_config`` sets the backend and shows progress (`verbose`). Results are the
        same for every `n_jobs` and backend. With threads, warnings may be lost or assigned to
        another repetition.

    Attributes
    ----------
    results_ : DataFrame
        One row per repetition, estimator and group: repetition, estimator, the labels of the
        group, n, estimate, low, high, truth, guarantee.
    truth_ : Series
        Mean of all scores of each group in the study, by label.
    dropped_ : DataFrame
        Excluded groups by label, with the columns items (number of items) and why (the reason).
    failures_ : DataFrame
        Estimators that failed: repetition, estimator, message. `results_` has no rows for these
        estimators in these repetitions.
    warnings_ : DataFrame
        Warnings of the estimators: repetition, estimator, message.

    Raises
    ------
    ValueError
        If the items cannot be summarized, or no group is large enough.
    TypeError
        If an entry of `estimators` cannot be fitted.

    Warns
    -----
    UserWarning
        If groups were excluded or an estimator failed.

    Notes
    -----
    The designs are those of [1]_, section 4.2 ("proportional") and C.1 (10, 20 or 50 items). The
    true value is the mean over all items. Samples without replacement therefore have smaller errors
    than samples from an infinite population. If a quarter of the items is sampled, the error
    variance of direct estimates is a quarter smaller, so their intervals have higher coverage. For
    shrinkage estimators, by contrast, coverage may be lower. To evaluate an estimator with
    ``estimate(population=...)``, pass ``Candidate(estimator, knows_population=True)``.

    **When not to use it:** without the scores on all items. Use `make_items` to simulate items, or
    `compare_estimators` if you have only a sample.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbench import DirectEstimator, EmpiricalBayes, RepeatedSamplingStudy, make_items
    >>> data = make_items(n_models=3, n_topics=20, n_items=50, random_state=0)
    >>> study = RepeatedSamplingStudy(
    ...     {"direct": DirectEstimator(), "EB": EmpiricalBayes(Ridge())},
    ...     n_items=10, n_repeats=5, random_state=0)
    >>> table = study.run(data.items, features=data.features).summary()
    >>> bool(table.loc["EB", "mse_ratio"] < 0.8)
    True
    """

    def __init__(
        self,
        estimators: Mapping[str, Any],
        n_items: Count | OpenShare | Annotated[str, ("proportional",)] = 10,
        n_repeats: Count = 100,
        *,
        replace: bool = False,
        share_items: bool = True,
        variance: Variance = "smoothed",
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimators = estimators
        self.n_items = n_items
        self.n_repeats = n_repeats
        self.replace = replace
        self.share_items = share_items
        self.variance = variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def run(
        self,
        items: Rows,
        by: Names = ("model", "topic"),
        score: str = "score",
        *,
        item: str = "item",
        topic: Names | None = "topic",
        model: str = "model",
        features: Rows | Names | None = None,
        confidence_level: Level = 0.95,
        memory: Path | Memory | None = None,
    ) -> Self:
        """Sample, estimate and compare, `n_repeats` times.

        Parameters
        ----------
        items : dataframe
            Complete results, one row per (model, item), in any dataframe that narwhals reads.
        by : str or sequence of str, default=("model", "topic")
            Columns that define the groups. Their names must differ from the columns of `results_`.
        score : str, default="score"
            Column of scores, binary or continuous.
        item : str, default="item"
            Column of item ids. Without it, models share no items.
        topic : str or list of str or None, default="topic"
            One or more topic columns. The same item id in two topics stands for two different
            items. The columns may be absent.
        model : str, default="model"
            Column that names the model.
        features : dataframe or list of str, default=None
            A table of group features, or item columns whose means over the sampled items are
            features, as in `summarize_items`.
        confidence_level : float, default=0.95
            Nominal confidence level of the intervals.
        memory : str, Path or joblib.Memory, default=None
            Folder that stores finished repetitions. A second run computes only missing repetitions,
            after an interrupt or with larger `n_repeats`. It requires an int as `random_state` and
            estimators that can be pickled.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `memory` is given without an int as `random_state`, or an estimator cannot be
            pickled.

        Notes
        -----
        Stored repetitions are reused only for the same data, design, seed, parameters of the
        estimators, and versions of skbench, numpy, scipy, pandas, scikit-learn, xgboost and
        lightgbm. Changes in the code of your own classes and functions are not detected; use
        another folder after such a change.
        """
        memory = self._memory(memory)
        candidates = as_candidates(self.estimators, self.variance)
        self._refuse_population_with_replacement(candidates)
        by = names_of(by)
        taken = [name for name in by if name in RESULT_COLUMNS]
        if taken:
            raise ValueError(f"by has {taken[0]!r}, a column of results_. Rename this column.")
        full = population(items, by, score, item, topic, model, features, self.share_items)
        plan = design(full, self.n_items, self.replace)
        self.dropped_ = plan.dropped
        kept = plan.population
        self.truth_ = pd.Series(kept.truth, index=kept.labels, name="truth")
        self._warn_of_dropped(len(full.labels))
        entropy = int(as_generator(self.random_state).integers(2**63))
        trial = Trial(plan, candidates, self.replace, confidence_level, entropy)
        frames, notes = zip(*self._repetitions(trial, memory), strict=True)
        self.results_ = pd.concat(frames, ignore_index=True)
        noted = pd.DataFrame(
            [note for several in notes for note in several],
            columns=["repetition", "estimator", "kind", "message"],
        )
        self.failures_, self.warnings_ = (
            noted[noted["kind"] == kind].drop(columns="kind").reset_index(drop=True)
            for kind in ("error", "warning")
        )
        self._warn_of_failures()
        return self

    def summary(self, by: str | None = None, baseline: str = "direct") -> pd.DataFrame:
        """Return errors, coverage and interval widths, relative to the direct estimator.

        Parameters
        ----------
        by : {None, "n", "truth"} or str, default=None
            Split the groups by the number of sampled items, by the true value, or by one of the
            columns that define them.
        baseline : str, default="direct"
            Estimator that errors and widths are relative to.

        Returns
        -------
        DataFrame
            One row per estimator (per part and estimator with `by`), with the columns of
            `skbench.assessment.summarize_studies`.

        Raises
        ------
        ValueError
            If no estimator or column has that name.
        """
        if not hasattr(self, "results_"):
            raise NotFittedError("The study has no results. Call run(items, ...) first.")
        return _summary.summary(self.results_, by, baseline, self.failures_)

    def _printed(self):
        if not hasattr(self, "results_"):
            return ["RepeatedSamplingStudy without results; call run(items, ...)"]
        names = list(self.results_["estimator"].unique())
        baseline = "direct" if "direct" in names else names[0]
        head = (
            f"RepeatedSamplingStudy of {len(names)} estimators on {len(self.truth_)} groups, "
            f"{self.n_repeats} repetitions; errors and widths are relative to {baseline!r}"
        )
        return [head, PrintedTable(self.summary(baseline=baseline), digits=3)]

    def _repetitions(self, trial, memory):
        """Results and notes of all repetitions; stored repetitions are not recomputed."""
        key = None if memory.location is None else key_of(trial)
        cached = memory.cache(repetition, ignore=["trial"])
        calls = ((cached, trial, number, key) for number in range(self.n_repeats))
        running = results(cached_result, calls, self.n_repeats, self.n_jobs)
        return steps(running, "repetitions", self.n_repeats)

    def _memory(self, given):
        """A `joblib.Memory`; without a location it stores nothing."""
        memory = check_memory(os.fspath(given) if isinstance(given, os.PathLike) else given)
        if memory.location is None:
            return memory
        if not isinstance(self.random_state, numbers.Integral):
            raise ValueError(
                f"memory needs an int as random_state, got {self.random_state!r}. A study can "
                "continue only with a known seed."
            )
        return memory

    def _refuse_population_with_replacement(self, candidates):
        knowing = [name for name, candidate in candidates.items() if candidate.knows_population]
        if self.replace and knowing:
            raise ValueError(
                f"Estimator {knowing[0]!r} has knows_population=True, but with replace=True the "
                "population is infinite. Set replace=False."
            )

    def _warn_of_dropped(self, n_groups):
        if len(self.dropped_):
            warn(
                f"{len(self.dropped_)} of {n_groups} groups are too small for "
                f"n_items={self.n_items!r} and were dropped (see dropped_): "
                f"{listed(self.dropped_.index, most=3, show=repr)}"
            )

    def _warn_of_failures(self):
        for name, failed in self.failures_.groupby("estimator"):
            warn(
                f"{name!r} failed in {len(failed)} of {self.n_repeats} repetitions, so results_ "
                f"lacks them. The first error was {failed['message'].iloc[0]}"
            )
