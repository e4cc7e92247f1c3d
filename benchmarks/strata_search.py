"""Cost of a search for the number of strata: coverage and width of 95% intervals.

The script uses a calibrated, a miscalibrated and a nearly useless autorater with a true value of
one half, and a far too strict one with 0.98. There are 50, 100 and 300 labels, 2,000 unlabeled
rows, and quantile and tree strata. It compares five strata with the number from 2, 3, 5, 10, 20 and
40 that has the shortest interval, each also with the posterior of Hofer et al. (2024) from 1,000
draws. Finally, as in the paper, the true value is the mean of the same 1,000 labels that the 300
are drawn from.

    python benchmarks/strata_search.py [--sets 1000]
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.tree import DecisionTreeRegressor

from skbench.ppi import GroupedPPI, StratifiedPPI

N_UNLABELED, N_LABELS_IN_ALL = 2000, 1000
BATCH = 100  # data sets fitted in one pass
INTEGRATIONS = {"exact": {}, "draws": {"integration": "draws", "n_draws": 1000, "random_state": 0}}
SEARCH = StratifiedPPI.as_published().n_strata


def scores_and_rates(autorater, shape, rng):
    """Draw autorater scores, and the probability of label 1 given the score."""
    if autorater == "too strict":
        x = rng.normal(size=shape)
        return expit(0.5 + x), expit(4.5 + x)
    p = rng.random(shape)
    if autorater == "nearly useless":
        return p, 0.45 + 0.1 * p
    return p**3 if autorater == "miscalibrated" else p, p


def leaves(f, y, n_leaves):
    """Return the leaf of each row in a tree grown on the labels, as in `StratifiedPPI`."""
    found = []
    for scores, labels in zip(f[..., None], y, strict=True):
        known = ~np.isnan(labels)
        tree = DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=0)
        found.append(tree.fit(scores[known], labels[known]).apply(scores))
    return np.concatenate(found)


def ends(strata, n_strata, f, y, how):
    """Return both limits of each data set's interval, and its width before truncation."""
    leaf_of = strata
    if strata == "tree":
        leaf = leaves(f, y, n_strata)
        leaf_of = lambda X: leaf  # noqa: E731
    estimator = StratifiedPPI(leaf_of, n_strata, **how)
    group = np.repeat(np.arange(len(f)), f.shape[1])
    grouped = GroupedPPI(estimator, power="per group").fit(f.ravel(), y.ravel(), group)
    e = grouped.estimate()
    low, high = grouped._result.interval(e.confidence_level, limits=None)
    return e.low, e.high, high - low


def intervals(f, y):
    """Return limits of each data set's interval by strata, integration and number of strata."""
    found = {}
    for strata in ("quantile", "tree"):
        for name, how in INTEGRATIONS.items():
            every = np.array([ends(strata, k, f, y, how) for k in SEARCH])
            best = np.argmin(every[:, 2], axis=0)  # by width before truncation
            found[strata, name, "K = 5"] = every[SEARCH.index(5), :2]
            found[strata, name, "K = *"] = every[best, :2, np.arange(len(f))].T
    return found


def print_rows(autorater, n, n_sets, finite=False):
    rng = np.random.default_rng([n, finite, len(autorater)])
    found = {}
    for _ in range(n_sets // BATCH):
        f, p = scores_and_rates(autorater, (BATCH, n + N_UNLABELED), rng)
        y, truth = (rng.random(f.shape) < p).astype(float), 0.5
        if autorater == "too strict":
            truth = norm.expect(lambda x: expit(4.5 + x))  # .9825
        if finite:
            truth = y[:, :N_LABELS_IN_ALL].mean(axis=1)
        y[:, n:] = np.nan
        for name, (low, high) in intervals(f, y).items():
            found.setdefault(name, []).append([(low <= truth) & (truth <= high), high - low])
    for strata in ("quantile", "tree"):
        cells = [
            f"{integration}, {k} {hits.mean():.3f} {width.mean():.3f}"
            for (kind, integration, k), parts in found.items()
            if kind == strata
            for hits, width in [np.concatenate(parts, axis=1)]
        ]
        print(f"{autorater:14} {n:3} labels, {strata:8}: {'; '.join(cells)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, help="data sets of each row")
    n_sets = parser.parse_args().sets
    warnings.simplefilter("ignore")
    print("coverage, mean width")
    for n in (300, 100, 50):
        for autorater in ("calibrated", "miscalibrated", "nearly useless", "too strict"):
            print_rows(autorater, n, n_sets)
    print(f"true value: mean of the {N_LABELS_IN_ALL:,} labels that the 300 are drawn from")
    print_rows("calibrated", 300, n_sets, finite=True)
