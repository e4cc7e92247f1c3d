"""Studies of repetitions with two new worker processes, next to one process, in clock seconds."""

import time
from functools import partial

from joblib.externals.loky import get_reusable_executor
from sklearn.linear_model import Ridge

from costs import Cost
from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    RepeatedSamplingStudy,
    estimated_risk,
    make_items,
)

ESTIMATORS = {
    "direct": DirectEstimator(),
    "Fay-Herriot": FayHerriot(),
    "EB (Ridge)": EmpiricalBayes(Ridge()),
}
BY = ["model", "topic"]


def study(items, features, n_repeats, n_jobs):
    candidates = RepeatedSamplingStudy(ESTIMATORS, 10, n_repeats, random_state=0, n_jobs=n_jobs)
    return candidates.run(items, features=features)


def risk(items, features, n_repeats, n_jobs):
    options = {"features": features, "n_repeats": n_repeats, "random_state": 0}
    return estimated_risk(ESTIMATORS, items, BY, **options, n_jobs=n_jobs)


def anew(function):
    get_reusable_executor().shutdown(wait=True)
    return function()


def workers(shapes):
    """Two jobs next to one: a repeated study, and the risk by ten folds."""
    for function, n_repeats in shapes:
        data = make_items(10, 46, 80, random_state=0)
        run = partial(function, data.items, data.features, n_repeats)
        yield Cost(
            f"{function.__name__}, {n_repeats} times",
            n_repeats,
            partial(anew, partial(run, 2)),
            partial(run, 1),
            bar=1,
        )


workers.clock = time.perf_counter

PATHS = {workers: [(study, 12), (study, 60), (risk, 2), (risk, 20)]}
SMALL = {workers: [(study, 6)]}
