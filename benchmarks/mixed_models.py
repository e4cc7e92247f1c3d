"""Mixed models against direct estimates and empirical Bayes on MMLU-Pro, and their cost.

Draws items without replacement, the same for all ten models: in proportion to the
size of the subjects, or 10, 20 or 50 of each subject with four times as many. Prints
squared error and width relative to direct estimates and Wilson intervals, and average
coverage. Then fits simulated counts of growing size and prints seconds and memory.

    python benchmarks/mixed_models.py --repetitions 20
    python benchmarks/mixed_models.py --cost

The data (mmlu_pro_dev.csv.gz) is read from $SKBENCH_DATA or ../shared/data.
"""

import argparse
import resource
import time
import warnings

import numpy as np
import pandas as pd
from repeated_sampling import mmlu_pro
from scipy.special import expit

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    GaussianMixedModel,
    LogisticMixedModel,
    RepeatedSamplingStudy,
    summarize_studies,
)

ESTIMATORS = {
    "direct": DirectEstimator(),
    "EB, default": EmpiricalBayes(),
    "logistic mixed": LogisticMixedModel(),
    "logistic mixed, uncalibrated": LogisticMixedModel(calibration=None),
    "logistic mixed, kernels": LogisticMixedModel(kernels="auto"),
    "Gaussian mixed": GaussianMixedModel(),
}
SIZES = [(10, 46, 0.3, False), (10, 46, 0.3, True), (10, 92, 0.3, False), (10, 184, 0.3, False)]
LARGE = [(50, 500, 0.3, False), (50, 2000, 0.3, False), (50, 2000, None, False)]


def precision(repetitions):
    studies = {}
    for design in ("proportional", 10, 20, 50):
        study = RepeatedSamplingStudy(ESTIMATORS, design, repetitions, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # subjects too small for a design are dropped
            studies[f"MMLU-Pro, {design}"] = study.run(**mmlu_pro())
    table = summarize_studies(studies)
    for column in ("mse_ratio", "standard_error", "coverage", "width_ratio"):
        wide = table[column].dropna().unstack("study", sort=False)
        print(f"\n{column}\n{wide.to_string(float_format='%.3f', na_rep='')}", flush=True)


def cost():
    print("models  topics  kernels  correlation  CPU seconds  wall seconds  peak GB")
    for n_models, n_topics, correlation, kernels in SIZES + LARGE:
        rng = np.random.default_rng(0)
        topic, model = np.divmod(np.arange(n_models * n_topics), n_models)
        luck = np.sqrt(0.5) * rng.normal(size=(n_topics, 10, 1))
        own = np.sqrt(0.5) * rng.normal(size=(n_topics, 10, n_models))
        eta = rng.normal(0, 0.8, (n_topics, 1)) + rng.normal(0, 0.4, (n_topics, n_models))
        k = (expit(1.7 * (luck + own)) < expit(eta)[:, None, :]).sum(axis=1).ravel()
        X = pd.DataFrame({"model": model, "topic": topic})
        X["x"] = rng.normal(size=n_topics)[topic]
        estimator = LogisticMixedModel(
            item_correlation=correlation, kernels=["x"] if kernels else None
        )
        cpu, wall = time.process_time(), time.perf_counter()
        estimator.fit(X, k / 10, n=np.full(len(k), 10)).estimate()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{n_models:6d} {n_topics:7d} {kernels!s:>8} {correlation!s:>12} "
            f"{cpu:12.2f} {wall:13.2f} {peak:8.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--cost", action="store_true", help="only the cost")
    arguments = parser.parse_args()
    if not arguments.cost:
        precision(arguments.repetitions)
    cost()


if __name__ == "__main__":
    main()
