"""Metrics of confusion matrices with posterior uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from skbench._checks import floats, require_columns
from skbench._random import as_generator
from skbench._types import Count, Distribution, Positive, RandomState, checked
from skbench._warnings import warn
from skbench.containers import Draws
from skbench.stats.resampling.confusion import (
    METRICS,
    confusion_log_draws,
    confusion_metric,
    confusion_metric_of_logs,
)
from skbench.stats.resampling.dirichlet_multinomial import gibbs, log_uniform_prior
from skbench.stats.resampling.markov_chains import r_hat
from skbench.tasks._batches import DrawnTasks
from skbench.tasks._task_table import as_frame, content_axes, task_table

COUNTS = ("tp", "fp", "fn", "tn")
_N_CHAINS, _N_WARMUP, _FEWEST_PER_CHAIN = 4, 500, 50
_R_HAT = 1.01


@checked
class ConfusionPosterior(DrawnTasks, BaseEstimator):
    """Posterior of F1 and other metrics of confusion matrices.

    The four counts of a matrix are multinomial with a Dirichlet prior. The prior is either known,
    or shared by the tasks of a model and estimated from them.

    When not to use it: for accuracies alone, because `HierarchicalBetaBinomial` is exact for them;
    or to compare models on shared items, because it assumes independent errors.

    Parameters
    ----------
    metric : str, default="f1"
        "accuracy", "precision", "recall", "specificity", "f1", "balanced accuracy" or "matthews".
    prior : float, array-like of shape (4,), "uniform" or frozen scipy distribution, default=0.5
        Concentrations of the Dirichlet prior, in the order tp, fp, fn, tn. With "uniform" or a
        distribution, the four concentrations of each model are estimated from all of its tasks, by
        slice sampling within Gibbs. "uniform" is a uniform prior of the mean proportions, and of
        the correlation of two items of a task, ``1 / (1 + sum of the concentrations)``. A
        distribution is the prior of each concentration.
    n_draws : int, default=10_000
        Number of draws.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws.

    Attributes
    ----------
    models_, tasks_ : pandas.Index
        Names of the models and tasks, sorted.
    labels_ : pandas.Index of length n_models
        The models, in the order of `estimate`.
    value_ : ndarray of shape (n_models, n_tasks)
        The metric of the observed matrices; nan if it is 0 / 0.
    draws_ : Draws of shape (n_draws, n_models, n_tasks)
        Posterior draws of the metric.
    concentrations_ : pandas.DataFrame of shape (n_models, 4)
        Concentrations of the prior. If they are estimated, their posterior medians.

    Raises
    ------
    ValueError
        If `metric` is unknown or a concentration is not positive.

    Warns
    -----
    UserWarning
        If the chains of estimated concentrations have not converged (R-hat above 1.01).

    Notes
    -----
    Section 2.2 of [1]_ proposes both versions, with known and with estimated concentrations.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty
       quantification for aggregate performance metrics in machine learning benchmarks.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"model": ["ada", "bob"], "task": "spam",
    ...                   "tp": [40, 30], "fp": [10, 5], "fn": [5, 15], "tn": [45, 50]})
    >>> ConfusionPosterior(random_state=0).fit(X).estimate().value.round(2)
    array([0.83, 0.74])
    """

    _draw_kind = "posterior"

    def __init__(
        self,
        metric: Annotated[str, tuple(METRICS)] = "f1",
        prior: Positive | Literal["uniform"] | Sequence[Positive] | Distribution = 0.5,
        n_draws: Count = 10_000,
        random_state: RandomState = None,
    ) -> None:
        self.metric = metric
        self.prior = prior
        self.n_draws = n_draws
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: None = None) -> Self:
        """Draw from the posterior of every matrix.

        Parameters
        ----------
        X : DataFrame with n_models * n_tasks rows
            Columns model, task, tp, fp, fn and tn, and optionally category.
        y : None
            Ignored, because the counts are in `X`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a column is missing, a count is negative or not whole, or a model lacks a task or has
            it twice.
        """
        frame = as_frame(X)
        require_columns(frame.columns, COUNTS, "X")
        tables = [task_table(frame, frame[name]) for name in COUNTS]
        counts = np.stack([table.z for table in tables], axis=-1)
        if np.any((counts < 0) | (counts != np.round(counts))):
            raise ValueError("tp, fp, fn and tn must be whole numbers of at least 0.")
        self.models_, self.tasks_ = tables[0].models, tables[0].tasks
        self.value_ = confusion_metric(counts, self.metric)
        rng = as_generator(self.random_state)
        self._axes = content_axes(*np.moveaxis(counts, -1, 0))
        logs = self._log_proportions(counts[np.ix_(*self._axes)], rng)
        values = self._sorted(confusion_metric_of_logs(logs, self.metric))
        self._draws = Draws(values, self.labels, self._draw_kind)
        return self

    def _center(self):
        return self.draws_.values.mean(axis=0), f"posterior of {self.metric}"

    def _batch(self, number, start, size):
        return self._draws.values[start : start + size]

    def _log_proportions(self, counts, rng):
        """Draws of shape (n_draws, n_models, n_tasks, 4)."""
        named = isinstance(self.prior, str) and self.prior == "uniform"
        if not named and not hasattr(self.prior, "logpdf"):
            prior = _concentrations(self.prior)
            self._keep(np.broadcast_to(prior, (len(counts), 4)))
            return confusion_log_draws(counts, self.n_draws, rng, prior)
        per_chain = max(-(-self.n_draws // _N_CHAINS), _FEWEST_PER_CHAIN)
        share = rng.uniform(0.01, 0.99, (_N_CHAINS, len(counts), 4))
        if named:
            log_prior, start = log_uniform_prior, share / share.sum(axis=2, keepdims=True)
            start = start * (1 / rng.uniform(0.01, 0.5, (_N_CHAINS, len(counts), 1)) - 1)
        else:
            log_prior, start = self._log_prior, self.prior.isf(share * self.prior.sf(0))
        chains = gibbs(counts, log_prior, start, per_chain, _N_WARMUP, rng)
        self._keep(np.median(chains.concentration, axis=(0, 1)))
        worst = np.nanmax(r_hat(np.log(chains.concentration)))
        if worst > _R_HAT:
            warn(
                f"The chains of the concentrations have not converged (R-hat {worst:.3f}). "
                "Increase n_draws, or use a more informative prior."
            )
        return chains.log_proportions.reshape((-1,) + counts.shape)[: self.n_draws]

    def _keep(self, concentrations):
        models = self.models_[self._axes[0]]
        self.concentrations_ = pd.DataFrame(concentrations, models, COUNTS).loc[self.models_]

    def _log_prior(self, category, values, rest):
        return np.where(values > 0, self.prior.logpdf(values), -np.inf)


def _concentrations(given):
    prior = floats("prior", given)
    if prior.shape not in ((), (4,)) or not np.all(prior > 0):
        raise ValueError(
            'prior must be one or four positive concentrations, "uniform" or a frozen scipy '
            f"distribution, got {given!r}."
        )
    return prior
