"""Draws of task scores, computed in batches and stored only on request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skbench._documented import Documented
from skbench._types import Level, Weights, checked
from skbench._warnings import warn
from skbench.containers import Draws, Estimate
from skbench.tasks._task_weights import task_weights
from skbench.tasks.aggregate import aggregate

_BATCH_CELLS = 2**22  # scores drawn at once, 32 MB
MOST_STORED = 10**8  # scores in draws_: 800 MB, and twice as much while they are computed


@checked
class DrawnTasks(Documented):
    """Mixin for estimators with draws of task scores.

    Subclasses have `models_`, `tasks_`, `n_draws`, `_draw_kind`, `_batch` and `_center`.
    ``_batch(number, start, size)`` returns one batch of draws of shape (size, n_models, n_tasks),
    the same at every call. `_center()` returns the point estimates of the cells and the name of the
    method. `_draws` is None unless the draws are stored.
    """

    def estimate(self, weights: Weights = None, confidence_level: Level = 0.95) -> Estimate:
        """Estimate the weighted mean of each model over the tasks.

        Parameters
        ----------
        weights : None, "category", dict, Series or array-like of shape (n_tasks,), default=None
            Weights of tasks or categories as in `aggregate`. By default all tasks have equal
            weights.
        confidence_level : float, default=0.95
            Probability between the two quantiles. At 0.834, two intervals overlap in about the same
            cases in which a test at 5% finds no difference.

        Returns
        -------
        Estimate
            One entry per model: the weighted mean, equal-tailed quantiles and the standard
            deviation of the draws. If all bootstrap draws of a model are equal, its interval is
            nan, because equal answers contain no information about their variance.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the weights are invalid as in `aggregate`, or `confidence_level` is outside (0, 1).

        Warns
        -----
        UserWarning
            If all bootstrap draws of a model are equal.
        """
        check_is_fitted(self)
        draws = self if self._draws is None else self._draws
        interval = aggregate(draws, weights).interval(confidence_level)
        center, method = self._center()
        found = replace(interval, value=center @ task_weights(self.tasks_, weights), method=method)
        constant = (found.low == found.high) & (self._draw_kind == "bootstrap")
        if not constant.any():
            return found
        warn(
            f"{constant.sum()} of {len(constant)} models have equal scores on all items, such as "
            f"{self.models_[int(np.argmax(constant))]!r}, so their intervals are unknown (nan). "
            "Use HierarchicalBetaBinomial, which has intervals for them."
        )
        names = ("low", "high", "standard_error")
        return replace(
            found, **{name: np.where(constant, np.nan, getattr(found, name)) for name in names}
        )

    def iter_draws(self) -> Iterator[Draws]:
        """Iterate over the draws in batches, without storing them.

        Yields
        ------
        Draws of shape (n_batch, n_models, n_tasks)
            At most 32 MB of scores per batch. The batches are the same at every call, and together
            equal to `draws_`.
        """
        check_is_fitted(self)
        step = max(1, _BATCH_CELLS // (len(self.models_) * len(self.tasks_)))
        for number, start in enumerate(range(0, self.n_draws, step)):
            values = self._batch(number, start, min(step, self.n_draws - start))
            yield Draws(values, self.labels, self._draw_kind)

    def _means(self, shares):
        """Draws of weighted means, (n_draws, n_models, n_means), if there is a faster way."""
        return None

    def _sorted(self, values):
        """Rearrange values from the order of `_axes` to the order of `labels`."""
        out = np.empty_like(values)
        out[..., *np.ix_(*self._axes)] = values
        return out

    @property
    def labels(self) -> tuple[pd.Index, pd.Index]:
        """Labels of models and tasks, in the format of `Draws`."""
        check_is_fitted(self)
        return (self.models_, self.tasks_)

    @property
    def labels_(self) -> pd.Index:
        """The models, in the order of `estimate`."""
        check_is_fitted(self)
        return self.models_

    @property
    def draws_(self) -> Draws:
        """All draws, computed and stored on first access."""
        check_is_fitted(self)
        if self._draws is None:
            shape = (self.n_draws, len(self.models_), len(self.tasks_))
            if np.prod(shape, dtype=float) > MOST_STORED:
                raise MemoryError(
                    f"{shape[0]} draws of {shape[1]} models on {shape[2]} tasks need "
                    f"{8e-9 * np.prod(shape, dtype=float):.3g} GB. Pass the estimator itself to "
                    "aggregate or rank_models, which process it in batches, or reduce n_draws."
                )
            values = np.concatenate([batch.values for batch in self.iter_draws()])
            self._draws = Draws(values, self.labels, self._draw_kind)
        return self._draws
