"""`RepeatedSamplingStudy`: draw few items from full results, again and again."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import pandas as pd
from joblib import Parallel, delayed
from sklearn.exceptions import NotFittedError

from skbench._checks import check_confidence_level, check_option, check_whole
from skbench._random import as_generator
from skbench._types import Names, Path, RandomState, Rows
from skbench.assessment import _summary
from skbench.assessment._candidate import as_candidates
from skbench.assessment._design import check_n_items, design
from skbench.assessment._fingerprint import settings_of
from skbench.assessment._population import population
from skbench.assessment._repetition import RESULT_COLUMNS, Trial, category_types, repetition
from skbench.assessment._store import Store
from skbench.summaries.direct_estimates import VARIANCES


class RepeatedSamplingStudy:
    """Judge estimators on full results: sample few items, compare with all of them.

    Parameters
    ----------
    estimators : dict of str to estimator, list of (str, estimator), or one estimator
        What to compare: estimators of this package, anything with their
        ``fit(X, y, sigma2, n, groups, sampling)`` and ``estimate`` (`sampling` may be
        missing), plain scikit-learn regressors (values only), or a `Candidate`. Open random
        states, at any depth, get a new seed in every repetition.
    n_items : int, float or "proportional", default=10
        Items drawn of each group (of each topic where models share items): a
        number, which drops groups with fewer than four times as many; a share
        between 0 and 1; or the share that gives 10 items of the smallest group
        that has at least 50.
    n_repeats : int, default=100
        Repetitions.
    replace : bool, default=False
        Draw with replacement; no group is then too small.
    share_items : {"auto", True, False}, default="auto"
        Whether one draw serves all models: "auto" does so where item ids show
        that models answered the same items; False draws for each group by itself.
    variance : str, default="smoothed"
        Sampling variance of binary scores, as in `summarize_items`.
    confidence_level : float, default=0.95
        Nominal level of the intervals.
    random_state : int, RandomState, Generator or None, default=None
        Seed of everything; an int is needed with `path`.
    n_jobs : int, default=None
        Repetitions run at the same time (joblib; ``joblib.parallel_config``
        chooses the backend). The numbers do not depend on it; in threads of one process,
        what estimators warn of may be missing or ascribed to another repetition.
    path : str or Path, default=None
        Folder for finished repetitions, one Parquet file each (needs pyarrow). Running again
        with the same settings and data goes on where it stopped.
    verbose : bool, default=False
        Show a progress bar (needs rich).

    Attributes
    ----------
    results_ : DataFrame
        One row per repetition, estimator and group: repetition, estimator, the
        labels of the group, n, estimate, low, high, truth, guarantee.
    truth_ : Series
        Mean of all scores of each group that takes part, by label.
    dropped_ : DataFrame
        Groups too small for the design, by label: items, why.
    failures_ : DataFrame
        Estimators that failed: repetition, estimator, message. Their rows are
        missing in `results_`.
    warnings_ : DataFrame
        What estimators warned of: repetition, estimator, message.

    Raises
    ------
    ValueError
        For items that cannot be summarized, no group large enough, or a `path`
        that holds a study with other settings.
    TypeError
        If an entry of `estimators` cannot be fitted.

    Warns
    -----
    UserWarning
        If groups were dropped or an estimator failed.

    Notes
    -----
    Section 4.2 of [1]_ ("proportional") and its C.1 (10, 20 or 50 items). The
    truth is the mean of all items. Without replacement the sample is part of
    that truth: with a quarter of the items in the sample the error variance of direct
    estimates is a quarter smaller than for items drawn from an endless supply, and their
    intervals cover more often. Estimates that shrink expect such a supply too, of which the
    truth is only a part: they may cover less often, and give part of the truth away. Where
    the number of all items would be known in practice, judge them as
    ``Candidate(estimator, finite_population=True)``.

    When not to use it: without full results. `make_items` simulates some.

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
        n_items: float | str = 10,
        n_repeats: int = 100,
        *,
        replace: bool = False,
        share_items: Literal["auto", True, False] = "auto",
        variance: str = "smoothed",
        confidence_level: float = 0.95,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        path: Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimators = estimators
        self.n_items = n_items
        self.n_repeats = n_repeats
        self.replace = replace
        self.share_items = share_items
        self.variance = variance
        self.confidence_level = confidence_level
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.path = path
        self.verbose = verbose

    def run(
        self,
        items: Rows,
        by: Names = ("model", "topic"),
        score: Names = "score",
        *,
        item: str = "item",
        model: str = "model",
        features: Rows | Sequence[str] | None = None,
    ) -> Self:
        """Draw, estimate and compare, `n_repeats` times.

        Parameters
        ----------
        items : dataframe
            Full results, one row per (model, item), in any dataframe that narwhals
            reads; or one row per item, with a list of columns as `score`.
        by : str or sequence of str, default=("model", "topic")
            Columns that define the groups; none may be called as a column of
            ``results_`` is.
        score : str or list of str, default="score"
            Column of scores, binary or continuous; or one column per model,
            empty where a model did not answer.
        item : str, default="item"
            Column of item ids. Without it nothing is shared between models.
        model : str, default="model"
            Column that names the model.
        features : dataframe or list of str, default=None
            A table of group features, or item columns whose means over the drawn
            items are the features, as in `summarize_items`.

        Returns
        -------
        self
        """
        self._check_parameters()
        candidates = as_candidates(self.estimators, self.variance)
        self._refuse_finite_population_with_replacement(candidates)
        by = [by] if isinstance(by, str) else list(by)
        _refuse_columns_of_results(by)
        full = population(items, by, score, item, model, features, self.share_items)
        plan = design(full, self.n_items, self.replace)
        self.dropped_ = plan.dropped
        kept = plan.population
        self.truth_ = pd.Series(kept.truth, index=kept.labels, name="truth")
        self._warn_of_dropped(len(full.labels))
        entropy = int(as_generator(self.random_state).integers(2**63))
        trial = Trial(plan, candidates, self.replace, self.confidence_level, entropy)
        frames, notes = self._run_or_resume(trial)
        self.results_ = pd.concat(frames, ignore_index=True)
        noted = pd.DataFrame(notes, columns=["repetition", "estimator", "kind", "message"])
        self.failures_, self.warnings_ = (
            noted[noted["kind"] == kind].drop(columns="kind").reset_index(drop=True)
            for kind in ("error", "warning")
        )
        self._warn_of_failures()
        return self

    def summary(self, by: str | None = None, baseline: str = "direct") -> pd.DataFrame:
        """Errors, coverage and widths, relative to the direct estimator.

        Parameters
        ----------
        by : {None, "n", "truth"} or str, default=None
            Split the groups: by number of drawn items, by truth, or by one of the
            columns that define them.
        baseline : str, default="direct"
            Name of the estimator that errors and widths are relative to.

        Returns
        -------
        DataFrame
            One row per estimator (per part and estimator with `by`), see
            `skbench.summarize_studies` for the columns.

        Raises
        ------
        ValueError
            If there is no estimator or column of that name.
        """
        if not hasattr(self, "results_"):
            raise NotFittedError("There are no results yet. Call run(items, ...) first.")
        return _summary.summary(self.results_, by, baseline, self.failures_)

    def _run_or_resume(self, trial):
        """Frames and notes of all repetitions, in order."""
        if self.path is None:
            done = list(self._repetitions(trial, range(self.n_repeats)))
        else:
            store = Store(self.path, settings_of(trial, self.n_items, self.share_items))
            finished = store.finished(self.n_repeats)
            missing = [number for number in range(self.n_repeats) if number not in finished]
            for number, (frame, notes) in zip(
                missing, self._repetitions(trial, missing), strict=True
            ):
                store.write(number, frame, notes)
            done = list(store.read(self.n_repeats, category_types(trial)))
        return [frame for frame, _ in done], [note for _, notes in done for note in notes]

    def _repetitions(self, trial, numbers_to_run):
        """Yield frame and notes of the given repetitions, in their order."""
        running = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(repetition)(trial, number) for number in numbers_to_run
        )
        if not self.verbose:
            return running
        from rich.progress import track

        return track(running, "repetitions", total=len(numbers_to_run))

    def _check_parameters(self):
        check_n_items(self.n_items)
        check_confidence_level(self.confidence_level)
        check_option("variance", self.variance, VARIANCES)
        check_whole("n_repeats", self.n_repeats)
        if self.path is not None and not isinstance(self.random_state, numbers.Integral):
            raise ValueError(
                f"path needs an int as random_state, got {self.random_state!r}: a study can go on "
                "only where the seed is known."
            )

    def _refuse_finite_population_with_replacement(self, candidates):
        finite = [name for name, candidate in candidates.items() if candidate.finite_population]
        if self.replace and finite:
            raise ValueError(
                f"Estimator {finite[0]!r} has finite_population=True, but with replace=True the "
                "supply of items is endless. Draw without replacement."
            )

    def _warn_of_dropped(self, n_groups):
        if len(self.dropped_):
            shown = ", ".join(map(repr, self.dropped_.index[:3]))
            more = ", ..." if len(self.dropped_) > 3 else ""
            warnings.warn(
                f"{len(self.dropped_)} of {n_groups} groups are too small for "
                f"n_items={self.n_items!r} and are left out (see dropped_): {shown}{more}",
                stacklevel=3,
            )

    def _warn_of_failures(self):
        for name, failed in self.failures_.groupby("estimator"):
            warnings.warn(
                f"{name!r} failed in {len(failed)} of {self.n_repeats} repetitions, which are "
                f"missing for it; the first time with {failed['message'].iloc[0]}",
                stacklevel=3,
            )


def _refuse_columns_of_results(by):
    for name in by:
        if name in RESULT_COLUMNS:
            raise ValueError(
                f"by has {name!r}, which is a column of results_ with another meaning. Rename the "
                f"column of the items, for instance to {name + '_label'!r}."
            )
