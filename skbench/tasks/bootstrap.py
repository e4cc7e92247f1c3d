"""Bootstrap of task scores: counts where they suffice, items and clusters where there are any."""

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

# Smoothed, plug-in and pooled variances of 0/1 scores agree to this factor, summed over models.
_BINOMIAL_FACTOR = 1.5


@checked
class TaskBootstrap(DrawnTasks, BaseEstimator):
    """Sampling uncertainty of task scores, and of all that is computed from them.

    Draws of every model's score on every task, as if the benchmark had been made again with
    other items of the same kind. `aggregate`, `normalize_scores`, `differences` and `rank_models`
    are functions of these draws.

    When not to use it: with very few items per task, or where all answers are right or wrong.
    Resampling cannot show what never occurred; `HierarchicalBetaBinomial` can. Nor for the
    uncertainty of training: the models are taken as they are.

    Parameters
    ----------
    n_draws : int, default=10_000
        Number of draws.
    model, task : str, default="model" and "task"
        Columns that name the model and the task.
    category : str or None, default="category"
        Column of the tasks' categories, used where there is one.
    item : str or None, default="item"
        For `fit_items`: column of item ids, unique within a task. Models that answered the same
        items are resampled together. None says that no two models share items.
    topic : str or list of str or None, default="topic"
        For `fit_items`: columns of topics within a task, which may be absent, where item ids start
        again in each. None: ids are unique within a task.
    score : str, default="score"
        For `fit_items`: column of scores.
    cluster : str, default=None
        For `fit_items`: column of clusters to resample instead of items, such as passages with
        several questions, or the item column where items were answered several times.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws. After `fit` they are settled: everything computed from one fitted
        bootstrap rests on the same draws.

    Attributes
    ----------
    models_, labels_ : pandas.Index of length n_models
        Sorted.
    tasks_ : pandas.Index of length n_tasks
        In the same order; a MultiIndex of category and task where there are categories.
    score_ : ndarray of shape (n_models, n_tasks)
        Observed scores.
    sigma2_ : ndarray of shape (n_models, n_tasks)
        Their sampling variances in closed form, score units squared; nan for a single item or
        cluster. For 0/1 scores ``z (1 - z) / (n - 1)``; the draws have `n` in its place.
    kinds_ : Series of length n_tasks
        How each task is drawn: "binomial", "normal", "items" or "clusters".
    draws_ : Draws of shape (n_draws, n_models, n_tasks)
        All draws, made and kept when first asked for.

    See Also
    --------
    HierarchicalBetaBinomial : Posterior draws instead, with shrinkage over tasks.

    Notes
    -----
    Section 2.1 of [1]_. Resampling the 0/1 items of a task gives ``Binomial(n, z)`` right ones,
    so that counts suffice. With items, models that answered the same ones get the same resampled
    ones, and the draws carry their correlation. Items that look alike to all models are drawn
    together, as a multinomial.

    Quantiles of few items near 0 or 1 cover too little (0.66 to 0.79 at 20 items and 0.9 or
    more). The guarantee is "model", and answers that are all alike have no interval (nan).

    `fit` draws models independently. Where they share items, differences are too wide as a rule;
    use `fit_items`.

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
            The columns, or index levels, `model` and `task`, and maybe `category`.
        y : array-like of shape (n_models * n_tasks,)
            Scores.
        sigma2 : float or array-like of shape (n_models * n_tasks,), default=None
            Their sampling variances, score units squared; needed where scores are no counts. A
            task is drawn by its counts, as ``Binomial(n, y)``, where `n` is given and makes all
            its scores whole counts, unless `sigma2` is more than 1.5 times as large as for
            independent 0/1 scores, as it is for clusters; else from ``N(y, sigma2)``.
        n : int or array-like of shape (n_models * n_tasks,), default=None
            Numbers of independent items; needed for counts.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a model lacks a task, a cell occurs twice, or neither `n` nor `sigma2`
            says how noisy a score is.

        Warns
        -----
        UserWarning
            If a score has no spread (all answers right, say), or a single item.
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
        return self._settle(sources, table.models, table.tasks, kinds)

    def fit_items(self, items: Rows) -> Self:
        """Prepare draws from one row per model and item.

        Parameters
        ----------
        items : dataframe
            In any dataframe that narwhals reads, with the columns that the constructor names.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For missing columns, labels or scores, a model without a task, or models that
            answered some but not all items of a task in common.

        Warns
        -----
        UserWarning
            If a score has no spread, or a single item or cluster.
        """
        roles = ("model", "task", "item", "topic", "score")
        columns = {name: getattr(self, name) for name in roles}
        read = read_item_tasks(as_frame(items), columns, self.cluster, self.category)
        return self._settle(*read)

    def covariance(self, weights: Weights = None) -> pd.DataFrame:
        """Sampling covariance of the models' weighted scores, in closed form.

        Parameters
        ----------
        weights : as in `aggregate`, default=None
            Weights of tasks or categories; equal over tasks by default.

        Returns
        -------
        DataFrame of shape (n_models, n_models)
            ``sum_j w_j^2 Cov_j``; diagonal for models drawn independently. Ready for
            ``rank_confidence_sets(estimate, covariance=...)``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For weights as in `aggregate`.
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

    def _settle(self, sources, models, tasks, kinds):
        self.models_, self.tasks_ = models, tasks
        self.kinds_ = pd.Series(kinds, index=tasks)
        self.score_ = np.full((len(models), len(tasks)), np.nan)
        self.sigma2_ = np.full_like(self.score_, np.nan)
        for source in sources:
            source.fill_summary(self.score_, self.sigma2_)
        self._sources = sources
        self._seed = int(as_generator(self.random_state).integers(2**63))
        self._draws = None
        _warn_of_no_spread(self.sigma2_, models, tasks)
        return self


def _binomial_tasks(table):
    """Which tasks to draw by their counts, after checking that the others can be drawn."""
    if table.n is None and table.sigma2 is None:
        raise ValueError("How noisy the scores are cannot be told: pass n=... or sigma2=...")
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
            f"Model {table.models[model]!r} has {table.z[model, task]:g} on task "
            f"{task_name(table.tasks, task)!r} with n = {table.n[model, task]}, which is no whole "
            "number of right answers. Pass sigma2=... for other scores, round(y * n) / n for "
            "rounded accuracies, and y / 100 for percentages."
        )
    return counts.all(axis=0)


def _warn_of_no_spread(sigma2, models, tasks):
    for found, what in [
        (sigma2 == 0, "have scores without spread (all right, say), which count as certain"),
        (np.isnan(sigma2), "have a single item or cluster, and their draws are nan"),
    ]:
        if found.any():
            warn(
                f"{cells(found, models, tasks)} {what}; for 0/1 scores HierarchicalBetaBinomial "
                "borrows from the other tasks."
            )
