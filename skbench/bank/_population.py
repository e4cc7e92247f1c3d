"""All items of a benchmark, of which new models answered some."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import numbers_by_topic, plain, refuse_unknown_topics
from skbench.bank._rows import (
    nearly_known,
    positions_and_topics,
    refuse_unknown_items,
    rows_of,
    warn_of_unknown,
)


class Population(NamedTuple):
    """All items of a benchmark."""

    counts: np.ndarray  # (n_items,), 1 for items of the bank that belong to it, else 0
    beyond: np.ndarray  # (n_topics,), number of items that are not in the bank
    codes: np.ndarray  # (n_items,), topics of the items of the bank
    topics: list

    def sizes(self):
        """Number of items by topic."""
        return np.bincount(self.codes, self.counts, len(self.topics)) + self.beyond

    def belongs(self, fitted):
        """Whether each answered item belongs to the benchmark."""
        known = fitted.position >= 0
        return np.where(known, self.counts[fitted.position], self.beyond[fitted.topic] > 0) > 0

    def not_asked(self, fitted):
        """Unanswered items: a mask over the bank, and numbers by topic of items not in the bank."""
        left, known = self.counts > 0, fitted.position >= 0
        left[fitted.position[known]] = False
        asked = np.bincount(fitted.topic[~known], minlength=len(self.topics))
        return left, np.maximum(self.beyond - asked, 0).astype(int)


def population_of(estimator, population):
    """The `Population` for sizes by topic or a table of items."""
    bank = estimator.bank
    topics, whole = [*bank.topics_, *estimator._new_topics], np.ones(len(bank.items_))
    if population is None:
        return Population(whole, np.zeros(len(topics)), bank.topic_codes_, topics)
    if hasattr(population, "columns"):
        return _from_items(estimator, population, topics)
    sizes = numbers_by_topic("population", population)
    refuse_unknown_topics(sizes.index, topics)
    sizes = sizes.reindex(topics, fill_value=0).to_numpy()
    in_bank = np.bincount(bank.topic_codes_, minlength=len(topics))
    beyond = sizes - in_bank
    short = [("the bank has more:", in_bank, beyond < 0)]
    for name, fitted in estimator._fits.items():
        asked = np.bincount(fitted.topic[fitted.position < 0], minlength=len(topics))
        short.append(
            (
                f"model {name!r} answered more items that are not in the bank:",
                asked,
                (0 < beyond) & (beyond < asked),
            )
        )
    for what, n, bad in short:
        if bad.any():
            first = int(np.argmax(bad))
            raise ValueError(
                f"population has {sizes[first]:g} items of topic {plain(topics[first])!r}, but "
                f"{what} {n[first]}. If the benchmark has only some items of the bank, pass a "
                "table of its items (columns topic and item)."
            )
    return Population(whole, beyond, bank.topic_codes_, topics)


def _from_items(estimator, items, topics):
    """The `Population` for a table of items."""
    items = rows_of(items, "population", estimator.item, estimator.topic)
    if items.empty:
        raise ValueError("population has no rows. Pass one row per item, or numbers by topic.")
    items = items.drop_duplicates([c for c in (estimator.topic, estimator.item) if c in items])
    position, code, new = positions_and_topics(
        estimator.bank, items, estimator.topic, estimator.item
    )
    refuse_unknown_topics(new, topics)
    ids, beyond = items[estimator.item].to_numpy(), position < 0
    if beyond.all() and nearly_known(estimator.bank, ids):
        refuse_unknown_items(estimator.bank, ids, "population", "")
    warn_of_unknown(estimator.bank, ids, position, "rows of population", "They count as new items")
    code = pd.Index(topics).get_indexer([*estimator.bank.topics_, *new])[code]
    counts = np.zeros(len(estimator.bank.items_))
    counts[position[position >= 0]] = 1
    beyond = np.bincount(code[beyond], minlength=len(topics)).astype(float)
    return Population(counts, beyond, estimator.bank.topic_codes_, topics)
