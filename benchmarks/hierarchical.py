"""Cost and error of the hierarchical model by quadrature and by Gibbs sampling.

For 16 models on 19 tasks (VTAB, 10,000 draws) and both named priors, the script prints processor
seconds of both solvers, and their ratio per effective draw

- of the prior counts a and b, which mix slowly in the chains: grid and draws of (a, b)
- of the accuracies, by the slowest of a, b and the mean: grid and all draws
- of the mean accuracy, which the chains redraw almost independently in each sweep

It then prints the effect of a grid three times as fine, and the time per model of a large
benchmark. ``--chains`` adds errors of chains that `fit` accepts and rejects (four minutes).

    python benchmarks/hierarchical.py [--chains]
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

from skbench.stats.resampling.beta_binomial import posterior_accuracy, posterior_grid  # noqa: E402
from skbench.tasks import HierarchicalBetaBinomial  # noqa: E402
from skbench.tasks._count_posteriors import _NOT_CONVERGED, GibbsPosterior, GridPosterior  # noqa: E402
from skbench.tasks._priors import check_prior  # noqa: E402

N_DRAWS = 10_000


def fitted(rows, prior, solver="quadrature"):
    """Return the fit and its processor seconds."""
    bayes = HierarchicalBetaBinomial(solver, prior=prior, n_draws=N_DRAWS, random_state=0)
    start = time.process_time()
    bayes.fit(rows, rows["k"] / rows["n"], n=rows["n"])
    return bayes, time.process_time() - start


def seconds_of_accuracies(bayes):
    start = time.process_time()
    for _ in bayes.iter_draws():
        pass
    return time.process_time() - start


def seconds_of_counts(bayes):
    rng = np.random.default_rng(0)
    start = time.process_time()
    for a, b, weight in bayes._posterior._points:
        point = rng.choice(len(weight), N_DRAWS, p=weight)
        a[point], b[point]
    return time.process_time() - start


def print_solvers(rows, prior):
    fitted(rows, prior)  # warms up imports
    # The smallest of five, because other processes only add time.
    grid = min(fitted(rows, prior)[1] for _ in range(5))
    exact, _ = fitted(rows, prior)
    counts = grid + min(seconds_of_counts(exact) for _ in range(5))
    accuracies = grid + min(seconds_of_accuracies(exact) for _ in range(5))
    chains, sampler = fitted(rows, prior, "gibbs")
    ess = chains.diagnostics_.filter(like="ess_").rename(columns=lambda name: name[4:])
    print(
        f"prior {prior!r}: quadrature {grid:.3f} s, with {N_DRAWS} draws of (a, b) {counts:.3f} s, "
        f"of all accuracies {accuracies:.3f} s; Gibbs {sampler:.2f} s, R-hat at most "
        f"{chains.diagnostics_.filter(like='r_hat').max(axis=None):.3f}"
    )
    for name, own, seconds in [
        ("prior counts", ess[["a", "b"]].min(axis=1), counts),
        ("accuracies, by the slowest of a, b and the mean", ess.min(axis=1), accuracies),
        ("mean accuracy", ess["mean"], accuracies),
    ]:
        ratios = (sampler / own) / (seconds / N_DRAWS)
        print(
            f"  per effective draw of the {name}: {ratios.median():.0f} times (median model), "
            f"{ratios.min():.0f} to {ratios.max():.0f}"
        )
    apart = np.abs(chains.posterior_mean_ - exact.posterior_mean_).max()
    print(f"  largest difference of posterior means: {apart:.1e}")


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


def print_chains(n_sets=72, n_models=8):
    """Return errors of posterior means in posterior standard deviations, for many data sets.

    Under the exponential prior half of the sets are large, because few other chains converge.
    """
    rng = np.random.default_rng(0)
    found = []
    for i in range(n_sets):
        prior = "uniform" if i % 3 == 0 else "exponential"
        fewest, draws = (1000, [4000, 10_000]) if i % 3 == 1 else (5, [200, 1000, 4000, 10_000])
        n_tasks, size = rng.choice([1, 2, 3, 4, 8, 19]), rng.choice([1, 4, 30, 1000])
        items = np.exp(rng.uniform(*np.log([fewest, 20_000]), 1 if i % 4 else n_tasks))
        n = np.broadcast_to(items.astype(int), (n_models, n_tasks))
        mean = rng.uniform(0.2, 0.9, (n_models, 1))
        k = rng.binomial(n, rng.beta(size * mean, size * (1 - mean), n.shape)).astype(float)
        priors = check_prior(prior, pd.RangeIndex(n_models))
        exact = GridPosterior(k, n, priors)
        sd = exact.draws(0, 4000, rng).std(axis=0)
        chains = GibbsPosterior(k, n, priors, rng.choice(draws), rng)
        own = pd.DataFrame(chains.diagnostics)
        own["ess"], own["r_hat"] = own.filter(like="ess").min(1), own.filter(like="r_hat").max(1)
        own["error"], own["prior"] = np.abs((chains.accuracy - exact.accuracy) / sd).max(1), prior
        found.append(own)
    found = pd.concat(found)
    for (prior, refused), own in found.groupby(["prior", found["ess"] < _NOT_CONVERGED]):
        print(
            f"{prior}, {'refused' if refused else 'accepted'}: {len(own)} fits; R-hat "
            f"{own['r_hat'].min():.2f} to {own['r_hat'].max():.2f}; error, median "
            f"{own['error'].median():.2f}, 95% {own['error'].quantile(0.95):.2f}, "
            f"{(own['error'] > 0.2).sum()} above .2, largest ones "
            f"{own['error'].nlargest(3).round(2).tolist()}"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--chains" in sys.argv:
        sys.exit(print_chains())
    vtab = vtab_rows(ROOT / "tests" / "gold")
    for prior in ("uniform", "exponential"):
        print_solvers(vtab, prior)
    table = vtab.pivot(index="model", columns="task", values=["k", "n"])
    print_error(*(table[name].to_numpy(dtype=float) for name in ("k", "n")), mean=10_000)
    ridge = np.array([[100.0, 5000, 10_000]]), np.array([[200.0, 10_000, 20_000]])
    print_error(*ridge, mean=10_000)
    print_error(np.ones((1, 1)), np.ones((1, 1)), mean=10_000)
    print_large(n_models=20, n_tasks=200)
