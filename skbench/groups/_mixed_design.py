"""Models, topics and features of the rows of a table, as a mixed model needs them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from skbench._checks import check_named, check_option, plain
from skbench._columns import FeatureTable, feature_columns, role_column
from skbench.stats import mixed
from skbench.stats.mixed import covariances

_DEFAULTS = {"model": "model", "topic": "topic"}


class MixedDesign:
    """Which model, topic and features each row has; rows sorted by topic and model.

    Parameters
    ----------
    estimator : MixedModel
        Whose parameters, labels and sampling are read.
    X : DataFrame or ndarray of shape (n_groups, n_features)
    groups : ndarray of shape (n_groups,) or None

    Attributes
    ----------
    models, topics : Index
    effects : skbench.stats.mixed.Design
    """

    def __init__(self, estimator, X, groups):
        self._columns = {role: _column_of(X, role, getattr(estimator, role)) for role in _DEFAULTS}
        self.topics, topic = self._fitted_topics(X, groups, estimator)
        self.models, model = self._fitted_models(X)
        self._check_pairs(estimator, X, groups, model, topic)
        if len(self.topics) == 1:
            # One topic cannot tell models from their interaction with it: each row is a topic.
            self.models, model = pd.Index([None]), np.zeros(len(X), dtype=int)
            self.topics, topic = pd.RangeIndex(len(X)), np.arange(len(X))
        n_models = len(self.models)
        own_share, self._shared = np.ones(n_models), np.zeros((n_models, 0))
        correlation = estimator.sampling_.item_correlation
        if correlation is not None and n_models > 1:
            matrix = correlation_matrix(correlation, self.models)
            own_share, self._shared = covariances.shared_factors(matrix)
        self._table, factors = self._learned_factors(estimator.kernels, X, model, topic)
        columns = [np.equal.outer(model, np.arange(n_models)), *factors]
        batches = [np.full(part.shape[1], number - 1) for number, part in enumerate(columns)]
        self._order = np.lexsort((model, topic))
        self.effects = mixed.Design(
            topic[self._order],
            n_models > 1 and len(self.topics) < len(X),
            np.concatenate(columns, axis=1)[self._order].astype(float),
            np.concatenate(batches),
            self._shared[model[self._order]],
            own_share[model[self._order]],
        )

    def sorted(self, *columns):
        """Values of the groups in the order of `effects`."""
        return [None if column is None else column[self._order] for column in columns]

    def unsorted(self, values):
        """Values of the groups, on the last axis, in the order of the rows."""
        found = np.empty_like(values)
        found[..., self._order] = values
        return found

    def _fitted_models(self, X):
        column = self._columns["model"]
        if column is None:
            return pd.Index([None]), np.zeros(len(X), dtype=int)
        codes, names = pd.factorize(_named(X, column), sort=True)
        return pd.Index(names), codes

    def _fitted_topics(self, X, groups, estimator):
        column = self._columns["topic"]
        if column is not None:
            names = _named(X, column)
            if groups is not None:
                _refuse_contradiction(names, groups, column)
        elif groups is not None:
            names = np.asarray(groups)
        else:
            names = estimator.labels_
            if names.has_duplicates:
                return pd.RangeIndex(len(X)), np.arange(len(X))
        codes, levels = pd.factorize(names, sort=True)
        return pd.Index(levels), codes

    def _check_pairs(self, estimator, X, groups, model, topic):
        """Refuse models that occur twice in a topic, and warn where topics are missing."""
        pairs = pd.DataFrame({"model": model, "topic": topic})
        if pairs.duplicated().any():
            first = pairs[pairs.duplicated()].iloc[0]
            name, where = plain(self.models[first["model"]]), plain(self.topics[first["topic"]])
            whose = f"Model {name!r} occurs" if name is not None else "Rows occur"
            raise ValueError(
                f"{whose} more than once in topic {where!r}, so groups are made by more than model "
                f"and topic (by prompt or language?), or X has no column {estimator.model!r} of "
                "models. Name the column as model=..., make one model of each combination, or pass "
                "topic=None and no groups if every row is a topic of its own."
            )
        unknown = groups is None and self._columns["topic"] is None
        if unknown and estimator.topic is not None and pairs["model"].duplicated().any():
            several = self._columns["model"] is not None
            if several:
                warnings.warn(
                    f"X has no column {estimator.topic!r}, and groups was not given: each row is "
                    "taken as a topic of its own, and models of one topic teach each other nothing. "
                    "Pass topic=..., or topic=None to confirm it.",
                    stacklevel=6,
                )

    def _learned_factors(self, kernels, X, model, topic):
        """Features as numbers, and the factors of their kernels; nothing where none varies."""
        if isinstance(kernels, str):
            check_option("kernels", kernels, ("auto",))
            columns = feature_columns(X, list(self._columns.values()), topic)
        else:
            columns = list(kernels or ())
        if not columns:
            return None, ()
        table = FeatureTable(X, columns)
        features = table.numbers(X)
        self._basis = covariances.feature_basis(features)
        factors = covariances.feature_factors(self._basis, features, model, len(self.models))
        return (table, factors) if factors[0].shape[1] else (None, ())

    def of_new(self, X):
        """Columns, topics, factors of errors and unseen kernels of new rows.

        Returns
        -------
        Z, topic, shared, new_model, unseen
            As `skbench.stats.mixed.new_groups` takes them.
        """
        model = self._positions(X, "model", self.models)
        topic = self._positions(X, "topic", self.topics)
        new = model < 0
        own = np.equal.outer(model, np.arange(len(self.models)))
        Z = np.where(new[:, None], 1 / len(self.models), own)
        factors = []
        if self._table is not None:
            features = self._table.numbers(X)
            factors = covariances.feature_factors(self._basis, features, model, len(self.models))
        typical = np.sqrt(np.mean(self._shared**2, axis=0))
        shared = np.where(new[:, None], typical, self._shared[model])
        # What the smooth kernel's columns leave, and a new model's own slopes.
        unseen = np.zeros((len(X), len(factors)))
        if factors:
            unseen[:, 0] = np.maximum(0, 1 - np.sum(factors[0] ** 2, axis=1))
        if len(factors) == 3:
            unseen[:, 2] = new * np.sum(factors[1] ** 2, axis=1)
        return np.concatenate([Z, *factors], axis=1), topic, shared, new, unseen

    def _positions(self, X, role, names):
        """Position of each row's level among those fitted, -1 where it is new."""
        column = self._columns[role]
        if isinstance(X, pd.DataFrame) and column in X.columns:
            return names.get_indexer(pd.Index(_named(X, column)))
        return np.zeros(len(X), dtype=int) if len(names) == 1 else np.full(len(X), -1)


