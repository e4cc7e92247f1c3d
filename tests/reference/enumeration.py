"""Coverage of an interval of a proportion, by enumerating every possible count."""

import numpy as np
from scipy.stats import binom

LOW_TO_HIGH_ACCURACIES = np.concatenate([[0.01], np.arange(0.02, 0.99, 0.02), [0.99]])


def exact_coverage(low, high, accuracies):
    """Probability that the interval of a Binomial(n, p) count contains p.

    `low` and `high` hold the interval of each count 0 to n.
    """
    n = len(low) - 1
    counts = np.arange(n + 1)[:, None]
    inside = (low[:, None] <= accuracies) & (accuracies <= high[:, None])
    return (binom.pmf(counts, n, accuracies) * inside).sum(axis=0)


def just_outside(low, high):
    """Accuracies a hair beyond the interval ends, where coverage is at its lowest."""
    hair = 1e-9
    accuracies = np.concatenate([low - hair, high + hair])
    return accuracies[(accuracies > 0) & (accuracies < 1)]
