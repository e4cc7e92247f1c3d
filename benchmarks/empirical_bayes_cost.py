"""What EmpiricalBayes costs beyond the regressor fits it contains, and at 100,000 groups.

Prints, in one run: the time of `fit` over the time of the very same 17 fits and
predictions in a plain loop (2 folds x 8 repeats, and one on all groups), for several
regressors, and the time of `estimate`, which solves for the critical values; then
time and peak memory from item rows to estimates for 10,000 and 100,000 groups with
Ridge inside, and their ratio (10 means linear).

    python benchmarks/empirical_bayes_cost.py
"""

import time
import tracemalloc

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LassoCV, Ridge
from xgboost import XGBRegressor

from skbench import CrossFitKFold, EmpiricalBayes, make_items, summarize_items
from skbench.groups._regressors import TunedXGBRegressor

REPETITIONS = 5


def make_groups(n_groups, n_features=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_groups, n_features))
    sigma2 = rng.uniform(0.005, 0.02, n_groups)
    truth = 0.5 + 0.05 * X[:, 0] + 0.05 * rng.normal(size=n_groups)
    return X, truth + np.sqrt(sigma2) * rng.normal(size=n_groups), sigma2


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def plain_loop(regressor, X, z):
    for train, test in CrossFitKFold(random_state=0).split(X, z):
        clone(regressor).fit(X[train], z[train]).predict(X[test])
    clone(regressor).fit(X, z)


def print_overhead(name, regressor, n_groups=460):
    X, z, sigma2 = make_groups(n_groups)
    eb = EmpiricalBayes(regressor, random_state=0)
    loop, fit, estimate = np.transpose(
        [
            [
                seconds(lambda: plain_loop(regressor, X, z)),
                seconds(lambda: eb.fit(X, z, sigma2)),
                seconds(eb.estimate),
            ]
            for _ in range(REPETITIONS)
        ]
    )
    ratios = fit / loop
    print(
        f"{name:26} {n_groups} groups: loop {np.median(loop):.3f} s, fit / loop "
        f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f}), "
        f"estimate {np.median(estimate):.3f} s"
    )


def at_scale(n_topics):
    """Seconds and peak MB from item rows to estimates, ten models on the same items."""
    data = make_items(n_models=10, n_topics=n_topics, n_items=10, random_state=0)

    def run():
        g = summarize_items(data.items, ["model", "topic"], features=data.features)
        EmpiricalBayes(Ridge(), random_state=0).fit(**g.fit_args).estimate()

    taken = seconds(run)
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(
        f"Ridge, {10 * n_topics} groups, from {len(data.items)} item rows: {taken:.2f} s, "
        f"peak {peak:.0f} MB"
    )
    return np.array([taken, peak])


def print_scaling():
    time_ratio, memory_ratio = at_scale(10_000) / at_scale(1_000)
    print(f"ten times the groups: {time_ratio:.1f} x the time, {memory_ratio:.1f} x the memory")


if __name__ == "__main__":
    print_overhead("XGBoost, tuned (default)", TunedXGBRegressor(random_state=0))
    print_overhead("XGBoost, 100 trees", XGBRegressor(n_jobs=1, random_state=0))
    print_overhead("lasso, tuned", LassoCV())
    print_overhead("ridge", Ridge())
    print_scaling()
