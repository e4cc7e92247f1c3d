"""Error rates of the frontier of score and cost, and detection of dominated models.

Six models (or two) answer 100 items (or 20 clusters of 5). Correct/incorrect answers and lognormal
costs depend on the item. "wrong" is the proportion of simulations that report a model on the true
frontier as dominated; the allowed rate is 0.05. "found" is the proportion of truly dominated models
that are reported. `tradeoff` is compared with t intervals of paired differences (Bonferroni for all
pairs), and with marginal t intervals that do not overlap, each at 95% or jointly.

The last table has rare expensive items. The better model costs 1, and more on rare items. The other
has the same average cost and almost no variation. The table shows the proportions of false verdicts
and of samples without an expensive item.

    python benchmarks/tradeoff.py [n_simulations]
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import t as student_t

sys.path.insert(0, str(Path(__file__).parents[1]))

from skbench import tradeoff

N_ITEMS = 100


def simulated(rng, scores, costs, sigma, n_clusters=N_ITEMS, shared=0.5):
    """Draw rows of models with these logits, mean costs and log standard deviations of costs."""
    n_models = len(scores)
    cluster = np.arange(N_ITEMS) * n_clusters // N_ITEMS
    hard = rng.normal(0, 1, n_clusters)[cluster]
    right = rng.random((N_ITEMS, n_models)) < expit(np.asarray(scores) + hard[:, None])
    long = rng.normal(0, 1, n_clusters)[cluster][:, None]
    noise = rng.normal(0, 1, (N_ITEMS, n_models))
    log = np.sqrt(shared) * long + np.sqrt(1 - shared) * noise
    cost = np.asarray(costs) * np.exp(sigma * log - np.square(sigma) / 2)
    items, models = np.indices(right.shape)
    columns = {"model": models, "item": items, "cluster": cluster[items]}
    columns |= {"score": right, "cost": cost}
    return pd.DataFrame({name: x.ravel() for name, x in columns.items()}).astype({"score": float})


def on_frontier(scores, costs):
    """Return the models that no other model dominates."""
    s, c = np.asarray(scores)[:, None], np.asarray(costs)[:, None]
    beats = (s >= s.T) & (c <= c.T) & ((s > s.T) | (c < c.T))
    return ~beats.any(axis=0)


def by_t(rows, kind):
    """Return the models dominated by t intervals: "paired", "marginal" or "together"."""
    wide = rows.pivot(index="item", columns="model", values=["score", "cost"])
    n, m = wide["score"].shape
    tests = {"paired": m * (m - 1) / 2, "marginal": 1, "together": 2 * m}[kind]
    reach, sure = student_t.isf(0.025 / tests, n - 1) / np.sqrt(n), []
    for values in (wide["score"].to_numpy(), -wide["cost"].to_numpy()):
        spread = values.std(axis=0, ddof=1)
        apart = spread[:, None] + spread
        if kind == "paired":
            apart = (values[:, :, None] - values[:, None]).std(axis=0, ddof=1)
        mean = values.mean(axis=0)
        sure.append(mean[:, None] - mean > reach * apart)
    return (sure[0] & sure[1]).any(axis=0)


SETTINGS = {
    "six equal models": ([0] * 6, [1] * 6, 1.0, {}),
    "six equal models, 20 clusters": ([0] * 6, [1] * 6, 1.0, {"n_clusters": 20}),
    "different scores, equal costs": (np.arange(6) * 0.8 - 2, 1 + np.arange(6) * 1e-3, 1.0, {}),
    "the same, costs less skewed": (np.arange(6) * 0.8 - 2, 1 + np.arange(6) * 1e-3, 0.5, {}),
    "different costs, equal scores": (np.arange(6) * 1e-3, 2.0 ** np.arange(6), 1.0, {}),
    "list prices, and skewed costs of better models": (
        [-2, -2, -2, 1, 1, 1], [1, 1, 1, 1.001, 1.001, 1.001], np.array([0, 0, 0, 1, 1, 1]), {},
    ),
    "two models, list price and skewed (1)": ([-2, 1], [1, 1.001], np.array([0, 1]), {}),
    "two models, list price and skewed (1.5)": ([-2, 1], [1, 1.001], np.array([0, 1.5]), {}),
    "three on the frontier, three dominated": (
        [-1, 0, 1, -1.8, -1, 0], [1, 2, 4, 2, 4, 8], 1.0, {},
    ),
    "the same, costs less skewed (2)": (
        [-1, 0, 1, -1.8, -1, 0], [1, 2, 4, 2, 4, 8], 0.5, {},
    ),
}  # fmt: skip


def study(scores, costs, sigma, options, n_simulations, seed=0):
    """Return proportions of wrong frontiers and of dominated models found, by method."""
    rng, truth = np.random.default_rng(seed), on_frontier(scores, costs)
    wrong, found = np.zeros(4), np.zeros(4)
    for _ in range(n_simulations):
        rows = simulated(rng, scores, costs, sigma, **options)
        cluster = "cluster" if options else None
        own = tradeoff(rows, cluster=cluster).to_frame()["dominated"].sort_index().to_numpy()
        others = [by_t(rows, kind) for kind in ("paired", "marginal", "together")]
        for k, said in enumerate((own, *others)):
            wrong[k] += (said & truth).any()
            found[k] += said[~truth].mean() if (~truth).any() else np.nan
    return wrong / n_simulations, found / n_simulations


RARE = [(50, 0.05, 5), (50, 0.05, 10), (50, 0.02, 5), (50, 0.02, 10), (100, 0.05, 5)]


def rare_items(n, p, dear, rng):
    """Return whether the better model falsely dominates, and whether no item is expensive."""
    is_dear = rng.random(n) < p
    cost = np.column_stack([np.where(is_dear, dear, 1.0), np.full(n, 1 + p * (dear - 1))])
    cost *= np.exp(0.1 * rng.normal(size=(n, 2)) - 0.005)
    items, models = np.indices(cost.shape)
    columns = {"model": models, "item": items, "cost": cost}
    columns["score"] = rng.random((n, 2)) < [0.95, 0.2]
    rows = pd.DataFrame({name: x.ravel() for name, x in columns.items()}).astype({"score": float})
    return tradeoff(rows).dominates.any(), not is_dear.any()


def main(n_simulations=500):
    """Print the tables."""
    print(f"{'':48}wrong: tradeoff, paired, marginal, together    found: same order")
    for name, (scores, costs, sigma, options) in SETTINGS.items():
        wrong, found = study(scores, costs, sigma, options, n_simulations)
        cells = [f"{x:7.3f}" for x in (*wrong, *found)]
        print(f"{name:48}{''.join(cells[:4])}     {''.join(cells[4:])}", flush=True)
    for n, p, dear in [
        (50, 0.05, 5),
        (50, 0.05, 10),
        (50, 0.02, 5),
        (50, 0.02, 10),
        (100, 0.05, 5),
    ]:
        rng = np.random.default_rng(0)
        wrong, none = np.mean([rare_items(n, p, dear, rng) for _ in range(n_simulations)], axis=0)
        print(
            f"{n} items, {dear} in place of 1 with p = {p}: {wrong:.3f}, without one {none:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
