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
        model, n_models = self._named_models.codes, len(self.models.names)
        columns = np.equal.outer(self.models.codes, np.arange(n_models))
        batches = [columns, *self._factors(X, self.models.codes)]
        numbers = [np.full(batch.shape[1], number) for number, batch in enumerate(batches)]
        self._order = np.lexsort((model, self.topics.codes))
        self.effects = mixed.Design(
            self.topics.codes[self._order],
            n_models > 1 and len(self.topics.names) < len(X),
            np.concatenate(batches, axis=1)[self._order].astype(float),
            np.concatenate(numbers),
            self._shared[model[self._order]],
            own_share[model[self._order]],
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

    def _factors(self, X, model):
        """Columns of the kernels for some rows; none where there are no features."""
        return self._kernels.factors(self._table.numbers(X), model)

    def sorted(self, *columns):
        """Values of the groups in the order of `effects`."""
        return [None if column is None else column[self._order] for column in columns]

    def in_order(self, values):
        """Values of the groups, on the last axis, in the order of `effects`."""
        return values[..., self._order]

    def unsorted(self, values):
        """Values of the groups, on the last axis, in the order of the rows."""
        found = np.empty_like(values)
        found[..., self._order] = values
        return found

    def of_new(self, X):
        """Coefficients, topics, factors of errors, new models and unseen kernels of new rows."""
        model, topic = self.models.positions(X), self.topics.positions(X)
        new, n_models = model < 0, len(self.models.names)
        own = np.where(new[:, None], 1 / n_models, np.equal.outer(model, np.arange(n_models)))
        factors = self._factors(X, model)
        named = self._named_models.positions(X)
        shared = np.where((named < 0)[:, None], 0, self._shared[named])
        # What the columns of the smooth kernel leave, and a new model's own slopes.
        unseen = np.zeros((len(X), len(factors)))
        if factors:
            unseen[:, 0] = np.maximum(0, 1 - np.sum(factors[0] ** 2, axis=1))
        if len(factors) == 3:
            unseen[:, 2] = new * np.sum(factors[1] ** 2, axis=1)
        return np.concatenate([own, *factors], axis=1), topic, shared, new, unseen
