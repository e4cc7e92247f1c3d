"""Hierarchical Bayesian model: a model's accuracies over tasks share a beta distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import expon
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skbench._checks import plain
from skbench._random import as_generator
from skbench._types import Count, Level, RandomState, Weights, checked
from skbench._warnings import warn
from skbench.tasks._batches import MOST_STORED, DrawnTasks
from skbench.tasks._count_posteriors import GibbsPosterior, GridPosterior
from skbench.tasks._priors import EXPONENTIAL, UNIFORM, check_prior, names_exponential
from skbench.tasks._task_table import content_axes, task_table

_FEW_ITEMS = 30  # below it, the exponential prior has larger errors than direct estimates
_FITTED = "as fitted"  # name of the fitted prior among others
_TOLERANCE = 1e-6  # accuracies are given to 6 digits or more


@checked
class HierarchicalBetaBinomial(DrawnTasks, BaseEstimator):
    """Bayesian estimates of a model's accuracies on tasks, shrunk toward the model's mean accuracy.

    The number of correct answers of a model on a task is binomial. The accuracies of one model over
    the tasks follow a Beta(a, b) distribution. Its parameters `a` and `b` act like counts of
    correct and incorrect answers before the evaluation (prior counts), and are estimated for each
    model. Accuracies on small tasks are shrunk toward the model's accuracies on other tasks.

    When not to use it: for scores that are not counts of correct answers, or for clustered items.
    The model assumes independent errors between models, so do not use it to compare models on
    shared items. With few tasks the results depend on the prior; check `prior_sensitivity`.
    `TaskBootstrap` has fewer assumptions.

    Parameters
    ----------
    solver : {"quadrature", "gibbs"}, default="quadrature"
        "quadrature" integrates over (a, b) on a grid, and its draws are independent. "gibbs" is
        the slice-within-Gibbs sampler of [1]_ with four chains; it raises an error if the chains
        have not converged.
    kind : {"parameter", "predictive"}, default="parameter"
        With "parameter", draws are true accuracies. With "predictive", they are scores on new test
        sets of the same sizes. Intervals of such scores are about sqrt(2) times as wide.
    prior : "uniform", "exponential", pair or dict, default="uniform"
        With "uniform", the mean ``a / (a + b)`` and the correlation between items of the same task,
        ``1 / (1 + a + b)``, are uniform on (0, 1). With "exponential", `a` and `b` are exponential
        with mean 10,000 as in [1]_. The exponential prior assumes that tasks are similar, and
        performs poorly on small test sets. A pair of frozen scipy distributions is used as the
        independent priors of `a` and `b`, truncated to positive values. A dict contains a prior for
        each model.
    n_draws : int, default=10_000
        Number of draws.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws. All results of a fitted model use the same draws.

    Attributes
    ----------
    models_, labels_ : pandas.Index of length n_models
        Names of the models, sorted.
    tasks_ : pandas.Index of length n_tasks
        Names of the tasks, sorted. With categories, a MultiIndex of category and task.
    labels : tuple
        ``(models_, tasks_)``.
    k_, n_ : ndarray of shape (n_models, n_tasks)
        Numbers of correct answers and of items.
    posterior_mean_ : ndarray of shape (n_models, n_tasks)
        Posterior means of the accuracies. With quadrature they have no simulation error.
    prior_counts_ : DataFrame of shape (n_models, 2)
        Geometric posterior means of `a` and `b`. Under the uniform prior the arithmetic means are
        infinite.
    log_evidence_ : ndarray of shape (n_models,)
        Log marginal likelihood of the individual answers under the prior, without binomial
        coefficients; nan with ``solver="gibbs"``.
    diagnostics_ : DataFrame of shape (n_models, n_diagnostics)
        With quadrature: the posterior mass at the edge of the grid, and how much the log evidence
        changes on a grid with half the points (a conservative bound on the error). With Gibbs:
        effective sample sizes and R-hat of `log a`, `log b` and the mean accuracy.
    draws_ : Draws of shape (n_draws, n_models, n_tasks)
        All draws, computed on first access. Use `iter_draws` to avoid storing them.

    Raises
    ------
    ValueError
        If an option is unknown, a prior is not a frozen scipy distribution, or the chains of a
        model have an effective sample size below 100.

    Warns
    -----
    UserWarning
        If there is only one task, if ``prior="exponential"`` is used with a median of fewer than 30
        items per task, or if the quadrature or the chains have not fully converged.

    Notes
    -----
    The model is from section 2.2 of [1]_: ``Y ~ Binomial(N, theta)`` with ``theta ~ Beta(a, b)``
    and separate (a, b) for each model. The grid covers the logit of ``a / (a + b)`` and the log of
    ``a + b``. Its error in posterior means is below 1e-4.

    If `draws_` would have more than 10^8 values, weighted means over many tasks are drawn without
    drawing each accuracy. Given (a, b), the mean is drawn from a skewness-corrected normal
    distribution with exact first three moments. Means with different weights are then drawn
    separately, so do not use differences between their draws.

    The default prior differs from [1]_. The table shows root mean square errors of the accuracies
    on tasks in percentage points, for the 16 models and 19 tasks of [1]_. With 711 or more items
    per task, as in Tables 7 and 11 of [1]_, the two priors give equal results in all printed
    digits.

    ==============  ===========  ===============  =======
    items per task  exponential  direct estimate  default
    ==============  ===========  ===============  =======
    10              21.0         13.7             12.1
    25              8.6          8.5              8.2
    ==============  ===========  ===============  =======

    Gibbs chains start at draws from the prior. If tasks differ and the prior has `a` and `b` in the
    thousands, the chains often fail to converge. `fit` then raises an error, because the effective
    sample size of a model is below 100. Under the uniform prior, the usual reason for this error is
    that `n_draws` is too small. The table is from simulations with 1 to 19 tasks of 5 to 20,000
    items and 200 to 10,000 draws (``benchmarks/hierarchical.py --chains``). It shows the difference
    between the posterior means from Gibbs sampling and from quadrature, in posterior standard
    deviations. The column `fit` states whether `fit` raises the error:

    ===========  ========  ==========  ==================================
    prior        `fit`     models      difference
    ===========  ========  ==========  ==================================
    exponential  error     287 of 384  median 0.6, largest 53
    exponential  no error  97 of 384   at most 0.02 for 95%, largest 0.43
    uniform      error     125 of 192  median 0.03, largest 0.32
    ===========  ========  ==========  ==================================

    Informative priors determine the result. The simulation study of [1]_ compares two models with
    different priors. If the priors are exchanged, the other model appears better. So report
    `prior_sensitivity`.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty
       quantification for aggregate performance metrics in machine learning benchmarks.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"model": ["ada"] * 3 + ["bob"] * 3, "task": ["law", "art", "sum"] * 2})
    >>> bayes = HierarchicalBetaBinomial(random_state=0)
    >>> bayes = bayes.fit(X, [0.7, 0.6, 0.8, 0.5, 0.4, 0.3], n=10)
    >>> bayes.estimate().value.round(2)
    array([0.68, 0.41])
    """

    _draw_kind = "posterior"

    def __init__(
        self,
        solver: Literal["quadrature", "gibbs"] = "quadrature",
        kind: Literal["parameter", "predictive"] = "parameter",
        prior: Literal["uniform", "exponential"] | tuple[Any, Any] | Mapping[str, Any] = "uniform",
        n_draws: Count = 10_000,
        random_state: RandomState = None,
    ) -> None:
        self.solver = solver
        self.kind = kind
        self.prior = prior
        self.n_draws = n_draws
        self.random_state = random_state

    @classmethod
    def as_published(
        cls,
        kind: Literal["parameter", "predictive"] = "predictive",
        *,
        n_draws: Count = 10_000,
        random_state: RandomState = 0,
    ) -> Self:
        """Use the settings of Longjohn, Gopalan and Casleton (2024), section 2.2.

        The settings are independent exponential priors of `a` and `b` with mean 10,000, and slice
        sampling within Gibbs.

        Parameters
        ----------
        kind : {"parameter", "predictive"}, default="predictive"
            Use "predictive" for Tables 7 and 11, because only predictive draws reproduce their
            intervals. Use "parameter" for the simulation study.
        n_draws : int, default=10_000
            Number of draws.
        random_state : None, int, RandomState or Generator, default=None
            Source of the draws.

        Returns
        -------
        HierarchicalBetaBinomial

        Notes
        -----
        The paper does not state the number of chains, their length, starting points and warm-up, or
        the number of draws. This implementation runs four chains from random draws of the prior,
        each with 500 warm-up steps. With few or small tasks the chains seldom converge, and `fit`
        raises an error. ``solver="quadrature"`` has the same posterior. The simulation study uses
        its own informative priors.
        """
        return cls("gibbs", kind, "exponential", n_draws, random_state)

    def fit(
        self, X: pd.DataFrame, y: ArrayLike, sigma2: None = None, n: ArrayLike | None = None
    ) -> Self:
        """Estimate `a` and `b` of every model.

        Parameters
        ----------
        X : DataFrame with n_models * n_tasks rows
            Columns (or index levels) model and task, and optionally category.
        y : array-like of shape (n_models * n_tasks,)
            Accuracies, between 0 and 1.
        sigma2 : None
            Ignored, because counts determine their variance. Present for a common signature.
        n : int or array-like of shape (n_models * n_tasks,)
            Numbers of items. Required.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `n` is missing, ``y * n`` is not a whole number, a model lacks a task or has it
            twice, or the prior does not match the models.
        """
        table = task_table(X, y, n=n)
        self._fit_counts(*_task_counts(table), table.models, table.tasks)
        self._warn_of_data()
        return self

    def _fit_counts(self, k, n, models, tasks):
        axes = content_axes(k, n)
        drawn, cells = models[axes[0]], np.ix_(*axes)
        priors = check_prior(self.prior, drawn)
        seed = int(as_generator(self.random_state).integers(2**63))
        if self.solver == "quadrature":
            posterior = GridPosterior(k[cells], n[cells], priors)
        else:
            rng = np.random.default_rng([seed])
            posterior = GibbsPosterior(k[cells], n[cells], priors, self.n_draws, rng)
        problem = posterior.problem(drawn)  # raises before anything is stored
        self._axes, self._seed, self._draws, self._posterior = axes, seed, None, posterior
        self.models_, self.tasks_, self.k_, self.n_ = models, tasks, k, n
        self.posterior_mean_ = self._sorted(posterior.accuracy)
        self.log_evidence_ = posterior.log_evidence[np.argsort(self._axes[0])]
        self.prior_counts_ = pd.DataFrame(posterior.prior_counts, drawn, ["a", "b"]).loc[models]
        self.diagnostics_ = pd.DataFrame(posterior.diagnostics, drawn).loc[models]
        if problem:
            warn(problem)
        return self

    def _warn_of_data(self):
        if len(self.tasks_) == 1:
            warn(
                f"There is only one task, {plain(self.tasks_[0])!r}. The variation between tasks "
                "cannot be estimated, so the result depends on the prior of a and b."
            )
        typical = np.median(self.n_)
        if names_exponential(self.prior) and typical < _FEW_ITEMS:
            warn(
                'prior="exponential" assumes similar tasks. With a median of only '
                f"{typical:g} items per task, its estimates may have larger errors than the direct "
                'estimates k / n. Use prior="uniform", or check prior_sensitivity().'
            )

    def prior_sensitivity(
        self,
        priors: Mapping[str, Any] | None = None,
        weights: Weights = None,
        confidence_level: Level = 0.95,
    ) -> pd.DataFrame:
        """Compare the estimates under several priors, by quadrature.

        Parameters
        ----------
        priors : dict of priors by name, default=None
            Each value is a valid `prior` parameter. None compares with the priors "uniform" and
            "exponential" and with exponential priors of mean 1, which assume very different tasks.
        weights : as in `estimate`, default=None
            Weights of tasks or categories.
        confidence_level : float, default=0.95
            Posterior probability of the intervals.

        Returns
        -------
        DataFrame
            One row per prior and model, the fitted prior first, with the columns value, low, high,
            shift and log_evidence. The shift is the change of the value in units of the fitted
            standard error. A prior with a higher log evidence predicted the answers better.
            However, the log evidence of a very wide prior is always low, so do not choose a prior
            by it alone.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If a prior is named "as fitted", or does not match the models.
        """
        check_is_fitted(self)
        if priors is None:
            priors = {name: name for name in (UNIFORM, EXPONENTIAL)}
            priors["exponential, mean 1"] = (expon(), expon())
        if _FITTED in priors:
            raise ValueError(f"{_FITTED!r} is the name of the fitted prior. Choose another name.")
        fits = {_FITTED: self}
        for name, prior in priors.items():
            # By quadrature, because chains do not converge under every prior.
            other = clone(self).set_params(
                prior=prior, solver="quadrature", random_state=self._seed
            )
            fits[name] = other._fit_counts(self.k_, self.n_, self.models_, self.tasks_)
        own = self.estimate(weights, confidence_level)
        tables = {}
        for name, fit in fits.items():
            e = own if fit is self else fit.estimate(weights, confidence_level)
            columns = {"value": e.value, "low": e.low, "high": e.high}
            columns["shift"] = (e.value - own.value) / own.standard_error
            columns["log_evidence"] = fit.log_evidence_
            tables[name] = pd.DataFrame(columns, index=self.models_)
        return pd.concat(tables, names=["prior"])

    def _batch(self, number, start, size):
        # SFC64 is numpy's fastest generator, and the draws take longer than the quadrature.
        rng = np.random.Generator(np.random.SFC64([self._seed, number]))
        values = self._posterior.draws(start, size, rng)
        if self.kind == "predictive":
            n = self.n_[np.ix_(*self._axes)]
            values = rng.binomial(n, values) / n
        return self._sorted(values)

    def _means(self, shares):
        if self.solver == "gibbs" or self.n_draws * self.k_.size <= MOST_STORED:
            return None
        rng = np.random.Generator(np.random.SFC64(self._seed))
        new = self.kind == "predictive"
        values = self._posterior.means(shares[self._axes[1]], self.n_draws, rng, new)
        return None if values is None else values[:, np.argsort(self._axes[0])]

    def _center(self):
        words = ["hierarchical beta-binomial"]
        words += ["new test sets"] if self.kind == "predictive" else []
        if self.prior != UNIFORM:
            words += ["exponential prior" if self.prior == EXPONENTIAL else "own prior"]
        return self.posterior_mean_, ", ".join(words)


def _task_counts(table):
    """Numbers of correct answers and items of every model and task."""
    if table.n is None:
        raise ValueError("n is missing. Pass n=..., the number of items of every row.")
    k = np.round(table.z * table.n)
    off = np.abs(table.z * table.n - k) > _TOLERANCE * table.n
    bad = off | (table.z < 0) | (table.z > 1)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            "y * n must be a whole number of correct answers from 0 to n, but model "
            f"{plain(table.models[i])!r} has y = {table.z[i, j]:g} and n = {table.n[i, j]} on task "
            f"{plain(table.tasks[j])!r}. Pass accuracies with at least 6 digits, or "
            "np.round(y * n) / n."
        )
    return k, table.n
