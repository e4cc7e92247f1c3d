"""Rows of (model, topic) arranged as one block per topic, and back."""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed._design import design_of

_DENSE = 0.5  # filled share of the table from which blocks are indexed by the model itself


class Layout(NamedTuple):
    """Where each row stands: block, slot in the block; model of each slot, -1 where empty.

    `aligned` says that slot and model are the same.
    """

    block: np.ndarray
    slot: np.ndarray
    slot_model: np.ndarray
    n_models: int
    aligned: bool

    def blocks(self, values):
        """A value, or several, per row as an array of shape (n_blocks, B, ...), 0 where empty."""
        values = np.asarray(values, dtype=float)
        table = np.zeros(self.slot_model.shape + values.shape[1:])
        table[self.block, self.slot] = values
        return table

    def rows(self, table):
        """The entries of blocks that belong to rows."""
        return table[..., self.block, self.slot]

    def design(self, columns):
        """Indicators of the model in each slot, then the columns of each row."""
        indicators = (self.slot_model[:, :, None] == np.arange(self.n_models)).astype(float)
        filled = np.zeros(self.slot_model.shape, dtype=bool)
        filled[self.block, self.slot] = True
        return design_of(indicators, self.blocks(columns), filled)

    def correlation(self, item_correlation):
        """Correlation of the errors in each block, of shape (n_blocks or 1, B, B)."""
        if item_correlation is None or self.aligned:
            return item_correlation if item_correlation is None else item_correlation[None]
        first, second = self.slot_model[:, :, None], self.slot_model[:, None, :]
        between = (first >= 0) & (second >= 0) & (first != second)
        correlation = np.where(between, item_correlation[first, second], 0.0)
        diagonal = np.arange(self.slot_model.shape[1])
        correlation[:, diagonal, diagonal] = 1.0
        return correlation


def layout(model, topic):
    """Arrange rows by topic.

    Parameters
    ----------
    model, topic : ndarray of int of shape (n_groups,)
        Codes from 0 without gaps.

    Returns
    -------
    Layout
    """
    n_models, n_topics = model.max() + 1, topic.max() + 1
    pairs = topic * n_models + model
    crossed = len(np.unique(pairs)) == len(pairs)
    if crossed and len(pairs) >= _DENSE * n_models * n_topics:
        slot_model = np.broadcast_to(np.arange(n_models), (n_topics, n_models))
        return Layout(topic, model, slot_model, n_models, True)
    order = np.lexsort((model, topic))
    sizes = np.bincount(topic)
    slot = np.empty(len(topic), dtype=int)
    slot[order] = np.arange(len(topic)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slot_model = np.full((n_topics, sizes.max()), -1)
    slot_model[topic, slot] = model
    return Layout(topic, slot, slot_model, n_models, False)
