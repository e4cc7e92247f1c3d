"""The mean rank score of multilingual leaderboards."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import check_confidence_level, check_option, require_columns
from skbench.containers import Estimate
from skbench.stats.ranking.rank_scores import pooled_rank_scores, welch_rank_scores
from skbench.tasks._runs import run_moments

_LABELS = ["model", "dataset", "task", "language"]
_RULES = {"welch": welch_rank_scores, "pooled": pooled_rank_scores}


class MeanRankScore(BaseEstimator):
    """Average distance from the best model, in standard deviations, plus one.

    Parameters
    ----------
    variant : {"welch", "pooled"}, default="welch"
        "welch" counts only differences that a Welch test calls significant, in
        standard deviations of the models' means; "pooled" counts all, in standard
        deviations of all raw scores.

    Attributes
    ----------
    dataset_scores_ : pandas.DataFrame of shape (n_models, n_datasets)
        Rank scores on each data set.
    task_scores_ : pandas.DataFrame of shape (n_models, n_language_tasks)
        Means over the data sets of each (language, task).
    language_scores_ : pandas.DataFrame of shape (n_models, n_languages)
        Means over the tasks of each language.
    scores_ : pandas.Series of length n_models
        Means over the languages, best model first. 1 is the best possible.
    labels_ : pandas.Index of length n_models
        The models, as in `scores_`.

    Raises
    ------
    ValueError
        If a column is missing, a data set has two tasks or languages or no score at
        all, some of the raw scores of a model are missing, or "welch" meets a single
        raw score.

    Notes
    -----
    The rule of [1]_; `skbench.stats.rank_scores` has the formulas. Data set, task,
    language and overall score are unweighted means of the level below. A model without
    a score on one data set has an infinite score there and in all means above it.
    Categories of tasks are scored by fitting on their rows alone.

    The Welch test was made for independent scores. The raw scores are bootstrap
    replicates of one evaluation of one test set, whose spread does not include the luck
    of that test set. Two equally good models are thus called different 54 to 62 % of
    the time instead of 10 % (5 % either way; test_gate_calls_equal_models_different).

    When not to use it: to decide whether two models differ; see
    `rank_confidence_sets` or a paired comparison of the items. Scores also change when
    other models join or leave, for they set the standard deviation.

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
    """

    def __init__(self, variant: Literal["welch", "pooled"] = "welch") -> None:
        self.variant = variant

    def fit(self, X: pd.DataFrame, y: ArrayLike) -> Self:
        """Score the models on each data set and average upwards.

        Parameters
        ----------
        X : DataFrame with n_rows rows
            Columns model, dataset, task and language; others are ignored.
        y : array-like of shape (n_rows,) or (n_rows, n_runs), or n_rows lists
            Raw scores of each row; high is good. Rows of the same model and data set
            are put together; nan or an empty list is a missing score.

        Returns
        -------
        self
        """
        check_option("variant", self.variant, _RULES)
        require_columns(getattr(X, "columns", ()), _LABELS, what="X")
        datasets = _places_of_datasets(X)
        moments = run_moments(X[["model", "dataset"]], y)
        self._check(moments)
        # Unstacking sorts the models; first seen, first listed.
        table = moments.unstack("dataset").reindex(pd.unique(X["model"]))
        rule = _RULES[self.variant]
        by_dataset = {
            dataset: rule(*(table[c, dataset].to_numpy() for c in ("mean", "variance", "n")))
            for dataset in datasets.index
        }
        self.dataset_scores_ = pd.DataFrame(by_dataset, index=table.index.rename("model"))
        self.dataset_scores_.columns.name = "dataset"
        by_task = [datasets["language"], datasets["task"]]
        self.task_scores_ = self.dataset_scores_.T.groupby(by_task, sort=False).mean().T
        by_language = self.task_scores_.T.groupby(level="language", sort=False)
        self.language_scores_ = by_language.mean().T
        overall = self.language_scores_.mean(axis=1).rename("mean rank score")
        self.scores_ = overall.sort_values(kind="stable")
        self.labels_ = self.scores_.index
        return self

    def estimate(self, confidence_level: float = 0.95) -> Estimate:
        """The mean rank scores, best model first, without intervals.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Of intervals that are not known.

        Returns
        -------
        Estimate
            One entry per model; ends and standard errors are nan, and the guarantee "none":
            the rule of the leaderboard has no error, and the raw scores do not tell what
            another test set would have given.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For a level outside (0, 1).
        """
        check_is_fitted(self)
        check_confidence_level(confidence_level)
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
                f"Some raw scores of model {partly[0][0]!r} on data set {partly[0][1]!r} are "
                "missing. Leave these out, or all of them to count the model as not evaluated."
            )
        single = moments.index[moments["n"] == 1]
        if self.variant == "welch" and len(single):
            raise ValueError(
                f"Model {single[0][0]!r} has one raw score on data set {single[0][1]!r}, and the "
                'Welch test needs two. Use variant="pooled", or leave the model out.'
            )
        found = moments["n"].groupby(level="dataset").sum()
        empty = found.index[found == 0]
        if len(empty):
            raise ValueError(f"Data set {empty[0]!r} has no score of any model. Leave it out.")


def _places_of_datasets(X):
    """Task and language of each data set, in order of appearance."""
    places = X[["dataset", "task", "language"]].drop_duplicates()
    twice = places["dataset"][places["dataset"].duplicated()]
    if len(twice):
        where = places[places["dataset"] == twice.iloc[0]][["task", "language"]]
        raise ValueError(
            f"Data set {twice.iloc[0]!r} is listed under {where.to_numpy().tolist()}, but must "
            "have one task and one language. Give its parts different names."
        )
    return places.set_index("dataset")
