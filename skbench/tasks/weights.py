"""Which model is best under which weighting of three categories, and where nobody can say."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import are_counts, require_columns
from skbench._documented import Documented
from skbench._types import Correlation, Count, DrawSource, Level, NonNegative, Weights, checked
from skbench._warnings import warn
from skbench.containers import Draws, Estimate
from skbench.stats.intervals.binomial import sampling_variance
from skbench.stats.intervals.means import normal_interval
from skbench.stats.scales.aggregation import (
    category_weights,
    difference_variance,
    simplex_grid,
    weighted_variance,
)
from skbench.tasks._task_table import task_table
from skbench.tasks._task_weights import cells, task_categories, task_weights
from skbench.tasks.aggregate import aggregate

UNDECIDED = "undecided"


@checked
class WeightSimplex(Documented, BaseEstimator):
    """The best model for every weighting of three categories of tasks.

    For each weighting the model with the highest weighted score wins, unless the next one is within
    `z` standard errors of the difference: then the weighting is undecided, and gray in the picture.

    When not to use it: as a test. The two best of many models are picked by the same scores that
    are then compared, at thousands of weightings. `rank_confidence_sets` tests one weighting.

    Parameters
    ----------
    categories : tuple of three labels, default=None
        Categories at the corners, by default the three of the tasks in order of appearance. Others
        have no weight.
    resolution : int, default=200
        Steps along an edge of the triangle; 200 make 20,301 weightings.
    z : float, default=2.0
        Standard errors by which the winner must lead.
    rho : float, default=0.0
        Correlation between the scores of any two models, for `fit`: positive where they answered
        the same items. 0 is then cautious. `fit_draws` needs no guess.

    Attributes
    ----------
    categories_ : pandas.Index of length 3
        The corners.
    models_, labels_ : pandas.Index of length n_models
        Names of the models.
    weights_ : ndarray of shape (n_weightings, 3)
        All weightings, evenly spaced.
    leader_, runner_up_ : ndarray of int of shape (n_weightings,)
        Positions of the two best models.
    lead_, standard_error_ : ndarray of shape (n_weightings,)
        Difference of their scores, in score units, and its standard error.
    decided_ : ndarray of bool of shape (n_weightings,)
        Whether the lead is more than `z` standard errors.
    fractions_ : Series
        Share of the weightings that each model wins, largest first; "undecided" comes last.

    See Also
    --------
    SimplexDisplay : Draws it.

    Notes
    -----
    Section 2.3 and appendix A.2 of [1]_: the score of a category is the mean over its tasks, and
    ``Var[S_A - S_B] = Var S_A + Var S_B - 2 rho sqrt(Var S_A Var S_B)``. The paper's binomial
    variance has an index misprint; it is ``p (1 - p) / n``. Its maps have ``z = 2``, and
    ``2 sqrt(1/2)`` for correlated models, whose map ``rho=0.5`` gives. `fit_draws` takes means
    and covariances from draws instead, so that shared items count as they should.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty
       quantification for aggregate performance metrics in machine learning
       benchmarks.

    Examples
    --------
    >>> X = pd.DataFrame({"model": ["ada"] * 3 + ["bob"] * 3, "task": ["law", "sort", "add"] * 2,
    ...                   "category": ["text", "code", "math"] * 2})
    >>> simplex = WeightSimplex(resolution=10).fit(X, [0.9, 0.5, 0.4, 0.6, 0.7, 0.4], n=100)
    >>> simplex.fractions_.round(2)
    ada          0.33
    bob          0.14
    undecided    0.53
    Name: share, dtype: float64
    """

    def __init__(
        self,
        categories: tuple[Any, Any, Any] | None = None,
        *,
        resolution: Count = 200,
        z: NonNegative = 2.0,
        rho: Correlation = 0.0,
    ) -> None:
        self.categories = categories
        self.resolution = resolution
        self.z = z
        self.rho = rho

    def fit(
        self,
        X: pd.DataFrame,
        y: ArrayLike,
        sigma2: ArrayLike | None = None,
        n: ArrayLike | None = None,
    ) -> Self:
        """Compare models by one row per model and task.

        Parameters
        ----------
        X : DataFrame of shape (n_models * n_tasks, n_columns)
            Columns, or index levels, named model, task and category.
        y : array-like of shape (n_models * n_tasks,)
            Scores.
        sigma2 : float or array-like of shape (n_models * n_tasks,), default=None
            Their sampling variances, score units squared. For 0/1 scores
            ``y (1 - y) / n`` unless given.
        n : int or array-like of shape (n_models * n_tasks,), default=None
            Numbers of items; needed without `sigma2`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For fewer than two models, other than three categories, a missing cell, or
            scores of unknown variance.

        Warns
        -----
        UserWarning
            If a sampling variance is 0.
        """
        table = task_table(X, y, sigma2, n, sort=False)
        codes, names = task_categories(table.tasks)
        chosen = self._corners(names)
        share = category_weights(codes, np.eye(len(names))[chosen])
        variance = _variances(table) @ share.T**2
        variances = simplex_grid(self.resolution) ** 2 @ variance.T

        def difference_error(a, b):
            rows = np.arange(len(variances))
            return np.sqrt(difference_variance(variances[rows, a], variances[rows, b], self.rho))

        score = table.z @ share.T
        self._covariance = variance[..., None] * np.eye(3)
        return self._compare(table.models, names[chosen], score, difference_error)

    def fit_draws(self, draws: Draws | DrawSource) -> Self:
        """Compare models by draws of their task scores.

        Parameters
        ----------
        draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
            Draws of scores of tasks with categories, normalized or not.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For fewer than two models, other than three categories, or a `rho`.
        """
        if self.rho != 0:
            raise ValueError(
                f"rho = {self.rho:g} is for fit; draws bring their own correlations. Leave it at 0."
            )
        means = aggregate(draws, by="category")
        models, names = means.labels
        chosen = self._corners(names)
        values = means.values[:, :, chosen]
        score = values.mean(axis=0)
        centered = (values - score) / np.sqrt(max(len(values) - 1, 1))
        weights = simplex_grid(self.resolution)
        self._covariance = np.einsum("dmi,dmj->mij", centered, centered)

        def difference_error(a, b):
            return _errors_from_draws(centered, weights, a, b)

        return self._compare(models, names[chosen], score, difference_error)

    def estimate(self, weights: Weights = None, confidence_level: Level = 0.95) -> Estimate:
        """Score of each model under one weighting.

        Parameters
        ----------
        weights : dict or Series by category, default=None
            Weights of `categories_`, at least 0 and with sum 1; equal by default.
        confidence_level : float, default=0.95
            Nominal level of the intervals.

        Returns
        -------
        Estimate
            Normal intervals of single models; which model leads is `leader_`'s to say.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For weights that are not that, or a level outside (0, 1).
        """
        check_is_fitted(self)
        w = task_weights(self.categories_, weights)
        value, error = self._score @ w, np.sqrt(weighted_variance(w, self._covariance))
        low, high = normal_interval(value, error, confidence_level)
        return Estimate(
            value=value,
            low=low,
            high=high,
            standard_error=error,
            confidence_level=confidence_level,
            labels=self.labels_,
            method="weighted categories",
            guarantee="model",
        )

    def winners(self) -> np.ndarray:
        """Name of the winner of each weighting, or "undecided".

        Returns
        -------
        ndarray of object of shape (n_weightings,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        names = self.models_.to_numpy(dtype=object)
        return np.where(self.decided_, names[self.leader_], UNDECIDED)

    def _compare(self, models, corners, score, difference_error):
        if len(models) < 2:
            raise ValueError("WeightSimplex compares models, but there is only one.")
        if UNDECIDED in models:
            raise ValueError(f"{UNDECIDED!r} stands for no winner and cannot name a model.")
        self.models_, self.categories_, self._score = models, corners, score
        self.labels_ = models
        self.weights_ = simplex_grid(self.resolution)
        scores = self.weights_ @ score.T
        # Stable, so that of equal models the first one leads.
        self.leader_, self.runner_up_ = np.argsort(-scores, axis=1, kind="stable")[:, :2].T
        rows = np.arange(len(scores))
        self.lead_ = scores[rows, self.leader_] - scores[rows, self.runner_up_]
        self.standard_error_ = difference_error(self.leader_, self.runner_up_)
        self.decided_ = self.lead_ > self.z * self.standard_error_
        shares = pd.Series(self.winners()).value_counts(normalize=True)
        won = shares.drop(UNDECIDED, errors="ignore")
        won[UNDECIDED] = shares.get(UNDECIDED, 0.0)
        self.fractions_ = won.rename("share").rename_axis(None)
        return self

    def _corners(self, names):
        """Positions of the three categories among those there are."""
        wanted = list(names if self.categories is None else self.categories)
        require_columns(names, wanted, what="The list of categories")
        if len(set(wanted)) != 3 or len(wanted) != 3:
            raise ValueError(
                f"A triangle has three corners, but there are {len(wanted)} categories. Name "
                "three with categories=..., or merge some."
            )
        return names.get_indexer(wanted)


def _variances(table):
    """Sampling variances of all cells, binomial where none are given."""
    if table.sigma2 is not None:
        sigma2 = table.sigma2
    elif table.n is not None and are_counts(table.z.ravel(), table.n.ravel()):
        sigma2 = sampling_variance(np.round(table.z * table.n), table.n, "plug-in")
    else:
        raise ValueError(
            "How noisy the scores are cannot be told. Pass n=... for 0/1 scores (y * n then being "
            "whole numbers), or sigma2=... for others."
        )
    certain = sigma2 == 0
    if certain.any():
        warn(
            f"{cells(certain, table.models, table.tasks)} have a sampling variance of 0: leads "
            "look more certain than they are. Smoothed variances are above 0 at every score."
        )
    return sigma2


def _errors_from_draws(centered, weights, a, b):
    """Standard errors of weighted differences; one covariance matrix per pair that occurs."""
    pairs, which = np.unique(np.column_stack([a, b]), axis=0, return_inverse=True)
    error = np.empty(len(weights))
    for number, (first, second) in enumerate(pairs):
        contrast = centered[:, first] - centered[:, second]
        own = weights[which.ravel() == number]
        error[which.ravel() == number] = np.sqrt(
            np.einsum("wi,ij,wj->w", own, contrast.T @ contrast, own).clip(min=0)
        )
    return error
