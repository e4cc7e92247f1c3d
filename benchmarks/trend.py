"""Power and false positive rates for a slow decline over eight versions.

Eight versions of a model lose one point each on 200 shared items with correct/incorrect answers; in
a second setting the eight versions are equal. The script prints how often each method detects a
change:
1. `trend`: the interval of the slope excludes 0
2. `compare_models` of all pairs (Bonferroni): any pair
3. successive tests of each version against the previous one, without correction: any decline
4. `compare_models` of the last version and the first
It also prints the coverage of the interval of the slope, with items in clusters, too.

    python benchmarks/trend.py [REPETITIONS]
"""

import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

sys.path.insert(0, str(Path(__file__).parents[1]))

from skbench import compare_models, trend

N_VERSIONS, N_ITEMS = 8, 200
HARD = 2.0  # standard deviation of item difficulties in log odds
NODES = norm.ppf((np.arange(2000) + 0.5) / 2000)  # all items


def make_versions(rng, loss, n_items=N_ITEMS, cluster_size=1):
    """Return item rows of versions with a constant loss, and the true slope.

    Versions share the difficulty of the items; the other noise is independent.
    """
    cluster = np.arange(n_items) // cluster_size
    hard = rng.normal(size=n_items)
    if cluster_size > 1:
        hard = 0.6 * hard + 0.8 * rng.normal(size=cluster.max() + 1)[cluster]
    rows = []
    for v in range(N_VERSIONS):
        right = rng.random(n_items) < expit(_level_with(0.75 - loss * v) + HARD * hard)
        columns = {"item": range(n_items), "cluster": cluster, "score": right * 1.0}
        rows.append(pd.DataFrame({"version": v, **columns}))
    return pd.concat(rows, ignore_index=True), -loss


@cache
def _level_with(goal):
    """Return the ability at which a proportion `goal` of all items is solved."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + HARD * NODES).mean() < goal else (low, middle)
    return middle


def one_set(rng, loss):
    """Return whether each procedure detects a change, and whether the interval covers."""
    items, truth = make_versions(rng, loss)
    slope = trend(items).to_frame().loc["slope"]
    pairs = compare_models(items, model="version")
    falls = []
    for v in range(1, N_VERSIONS):
        two = items[items["version"].isin([v - 1, v])]
        falls.append(compare_models(two, v, v - 1, model="version").estimate.high[0] < 0)
    ends = compare_models(items, N_VERSIONS - 1, 0, model="version").estimate
    return {
        "trend": slope["verdict"] in ("rising", "falling"),
        "some pair": np.isin(pairs.verdict, ["better", "worse"]).any(),
        "some successive fall": any(falls),
        "last against first": ends.high[0] < 0 or ends.low[0] > 0,
        "slope covered": slope["low"] <= truth <= slope["high"],
    }


def main(n_repeats=400):
    """Print the proportions."""
    warnings.simplefilter("ignore")
    found = {}
    for loss in (0.01, 0.0):
        rng = np.random.default_rng(0)
        sets = pd.DataFrame([one_set(rng, loss) for _ in range(n_repeats)])
        found[f"{loss:g} lost per version"] = sets.mean()
    print(f"{N_VERSIONS} versions, {N_ITEMS} shared items, {n_repeats} sets:")
    print(pd.DataFrame(found).round(3).to_string())
    for n_items, size in ((200, 1), (100, 5), (50, 5)):
        rng, covered = np.random.default_rng(1), []
        for _ in range(n_repeats):
            items, truth = make_versions(rng, 0.01, n_items, size)
            row = trend(items, cluster="cluster").to_frame().loc["slope"]
            covered.append(row["low"] <= truth <= row["high"])
        print(f"{n_items} items in clusters of {size}: coverage {np.mean(covered):.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
