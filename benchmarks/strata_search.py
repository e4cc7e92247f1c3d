"""What a search for the number of strata costs: coverage and width of 95% intervals.

Prints, for a calibrated, a miscalibrated and a nearly useless autorater, 50, 100 and 300 labels,
3,000 unlabeled rows, quantile and tree strata: five strata; of 2, 3, 5, 10, 20 and 40 those with
the shortest interval; and that search with the posterior of Hofer et al. (2024), of 1,000 draws.
Last at 300 labels where, as in the paper, the truth is the mean of the same 1,000 labels that the
300 are drawn from.

    python benchmarks/strata_search.py [--sets 1000]
"""

import argparse
import warnings

import numpy as np

from skbench.ppi import StratifiedPPI

N_UNLABELED = 3000
SEARCH = StratifiedPPI.as_published().n_strata


def rates(autorater, n_rows, rng):
    """Scores, and the probability of a label 1 given the score."""
    p = rng.random(n_rows)
    if autorater == "calibrated":
        return p, p
    if autorater == "miscalibrated":
        return p**3, p
    return p, 0.45 + 0.1 * p


def shortest(strata, **how):
    return {
        f"{strata}, 5": StratifiedPPI(strata, **how),
        f"{strata}, searched": StratifiedPPI(strata, SEARCH, **how),
        f"{strata}, as published": StratifiedPPI.as_published(strata).set_params(n_draws=1000),
    }


def print_row(autorater, n, n_sets, n_population=None):
    rng = np.random.default_rng(0)
    methods = {**shortest("quantile"), **shortest("tree")}
    found = {name: [] for name in methods}
    for _ in range(n_sets):
        f, p = rates(autorater, n + N_UNLABELED if n_population is None else 4000, rng)
        y, truth = (rng.random(f.size) < p).astype(float), 0.5
        if n_population is not None:
            truth = y[:n_population].mean()
        y[n:] = np.nan
        for name, estimator in methods.items():
            e = estimator.fit(f, y).estimate()
            found[name].append((e.low[0] <= truth <= e.high[0], e.high[0] - e.low[0]))
    means = {name: np.mean(rows, axis=0) for name, rows in found.items()}
    cells = "; ".join(f"{name} {hit:.3f} ({width:.3f})" for name, (hit, width) in means.items())
    print(f"{autorater}, {n} labels: {cells}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, help="data sets of each row")
    sets = parser.parse_args().sets
    warnings.simplefilter("ignore")
    print("coverage and mean width in brackets")
    for autorater in ("calibrated", "miscalibrated", "nearly useless"):
        for n in (50, 100, 300):
            print_row(autorater, n, sets)
    print("truth: mean of the 1,000 labels that the 300 are drawn from")
    for autorater in ("calibrated", "miscalibrated"):
        print_row(autorater, 300, sets, n_population=1000)
