"""What rank confidence sets cost, and how much longer the sets of whole tables are.

Prints, in one run: seconds and peak memory of the sets of 100 and 300 models with 2,000
draws, simultaneous and marginal, beside the size of the table of all differences that
is never held; the mean number of ranks in a set; and the time of Kemeny's order of 16
models beside that of trying every order of 8.

    python benchmarks/rank_sets.py
"""

import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from reference.ranking_slow import cheapest_orders  # noqa: E402

from skbench.benchmark import rank_confidence_sets  # noqa: E402
from skbench.stats.kemeny import disagreements, exact_order  # noqa: E402

N_DRAWS = 2000


def seconds_and_megabytes(function):
    """Seconds of one call, peak memory of another, and the result."""
    start = time.perf_counter()
    result = function()
    taken = time.perf_counter() - start
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return taken, peak, result


def print_sets(n_models):
    rng = np.random.default_rng(0)
    error = rng.uniform(0.005, 0.02, n_models)
    estimate = rng.uniform(0.3, 0.9, n_models) + error * rng.normal(size=n_models)
    whole = 8 * n_models**2 * N_DRAWS / 2**20
    for kind in ("simultaneous", "marginal"):
        for stepdown in (False, True):
            taken, peak, sets = seconds_and_megabytes(
                lambda kind=kind, stepdown=stepdown: rank_confidence_sets(
                    estimate,
                    error,
                    kind=kind,
                    stepdown=stepdown,
                    n_draws=N_DRAWS,
                    random_state=0,
                )
            )
            print(
                f"{n_models} models, {kind:12} {'stepdown' if stepdown else 'one step':8}: "
                f"{taken:5.2f} s, peak {peak:4.0f} MB (all differences: {whole:5.0f} MB), "
                f"{np.mean(sets.high - sets.low + 1):5.1f} ranks in a set"
            )


def print_kemeny():
    rng = np.random.default_rng(0)
    costs = [disagreements(rng.random((n, 19))) for n in (8, 16)]
    start = time.perf_counter()
    cheapest_orders(costs[0])
    brute = time.perf_counter() - start
    start = time.perf_counter()
    exact_order(costs[1])
    print(
        f"Kemeny: 16 models by subsets {1e3 * (time.perf_counter() - start):.0f} ms; "
        f"8 models by every order {1e3 * brute:.0f} ms, 16 would take 5e8 times as long"
    )


if __name__ == "__main__":
    print_sets(100)
    print_sets(300)
    print_kemeny()
