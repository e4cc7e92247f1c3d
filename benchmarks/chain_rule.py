"""Exact chain rule intervals of 1,000 groups: speed, Monte Carlo error, and gain.

Run from the root of the repository: ``python benchmarks/chain_rule.py``. Groups have thirty
unlabeled rows per label and an autorater with accuracy 0.9. Processor times are the shortest of
several. The last table compares coverage and mean width with ppi-python's normal interval
(`costs.ppi`) in 2,000 groups of 200 rows, for autoraters with accuracies 0.85 and 0.5.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from costs.ppi import loop  # noqa: E402

from skbench.ppi import ChainRulePPI, GroupedPPI  # noqa: E402
from skbench.stats.ppi.chain_rule import chain_draws, chain_interval  # noqa: E402

N_GROUPS = 1000
N_DRAWS = 10_000
N_DRAWN = 100  # groups with draws; times are scaled up
N_TRIALS = 5


def counts_of(n_labels, n_values, rng):
    """Return counts of groups with accuracy 0.3 to 0.95; a third value is an abstention."""
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
    """Return the seconds of the fastest of several calls."""
    times = []
    for _ in range(N_TRIALS):
        start = time.process_time()
        function(*args)
        times.append(time.process_time() - start)
    return min(times)


def print_coverage():
    warnings.simplefilter("ignore")  # groups with few labels of a verdict
    print("\nlabels, rate, accuracy: normal interval coverage, width; chain rule coverage, width")
    for n_labels in (10, 20, 50):
        for rate in (0.5, 0.8, 0.95):
            for right in (0.85, 0.5):
                rng = np.random.default_rng(int(1000 * rate + n_labels))
                truth = (rng.random(400_000) < rate).astype(float)
                judge = np.where(rng.random(truth.size) < right, truth, 1 - truth)
                row = np.arange(truth.size)
                rows = judge, np.where(row % 200 < n_labels, truth, np.nan), row // 200
                e = GroupedPPI(ChainRulePPI()).fit(*rows).estimate()
                both = [np.reshape(loop(*rows), (-1, 2)).T, (e.low, e.high)]
                found = [[np.mean((a <= rate) & (rate <= b)), np.mean(b - a)] for a, b in both]
                print(n_labels, rate, right, np.round(np.ravel(found), 3), flush=True)


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
    print_coverage()


if __name__ == "__main__":
    main()
