"""Best model under every weighting of three categories, and weightings without a clear winner."""

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
    """Find the best model for every weighting of three categories of tasks.

    For each weighting, the model with the highest weighted score wins. If its lead over the second
    model is at most `z` standard errors of the difference, the weighting is undecided (gray in the
    plot).

    When not to use it: as a significance test. The same scores select and compare the two best
    models, at thousands of weightings. `rank_confidence_sets` tests a single weighting.

    Parameters
    ----------
    categories : tuple of three labels, default=None
        Categories at the corners. By default the three categories of the tasks in order of
        appearance. Other categories have no weight.
    resolution : int, default=200
        Number of steps along an edge of the triangle; 200 steps make 20,301 weightings.
    z : float, default=2.0
        Minimum lead of the winner, in standard errors.
    rho : float, default=0.0
        Correlation between the scores of any two models, for `fit`. It is positive if models
        answered the same items; 0 is then conservative. `fit_draws` uses the correlation of the
        draws.

    Attributes
    ----------
    categories_ : pandas.Index of length 3
        The categories at the corners.
    models_, labels_ : pandas.Index of length n_models
        Names of the models.
    weights_ : ndarray of shape (n_weightings, 3)
        All weightings, evenly spaced.
    leader_, runner_up_ : ndarray of int of shape (n_weightings,)
        Positions of the two best models.
    lead_, standard_error_ : ndarray of shape (n_weightings,)
        Difference between their scores in score units, and its standard error.
    decided_ : ndarray of bool of shape (n_weightings,)
        Whether the lead is more than `z` standard errors.
    fractions_ : Series
        Fraction of the weightings that each model wins, largest first. "undecided" is last.

    See Also
    --------
    SimplexDisplay : Plot the weightings in a triangle.

    Notes
    -----
    Section 2.3 and appendix A.2 of [1]_. The score of a category is the mean over its tasks, and
    ``Var[S_A - S_B] = Var S_A + Var S_B - 2 rho sqrt(Var S_A Var S_B)``. The binomial variance in
    the paper has an index misprint; it is ``p (1 - p) / n``. The maps of the paper use ``z = 2``.
    For correlated models they use ``2 sqrt(1/2)``, equivalent to ``rho=0.5``. `fit_draws` computes
    means and covariances from draws, and so accounts for shared items.

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
        """Compare models from one row per model and task.

        Parameters
        ----------
        X : DataFrame of shape (n_models * n_tasks, n_columns)
            Columns, or index levels, named model, task and category.
        y : array-like of shape (n_models * n_tasks,)
            Scores.
        sigma2 : float or array-like of shape (n_models * n_tasks,), default=None
            Sampling variances of the scores, in squared score units. By default ``y (1 - y) / n``
            for 0/1 scores.
        n : int or array-like of shape (n_models * n_tasks,), default=None
            Numbers of items. Required without `sigma2`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer than two models or not three categories, if a score is missing, or if
            its variance is unknown.

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
        """Compare models from draws of their task scores.

        Parameters
        ----------
        draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
            Draws of the scores of tasks with categories, normalized or not.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer than two models or not three categories, or if `rho` is not 0.
        """
        if self.rho != 0:
            raise ValueError(
                f"fit_draws needs rho=0, got rho={self.rho:g}. The draws contain the correlations."
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
        """Estimate the score of each model under one weighting.

        Parameters
        ----------
        weights : dict or Series by category, default=None
            Weights of `categories_`, nonnegative and with sum 1. By default they are equal.
        confidence_level : float, default=0.95
            Nominal level of the intervals.

        Returns
        -------
        Estimate
            Normal intervals for the scores of single models, not for comparisons between models.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the weights are invalid, or `confidence_level` is outside (0, 1).
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
        """Return the winner of each weighting, or "undecided".

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
            raise ValueError("WeightSimplex needs at least two models, got 1.")
        if UNDECIDED in models:
            raise ValueError(f"A model cannot be named {UNDECIDED!r}. Rename it.")
        self.models_, self.categories_, self._score = models, corners, score
        self.labels_ = models
        self.weights_ = simplex_grid(self.resolution)
        scores = self.weights_ @ score.T
        # A stable sort, so that the first of equal models leads.
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
        """Positions of the three corner categories."""
        wanted = list(names if self.categories is None else self.categories)
        require_columns(names, wanted, what="The list of categories")
        if len(set(wanted)) != 3 or len(wanted) != 3:
            raise ValueError(
                f"WeightSimplex needs three different categories, got {len(wanted)}. Select three "
                "with categories=..., or merge some."
            )
        return names.get_indexer(wanted)


def _variances(table):
    """Sampling variances of all cells, binomial if none are given."""
    if table.sigma2 is not None:
        sigma2 = table.sigma2
    elif table.n is not None and are_counts(table.z.ravel(), table.n.ravel()):
        sigma2 = sampling_variance(np.round(table.z * table.n), table.n, "plug-in")
    else:
        raise ValueError(
            "The sampling variances of the scores are unknown. Pass n=... for 0/1 scores (with "
            "whole numbers y * n), or sigma2=... for other scores."
        )
    certain = sigma2 == 0
    if certain.any():
        warn(
            f"{cells(certain, table.models, table.tasks)} have a sampling variance of 0, so leads "
            "look too certain. Pass smoothed variances, which are always positive, as sigma2=..."
        )
    return sigma2


def _errors_from_draws(centered, weights, a, b):
    """Standard errors of weighted differences, with one covariance matrix per pair of models."""
    pairs, which = np.unique(np.column_stack([a, b]), axis=0, return_inverse=True)
    error = np.empty(len(weights))
    for number, (first, second) in enumerate(pairs):
        contrast = centered[:, first] - centered[:, second]
        own = weights[which.ravel() == number]
        error[which.ravel() == number] = np.sqrt(
            np.einsum("wi,ij,wj->w", own, contrast.T @ contrast, own).clip(min=0)
        )
    return error
