"""Ranks, rank confidence sets, consensus orders, simultaneous inference and power."""

from skbench.stats.ranking._ranks import (
    average_ranks,
    average_ranks_in_bins,
    average_ranks_with_noise,
    rank_probabilities,
    ranks,
    ranks_by_geometric_mean,
    ranks_by_mean,
)

__all__ = [
    "average_ranks",
    "average_ranks_in_bins",
    "average_ranks_with_noise",
    "rank_probabilities",
    "ranks",
    "ranks_by_geometric_mean",
    "ranks_by_mean",
]
