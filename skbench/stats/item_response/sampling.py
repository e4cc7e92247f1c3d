"""Samples of items with known inclusion probabilities."""

import numpy as np


def allocate(n_items, sizes, weights):
    """Allocate items to topics in proportion to weights.

    Each topic gets at least two items, if there are enough in total.

    Parameters
    ----------
    n_items : int
        Total number of items.
    sizes : ndarray of shape (n_topics,)
        Number of available items by topic.
    weights : ndarray of shape (n_topics,)
        Weights of the topics.

    Returns
    -------
    ndarray of shape (n_topics,)
        Expected numbers of items, not necessarily whole. They are at most `sizes` and sum to
        `n_items`.

    Examples
    --------
    >>> allocate(10, np.array([100, 100, 3]), np.array([3.0, 1.0, 0.1])).round(2)
    array([6., 2., 2.])
    """
    floor = np.minimum(2, sizes).astype(float)
    if floor.sum() > n_items:
        floor = np.zeros(len(sizes))
    low, high = 0.0, n_items * 1.0 + sizes.max() * len(sizes)
    share = np.maximum(weights, 1e-12) / np.sum(weights)
    for _ in range(200):  # bisection of an increasing function
        middle = (low + high) / 2
        total = np.clip(middle * share, floor, sizes).sum()
        low, high = (middle, high) if total < n_items else (low, middle)
    return np.clip(high * share, floor, sizes)


def systematic_sample(size, n_items, rng):
    """Draw a systematic sample with probabilities proportional to size.

    Parameters
    ----------
    size : ndarray of shape (n,)
        Positive sizes of the units, in the order over which the sample is spread.
    n_items : int
        Number of units to draw.
    rng : numpy.random.Generator

    Returns
    -------
    taken : ndarray of int of shape (n_items,)
        Positions of the sampled units, in increasing order.
    probability : ndarray of shape (n,)
        Inclusion probabilities. They are 1 for units that are always sampled.

    Examples
    --------
    >>> taken, p = systematic_sample(np.ones(12), 3, np.random.default_rng(0))
    >>> np.diff(taken), p[0]
    (array([4, 4]), np.float64(0.25))
    """
    certain = np.zeros(len(size), dtype=bool)
    while True:
        left = n_items - certain.sum()
        total = size[~certain].sum()
        probability = np.where(certain, 1.0, left * size / total if left else 0.0)
        over = ~certain & (probability >= 1)
        if not over.any():
            break
        certain |= over
    ends = np.cumsum(np.where(certain, 0.0, probability))
    start = rng.random()
    steps = np.minimum(start + np.arange(left), ends[-1] * (1 - 1e-12))
    # Each step selects the unit whose interval contains it. Certain units have no interval.
    taken = np.searchsorted(ends, steps, side="right")
    return np.sort(np.concatenate([taken, np.flatnonzero(certain)])), probability
