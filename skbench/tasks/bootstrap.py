"""Bootstrap of task scores, from counts, items or clusters."""

from __future__ import annotations

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import are_counts
from skbench._random import as_generator
from skbench._types import Count, Names, RandomState, Rows, Weights, checked
from skbench._warnings import warn
from skbench.items.rows import as_frame
from skbench.stats.intervals.binomial import sampling_variance
from skbench.tasks._batches import DrawnTasks
from skbench.tasks._item_tasks import read_item_tasks
from skbench.tasks._sources import BinomialTasks, NormalTasks
from skbench.tasks._task_table import content_axes, task_table
from skbench.tasks._task_weights import cells, task_name, task_weights

# Summed over models, smoothed, plug-in and pooled variances of 0/1 scores differ by less than this.
_BINOMIAL_FACTOR = 1.5


@checked
class TaskBootstrap(DrawnTasks, BaseEstimator):
    """Bootstrap the scores of models on tasks, and functions of these scores.

    The draws (bootstrap replicates) approximate the sampling distribution of each task score. They
    show how the scores would vary if the benchmark had other items of the same kind. Pass them to
    `aggregate`, `normalize_scores`, `differences` and `rank_models`.

    Do not use it with few items per task, or if all answers are correct or all are incorrect. The
    bootstrap cannot represent outcomes that are absent from the sample. Use
    `HierarchicalBetaBinomial` instead. The draws do not include the variation between training
    runs.

    Parameters
    ----------
    n_draws : int, default=10_000
        Number of draws.
    model, task : str, default="model" and "task"
        Columns that name the model and the task.
    category : str or None, default="category"
        Column of task categories. The default column may be absent.
    item : str or None, default="item"
        For `fit_items`: column of item ids, unique within a task (and topic). Models that answered
        the same items are resampled jointly. None means that no two models share items.
    topic : str or list of str or None, default="topic"
        For `fit_items`: one or more columns of topics within a task, if item ids repeat between
        topics. The default column may be absent. None means that item ids are unique within a task.
    score : str, default="score"
        For `fit_items`: column of scores.
    cluster : str, default=None
        For `fit_items`: column of clusters to resample instead of items. For example, pass the
        column of passages if a passage has several questions, or the item column if items were
        answered several times.
    random_state : None, int, RandomState or Generator, default=None
        Random number generator or seed. `fit` fixes the draws, so all results of a fitted
        bootstrap use the same draws.

    Attributes
    ----------
    models_, labels_ : pandas.Index of length n_models
        Names of the models, sorted.
    tasks_ : pandas.Index of length n_tasks
        Names of the tasks, sorted. With categories it is a MultiIndex of category and task.
    score_ : ndarray of shape (n_models, n_tasks)
        Observed scores.
    sigma2_ : ndarray of shape (n_models, n_tasks)
        Sampling variances in closed form, in squared score units; nan for a single item or cluster.
        For binary scores the variance is ``z (1 - z) / (n - 1)``. The variance of the draws is
        smaller by the factor ``(n - 1) / n``.
    kinds_ : Series of length n_tasks
        How each task is drawn: "binomial", "normal", "items" or "clusters".
    draws_ : Draws of shape (n_draws, n_models, n_tasks)
        All draws, computed and stored on first access.

    See Also
    --------
    HierarchicalBetaBinomial : Posterior draws with shrinkage between tasks.

    Notes
    -----
    The method is that of section 2.1 of [1]_. Resampling `n` binary items with mean `z` gives
    ``Binomial(n, z)`` correct answers, so counts are sufficient. If items are given, models that
    answered the same items get the same resampled items, and the draws keep their correlation.
    Items with the same pattern of scores across models are resampled as one multinomial category.

    The coverage of quantile intervals is asymptotic in the number of items (guarantee "model"). It
    is too low with few items and accuracies near 0 or 1: 0.66 to 0.79 instead of 0.95, with 20
    items and an accuracy of at least 0.9. A model with equal scores on all items has no interval
    (nan).

    Unlike `fit_items`, `fit` has no items and resamples each model independently. If models share
    items, intervals of differences are then usually too wide. Use `fit_items` instead.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty
       quantification for aggregate performance metrics in machine learning
       benchmarks.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"model": ["ada", "ada", "bob", "bob"],
    ...                   "task": ["law", "art", "law", "art"]})
    >>> boot = TaskBootstrap(random_state=0).fit(X, [0.5, 0.9, 0.4, 0.6], n=100)
    >>> boot.estimate().to_frame()[["value", "low", "high"]].round(2)
           value   low  high
    model
    ada      0.7  0.64  0.76
    bob      0.5  0.44  0.57
    """

    _draw_kind = "bootstrap"

    def __init__(
        self,
        n_draws: Count = 10_000,
        *,
        model: str = "model",
        task: str = "task",
        category: str | None = "category",
        item: str | None = "item",
        topic: Names | None = "topic",
        score: str = "score",
        cluster: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_draws = n_draws
        self.model = model
        self.task = task
        self.category = category
        self.item = item
        self.topic = topic
        self.score = score
        self.cluster = cluster
        self.random_state = random_state

    def fit(
        self,
        X: pd.DataFrame,
        y: ArrayLike,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
    ) -> Self:
        """Prepare draws from one row per model and task.

        Parameters
        ----------
        X : DataFrame of shape (n_models * n_tasks, n_columns)
            Columns (or index levels) `model` and `task`, and optionally `category`.
        y : array-like of shape (n_models * n_tasks,)
            Scores.
        sigma2 : float or array-like of shape (n_models * n_tasks,), default=None
            Sampling variances of the scores, in squared score units. They are required unless all
            scores are counts. If ``y * n`` is a whole number for all models of a task, the task is
            drawn from ``Binomial(n, y)``, otherwise from ``N(y, sigma2)``. The normal distribution
            is also used if `sigma2` is more than 1.5 times as large as for independent 0/1 scores,
            as with clusters.
        n : int or array-like of shape (n_models * n_tasks,), default=None
            Numbers of independent items. They are required for counts.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a model lacks a task or has it twice, or if the sampling variance of a score is
            unknown because neither `n` nor `sigma2` was passed.

        Warns
        -----
        UserWarning
            If a score has a sampling variance of 0 (all answers correct, for example) or a single
            item.
        """
        columns = self.model, self.task, self.category
        table = task_table(X, y, sigma2, n, columns)
        binomial = _binomial_tasks(table)
        sources = []
        models, tasks = content_axes(table.z, table.n, table.sigma2)
        if binomial.any():
            own = tasks[binomial[tasks]]
            sources.append(BinomialTasks.of(models, own, table.z, table.n))
        if not binomial.all():
            own = tasks[~binomial[tasks]]
            cells = np.ix_(models, own)
            sources.append(NormalTasks(models, own, table.z[cells], table.sigma2[cells]))
        kinds = np.where(binomial, "binomial", "normal")
        return self._store(sources, table.models, table.tasks, kinds)

    def fit_items(self, items: Rows) -> Self:
        """Prepare draws from one row per model and item.

        Parameters
        ----------
        items : dataframe
            Any dataframe that narwhals supports, with the columns named in the constructor.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If columns, labels or scores are missing, if a model lacks a task, or if models share
            some but not all items of a task.

        Warns
        -----
        UserWarning
            If a score has a sampling variance of 0, or a single item or cluster.
        """
        roles = ("model", "task", "item", "topic", "score")
        columns = {name: getattr(self, name) for name in roles}
        read = read_item_tasks(as_frame(items), columns, self.cluster, self.category)
        return self._store(*read)

    def covariance(self, weights: Weights = None) -> pd.DataFrame:
        """Sampling covariance of the models' weighted scores, in closed form.

        Parameters
        ----------
        weights : as in `aggregate`, default=None
            Weights of tasks or categories. By default all tasks have equal weights.

        Returns
        -------
        DataFrame of shape (n_models, n_models)
            ``sum_j w_j^2 Cov_j``. It is diagonal if models are drawn independently. Pass it to
            ``rank_confidence_sets(estimate, covariance=...)``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the weights are invalid, as in `aggregate`.
        """
        check_is_fitted(self)
        w = task_weights(self.tasks_, weights)
        total = np.zeros((len(self.models_), len(self.models_)))
        for source in self._sources:
            source.add_covariance(total, w)
        return pd.DataFrame(total, index=self.models_, columns=self.models_)

    def _center(self):
        return self.score_, "task bootstrap"

    def _batch(self, number, start, size):
        rng = np.random.default_rng([self._seed, number])
        values = np.empty((size, len(self.models_), len(self.tasks_)))
        for source in self._sources:
            source.fill(values, rng)
        return values

    def _store(self, sources, models, tasks, kinds):
        self.models_, self.tasks_ = models, tasks
        self.kinds_ = pd.Series(kinds, index=tasks)
        self.score_ = np.full((len(models), len(tasks)), np.nan)
        self.sigma2_ = np.full_like(self.score_, np.nan)
        for source in sources:
            source.fill_summary(self.score_, self.sigma2_)
        self._sources = sources
        self._seed = int(as_generator(self.random_state).integers(2**63))
        self._draws = None
        _warn_of_zero_variance(self.sigma2_, models, tasks)
        return self


def _binomial_tasks(table):
    """Tasks drawn by their counts, after checking that the others have variances."""
    if table.n is None and table.sigma2 is None:
        raise ValueError(
            "The sampling variances of the scores are unknown. Pass n=... (numbers of items) or "
            "sigma2=... (variances)."
        )
    if table.n is None:
        return np.zeros(len(table.tasks), dtype=bool)
    counts = np.vectorize(are_counts)(table.z, table.n)
    if table.sigma2 is not None:
        smoothed = sampling_variance(np.round(table.z * table.n), table.n)
        overdispersed = table.sigma2.sum(axis=0) > _BINOMIAL_FACTOR * smoothed.sum(axis=0)
        return counts.all(axis=0) & ~overdispersed
    if not counts.all():
        model, task = np.argwhere(~counts)[0]
        raise ValueError(
            f"Model {table.models[model]!r} has score {table.z[model, task]:g} on task "
            f"{task_name(table.tasks, task)!r} with n = {table.n[model, task]}, so y * n is not a "
            "whole number of correct answers. Pass y / 100 for percentages, round(y * n) / n for "
            "rounded accuracies, or sigma2=... for other scores."
        )
    return counts.all(axis=0)


def _warn_of_zero_variance(sigma2, models, tasks):
    for found, what in [
        (sigma2 == 0, "have equal scores on all items, so their draws do not vary"),
        (np.isnan(sigma2), "have a single item or cluster, so their draws are nan"),
    ]:
        if found.any():
            warn(
                f"{cells(found, models, tasks)} {what}. For 0/1 scores use "
                "HierarchicalBetaBinomial, which borrows strength from the other tasks."
            )
