"""Intervals assisted by a prior, by enumerating every count over a grid of proportions."""

import numpy as np
from scipy.stats import betabinom, binom


def accepted_hull(k, n, alpha, beta, confidence_level=0.95, n_grid=4001):
    """Smallest and largest proportion on a grid whose shortest test accepts k."""
    p = np.linspace(0, 1, n_grid)[1:-1]
    counts = np.arange(n + 1)
    chance = binom.pmf(counts, n, p[:, None])
    ratio = chance / betabinom.pmf(counts, n, alpha, beta)
    better = ratio > ratio[:, [k]] * (1 + 1e-12)
    accepted = p[(chance * better).sum(axis=1) < confidence_level]
    return accepted.min(), accepted.max()
