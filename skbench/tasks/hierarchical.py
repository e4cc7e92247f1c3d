"""Hierarchical Bayes: the tasks of a model share a beta law of accuracies."""

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

_FEW_ITEMS = 30  # below it, the exponential prior does worse than plain accuracies
_FITTED = "as fitted"  # name of the fitted prior among others
_TOLERANCE = 1e-6  # accuracies are given to 6 digits or more


@checked
class HierarchicalBetaBinomial(DrawnTasks, BaseEstimator):
    """Bayesian model of the accuracies of many models on many tasks.

    The right answers of a model on a task are binomial; the accuracies of one model over the
    tasks follow a beta law of its own, Beta(a, b), whose prior counts `a` and `b` are learned.
    Small tasks are shrunk toward what the model does elsewhere.

    When not to use it: for scores that are not counts of right answers, for clustered items, or
    to compare models on shared items, because it takes errors as independent between models.
    With few tasks the prior decides: look at `prior_sensitivity`. `TaskBootstrap` assumes less.

    Parameters
    ----------
    solver : {"quadrature", "gibbs"}, default="quadrature"
        "quadrature" integrates over (a, b) on a grid and draws independently from it; "gibbs" is
        the slice-within-Gibbs sampler of [1]_ in four chains, refused where they do not meet.
    kind : {"parameter", "predictive"}, default="parameter"
        Draws of the accuracies themselves, or of the scores on new test sets of the same sizes,
        whose intervals are wider by about the root of 2.
    prior : "uniform", "exponential", pair or dict, default="uniform"
        "uniform": the mean ``a / (a + b)`` and the correlation of two items of a task,
        ``1 / (1 + a + b)``, are uniform on (0, 1). "exponential": `a` and `b` are exponential
        with mean 10,000 as in [1]_, which expects tasks that are alike and misleads where test
        sets are small. A pair of frozen scipy distributions gives the independent priors of `a`
        and `b`, cut to positive values; a dict gives each model its own prior.
    n_draws : int, default=10_000
        Number of draws.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws. After `fit` they are settled.

    Attributes
    ----------
    models_, labels_ : pandas.Index of length n_models
        Sorted.
    tasks_ : pandas.Index of length n_tasks
        Sorted; a MultiIndex of category and task where X has categories.
    labels : tuple
        ``(models_, tasks_)``.
    k_, n_ : ndarray of shape (n_models, n_tasks)
        Right answers and items.
    posterior_mean_ : ndarray of shape (n_models, n_tasks)
        Posterior means of the accuracies; free of simulation error by quadrature.
    prior_counts_ : DataFrame of shape (n_models, 2)
        Geometric posterior means of `a` and `b`; under the uniform prior the plain means are
        infinite.
    log_evidence_ : ndarray of shape (n_models,)
        Log probability of the answers, in their order, under the prior; nan with
        ``solver="gibbs"``.
    diagnostics_ : DataFrame of shape (n_models, n_diagnostics)
        By quadrature: posterior mass at the edge of the grid, and how much the log evidence
        moves when every second point is left out (many times its error). By Gibbs: effective
        sample sizes and R-hat of `log a`, `log b` and the mean accuracy.
    draws_ : Draws of shape (n_draws, n_models, n_tasks)
        Made when first asked for; `iter_draws` goes without holding all of them.

    Raises
    ------
    ValueError
        If an option is unknown, the prior is not of scipy's distributions, or the chains of a model
        have an effective sample size below 100.

    Warns
    -----
    UserWarning
        With one task; with ``prior="exponential"`` and a median of fewer than 30 items per task;
        where the quadrature or the chains have not converged.

    Notes
    -----
    Section 2.2 of [1]_: ``Y ~ Binomial(N, theta)``, ``theta ~ Beta(a, b)``, each model with its
    own (a, b). The grid is in the logit of ``a / (a + b)`` and the log of ``a + b``; its error in
    posterior means is below 1e-4 (test_refining_the_grid).

    Where `draws_` would be more than 10^8 numbers, weighted means of many tasks are drawn as such:
    given (a, b) from a normal law corrected for skewness, whose three moments are exact
    (test_draws_of_means_are_those_of_sums). Draws of differently weighted means are then not
    those of the same accuracies.

    The default prior departs from [1]_. On the 16 models and 19 tasks of its benchmark, with 10
    items per task, the root mean square error of single accuracies is 21.0 points under its
    exponential prior, 13.7 for plain accuracies and 12.1 under the default; with 25 items it is
    8.6, 8.5 and 8.2 (test_errors_on_thinned_test_sets). With test sets of 711 and more, as in its
    tables 7 and 11, both priors give the same digits.

    Chains start at draws of the prior. From counts in the thousands they often do not come back to
    tasks that differ, on large test sets as on small ones. Of 384 models simulated under the
    exponential prior (1 to 19 tasks of 5 to 20,000 items, half of them with 1,000 or more; 200 to
    10,000 draws; ``benchmarks/hierarchical.py --chains``) 287 have an effective sample size below
    100. Their posterior means miss those of quadrature by .6 posterior standard deviations in the
    median and by up to 53: they are refused. Of the 97 others 95% are within .02 and two are off by
    more than .2, by .27 and .43. Under the uniform prior 125 of 192 are refused, mostly for too few
    draws: their median error is .03, the largest .32.

    Informative priors decide the result: in the simulation study of [1]_ exchanging the priors
    of the two models reverses the conclusion. Report `prior_sensitivity` with them. Misprints of
    the study: 1000 for 10000 items in the head of its Table 1, .097 for .0097 as an end of the
    bootstrap interval, and 20 for the 190 or more standard deviations between 0 and the priors.

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
        """Settings of Longjohn, Gopalan and Casleton (2024), section 2.2.

        Independent exponential priors of `a` and `b` with mean 10,000, and slice sampling within
        Gibbs.

        Parameters
        ----------
        kind : {"parameter", "predictive"}, default="predictive"
            Tables 7 and 11 are predictive, as only such draws give their intervals. The
            simulation study is of parameters.
        n_draws : int, default=10_000
            Number of draws.
        random_state : None, int, RandomState or Generator, default=None
            Source of the draws.

        Returns
        -------
        HierarchicalBetaBinomial

        Notes
        -----
        The paper leaves open how many chains it ran, how long, from where and with what warm-up,
        and how many draws its tables rest on. Here there are four chains from random draws of
        the prior with 500 steps of warm-up each. On few or small tasks they seldom meet, and `fit`
        refuses them; ``solver="quadrature"`` has the same posterior. The simulation study has
        informative priors of its own.
        """
        return cls("gibbs", kind, "exponential", n_draws, random_state)

    def fit(
        self, X: pd.DataFrame, y: ArrayLike, sigma2: None = None, n: ArrayLike | None = None
    ) -> Self:
        """Learn the prior counts of every model, and settle the draws.

        Parameters
        ----------
        X : DataFrame with n_models * n_tasks rows
            Columns (or index levels) model and task, and maybe category.
        y : array-like of shape (n_models * n_tasks,)
            Accuracies, between 0 and 1.
        sigma2 : None
            Ignored: counts bring their own variance. Present for the common signature.
        n : int or array-like of shape (n_models * n_tasks,)
            Numbers of items. Required.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `n` is missing, ``y * n`` is no whole number of right answers, a model
            lacks a task or has one twice, or the prior does not suit the models.
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
                f"There is one task, {plain(self.tasks_[0])!r}: it tells almost nothing of how "
                "accuracies vary over tasks, so the prior of a and b stays as it is."
            )
        typical = np.median(self.n_)
        if names_exponential(self.prior) and typical < _FEW_ITEMS:
            warn(
                f'prior="exponential" takes it that tasks are alike, and tasks with {typical:g} '
                "items, the median here, cannot refute it: accuracies of single tasks may be worse "
                'than k / n. Use prior="uniform", or look at prior_sensitivity().'
            )

    def prior_sensitivity(
        self,
        priors: Mapping[str, Any] | None = None,
        weights: Weights = None,
        confidence_level: Level = 0.95,
    ) -> pd.DataFrame:
        """The same estimates under other priors, by quadrature.

        Parameters
        ----------
        priors : dict of priors by name, default=None
            Each as the parameter `prior` takes it. None compares with the two named
            priors and with exponential priors of mean 1, under which tasks differ much.
        weights : as in `estimate`, default=None
            Weights of tasks or categories.
        confidence_level : float, default=0.95
            Posterior probability of the intervals.

        Returns
        -------
        DataFrame
            Indexed by prior and model, the fitted prior first: value, low, high,
            shift (change of the value in standard errors as fitted) and log_evidence:
            the higher, the better the prior foresaw the answers. A prior that spreads
            over many counts foresees any answers badly, so it is no verdict by itself.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If a prior is called "as fitted", or does not suit the models.
        """
        check_is_fitted(self)
        if priors is None:
            priors = {name: name for name in (UNIFORM, EXPONENTIAL)}
            priors["exponential, mean 1"] = (expon(), expon())
        if _FITTED in priors:
            raise ValueError(f"{_FITTED!r} is the name of the fitted prior: choose another.")
        fits = {_FITTED: self}
        for name, prior in priors.items():
            # Chains would not meet under every prior.
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
        # The fastest of numpy's generators: the draws take longer than the quadrature.
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
    """Right answers and items of every model and task."""
    if table.n is None:
        raise ValueError(
            "n is missing: accuracies do not tell how many items each task has. Pass n=..., the "
            "number of items of every row."
        )
    k = np.round(table.z * table.n)
    off = np.abs(table.z * table.n - k) > _TOLERANCE * table.n
    bad = off | (table.z < 0) | (table.z > 1)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            "y * n must be a whole number of right answers between 0 and n, but model "
            f"{plain(table.models[i])!r} has y = {table.z[i, j]:g} and n = {table.n[i, j]} on task "
            f"{plain(table.tasks[j])!r}. Give accuracies with 6 digits or more, or np.round(y * "
            "n) / n."
        )
    return k, table.n
