"""The hierarchical model by quadrature and by Gibbs sampling: cost, and error.

Prints, in one run, for 16 models on 19 tasks (VTAB, 10,000 draws): seconds of either
solver, and their ratio per draw and per effective draw, of the prior counts (what
the chains move slowly in) and of the mean accuracy (what they move fast in); what a
grid three times as fine changes; and the time per model of a large benchmark.

    python benchmarks/hierarchical.py
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from reference.vtab import vtab_rows  # noqa: E402

from skbench.benchmark import HierarchicalBetaBinomial  # noqa: E402
from skbench.stats.beta_binomial import posterior_accuracy, posterior_grid  # noqa: E402

N_DRAWS = 10_000


def seconds_of_draws(rows, solver):
    start = time.perf_counter()
    bayes = HierarchicalBetaBinomial(solver, n_draws=N_DRAWS, random_state=0)
    bayes.fit(rows, rows["k"] / rows["n"], n=rows["n"])
    for _ in bayes.iter_draws():
        pass
    return time.perf_counter() - start, bayes


def print_solvers(rows):
    seconds_of_draws(rows, "quadrature")  # the first call pays for imports
    quadrature, exact = seconds_of_draws(rows, "quadrature")
    sampler, chains = seconds_of_draws(rows, "gibbs")
    per_draw = sampler / quadrature
    print(f"quadrature {quadrature:.2f} s, Gibbs {sampler:.2f} s: {per_draw:.0f} times per draw")
    for name, label in [("a", "prior count a"), ("b", "prior count b"), ("mean", "mean accuracy")]:
        ess = chains.diagnostics_[f"ess_{name}"]
        ratios = per_draw * N_DRAWS / ess
        print(
            f"per effective draw of the {label}: {ratios.median():.0f} times (median model), "
            f"{ratios.min():.0f} to {ratios.max():.0f}; R-hat at most "
            f"{chains.diagnostics_[f'r_hat_{name}'].max():.3f}"
        )
    apart = np.abs(chains.posterior_mean_ - exact.posterior_mean_).max()
    print(f"largest difference of posterior means: {apart:.1e}")


def print_error(k, n, mean):
    def log_prior(a, b):
        return -2 * np.log(mean) - (a + b) / mean

    box = (1e-12, 1e7)
    start = time.perf_counter()
    grid = posterior_grid(k, n, log_prior, box, box)
    taken = time.perf_counter() - start
    fine = posterior_grid(k, n, log_prior, box, box, refine=3)
    moved = np.abs(posterior_accuracy(k, n, grid) - posterior_accuracy(k, n, fine)).max()
    evidence = np.abs(grid.log_evidence - fine.log_evidence).max()
    print(
        f"{k.shape[0]} models x {k.shape[1]} tasks, exponential prior of mean {mean:g}: "
        f"{taken:.3f} s; a finer grid moves means by {moved:.0e}, log evidence by {evidence:.0e}; "
        f"edge mass {grid.edge_mass.max():.0e}"
    )


def print_large(n_models, n_tasks):
    rng = np.random.default_rng(0)
    n = rng.integers(20, 2000, (n_models, n_tasks))
    k = rng.binomial(n, rng.beta(4, 4, size=n.shape))
    names = [(model, task) for model in range(n_models) for task in range(n_tasks)]
    X = pd.DataFrame(names, columns=["model", "task"])
    bayes = HierarchicalBetaBinomial(n_draws=N_DRAWS, random_state=0)
    start = time.perf_counter()
    bayes.fit(X, (k / n).ravel(), n=n.ravel())
    middle = time.perf_counter()
    bayes.estimate()
    end = time.perf_counter()
    print(
        f"{n_tasks} tasks: {(middle - start) / n_models:.3f} s per model to fit, "
        f"{(end - middle) / n_models:.3f} s for {N_DRAWS} draws, none of them kept"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    vtab = vtab_rows(ROOT / "tests" / "gold")
    print_solvers(vtab)
    table = vtab.pivot(index="model", columns="task", values=["k", "n"])
    print_error(*(table[name].to_numpy(dtype=float) for name in ("k", "n")), mean=10_000)
    ridge = np.array([[100.0, 5000, 10_000]]), np.array([[200.0, 10_000, 20_000]])
    print_error(*ridge, mean=10_000)
    print_error(np.ones((1, 1)), np.ones((1, 1)), mean=10_000)
    print_large(n_models=20, n_tasks=200)
