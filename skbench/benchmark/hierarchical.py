"""Hierarchical Bayes: the tasks of a model share a beta law of accuracies."""

import numbers
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import expon
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skbench._checks import check_confidence_level, check_option
from skbench._random import as_generator
from skbench.benchmark._priors import check_prior, default_prior
from skbench.benchmark._task_counts import task_counts
from skbench.benchmark._task_table import task_table
from skbench.benchmark._task_weights import task_weights
from skbench.containers import Draws
from skbench.stats.beta_binomial import draw_accuracies, posterior_accuracy, posterior_grid
from skbench.stats.chains import effective_sample_size, r_hat
from skbench.stats.dirichlet_multinomial import gibbs

SOLVERS = ("quadrature", "gibbs")
KINDS = ("parameter", "predictive")
_BLOCK = 16  # models integrated at once
_N_CHAINS = 4
_N_WARMUP = 500
_FEWEST_PER_CHAIN = 50
_EDGE_MASS = 1e-6
_GRID_ERROR = 1e-2  # of the log evidence: the accuracies are off by far less
_R_HAT, _FEWEST_EFFECTIVE = 1.01, 400
_BATCH_CELLS = 2**22  # accuracies drawn at once, 32 MB


class HierarchicalBetaBinomial(BaseEstimator):
    """Bayesian model of the accuracies of many models on many tasks.

    The right answers of a model on a task are binomial; the accuracies of one model
    over the tasks follow a beta law of its own, Beta(a, b), whose prior counts `a`
    and `b` are learnt. Small tasks are drawn towards what the model does elsewhere.

    When not to use it: for scores that are not counts of right answers, for clustered
    items, or to compare models on shared items, whose errors it takes as
    independent between models. With few tasks the prior decides: look at
    `prior_sensitivity`. Without a reason to pool tasks, `TaskBootstrap` assumes less.
    With a few dozen items per task or fewer, the default prior pools tasks almost
    completely, and estimates of single tasks can be worse than plain accuracies: pass
    a prior there, such as ``scipy.stats.expon(scale=1)`` for both, and compare.

    Parameters
    ----------
    solver : {"quadrature", "gibbs"}, default="quadrature"
        "quadrature" integrates over (a, b) on a grid and draws independently from
        it; "gibbs" is the slice-within-Gibbs sampler of [1]_, four chains of it.
    kind : {"parameter", "predictive"}, default="parameter"
        Draws of the accuracies themselves, or of the scores on new test sets of the
        same sizes, whose intervals are wider by about the root of 2.
    prior : None, pair of frozen scipy distributions, or dict, default=None
        Independent priors of `a` and `b`, cut to positive values; a dict gives each
        model its pair. None is exponential with mean 10,000 for both.
    n_draws : int, default=10_000
        Number of draws.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws. After `fit` they are settled.

    Attributes
    ----------
    models_ : pandas.Index of length n_models
        In order of appearance.
    tasks_ : pandas.Index of length n_tasks
        In order of appearance; a MultiIndex of category and task where X has categories.
    labels : tuple
        ``(models_, tasks_)``.
    k_, n_ : ndarray of shape (n_models, n_tasks)
        Right answers and items.
    posterior_mean_ : ndarray of shape (n_models, n_tasks)
        Posterior means of the accuracies; free of simulation error by quadrature.
    prior_counts_ : DataFrame of shape (n_models, 2)
        Posterior means of `a` and `b`.
    log_evidence_ : ndarray of shape (n_models,)
        Log probability of the answers, in their order, under the prior; nan with
        ``solver="gibbs"``.
    diagnostics_ : DataFrame of shape (n_models, n_diagnostics)
        By quadrature: posterior mass at the edge of the grid, and how much the log
        evidence moves when every second point is left out (many times its error). By
        Gibbs: effective sample sizes and R-hat of `a`, `b` and of the mean accuracy.
    draws_ : Draws of shape (n_draws, n_models, n_tasks)
        Made when first asked for; `iter_draws` goes without holding all of them.

    Raises
    ------
    ValueError
        If an option is unknown, or the prior is not of scipy's distributions.

    Warns
    -----
    UserWarning
        With one task, which tells almost nothing of `a` and `b`; where the quadrature
        or the chains have not converged.

    Notes
    -----
    Section 2.2 of [1]_; ``Y ~ Binomial(N, theta)``, ``theta ~ Beta(a, b)``, each
    model with its own (a, b). Tables 7 and 11 there are predictive, its simulation
    study is not. The grid is in the logit of ``a / (a + b)`` and the log of
    ``a + b``; its error in posterior means is below 1e-4, mostly by orders of magnitude
    (test_refining_the_grid).

    Informative priors decide the result (in the simulation study of [1]_ exchanging
    the priors of the two models reverses the conclusion), so tables name them, and
    `prior_sensitivity` belongs into every report of them.

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
    array([0.69, 0.41])
    """

    def __init__(
        self,
        solver="quadrature",
        kind="parameter",
        prior=None,
        n_draws=10_000,
        random_state=None,
    ):
        self.solver = solver
        self.kind = kind
        self.prior = prior
        self.n_draws = n_draws
        self.random_state = random_state

    def fit(self, X, y, sigma2=None, n=None):
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
        return self._fit_counts(*task_counts(table), table.models, table.tasks)

    def _fit_counts(self, k, n, models, tasks):
        self._check_parameters()
        self.models_, self.tasks_, self.k_, self.n_ = models, tasks, k, n
        if len(tasks) == 1:
            warnings.warn(
                f"There is one task, {tasks[0]!r}: it tells almost nothing of how accuracies vary "
                "over tasks, so the prior of a and b stays as it is.",
                stacklevel=3,
            )
        priors = check_prior(self.prior, models)
        self._seed = int(as_generator(self.random_state).integers(2**63))
        self._draws = None
        if self.solver == "quadrature":
            self._fit_quadrature(priors)
        else:
            self._fit_gibbs(priors)
        return self

    def estimate(self, weights=None, confidence_level=0.95):
        """Weighted mean of each model over the tasks.

        Parameters
        ----------
        weights : None, "category", dict, Series or array-like of shape (n_tasks,), default=None
            Weights of tasks or categories as in `aggregate`; equal over tasks by default.
        confidence_level : float, default=0.95
            Posterior probability of the intervals.

        Returns
        -------
        Estimate
            One entry per model: posterior mean, equal-tailed quantiles and standard
            deviation of the draws.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            For weights that are negative or do not sum to 1, or a level outside (0, 1).
        """
        check_is_fitted(self)
        check_confidence_level(confidence_level)
        w = task_weights(self.tasks_, weights)
        batches = self.iter_draws() if self._draws is None else [self._draws]
        means = np.concatenate([batch.values @ w for batch in batches])
        interval = Draws(means, self.models_, "posterior").interval(confidence_level)
        return replace(interval, value=self.posterior_mean_ @ w, method=self._method())

    def prior_sensitivity(self, priors=None, weights=None, confidence_level=0.95):
        """The same estimates under other priors.

        Parameters
        ----------
        priors : dict of priors by name, default=None
            Each as the parameter `prior` takes it. None compares with exponential
            priors of mean 10,000 and of mean 10.
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
        """
        check_is_fitted(self)
        if priors is None:
            priors = {
                "exponential, mean 10,000": default_prior(),
                "exponential, mean 10": (expon(scale=10), expon(scale=10)),
            }
        fits = {"as fitted": self}
        for name, prior in priors.items():
            other = clone(self).set_params(prior=prior, random_state=self._seed)
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

    def iter_draws(self):
        """Go through the draws in batches, without keeping them.

        Yields
        ------
        Draws of shape (n_batch, n_models, n_tasks)
            At most 32 MB of scores each; the same at every call, and together the
            same as `draws_`.
        """
        check_is_fitted(self)
        size = max(1, _BATCH_CELLS // self.k_.size)
        for number, start in enumerate(range(0, self.n_draws, size)):
            rng = np.random.default_rng([self._seed, number])
            values = self._accuracies(start, min(size, self.n_draws - start), rng)
            if self.kind == "predictive":
                values = rng.binomial(self.n_, values) / self.n_
            yield Draws(values, self.labels, "posterior")

    @property
    def labels(self):
        """Labels of models and tasks, as `Draws` have them."""
        check_is_fitted(self)
        return (self.models_, self.tasks_)

    @property
    def draws_(self):
        """All draws at once."""
        check_is_fitted(self)
        if self._draws is None:
            values = np.concatenate([batch.values for batch in self.iter_draws()])
            self._draws = Draws(values, self.labels, "posterior")
        return self._draws

    def _check_parameters(self):
        check_option("solver", self.solver, SOLVERS)
        check_option("kind", self.kind, KINDS)
        if not isinstance(self.n_draws, numbers.Integral) or self.n_draws < 1:
            raise ValueError(f"n_draws must be a whole number of at least 1, got {self.n_draws!r}.")

    def _method(self):
        words = ["hierarchical beta-binomial"]
        words += ["new test sets"] if self.kind == "predictive" else []
        words += ["own prior"] if self.prior is not None else []
        return ", ".join(words)

    def _fit_quadrature(self, priors):
        # Some models at a time: one that needs a fine grid does not refine all of them.
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(self.models_), _BLOCK)]
        self._grids, means = [], []
        for own in blocks:
            k, n, prior = self.k_[own], self.n_[own], priors.of(own)
            grid = posterior_grid(k, n, prior.log_joint_density, *prior.ranges())
            self._grids.append(grid)
            means.append(posterior_accuracy(k, n, grid))
        self.posterior_mean_ = np.concatenate(means)
        self.log_evidence_ = np.concatenate([grid.log_evidence for grid in self._grids])
        self.prior_counts_ = self._table(
            a=[np.sum(grid.weight * grid.a, axis=1) for grid in self._grids],
            b=[np.sum(grid.weight * grid.b, axis=1) for grid in self._grids],
        )
        self.diagnostics_ = self._table(
            edge_mass=[grid.edge_mass for grid in self._grids],
            error=[grid.error for grid in self._grids],
        )
        self._check_grids()

    def _table(self, **columns):
        joined = {name: np.concatenate(parts) for name, parts in columns.items()}
        return pd.DataFrame(joined, index=self.models_)

    def _check_grids(self):
        edge_mass, error = self.diagnostics_["edge_mass"], self.diagnostics_["error"]
        # Not a number where the search met no point with prior density.
        open_edge = ~(edge_mass < _EDGE_MASS)
        if open_edge.any():
            model = self.models_[open_edge][0]
            raise ValueError(
                f"The posterior of the prior counts of model {model!r} could not be enclosed: a "
                f"share of {edge_mass[model]:.2g} lies at the edge of the grid. Give a prior whose "
                "density has one peak and falls off at 0 and at infinity."
            )
        if error.max() > _GRID_ERROR:
            warnings.warn(
                f"The quadrature of model {error.idxmax()!r} is rough: half the points change its "
                f"log evidence by {error.max():.2g}. Priors without jumps converge.",
                stacklevel=5,
            )

    def _fit_gibbs(self, priors):
        rng = np.random.default_rng([self._seed])
        per_chain = max(-(-self.n_draws // _N_CHAINS), _FEWEST_PER_CHAIN)
        chains = gibbs(
            np.stack([self.k_, self.n_ - self.k_], axis=-1),
            # Chains come first in the sampler, models in the priors.
            lambda position, counts: priors.log_density(position, counts.T).T,
            priors.start(_N_CHAINS, rng),
            per_chain,
            _N_WARMUP,
            rng,
        )
        a, b = np.moveaxis(chains.concentration, -1, 0)
        accuracy = chains.proportions[..., 0]
        self._chains = accuracy.reshape((-1,) + self.k_.shape)
        given_counts = (a[..., None] + self.k_) / ((a + b)[..., None] + self.n_)
        self.posterior_mean_ = given_counts.mean(axis=(0, 1))
        self.log_evidence_ = np.full(len(self.models_), np.nan)
        means = {"a": a.mean(axis=(0, 1)), "b": b.mean(axis=(0, 1))}
        self.prior_counts_ = pd.DataFrame(means, index=self.models_)
        self._diagnose({"a": a, "b": b, "mean": accuracy.mean(axis=-1)})

    def _diagnose(self, quantities):
        columns = {f"ess_{name}": effective_sample_size(x) for name, x in quantities.items()}
        columns |= {f"r_hat_{name}": r_hat(x) for name, x in quantities.items()}
        self.diagnostics_ = pd.DataFrame(columns, index=self.models_)
        ess = self.diagnostics_.filter(like="ess_").min(axis=1)
        apart = self.diagnostics_.filter(like="r_hat_").max(axis=1)
        slow = (ess < _FEWEST_EFFECTIVE) | (apart > _R_HAT)
        if slow.any():
            model = slow.index[slow][0]
            warnings.warn(
                f"The chains of {slow.sum()} of {len(slow)} models have not converged, such as "
                f"{model!r}: effective sample size {ess[model]:.0f}, R-hat {apart[model]:.3f}. "
                "Take more draws, or solver='quadrature'.",
                stacklevel=5,
            )

    def _accuracies(self, start, size, rng):
        """Draws `start` to ``start + size`` of the accuracies."""
        if self.solver == "gibbs":
            return self._chains[start : start + size]
        points = (row for g in self._grids for row in zip(g.a, g.b, g.weight, strict=True))
        values = np.empty((size,) + self.k_.shape)
        for i, (k, n, own) in enumerate(zip(self.k_, self.n_, points, strict=True)):
            values[:, i] = draw_accuracies(k, n, *own, size, rng)
        return values
