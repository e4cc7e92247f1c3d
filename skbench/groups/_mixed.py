"""What the mixed models share: models, topics and features of rows, and new groups."""

import numpy as np
import pandas as pd

from skbench._checks import check_option
from skbench.groups._base import GroupEstimator
from skbench.stats import covariances, mixed


class MixedModel(GroupEstimator):
    """Base of `LogisticMixedModel` and `GaussianMixedModel`.

    A subclass has `_fit_codes(model, topic, correlation, kernels)`, which returns a
    `skbench.stats.mixed.CrossedFit`.
    """

    def _fit(self, X, groups):
        if self.calibration is not None:
            check_option("calibration", self.calibration, ("risk",))
        self.models_, model = self._models(X)
        self.topics_, topic = self._topics(X, groups)
        if len(self.topics_) == 1:
            # One topic cannot tell models from their interaction with it: each row is a topic.
            self.models_, model = pd.Index([None]), np.zeros(len(X), dtype=int)
            self.topics_, topic = pd.RangeIndex(len(X)), np.arange(len(X))
        self.item_correlation_ = self._correlation(X, model, topic)
        self._model, self._topic = model, topic
        self._columns = self._feature_columns(X)
        self._features, kernels = None, None
        if self._columns:
            self._features = features_of(X, self._columns)
            kernels = self._feature_kernels(self._features, model)
        self._result = self._fit_codes(model, topic, self.item_correlation_, kernels)
        self.calibration_ = 1.0 if self.calibration is None else self._result.risk_ratio
        self.topic_variance_ = self._result.topic_variance
        self.interaction_variance_ = self._result.interaction_variance
        self.kernel_variances_ = self._result.kernel_variances
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
            if groups is None and self.topic in X.columns:
                groups = X[self.topic]
        if groups is None:
            return pd.RangeIndex(len(X)), np.arange(len(X))
        codes, names = pd.factorize(np.asarray(groups), sort=True)
        return pd.Index(names), codes

    def _correlation(self, X, model, topic):
        """Correlation of errors between the fitted models, None where errors are independent."""
        given = self.item_correlation
        if isinstance(given, str):
            check_option("item_correlation", given, ("auto", "estimate"))
            travelling = X.attrs.get("item_correlation") if isinstance(X, pd.DataFrame) else None
            if given == "estimate" and travelling is None:
                raise ValueError(
                    'item_correlation="estimate" needs item rows, and X carries nothing of them. '
                    "Pass the X of summarize_items(...).fit_args, or the correlation itself: "
                    "item_correlation(items, ...)."
                )
            given = None if travelling is None else pd.DataFrame(travelling)
        if given is None or len(self.models_) == 1:
            return None
        _refuse_repeated_models(model, topic, self.models_, self.topics_)
        return correlation_matrix(given, self.models_)

    def _feature_columns(self, X):
        """Names, or positions, of the columns that kernels go by."""
        if self.kernels is None:
            return []
        if not isinstance(self.kernels, str):
            return list(self.kernels)
        check_option("kernels", self.kernels, ("auto",))
        if not isinstance(X, pd.DataFrame):
            return list(range(X.shape[1]))
        others = X.columns.difference([self.model, self._topic_column], sort=False)
        return [c for c in others if pd.api.types.is_numeric_dtype(X[c])]

    def _feature_kernels(self, features, model):
        same_model = np.equal.outer(model, self._model)
        return covariances.feature_kernels(features, self._features, self._features, same_model)

    def _prior(self, X):
        """Mean and variance of new groups, as model, topic and features predict them."""
        fit = self._result
        model = self._positions(X, self.model, self.models_)
        topic = self._positions(X, self._topic_column, self.topics_)
        new_effect = self._new_model_variance() * (model < 0)
        if self._columns:
            mean, variance = self._prior_by_kernels(X, model, topic)
            return mean, variance + new_effect
        known = np.append(np.diag(fit.model_covariance), 0.0)
        effect = np.append(fit.model_mean, fit.model_mean.mean())
        topic_mean, topic_variance = np.zeros(len(X)), np.full(len(X), fit.topic_variance)
        if len(fit.topic_mean) == len(self.topics_) and fit.topic_variance > 0:
            topic_mean = np.append(fit.topic_mean, 0.0)[topic]
            topic_variance = np.append(fit.topic_mean_variance, fit.topic_variance)[topic]
        variance = known[model] + new_effect + topic_variance + fit.interaction_variance
        return effect[model] + topic_mean, variance

    def _prior_by_kernels(self, X, model, topic):
        fit = self._result
        features = features_of(X, self._columns)
        kernels = self._feature_kernels(features, model)
        weights = fit.kernel_variances
        same_topic = np.equal.outer(topic, self._topic)
        cross = np.tensordot(weights, kernels, axes=1) + fit.topic_variance * same_topic
        own = covariances.feature_kernels(features, features, self._features, np.eye(len(X)) > 0)
        own = np.tensordot(weights, np.diagonal(own, axis1=1, axis2=2), axes=1)
        own = own + fit.topic_variance + fit.interaction_variance
        n_models = len(self.models_)
        design = np.where(
            model[:, None] >= 0, np.equal.outer(model, np.arange(n_models)), 1 / n_models
        )
        return mixed.predicted(fit, cross, own, design)

    def _positions(self, X, column, names):
        """Position of each row's level among those fitted, -1 where it is new."""
        if isinstance(X, pd.DataFrame) and column in X.columns:
            return names.get_indexer(pd.Index(X[column]))
        return np.zeros(len(X), dtype=int) if len(names) == 1 else np.full(len(X), -1)

    def _new_model_variance(self):
        """Variance of the effect of a model that was not fitted, around their mean."""
        effects = self._result.model_mean
        spread = (
            np.var(effects, ddof=1) if len(effects) > 1 else self._result.model_covariance[0, 0]
        )
        return spread * (1 + 1 / len(effects))


def features_of(X, columns):
    """Columns of features as a float array."""
    if not isinstance(X, pd.DataFrame):
        return np.asarray(X, dtype=float)[:, columns]
    missing = [name for name in columns if name not in X.columns]
    if missing:
        raise ValueError(
            f"kernels names column {missing[0]!r}, which X lacks. "
            f"Its columns are: {', '.join(map(str, X.columns))}."
        )
    for name in columns:
        numeric = pd.api.types.is_numeric_dtype(X[name])
        if not numeric or not np.all(np.isfinite(X[name].to_numpy(dtype=float))):
            raise ValueError(
                f"kernels needs finite numbers, but column {name!r} has others. "
                "Impute or encode it, or leave it out of kernels."
            )
    return X[columns].to_numpy(dtype=float)


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


def _refuse_repeated_models(model, topic, models, topics):
    pairs = pd.DataFrame({"model": model, "topic": topic})
    if pairs.duplicated().any():
        first = pairs[pairs.duplicated()].iloc[0]
        raise ValueError(
            f"Model {models[first['model']]} occurs more than once in topic "
            f"{topics[first['topic']]}, so it is not known which groups share items. "
            "Pass as groups what shares items, or item_correlation=None."
        )


def _column_of(X, groups):
    """Name of the column of X that holds the topics, if there is one."""
    wanted = np.asarray(groups).astype(str)
    for name in X.columns:
        if np.array_equal(X[name].astype(str).to_numpy(), wanted):
            return name
    return None
