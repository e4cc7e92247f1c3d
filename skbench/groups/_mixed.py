"""What the mixed models share: models, topics and features of rows, and new groups."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_named, check_option, plain
from skbench._columns import FeatureTable, feature_columns, role_column
from skbench.groups._base import GroupEstimator
from skbench.stats import mixed
from skbench.stats.mixed import covariances


class MixedModel(GroupEstimator):
    """Base of `LogisticMixedModel` and `GaussianMixedModel`.

    A subclass has `_fit_codes(model, topic, correlation, factors)`, which returns a
    `skbench.stats.mixed.CrossedFit`, and documents the parameters.
    """

    _guarantee = "posterior"
    _watches_risk = True

    def __init__(
        self,
        model: str = "model",
        topic: str = "topic",
        *,
        item_correlation: ArrayLike | Literal["auto", "estimate"] | None = "auto",
        kernels: Literal["auto"] | Sequence[str] | None = None,
        calibration: Literal["risk"] | None = "risk",
        sampling_variance: float | None = None,
    ) -> None:
        self.model = model
        self.topic = topic
        self.item_correlation = item_correlation
        self.kernels = kernels
        self.calibration = calibration
        self.sampling_variance = sampling_variance

    def _fit(self, X, groups):
        self._learn(self._fit_codes(*self._codes(X, groups)))

    def _codes(self, X, groups):
        """Models and topics of the rows as numbers, correlation of errors, factors of kernels."""
        if self.calibration is not None:
            check_option("calibration", self.calibration, ("risk",))
        self.topics_, topic = self._topics(X, groups)
        self.models_, model = self._models(X)
        self._check_roles(X, groups, model, topic)
        if len(self.topics_) == 1:
            # One topic cannot tell models from their interaction with it: each row is a topic.
            self.models_, model = pd.Index([None]), np.zeros(len(X), dtype=int)
            self.topics_, topic = pd.RangeIndex(len(X)), np.arange(len(X))
        self.item_correlation_ = self._correlation(model, topic)
        self._table, factors = None, ()
        if self.kernels is not None:
            self._table, factors = self._learned_factors(X, model, topic)
        return model, topic, self.item_correlation_, factors

    def _learn(self, result):
        """Keep what was found."""
        self._result = result
        self.calibration_ = 1.0 if self.calibration is None else self._result.risk_ratio
        self.topic_variance_ = self._result.topic_variance
        self.interaction_variance_ = self._result.interaction_variance
        self.kernel_variances_ = self._result.factor_variances
        effects = self._result.coefficients[: len(self.models_)]
        self.model_effects_ = pd.Series(effects, index=self.models_)

    @property
    def _reads_correlation(self):
        return isinstance(self.item_correlation, str)

    def _models(self, X):
        self._model_column = role_column(X, self.model)
        if self._model_column is None:
            return pd.Index([None]), np.zeros(len(X), dtype=int)
        codes, names = pd.factorize(_named(X, self._model_column), sort=True)
        return pd.Index(names), codes

    def _topics(self, X, groups):
        if groups is not None and isinstance(X, pd.DataFrame):
            self._topic_column = _column_of(X, groups)
        else:
            self._topic_column = role_column(X, self.topic)
        if groups is None and self._topic_column is not None:
            groups = _named(X, self._topic_column)
        if groups is None:
            return pd.RangeIndex(len(X)), np.arange(len(X))
        codes, names = pd.factorize(np.asarray(groups), sort=True)
        return pd.Index(names), codes

    def _check_roles(self, X, groups, model, topic):
        """Refuse topics whose rows no column tells apart, and warn where topics are missing."""
        repeats = pd.Series(topic).duplicated().to_numpy()
        if self.model is not None and self._model_column is None and repeats.any():
            first = plain(self.topics_[topic[np.argmax(repeats)]])
            raise ValueError(
                f"Several rows stand on topic {first!r}, but X has no column {self.model!r} that "
                "says which model each is of. Pass its name as model=..., in a DataFrame; or "
                "model=None if all rows are of one model."
            )
        nameless = groups is None and self._topic_column is None and self.topic is not None
        if nameless and pd.Series(model).duplicated().any():
            also = "" if self._model_column is not None else f" and no column {self.model!r}"
            warnings.warn(
                f"X has no column {self.topic!r}{also}: each row is taken as a topic of its own"
                f"{', all of one model' if also else ''}. Pass the names as topic=... and "
                "model=..., or None to confirm it.",
                stacklevel=5,
            )

    def _correlation(self, model, topic):
        """Correlation of errors between the fitted models, None where errors are independent."""
        given = self.item_correlation
        if isinstance(given, str):
            check_option("item_correlation", given, ("auto", "estimate"))
            known = self.sampling_.item_correlation
            if given == "estimate" and known is None:
                raise ValueError(
                    'item_correlation="estimate" needs item rows, and sampling knows nothing of '
                    "them. Pass that of summarize_items(...), or the correlation itself: "
                    "item_correlation(items, ...)."
                )
            given = known
        if given is None or len(self.models_) == 1:
            return None
        _refuse_repeated_models(model, topic, self.models_, self.topics_)
        return correlation_matrix(given, self.models_)

    def _learned_factors(self, X, model, topic):
        """Features as numbers, and the factors of their kernels; nothing where none varies."""
        if isinstance(self.kernels, str):
            check_option("kernels", self.kernels, ("auto",))
            columns = feature_columns(X, [self._model_column, self._topic_column], topic)
        else:
            columns = list(self.kernels)
        if not columns:
            return None, ()
        table = FeatureTable(X, columns)
        features = table.numbers(X)
        self._basis = covariances.feature_basis(features)
        factors = covariances.feature_factors(self._basis, features, model, len(self.models_))
        return (table, factors) if factors[0].shape[1] else (None, ())

    def _mixture_ends(self, confidence_level):
        """Interval ends of the fitted groups, on the scale of the model."""
        fit = self._result
        return self._ends_of(fit.components, fit.unlike_peers, confidence_level)[0]

    def _ends_of(self, parts, unlike, confidence_level):
        """Ends of mixtures, widened around their means, and the moments of these."""
        return widened_ends(parts, unlike, self.calibration_, confidence_level)

    def _unlike_peers(self):
        return self._result.unlike_peers

    def _prior(self, X):
        """Mean and variance of new groups, as model, topic and features predict them."""
        fit, n_models = self._result, len(self.models_)
        model = self._positions(X, self._model_column, self.models_)
        topic = self._positions(X, self._topic_column, self.topics_)
        own_model = np.equal.outer(model, np.arange(n_models))
        design = np.where(model[:, None] >= 0, own_model, 1 / n_models)
        variance = self._new_model_variance() * (model < 0) + fit.interaction_variance
        if self._table is not None:
            features = self._table.numbers(X)
            factors = covariances.feature_factors(self._basis, features, model, n_models)
            design = np.concatenate([design, *factors], axis=1)
            variance = variance + self._unseen_variance(factors, model)
        known = np.sum((design @ fit.coefficient_covariance) * design, axis=1)
        topic_mean = np.append(fit.topic_mean, 0.0)[topic]
        topic_variance = np.append(fit.topic_mean_variance, fit.topic_variance)[topic]
        return design @ fit.coefficients + topic_mean, known + variance + topic_variance

    def _unseen_variance(self, factors, model):
        """Prior variance of features, and of models, that no coefficient stands for."""
        smooth, linear, *_ = factors
        variance = self.kernel_variances_[0] * np.maximum(0, 1 - np.sum(smooth**2, axis=1))
        if len(factors) == 3:
            variance += self.kernel_variances_[2] * np.sum(linear**2, axis=1) * (model < 0)
        return variance

    def _positions(self, X, column, names):
        """Position of each row's level among those fitted, -1 where it is new."""
        if isinstance(X, pd.DataFrame) and column in X.columns:
            return names.get_indexer(pd.Index(_named(X, column)))
        return np.zeros(len(X), dtype=int) if len(names) == 1 else np.full(len(X), -1)

    def _new_model_variance(self):
        """Variance of the effect of a model that was not fitted, around their mean."""
        effects = self.model_effects_.to_numpy()
        spread = (
            np.var(effects, ddof=1)
            if len(effects) > 1
            else self._result.coefficient_covariance[0, 0]
        )
        return spread * (1 + 1 / len(effects))


def widened_ends(parts, unlike, factor, confidence_level):
    """Ends of mixtures of two parts, their variances times a factor, and their moments."""
    whole = mixed.mixture_moments(parts, np.stack([1 - unlike, unlike]))
    ends = np.array(mixed.mixture_interval(parts, unlike, confidence_level))
    return whole.mean + np.sqrt(factor) * (ends - whole.mean), whole


def _named(X, column):
    """A column of models or topics, none of which is missing."""
    check_named(f"Column {column!r} of X", X[column], X.index)
    return X[column]


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
    if len(np.unique(topic * len(models) + model)) == len(topic):
        return
    pairs = pd.DataFrame({"model": model, "topic": topic})
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
