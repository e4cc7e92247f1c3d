"""Robust critical values of 10,000 groups against one bounded optimization per group.

Run from the root of the repository: ``python benchmarks/critical_values.py``. The slow
side is the reference of the tests, timed on a few groups and scaled: an obvious program, not a
fast one. Ratios to it say what a loop over groups costs, not how far ahead of others this is.
"""

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from reference.cva_slow import cva_slow  # noqa: E402

from skbench.stats.shrinkage.robust_eb import cva, shrinkage_length_optimal  # noqa: E402

N_GROUPS = 10_000
N_SLOW = 20
N_TRIALS = 7


def shortest_time(function, *args):
    """Seconds of the fastest of several calls: the least disturbed one."""
    times = []
    for _ in range(N_TRIALS):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    rng = np.random.default_rng(0)
    m2 = np.exp(rng.uniform(np.log(0.02), np.log(50), N_GROUPS))
    cva(m2, 3.0)  # imports and caches are warm from here on

    print(f"{N_GROUPS} groups, m2 from .02 to 50, level .95")
    print(f"{'kurtosis':>9} {'cva':>9} {'one by one':>12} {'ratio':>8} {'largest difference':>19}")
    for kurtosis in (1.5, 3.0, 10.0, np.inf):
        fast = shortest_time(cva, m2, kurtosis)
        start = time.perf_counter()
        slow_values = [cva_slow(m, kurtosis) for m in m2[:N_SLOW]]
        slow = (time.perf_counter() - start) * N_GROUPS / N_SLOW
        difference = np.max(np.abs(cva(m2, kurtosis)[:N_SLOW] / slow_values - 1))
        print(
            f"{kurtosis:9} {1e3 * fast:6.1f} ms {slow:10.1f} s "
            f"{slow / fast:8,.0f} {difference:19.1e}"
        )

    mixed = 1 + np.exp(rng.uniform(-3, 4, N_GROUPS))
    seconds = shortest_time(cva, m2, mixed)
    print(f"a kurtosis for each group: cva {1e3 * seconds:.1f} ms")
    seconds = shortest_time(shrinkage_length_optimal, 1 / m2, 3.0)
    print(f"length-optimal shrinkage at kurtosis 3: {1e3 * seconds:.1f} ms")


if __name__ == "__main__":
    main()
