"""Properties of scores for `Sampling`: variances, range, correlation of models on shared items."""

import numpy as np
import pandas as pd

from skbench.items.ranges import bounds_of
from skbench.stats.clusters.item_correlation import correlation_of_products
from skbench.summaries._item_correlation import products_of
from skbench.summaries._variance_noise import noise_of_variances, powers_of_distances


class ErrorSums:
    """Sums over slices of rows. Each slice has whole topics."""

    def __init__(self, roles, labels, noisy, cluster_weight, bounds):
        self.by, self.score, self.model, self.key, self.units = roles
        self.models = None
        if self.model in self.by:
            names = labels.get_level_values(self.model)
            self.models = pd.Index(pd.factorize(names, sort=True)[1], name=self.model)
        self.noisy, self.cluster_weight, self.bounds = noisy, cluster_weight, bounds
        self.products, self.powers, self.ends = None, [], []

    def add(self, rows, shared):
        shared = shared and self.models is not None
        scores = rows.checked([], self.score) if self.noisy or shared else None
        if self.noisy:
            settings = self.by, self.score, self.units, self.cluster_weight
            self.powers.append(powers_of_distances(rows.frame, *settings))
            bounds_of(scores, given=self.bounds)
            self.ends += [scores.min(), scores.max(), scores[np.argmax(scores % 1 != 0)]]
        if shared:
            self._add_products(rows, scores)

    def _add_products(self, rows, scores):
        topic = [name for name in self.by if name != self.model]
        if self.products is None:
            self.products = np.zeros((3, len(self.models), len(self.models)))
        place = self.models.get_indexer(rows.values(self.model))
        found = products_of(rows, scores, self.model, topic, self.key, self.units)
        self.products[:, place[:, None], place] += found

    def item_correlation(self):
        if self.products is None:
            return None
        return pd.DataFrame(correlation_of_products(self.products), self.models, self.models)

    def variance_noise(self, sigma2, n_independent, variance):
        if not self.noisy:
            return None
        return noise_of_variances(self.powers, self.by, sigma2, n_independent, variance)

    def range(self):
        return bounds_of(np.array(self.ends), given=self.bounds) if self.noisy else None
