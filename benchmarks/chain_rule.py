"""Exact chain-rule intervals of 1,000 groups, and how far draws are from them.

Run from the root of the repository: ``python benchmarks/chain_rule.py``. Thirty
unlabeled rows per label, an autorater right nine times in ten; processor times are
the shortest of several.
"""

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from skbench.stats.ppi.chain_rule import chain_draws, chain_interval  # noqa: E402

N_GROUPS = 1000
N_DRAWS = 10_000
N_DRAWN = 100  # groups that are drawn, and scaled
N_TRIALS = 5


def counts_of(n_labels, n_values, rng):
    """Counts of groups of accuracy .3 to .95; a third value is an abstention."""
    accuracy = rng.uniform(0.3, 0.95, N_GROUPS)
    joint = np.zeros((N_GROUPS, n_values, 2))
    joint[:, 0] = np.stack([0.9 * accuracy, 0.1 * (1 - accuracy)], axis=1)
    joint[:, 1] = np.stack([0.1 * accuracy, 0.9 * (1 - accuracy)], axis=1)
    if n_values == 3:
        joint *= 0.95
        joint[:, 2] = 0.05 * np.stack([accuracy, 1 - accuracy], axis=1)
    cells = joint.reshape(N_GROUPS, -1)
    labeled = rng.multinomial(n_labels, cells).reshape(joint.shape)
    return rng.multinomial(30 * n_labels, joint.sum(axis=2)), labeled


def shortest_time(function, *args):
    """Seconds of the fastest of several calls: the least disturbed one."""
    times = []
    for _ in range(N_TRIALS):
        start = time.process_time()
        function(*args)
        times.append(time.process_time() - start)
    return min(times)


def main():
    rng = np.random.default_rng(0)
    print(f"{N_GROUPS} groups, 95% intervals; {N_DRAWS} draws for comparison")
    print(
        f"{'values':>7} {'labels':>7} {'exact':>9} {'draws':>9} {'ratio':>6} {'error of draws':>15}"
    )
    for n_values in (2, 3):
        for n_labels in (10, 30, 100, 300):
            unlabeled, labeled = counts_of(n_labels, n_values, rng)
            exact = shortest_time(chain_interval, unlabeled, labeled, [1, 0])
            few = unlabeled[:N_DRAWN], labeled[:N_DRAWN], [1, 0]
            start = time.process_time()
            ends = np.quantile(chain_draws(*few, N_DRAWS, rng), [0.025, 0.975], axis=0)
            drawn = (time.process_time() - start) * N_GROUPS / N_DRAWN
            error = np.sqrt(np.mean((ends - chain_interval(*few)) ** 2))
            print(
                f"{n_values:7} {n_labels:7} {1e3 * exact:6.0f} ms {1e3 * drawn:6.0f} ms "
                f"{drawn / exact:6.1f} {error:15.1e}"
            )


if __name__ == "__main__":
    main()
