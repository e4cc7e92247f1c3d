"""The design of the mixed model: models, topics and features of each row."""

import numpy as np
import pandas as pd

from skbench._checks import are_counts, plain
from skbench._columns import FeatureTable, Levels, feature_columns, named_column, refuse_unreadable
from skbench._warnings import warn
from skbench.stats import mixed
from skbench.stats.clusters.item_correlation import shared_factors
from skbench.stats.mixed.covariances import FeatureKernels


class MixedDesign:
    """Model, topic and features of each row, sorted by topic and model for the fit."""

    def __init__(self, estimator, X, groups):
        self._named_models = Levels(X, named_column(X, estimator.model, "model"))
        column = named_column(X, estimator.topic, "topic")
        rows = estimator.labels_ if estimator.labels_.is_unique else np.arange(len(X))
        self.topics = Levels(X, column, rows if groups is None else groups)
        self._check(estimator, groups)
        # With one row per model, models and interactions are confounded: use a common mean.
        repeated = len(self._named_models.names) < len(X)
        self.models = self._named_models if repeated else Levels(X, None)
        self._learned_kernels(estimator.kernels, X)
        correlation = estimator.sampling_.correlation_of(self._named_models.names)
        own_share, self._shared = shared_factors(correlation)
        self._order = np.lexsort((self._named_models.codes, self.topics.codes))
        model = self._named_models.codes[self._order]
        own, common, batch = _columns(self._factors(X), len(X))
        self.effects = mixed.Design(
            self.topics.codes[self._order],
            len(self.models.names) > 1 and len(self.topics.names) < len(X),
            self.models.codes[self._order],
            own[self._order],
            common[self._order],
            batch,
            self._shared[model],
            own_share[model],
        )

    def _check(self, estimator, groups):
        """Refuse models that occur twice in a topic, and topics that contradict each other."""
        if groups is not None and self.topics.column is not None:
            self.topics.refuse_others(groups)
        pairs = pd.DataFrame({"model": self._named_models.codes, "topic": self.topics.codes})
        if pairs.duplicated().any():
            model, topic = pairs[pairs.duplicated()].iloc[0]
            model, topic = plain(self._named_models.names[model]), plain(self.topics.names[topic])
            raise ValueError(
                f"Several rows have model {model!r} and topic {topic!r}. MixedModel expects one "
                f"row per model and topic, with the models in column {estimator.model!r}. Pass "
                "model=... or topic=..., combine further factors (prompt, language) into the "
                "topic, or pass topic=None and no groups if every row is its own topic."
            )
        unknown = groups is None and self.topics.column is None and estimator.topic is not None
        repeated = self._named_models.column is not None and pairs["model"].duplicated().any()
        if unknown and (repeated or estimator.sampling_.items_shared):
            warn(
                f"X has no column {estimator.topic!r} and groups is missing, so each row counts as "
                "its own topic and models do not borrow strength on the same topic. Pass "
                "topic=..., or topic=None to confirm this."
            )

    def _learned_kernels(self, kernels, X):
        """Select the feature columns and build their kernels."""
        columns = [] if kernels is None else kernels
        if isinstance(columns, str):
            refuse_unreadable(X)
            names = [self._named_models.column, self.topics.column]
            columns = feature_columns(X, names, self.topics.codes)
        self._table = FeatureTable(X, list(columns))
        self._kernels = FeatureKernels(self._table.numbers(X), len(self.models.names))

    def _factors(self, X):
        """Kernel columns of some rows; none without features."""
        return self._kernels.factors(self._table.numbers(X))

    def sorted(self, *columns):
        """Values of the groups in the order of `effects`."""
        return [None if column is None else column[self._order] for column in columns]

    def in_order(self, values):
        """Values of the groups, on the last axis, in the order of `effects`."""
        return values[..., self._order]

    def unsorted(self, values):
        """Values of the groups, on the last axis, in the order of the rows."""
        return values.take(np.argsort(self._order), axis=-1)

    def of_new(self, X):
        """Rows of new groups, and the variance of each kernel that no fitted coefficient covers."""
        model, topic = self.models.positions(X), self.topics.positions(X)
        named, factors = self._named_models.positions(X), self._factors(X)
        shared = np.where((named < 0)[:, None], 0, self._shared[named])
        own, common, _ = _columns(factors, len(X))
        own[model < 0, 1:] = 0
        # The remainder of the smooth kernel, and the slopes of a new model.
        unseen = np.zeros((len(X), len(factors)))
        if factors:
            unseen[:, 0] = np.maximum(0, 1 - np.sum(factors[0] ** 2, axis=1))
        if len(factors) == 3:
            unseen[:, 2] = (model < 0) * np.sum(factors[1] ** 2, axis=1)
        return mixed.Rows(topic, shared, model, own, common), unseen


def _columns(factors, n_rows):
    """Columns within models, common columns, and the batch of each (see `mixed.Design`)."""
    own, common = [np.ones((n_rows, 1)), *factors[2:]], factors[:2] or [np.empty((n_rows, 0))]
    sizes = [part.shape[1] for part in own + common]
    batch = np.repeat([0, 3][: len(own)] + [1, 2][: len(common)], sizes)
    return np.concatenate(own, axis=1), np.concatenate(common, axis=1), batch


def require_counts(z, n):
    """Refuse direct estimates that are not shares of correct answers."""
    if not are_counts(z, n):
        raise ValueError(
            'family="binomial" needs n, direct estimates between 0 and 1, and a whole number of '
            'correct answers (z * n) in each group. Use family="gaussian" for other scores.'
        )
