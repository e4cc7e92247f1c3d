"""Cost of prediction-powered estimates for many groups and for many rows.

The script prints the time of one pass over 1,000 groups of 300 rows (30 labeled), from the user's
columns to estimates and intervals. It compares this with loops over groups that call ppi-python's
`ppi_mean_pointestimate` and `ppi_mean_ci`, or the formula in plain numpy. Rows are split into
groups in advance or by pandas. It then prints time and peak memory for 100,000 and 1,000,000 rows
and their ratio (10 means linear).

    python benchmarks/prediction_powered.py
"""

import time
import tracemalloc

import numpy as np
import pandas as pd
from scipy.stats import norm

from skbench.ppi import GroupedPPI, PPIMean, StratifiedPPI

try:
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
except ImportError:
    ppi_mean_ci = None

REPETITIONS = 7
N_GROUPS, N_ROWS, N_LABELED = 1000, 300, 30


def make_rows(n_groups, n_rows, n_labeled, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random(n_groups * n_rows)
    label = (rng.random(scores.size) < scores).astype(float)
    labeled = np.tile(np.arange(n_rows) < n_labeled, n_groups)
    group = np.repeat(np.arange(n_groups), n_rows)
    return pd.DataFrame(
        {"group": group, "judge": scores, "human": np.where(labeled, label, np.nan)}
    )


def plain_mean_ci(y, f, f_unlabeled, alpha):
    """Compute the formula of ppi-python without its checks."""
    n, N = len(y), len(f_unlabeled)
    covariance = np.mean((y - y.mean()) * (f - f.mean()))
    everything = np.concatenate([f, f_unlabeled])
    power = np.clip(covariance / (np.var(everything, ddof=1) * (1 + n / N)), 0, 1)
    value = power * f_unlabeled.mean() + np.mean(y - power * f)
    variance = np.var(power * f_unlabeled) / N + np.var(y - power * f) / n
    half_width = norm.ppf(1 - alpha / 2) * np.sqrt(variance)
    return value - half_width, value + half_width


def ppi_python_mean(y, f, f_unlabeled, alpha):
    """Return estimate and interval from both functions of ppi-python."""
    ppi_mean_pointestimate(y, f, f_unlabeled)
    return ppi_mean_ci(y, f, f_unlabeled, alpha=alpha)


def loop(pieces, mean_ci):
    for f, y in pieces:
        known = ~np.isnan(y)
        mean_ci(y[known], f[known], f[~known], alpha=0.05)


def seconds(function):
    """Measure processor time, so that other processes do not matter."""
    start = time.process_time()
    function()
    return time.process_time() - start


def print_speed():
    rows = make_rows(N_GROUPS, N_ROWS, N_LABELED)
    f, y, group = (rows[name].to_numpy() for name in ("judge", "human", "group"))
    cut = [(f[i : i + N_ROWS], y[i : i + N_ROWS]) for i in range(0, len(f), N_ROWS)]

    def by_pandas():
        return ((g["judge"].to_numpy(), g["human"].to_numpy()) for _, g in rows.groupby("group"))

    def one_pass(estimator):
        data = estimator._read(f, y, group, None, None)
        estimator._fit_groups(data).interval(0.95)

    loops = {"formula in numpy": plain_mean_ci}
    if ppi_mean_ci is not None:
        loops["ppi-python"] = ppi_python_mean
    passes = {
        "PPIMean": lambda: one_pass(PPIMean()),
        "StratifiedPPI": lambda: one_pass(StratifiedPPI()),
        "GroupedPPI": lambda: GroupedPPI().fit(f, y, group),
        "GroupedPPI with summary": lambda: GroupedPPI().fit(f, y, group).summary_,
    }
    times = {
        name: np.median([seconds(run) for _ in range(REPETITIONS)]) for name, run in passes.items()
    }
    for name, mean_ci in loops.items():
        for how, pieces in (("rows cut beforehand", lambda: cut), ("pandas groupby", by_pandas)):
            taken = np.median([seconds(lambda p=pieces, m=mean_ci: loop(p(), m)) for _ in range(3)])
            ratios = ", ".join(f"{taken / t:.0f} x {n}" for n, t in times.items())
            print(f"loop of {name}, {how}: {taken:.3f} s = {ratios}")
    print("one pass: " + ", ".join(f"{n} {1000 * t:.1f} ms" for n, t in times.items()))


def print_scale(name, estimator):
    measured = []
    for n_rows in (100_000, 1_000_000):
        rows = make_rows(1, n_rows, 500)
        taken = seconds(lambda rows=rows: estimator.fit(rows["judge"], rows["human"]))
        tracemalloc.start()
        estimator.fit(rows["judge"], rows["human"])
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        measured.append((taken, peak))
        print(f"{name:28} {n_rows:>9,} rows: {taken:.3f} s, peak {peak:.0f} MB")
    ratios = np.divide(*reversed(measured))
    print(f"{name:28} ten times the rows: time x {ratios[0]:.1f}, memory x {ratios[1]:.1f}")


if __name__ == "__main__":
    print_speed()
    print_scale("PPIMean", PPIMean())
    print_scale("StratifiedPPI, quantiles", StratifiedPPI())
    print_scale("StratifiedPPI, tree", StratifiedPPI("tree"))
