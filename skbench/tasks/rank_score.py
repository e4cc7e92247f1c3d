"""The mean rank score of multilingual leaderboards."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import (
    check_same_index,
    plain,
    require_columns,
)
from skbench._documented import Documented
from skbench._types import Level, checked
from skbench.containers import Estimate
from skbench.stats.ranking.rank_scores import (
    pooled_rank_scores,
    rank_score_errors,
    welch_rank_scores,
)
from skbench.stats.ranking.rank_sets import single_step
from skbench.tasks._runs import published_moments, run_moments
from skbench.tasks._task_table import as_frame

_LABELS = ["model", "dataset", "task", "language"]
_RULES = {"welch": welch_rank_scores, "pooled": pooled_rank_scores}


@checked
class MeanRankScore(Documented, BaseEstimator):
    """Mean rank score: 1 plus the mean standardized distance from the best model.

    When not to use it: to decide whether two models differ. Use `rank_sets`, or a paired comparison
    of the items. Scores also change if other models are added or removed.

    Parameters
    ----------
    variant : {"welch", "pooled"}, default="welch"
        "welch" ignores differences that are not significant in a Welch test, and divides by the
        standard deviation of the models' means. "pooled" keeps all differences and divides by the
        standard deviation of all raw scores.

    Attributes
    ----------
    dataset_scores_ : pandas.DataFrame of shape (n_models, n_datasets)
        Rank scores on each data set.
    task_scores_ : pandas.DataFrame of shape (n_models, n_language_tasks)
        Means over the data sets of each language and task.
    language_scores_ : pandas.DataFrame of shape (n_models, n_languages)
        Means over the tasks of each language.
    scores_ : pandas.Series of length n_models
        Means over the languages, best model first. The best possible score is 1.
    labels_ : pandas.Index of length n_models
        The models, in the order of `scores_`.
    datasets_ : pandas.DataFrame of length n_datasets
        Task and language of each data set.

    Raises
    ------
    ValueError
        If a column or some raw scores of a model are missing, or if a data set has no scores or
        belongs to several tasks or languages. With ``variant="welch"``, also if a model has only
        one raw score on a data set.

    Notes
    -----
    Scores are computed as in [1]_; `skbench.stats.rank_scores` lists the formulas. Task, language
    and overall scores are unweighted means over data sets, tasks and languages. A model without a
    score on a data set has an infinite score there, and in every mean that includes the data set.

    The Welch test assumes independent scores, but the raw scores are bootstrap replicates of one
    test set. Two equally good models therefore get different scores in 54% to 62% of simulations.
    The nominal rate is 10%, because the one-sided test at 5% is always made in the direction of the
    higher mean.

    References
    ----------
    .. [1] EuroEval, Evaluation methodology, section Score aggregation.
       https://euroeval.com/methodology

    Examples
    --------
    >>> runs = pd.DataFrame(
    ...     {
    ...         "model": ["ada", "bob", "cyd"],
    ...         "dataset": "citizen-test",
    ...         "task": "knowledge",
    ...         "language": "da",
    ...         "score": [[70, 68, 71, 69], [69, 68, 70, 70], [51, 49, 52, 52]],
    ...     }
    ... )
    >>> ranking = MeanRankScore().fit(runs.drop(columns="score"), runs["score"])
    >>> ranking.scores_.round(3).to_dict()
    {'ada': 1.0, 'bob': 1.0, 'cyd': 3.136}
    >>> ranking.rank_sets()[["low", "high"]].to_numpy().tolist()
    [[1, 2], [1, 2], [3, 3]]
    """

    def __init__(self, variant: Literal["welch", "pooled"] = "welch") -> None:
        self.variant = variant

    def fit(
        self,
        X: pd.DataFrame,
        y: ArrayLike | None = None,
        *,
        half_width: ArrayLike | None = None,
        n_runs: ArrayLike = 10,
    ) -> Self:
        """Compute rank scores on each data set, and their means.

        Parameters
        ----------
        X : DataFrame with n_rows rows
            Columns model, dataset, task and language, as returned by ``read_items(path,
            format="euroeval")``.
        y : array-like of shape (n_rows,) or (n_rows, n_runs), or n_rows lists, default=None
            Raw scores of each row; higher is better. nan or an empty list is a missing score. Rows
            with the same model and data set are combined. None uses the column score of `X`. If
            `half_width` is passed, `y` contains the mean scores.
        half_width : array-like of shape (n_rows,), default=None
            The half width ``1.96 s / sqrt(n_runs)`` that a leaderboard reports with each mean.
        n_runs : int or array-like of shape (n_rows,), default=10
            Number of raw scores behind each mean. Used only with `half_width`.

        Returns
        -------
        self
        """
        check_same_index(X=X, y=y)
        X = as_frame(X)
        require_columns(X.columns, _LABELS, what="X")
        if y is None:
            require_columns(X.columns, ["score"], what="X (y is None)")
            y = X["score"]
        datasets = _places_of_datasets(X)
        names = X[["model", "dataset"]]
        if half_width is None:
            moments = run_moments(names, y)
        else:
            moments = published_moments(names, y, half_width, n_runs)
        self._check(moments)
        # Unstacking sorts the models, so restore their first order.
        table = moments.unstack("dataset").reindex(pd.unique(X["model"]))
        self._moments = {c: table[c][datasets.index] for c in ("mean", "variance", "n")}
        rule = _RULES[self.variant]
        columns = zip(*(table.to_numpy().T for table in self._moments.values()), strict=True)
        self.dataset_scores_ = pd.DataFrame(
            dict(zip(datasets.index, (rule(*column) for column in columns), strict=True)),
            index=table.index.rename("model"),
        )
        self.dataset_scores_.columns.name = "dataset"
        by_task = [datasets["language"], datasets["task"]]
        self.task_scores_ = self.dataset_scores_.T.groupby(by_task, sort=False).mean().T
        by_language = self.task_scores_.T.groupby(level="language", sort=False)
        self.language_scores_ = by_language.mean().T
        overall = self.language_scores_.mean(axis=1).rename("mean rank score")
        self.scores_ = overall.sort_values(kind="stable")
        self.labels_ = self.scores_.index
        self.datasets_ = datasets
        return self

    def rank_sets(
        self,
        confidence_level: Level = 0.95,
        *,
        language: str | None = None,
        task: str | None = None,
        dataset: str | None = None,
    ) -> pd.DataFrame:
        """Compute simultaneous confidence sets for the ranks of all models.

        When not to use it: if the raw scores are not bootstrap replicates of the test set.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Probability that all sets contain the true ranks.
        language, task, dataset : str, default=None
            Use only the data sets of this language, of this task, or this data set.

        Returns
        -------
        DataFrame
            One row per model that was evaluated on all selected data sets, best first. "score" is
            the published mean rank score. "distance" is this score without the Welch test. "low"
            and "high" are the best and the worst rank in the set. "best" is true if the model may
            be the best.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the selected data sets do not exist, if no model was evaluated on all of them, or if
            a model has only one raw score.

        Notes
        -----
        The ranks are those of the true mean scores, with the weights of the mean rank score. All
        pairs are compared by t tests with a Bonferroni correction. The standard errors are those of
        `skbench.stats.rank_scores.rank_score_errors`, which assume independent models. If all
        models are equal, the familywise error rate is at most ``1 - confidence_level``. If models
        share items, the sets are too wide.
        """
        check_is_fitted(self)
        chosen = self._chosen({"language": language, "task": task, "dataset": dataset})
        scores = self.dataset_scores_[chosen.index]
        complete = np.isfinite(scores).all(axis=1).to_numpy()
        if not complete.any():
            raise ValueError(
                f"No model has scores on all {len(chosen)} data sets. Fit fewer data sets, or "
                "select some with language=, task= or dataset=."
            )
        mean, variance, n = (
            table[chosen.index].to_numpy(dtype=float) for table in self._moments.values()
        )
        if (n[complete] < 2).any():
            raise ValueError(
                "rank_sets needs at least two raw scores of every model on each data set. Add "
                "runs, or remove models with a single one."
            )
        weight = _weights(chosen)
        distance, error, df = rank_score_errors(
            mean, variance, n, weight, pooled=self.variant == "pooled"
        )
        # As in published scores, incomplete models contribute to the standard deviations.
        pairs = np.ix_(complete, complete)
        distance, error, df = distance[complete], error[pairs], df[pairs]
        # Equal scores in every run contain no information about other test items.
        error[error == 0] = np.inf
        better = single_step(-distance, error, df, confidence_level).above
        found = pd.DataFrame(
            {
                "score": scores.to_numpy()[complete] @ weight,
                "distance": distance,
                "low": 1 + better.sum(axis=0),
                "high": complete.sum() - better.sum(axis=1),
            },
            index=scores.index[complete],
        )
        found["best"] = found["low"] == 1
        return found.sort_values(["score", "distance"], kind="stable")

    def _chosen(self, wanted):
        """Tasks and languages of the selected data sets."""
        places = self.datasets_.reset_index()
        for name, value in wanted.items():
            if value is not None:
                here = places[name] == value
                if not here.any():
                    known = ", ".join(map(repr, places[name].unique()[:8]))
                    raise ValueError(f"There is no {name} {value!r}. Choose one of {known}.")
                places = places[here]
        return places.set_index("dataset")

    def estimate(self, confidence_level: Level = 0.95) -> Estimate:
        """Return the mean rank scores, best model first, without intervals.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Present for a common signature; the intervals are unknown at every level.

        Returns
        -------
        Estimate
            One entry per model. Limits and standard errors are nan, and the guarantee is "none",
            because the raw scores do not show the scores on another test set.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If `confidence_level` is outside (0, 1).
        """
        check_is_fitted(self)
        unknown = np.full(len(self.labels_), np.nan)
        return Estimate(
            value=self.scores_.to_numpy(),
            low=unknown,
            high=unknown,
            standard_error=unknown,
            confidence_level=confidence_level,
            labels=self.labels_,
            method=f"mean rank score ({self.variant})",
            guarantee="none",
        )

    def _check(self, moments):
        partly = moments.index[(moments["n_missing"] > 0) & (moments["n"] > 0)]
        if len(partly):
            raise ValueError(
                f"Some raw scores of {plain(partly[0])!r} are missing. Remove the missing scores, "
                "or all scores if the model counts as not evaluated."
            )
        single = moments.index[moments["n"] == 1]
        if self.variant == "welch" and len(single):
            raise ValueError(
                f"{plain(single[0])!r} has one raw score, but the Welch test needs two. Use "
                'variant="pooled", or remove the model.'
            )
        found = moments["n"].groupby(level="dataset").sum()
        empty = found.index[found == 0]
        if len(empty):
            raise ValueError(f"Data set {plain(empty[0])!r} has no score. Remove it.")


def _weights(places):
    """Weights of data sets: equal for languages, their tasks, and the data sets of a task."""
    in_task = places.groupby(["language", "task"], sort=False)["task"].transform("size")
    tasks = places.groupby("language", sort=False)["task"].transform("nunique")
    return 1 / (places["language"].nunique() * tasks * in_task).to_numpy(dtype=float)


def _places_of_datasets(X):
    """Task and language of each data set, in order of appearance."""
    places = X[["dataset", "task", "language"]].drop_duplicates()
    twice = places["dataset"][places["dataset"].duplicated()]
    if len(twice):
        where = places[places["dataset"] == twice.iloc[0]][["task", "language"]]
        raise ValueError(
            f"Data set {plain(twice.iloc[0])!r} has several tasks or languages: "
            f"{where.to_numpy().tolist()}. Give its parts different names."
        )
    return places.set_index("dataset")
