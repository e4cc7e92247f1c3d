"""Sources of bootstrap draws, each for a part of the grid of models and tasks."""

from dataclasses import dataclass

import numpy as np

from skbench.stats.intervals.binomial import unbiased_variance
from skbench.stats.resampling import binomial_means, normal_means, resampled_means
from skbench.stats.scales.aggregation import covariance_of_means


@dataclass(frozen=True)
class NormalTasks:
    """Scores with known sampling variances only; arrays of shape (n_models, n_own)."""

    models: np.ndarray  # positions in the grid
    tasks: np.ndarray
    z: np.ndarray
    sigma2: np.ndarray

    def fill(self, draws, rng):
        """Write draws into an array of shape (n_draws, n_models, n_tasks)."""
        draws[:, *self._cells] = normal_means(self.z, self.sigma2, len(draws), rng)

    def fill_summary(self, score, sigma2):
        """Write scores and sampling variances into arrays of shape (n_models, n_tasks)."""
        score[self._cells] = self.z
        sigma2[self._cells] = self.sigma2

    def add_covariance(self, total, weights):
        """Add the weighted covariance of these tasks to a (n_models, n_models) matrix."""
        # A task with weight 0 is excluded, because its variance may be nan.
        used = weights[self.tasks] > 0
        variance = self.sigma2[:, used] @ weights[self.tasks][used] ** 2
        total[self.models, self.models] += variance

    @property
    def _cells(self):
        return np.ix_(self.models, self.tasks)


@dataclass(frozen=True)
class BinomialTasks(NormalTasks):
    """0/1 scores with known counts only."""

    n: np.ndarray

    @classmethod
    def of(cls, models, tasks, z, n):
        """Select models and tasks of a grid, with unbiased variances of their proportions."""
        z, n = (grid[np.ix_(models, tasks)] for grid in (z, n))
        return cls(models, tasks, z, unbiased_variance(np.round(z * n), n), n)

    def fill(self, draws, rng):
        """Write draws into an array of shape (n_draws, n_models, n_tasks)."""
        own = binomial_means(self.z, self.n, len(draws), rng)
        draws[:, *self._cells] = np.where(self.n > 1, own, np.nan)


@dataclass(frozen=True)
class ResampledTask:
    """Items or clusters of one task, resampled jointly for some models."""

    task: int  # position in the grid
    models: np.ndarray  # positions in the grid
    sums: np.ndarray  # of scores, (n_rows, n_own_models)
    sizes: np.ndarray  # numbers of scores; may have one column for all models
    counts: np.ndarray  # numbers of items or clusters that are equal to each row

    def fill(self, draws, rng):
        """Write draws into an array of shape (n_draws, n_models, n_tasks)."""
        if self.counts.sum() < 2:
            draws[:, self.models, self.task] = np.nan
            return
        own = resampled_means(self.sums, self.sizes, self.counts, len(draws), rng)
        draws[:, self.models, self.task] = own

    def fill_summary(self, score, sigma2):
        """Write scores and sampling variances into arrays of shape (n_models, n_tasks)."""
        score[self.models, self.task] = (self.counts @ self.sums) / (self.counts @ self.sizes)
        sigma2[self.models, self.task] = np.diag(self._covariance())

    def add_covariance(self, total, weights):
        """Add the weighted covariance of this task to a (n_models, n_models) matrix."""
        if weights[self.task] > 0:
            total[np.ix_(self.models, self.models)] += weights[self.task] ** 2 * self._covariance()

    def _covariance(self):
        return covariance_of_means(self.sums, self.sizes, self.counts)
