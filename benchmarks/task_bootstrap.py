"""Time and memory of TaskBootstrap compared with resampling items.

The script prints the time of 10,000 draws of the VTAB leaderboard (16 models, 19 tasks, 6 million
scores) with mean and interval of every model. The reference is the time of resampling the items,
scaled up from a few draws. The same follows for paired items of one task. Finally it prints time
and peak memory of 1,000 models on 200 tasks with 10,000 draws (2 billion scores), processed in
batches.

    python benchmarks/task_bootstrap.py [number of draws at scale]
"""

import resource
import sys
import time

import numpy as np
import pandas as pd

from skbench.tasks import TaskBootstrap

N_DRAWS = 10_000
N_MODELS = 16
TASK_SIZES = [
    10_000, 6_084, 32_768, 15_000, 15_000, 22_735, 1_880, 5_400, 6_149, 711,
    3_669, 6_300, 42_670, 26_032, 21_750, 73_728, 73_728, 12_150, 12_150,
]  # fmt: skip
N_ITEM_DRAWS = 5


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def leaderboard(n_models, sizes, seed=0):
    """Return one row per model and task with its number of correct answers."""
    rng = np.random.default_rng(seed)
    sizes = np.asarray(sizes)
    X = pd.MultiIndex.from_product(
        [range(n_models), range(len(sizes))], names=["model", "task"]
    ).to_frame(index=False)
    n = sizes[X["task"]]
    return X, rng.binomial(n, rng.uniform(0.1, 0.9, len(X))), n


def resample_items(scores, n_draws, rng):
    """Resample items explicitly, task by task and model by model."""
    for _ in range(n_draws):
        for own in scores:
            own[rng.integers(own.size, size=own.size)].mean()


def print_vtab():
    X, k, n = leaderboard(N_MODELS, TASK_SIZES)
    counts = min(
        seconds(lambda: TaskBootstrap(N_DRAWS, random_state=0).fit(X, k / n, n=n).estimate())
        for _ in range(3)
    )
    scores = [np.arange(size) < right for right, size in zip(k, n, strict=True)]
    rng = np.random.default_rng(0)
    items = seconds(lambda: resample_items(scores, N_ITEM_DRAWS, rng)) * N_DRAWS / N_ITEM_DRAWS
    print(
        f"VTAB, {N_DRAWS} draws: counts {counts:.2f} s, items {items:.0f} s "
        f"(from {N_ITEM_DRAWS} draws): {items / counts:.0f} times faster"
    )


def print_paired(n_items=2000, n_models=4, n_draws=2000):
    rng = np.random.default_rng(0)
    right = rng.normal(size=(n_items, 1)) + rng.normal(size=(n_items, n_models)) > 0
    items = pd.DataFrame(right).melt(ignore_index=False, var_name="model", value_name="score")
    items = items.rename_axis("item").reset_index().assign(task="all")
    boot = TaskBootstrap(n_draws, random_state=0).fit_items(items)
    fast = min(seconds(lambda: list(boot.iter_draws())) for _ in range(3))

    def resample():
        for _ in range(n_draws):
            right[rng.integers(n_items, size=n_items)].mean(axis=0)

    slow = seconds(resample)
    print(
        f"paired, {n_items} items of {n_models} models, {n_draws} draws: patterns {fast:.3f} s, "
        f"items {slow:.2f} s: {slow / fast:.0f} times faster"
    )


def print_scale(n_draws, n_models=1000, n_tasks=200):
    X, k, n = leaderboard(n_models, np.full(n_tasks, 500))
    boot = TaskBootstrap(n_draws, random_state=0)
    taken = seconds(lambda: boot.fit(X, k / n, n=n).estimate())
    # Peak memory of the process, imports and table included; kilobytes on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{n_models} models x {n_tasks} tasks x {n_draws} draws "
        f"({8e-9 * n_models * n_tasks * n_draws:.1f} GB if stored): {taken:.0f} s, "
        f"peak of the process {peak:.2f} GB"
    )


if __name__ == "__main__":
    print_vtab()
    print_paired()
    print_scale(int(sys.argv[1]) if len(sys.argv) > 1 else N_DRAWS)
