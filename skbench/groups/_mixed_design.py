"""Models, topics and features of the rows of a table, as a mixed model needs them."""

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench._columns import FeatureTable, Levels, feature_columns, named_column, refuse_unreadable
from skbench._warnings import warn
from skbench.stats import mixed
from skbench.stats.clusters.item_correlation import shared_factors
from skbench.stats.mixed.covariances import FeatureKernels


class MixedDesign:
    """Which model, topic and features each row has; sorted by topic and model for the fit."""

    def __init__(self, estimator, X, groups):
        self._named_models = Levels(X, named_column(X, estimator.model, "model"))
        column = named_column(X, estimator.topic, "topic")
        rows = estimator.labels_ if estimator.labels_.is_unique else np.arange(len(X))
        self.topics = Levels(X, column, rows if groups is None else groups)
        self._check(estimator, groups)
        # A row each cannot tell models from their interaction with topics: they have a common mean.
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
                f"Several rows have model {model!r} and topic {topic!r}: groups are made by more "
                "than model and topic (by prompt or language?), or X has no column "
                f"{estimator.model!r}. Pass its name as model=..., make one topic or model of each "
                "combination, or pass topic=None and no groups if every row is a topic of its own."
            )
        unknown = groups is None and self.topics.column is None and estimator.topic is not None
        repeated = self._named_models.column is not None and pairs["model"].duplicated().any()
        if unknown and (repeated or estimator.sampling_.items_shared):
            warn(
                f"X has no column {estimator.topic!r}, and groups was not given: each row is taken "
                "as a topic of its own, and models of one topic teach each other nothing. Pass "
                "topic=..., or topic=None to confirm it."
            )

    def _learned_kernels(self, kernels, X):
        """Which columns are features, and the kernels of these."""
        columns = [] if kernels is None else kernels
        if isinstance(columns, str):
            refuse_unreadable(X)
            names = [self._named_models.column, self.topics.column]
            columns = feature_columns(X, names, self.topics.codes)
        self._table = FeatureTable(X, list(columns))
        self._kernels = FeatureKernels(self._table.numbers(X), len(self.models.names))

    def _factors(self, X):
        """Columns of the kernels for some rows; none where there are no features."""
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
        """Rows of new groups, and how much of each kernel no coefficient stands for."""
        model, topic = self.models.positions(X), self.topics.positions(X)
        named, factors = self._named_models.positions(X), self._factors(X)
        shared = np.where((named < 0)[:, None], 0, self._shared[named])
        own, common, _ = _columns(factors, len(X))
        own[model < 0, 1:] = 0
        # What the columns of the smooth kernel leave, and a new model's own slopes.
        unseen = np.zeros((len(X), len(factors)))
        if factors:
            unseen[:, 0] = np.maximum(0, 1 - np.sum(factors[0] ** 2, axis=1))
        if len(factors) == 3:
            unseen[:, 2] = (model < 0) * np.sum(factors[1] ** 2, axis=1)
        return mixed.Rows(topic, shared, model, own, common), unseen


def _columns(factors, n_rows):
    """Columns of each model's own, common ones, and the batch of each; as in `mixed.Design`."""
    own, common = [np.ones((n_rows, 1)), *factors[2:]], factors[:2] or [np.empty((n_rows, 0))]
    sizes = [part.shape[1] for part in own + common]
    batch = np.repeat([0, 3][: len(own)] + [1, 2][: len(common)], sizes)
    return np.concatenate(own, axis=1), np.concatenate(common, axis=1), batch