def _column_of(X, role, name):
    """Column of X that plays a role; None where it is the default, and X has no such column."""
    column = role_column(X, name)
    if column is None and name not in (None, _DEFAULTS[role]):
        there = list(X.columns) if isinstance(X, pd.DataFrame) else "an array without names"
        raise ValueError(
            f"{role}={name!r} names a column that X lacks. X has {there}. Pass the name of a "
            f"column, or {role}=None."
        )
    return column


def _named(X, column):
    """A column of models or topics, none of which is missing."""
    check_named(f"Column {column!r} of X", X[column], X.index)
    return X[column]


def _refuse_contradiction(names, groups, column):
    pairs = pd.DataFrame({"topic": np.asarray(names), "group": np.asarray(groups)})
    pairs = pairs.astype(str).drop_duplicates()
    if pairs["topic"].is_unique and pairs["group"].is_unique:
        return
    first = pairs[pairs["topic"].duplicated(keep=False) | pairs["group"].duplicated(keep=False)]
    topic, group = first.iloc[0]
    raise ValueError(
        f"groups contradict column {column!r} of X: a row of topic {topic!r} has group {group!r}, "
        f"but they do not always go together. Pass groups=X[{column!r}], or name the column of "
        "the topics as topic=..."
    )


def correlation_matrix(given, models):
    """A correlation of errors between models as an array, in the order of `models`."""
    missing = models.difference(given.index.intersection(given.columns))
    if len(missing):
        raise ValueError(
            f"item_correlation has no row and column for model {missing[0]!r}. "
            "Estimate it from item rows of all models."
        )
    matrix = given.loc[models, models].to_numpy(dtype=float)
    proper = np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1)
    if not proper or np.linalg.eigvalsh(matrix).min() < -1e-8:
        raise ValueError(
            "item_correlation must be a correlation matrix: symmetric, ones on the diagonal, "
            "no negative eigenvalue. item_correlation(items, ...) gives one."
        )
    return matrix
