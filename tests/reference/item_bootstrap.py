"""The bootstrap with one index per item and a loop over draws: slow and obvious."""

import numpy as np


def item_bootstrap(scores, n_draws, rng):
    """Means of resampled items; scores (n_items, n_models) -> (n_draws, n_models)."""
    draws = []
    for _ in range(n_draws):
        chosen = rng.integers(len(scores), size=len(scores))
        draws.append(scores[chosen].mean(axis=0))
    return np.array(draws)


def cluster_bootstrap(scores, clusters, n_draws, rng):
    """Means over the items of resampled clusters; scores (n_items, n_models)."""
    names = np.unique(clusters)
    draws = []
    for _ in range(n_draws):
        chosen = rng.choice(names, size=len(names))
        items = np.concatenate([np.flatnonzero(clusters == name) for name in chosen])
        draws.append(scores[items].mean(axis=0))
    return np.array(draws)
