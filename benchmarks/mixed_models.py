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
from reproduced.f24 import mmlu_pro
from scipy.special import expit

from skbench import (
    AveragedEstimator,
    DirectEstimator,
    EmpiricalBayes,
    GaussianMixedModel,
    LogisticMixedModel,
    RepeatedSamplingStudy,
    Sampling,
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
# Models, topics, correlation of errors, features, and whether it is the averaged default.
SIZES = [
    (10, 46, 0.3, 0, False),
    (10, 46, 0.3, 17, False),
    (10, 46, 0.3, 0, True),
    (10, 46, 0.3, 17, True),
    (10, 92, 0.3, 17, False),
    (10, 184, 0.3, 17, False),
    (50, 500, 0.3, 0, False),
    (50, 2000, 0.3, 0, False),
    (50, 2000, 0.3, 5, False),
    (50, 2000, 0.3, 5, True),
]


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
    print("estimator  models  topics  features  CPU seconds  wall seconds  peak GB")
    for n_models, n_topics, correlation, n_features, is_default in SIZES:
        rng = np.random.default_rng(0)
        topic, model = np.divmod(np.arange(n_models * n_topics), n_models)
        luck = np.sqrt(0.5) * rng.normal(size=(n_topics, 10, 1))
        own = np.sqrt(0.5) * rng.normal(size=(n_topics, 10, n_models))
        eta = rng.normal(0, 0.8, (n_topics, 1)) + rng.normal(0, 0.4, (n_topics, n_models))
        k = (expit(1.7 * (luck + own)) < expit(eta)[:, None, :]).sum(axis=1).ravel()
        X = pd.DataFrame({"model": model, "topic": topic})
        X[[f"x{j}" for j in range(n_features)]] = rng.normal(size=(n_topics, n_features))[topic]
        between = np.where(np.eye(n_models, dtype=bool), 1.0, correlation)
        sampling = Sampling(items_shared=True, item_correlation=pd.DataFrame(between))
        n, z = np.full(len(k), 10), k / 10
        estimator = LogisticMixedModel(kernels="auto" if n_features else None)
        if is_default:
            estimator = AveragedEstimator(random_state=0)
        cpu, wall = time.process_time(), time.perf_counter()
        estimator.fit(X, z, (k + 1) / 12 * (11 - k) / 12 / 10, n, topic, sampling).estimate()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        name = "averaged" if is_default else "mixed"
        print(
            f"{name:9s} {n_models:7d} {n_topics:7d} {n_features:9d} "
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
