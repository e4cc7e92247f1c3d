"""Robust critical values of 10,000 groups against one bounded optimization per group.

Run from the root of the repository: ``python benchmarks/critical_values.py``. Two loops over groups
are timed on a few groups and scaled. "obvious" is the reference of the tests. "lean" uses the same
two-point distributions with only ``math.erfc``, golden sections and Brent's method. The ratio to
"obvious" includes the cost of SciPy's distributions (51,000 to 99,000 on the original machine). The
ratio to "lean" is the gain of one call for all groups (130 to 340).
"""

import math
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from reference.cva_slow import cva_slow  # noqa: E402

from skbench.stats.shrinkage.robust_eb import cva, shrinkage_length_optimal  # noqa: E402

N_GROUPS = 10_000
N_SLOW = 20
N_LEAN = 300
N_TRIALS = 7


def shortest_time(function, *args):
    """Return the processor seconds of the fastest of several calls."""
    times = []
    for _ in range(N_TRIALS):
        start = time.process_time()
        function(*args)
        times.append(time.process_time() - start)
    return min(times)


def miss(t, chi):
    """Return the probability that N(sqrt t, 1) is outside [-chi, chi]."""
    bias = math.sqrt(t)
    return (math.erfc((chi + bias) * _ROOT_HALF) + math.erfc((chi - bias) * _ROOT_HALF)) / 2


_ROOT_HALF = math.sqrt(0.5)
_GOLDEN = (math.sqrt(5) - 1) / 2


def largest(function, low, high):
    """Maximize a unimodal function by golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(30):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return max(at_left, at_right)


def worst_case(chi, m2, kurtosis):
    """Return the worst noncoverage over two-point distributions of the squared bias."""
    far, least = (chi + 6) ** 2, kurtosis * m2
    at_zero, spread = miss(0.0, chi), (kurtosis - 1) * m2**2

    def slack(high):
        return at_zero + m2 / high * (miss(high, chi) - at_zero)

    def binding(log_rise):
        rise = math.exp(log_rise)
        fall = spread / rise
        weight = fall / (rise + fall)
        return (1 - weight) * miss(max(m2 - fall, 0.0), chi) + weight * miss(m2 + rise, chi)

    found = miss(m2, chi)
    if m2 < far:
        found = max(found, largest(slack, m2, min(far, least)))
    if least < far:
        found = max(found, largest(binding, math.log(least - m2), math.log(far - m2)))
    return found


def cva_lean(m2, kurtosis, alpha=0.05):
    """Return the critical value of one group with minimal overhead."""
    low, high = 1.959963984540054, math.sqrt((1 + m2) / alpha)
    return brentq(lambda chi: worst_case(chi, m2, kurtosis) - alpha, low, high, xtol=1e-9)


def scaled_time(function, m2, kurtosis):
    """Return processor seconds for all groups, scaled from a few, and their values."""
    start = time.process_time()
    values = [function(m, kurtosis) for m in m2]
    return (time.process_time() - start) * N_GROUPS / len(m2), values


def main():
    rng = np.random.default_rng(0)
    m2 = np.exp(rng.uniform(np.log(0.02), np.log(50), N_GROUPS))
    cva(m2, 3.0)  # warms up imports and caches

    print(f"{N_GROUPS} groups, m2 from 0.02 to 50, confidence level 0.95; processor times")
    print(
        f"{'kurtosis':>9} {'cva':>9} {'obvious':>10} {'ratio':>8} {'lean':>8} {'ratio':>8} "
        f"{'largest difference':>19}"
    )
    for kurtosis in (1.5, 3.0, 10.0, np.inf):
        fast = shortest_time(cva, m2, kurtosis)
        slow, slow_values = scaled_time(cva_slow, m2[:N_SLOW], kurtosis)
        lean, lean_values = scaled_time(cva_lean, m2[:N_LEAN].tolist(), kurtosis)
        here = cva(m2[:N_LEAN], kurtosis)
        differences = here[:N_SLOW] / slow_values - 1, here / lean_values - 1
        difference = max(np.abs(part).max() for part in differences)
        print(
            f"{kurtosis:9} {1e3 * fast:6.1f} ms {slow:8.1f} s {slow / fast:8,.0f} "
            f"{lean:6.1f} s {lean / fast:8,.0f} {difference:19.1e}"
        )

    mixed = 1 + np.exp(rng.uniform(-3, 4, N_GROUPS))
    seconds = shortest_time(cva, m2, mixed)
    print(f"one kurtosis per group: cva {1e3 * seconds:.1f} ms")
    seconds = shortest_time(shrinkage_length_optimal, 1 / m2, 3.0)
    print(f"length-optimal shrinkage at kurtosis 3: {1e3 * seconds:.1f} ms")


if __name__ == "__main__":
    main()
