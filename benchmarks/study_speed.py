"""What a repeated-sampling study costs: 460 groups, four estimators, 1,000 repetitions.

Prints the wall time of the study, the processor time that each estimator and the
sampling take per repetition, and how the cost of one draw grows with the items (it
does not, where nothing is shared) and with the groups.

    python benchmarks/study_speed.py --repetitions 1000 --n-jobs 2

On a machine with other work to do, processor time is the number to look at.
"""

import argparse
import time

import numpy as np
from sklearn.linear_model import Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    MixedModel,
    RepeatedSamplingStudy,
    make_items,
)
from skbench.assessment._candidate import as_candidates, ask
from skbench.assessment._population import design, population
from skbench.assessment._sampling import draw, summary_of

ESTIMATORS = {
    "direct": DirectEstimator(),
    "James-Stein": JamesStein(),
    "Fay-Herriot": FayHerriot(),
    "EB (Ridge)": EmpiricalBayes(Ridge()),
}
BY = ["model", "topic"]
TIMES = 20


def processor_seconds(function):
    function()
    start = time.process_time()
    for _ in range(TIMES):
        function()
    return (time.process_time() - start) / TIMES


def plan(n_models, n_topics, n_items, shared_items=True):
    data = make_items(n_models, n_topics, n_items, shared_items=shared_items, random_state=0)
    full = population(data.items, BY, "score", "item", "model", data.features, True)
    return design(full, 10, False)


def print_parts():
    ten_by_46 = plan(10, 46, 80)
    rng = np.random.default_rng(0)
    sample = draw(ten_by_46, False, rng)
    summary = summary_of(ten_by_46.population, sample, "smoothed")
    parts = {
        "draw": lambda: draw(ten_by_46, False, rng),
        "summary": lambda: summary_of(ten_by_46.population, sample, "smoothed"),
    }
    asked = ESTIMATORS | {"default": MixedModel()}
    for name, candidate in as_candidates(asked, "smoothed").items():
        parts[name] = lambda one={name: candidate}: ask(one, lambda _: summary, 0, 0.95)
    print("processor time per repetition, 10 models x 46 topics, 10 items:")
    for name, part in parts.items():
        print(f"  {name:12} {1000 * processor_seconds(part):7.2f} ms")


def print_growth():
    print("one draw of 10 items per group, ms:")
    for shared in (False, True):
        for n_topics, n_items in ((50, 100), (50, 800), (400, 100)):
            p = plan(10, n_topics, n_items, shared)
            rng = np.random.default_rng(0)
            taken = 1000 * processor_seconds(lambda p=p, rng=rng: draw(p, False, rng))
            kind = "shared items" if shared else "own items"
            print(f"  {kind:12} {10 * n_topics:5} groups of {n_items:3} items: {taken:7.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    print_parts()
    print_growth()
    data = make_items(10, 46, 80, random_state=0)
    study = RepeatedSamplingStudy(
        ESTIMATORS, 10, arguments.repetitions, random_state=0, n_jobs=arguments.n_jobs
    )
    start = time.perf_counter()
    study.run(data.items, features=data.features)
    taken = time.perf_counter() - start
    print(
        f"{arguments.repetitions} repetitions, {len(study.truth_)} groups, "
        f"n_jobs={arguments.n_jobs}: {taken:.1f} s"
    )
    start = time.perf_counter()
    print(study.summary()[["mse_ratio", "standard_error", "coverage", "width_ratio"]].to_string())
    print(f"summary: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
