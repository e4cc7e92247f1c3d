"""What the mixed models share: which row is which model and topic, new groups."""

import numpy as np
import pandas as pd

from skbench._checks import check_option
from skbench.groups._base import GroupEstimator


class MixedModel(GroupEstimator):
    """Base of `LogisticMixedModel` and `GaussianMixedModel`.

    A subclass has `_fit_codes(model, topic, correlation)`, which returns a
    `skbench.stats.mixed.CrossedFit`.
    """

    def _fit(self, X, groups):
        self.models_, model = self._models(X)
        self.topics_, topic = self._topics(X, groups)
        if len(self.topics_) == 1:
            # One topic cannot tell models from their interaction with it: each row is a topic.
            self.models_, model = pd.Index([None]), np.zeros(len(X), dtype=int)
            self.topics_, topic = pd.RangeIndex(len(X)), np.arange(len(X))
        self.item_correlation_ = self._correlation(X)
        self._result = self._fit_codes(model, topic, self.item_correlation_)
        self.topic_variance_ = self._result.topic_variance
        self.interaction_variance_ = self._result.interaction_variance
        self.model_effects_ = pd.Series(self._result.model_mean, index=self.models_)

    def _models(self, X):
        if isinstance(X, pd.DataFrame) and self.model in X.columns:
            codes, names = pd.factorize(X[self.model], sort=True)
            return pd.Index(names), codes
        return pd.Index([None]), np.zeros(len(X), dtype=int)

    def _topics(self, X, groups):
        self._topic_column = None
        if isinstance(X, pd.DataFrame):
            self._topic_column = _column_of(X, groups) if groups is not None else self.topic
        if groups is None and self._topic_column in getattr(X, "columns", ()):
            groups = X[self._topic_column]
        if groups is None:
            return pd.RangeIndex(len(X)), np.arange(len(X))
        codes, names = pd.factorize(np.asarray(groups), sort=True)
        return pd.Index(names), codes

    def _correlation(self, X):
        """Correlation of errors between the fitted models, None where errors are independent."""
        given = self.item_correlation
        travelling = X.attrs.get("item_correlation") if isinstance(X, pd.DataFrame) else None
        if isinstance(given, str):
            check_option("item_correlation", given, ("auto", "estimate"))
            if given == "estimate" and travelling is None:
                raise ValueError(
                    'item_correlation="estimate" needs item rows, and X carries nothing of them. '
                    "Pass the X of summarize_items(...).fit_args, or the correlation itself: "
                    "item_correlation(items, ...)."
                )
            given = travelling if travelling is None else pd.DataFrame(travelling)
        if given is None or len(self.models_) == 1:
            return None
        return correlation_matrix(given, self.models_)

    def _prior(self, X):
        """Mean and variance of new groups, as model and topic alone predict them."""
        fit = self._result
        known = self._positions(X, self.model, self.models_)
        effect, spread = self._new_model()
        mean = np.where(known >= 0, fit.model_mean[known], effect)
        variance = np.where(known >= 0, np.diag(fit.model_covariance)[known], spread)
        topic = self._positions(X, self._topic_column, self.topics_)
        mean = mean + np.where(topic >= 0, fit.topic_mean[topic], 0.0)
        return mean, variance + fit.topic_variance + fit.interaction_variance

    def _positions(self, X, column, names):
        """Position of each row's level among those fitted, -1 where it is new."""
        if isinstance(X, pd.DataFrame) and column in X.columns:
            return names.get_indexer(pd.Index(X[column]))
        return np.zeros(len(X), dtype=int) if len(names) == 1 else np.full(len(X), -1)

    def _new_model(self):
        """Mean and variance of the effect of a model that was not fitted."""
        effects = self._result.model_mean
        spread = (
            np.var(effects, ddof=1) if len(effects) > 1 else self._result.model_covariance[0, 0]
        )
        return effects.mean(), spread * (1 + 1 / len(effects))


def correlation_matrix(given, models):
    """A correlation of errors between models as an array, in the order of `models`."""
    if isinstance(given, pd.DataFrame):
        missing = models.difference(given.index.intersection(given.columns))
        if len(missing):
            raise ValueError(
                f"item_correlation has no row and column for model {missing[0]!r}. "
                "Estimate it from item rows of all models."
            )
        given = given.loc[models, models]
    matrix = np.asarray(given, dtype=float)
    if matrix.ndim == 0:
        matrix = np.where(np.eye(len(models), dtype=bool), 1.0, matrix)
    if matrix.shape != (len(models), len(models)):
        raise ValueError(
            f"item_correlation has shape {matrix.shape}, but there are {len(models)} models."
        )
    proper = np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1)
    if not proper or np.linalg.eigvalsh(matrix).min() < -1e-8:
        raise ValueError(
            "item_correlation must be a correlation matrix: symmetric, ones on the diagonal, "
            "no negative eigenvalue. item_correlation(items, ...) gives one."
        )
    return matrix


def _column_of(X, groups):
    """Name of the column of X that holds the topics, if there is one."""
    wanted = np.asarray(groups).astype(str)
    for name in X.columns:
        if np.array_equal(X[name].astype(str).to_numpy(), wanted):
            return name
    return None
