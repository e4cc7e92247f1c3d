"""Compare the boosted trees of empirical Bayes, "xgboost", with grid searches.

Fogliato et al. (2024) choose the number of trees and their depth by 2-fold cross-validation but
print no grid, so the quality of their estimator depends on the assumed grid. This script draws
items of all subjects of MMLU-Pro repeatedly (10 models x 45 subjects, the smallest with 10
items, the others in proportion). It compares the trees of skbench with two grids around a
default `XGBRegressor`. It prints the squared error relative to the direct estimates, the coverage
of 95% intervals, and the seconds per repetition. The splits are one random split of model-topic
pairs, the mean of eight random splits, and eight splits by topic.

    python benchmarks/boosted_trees.py --repetitions 24

The data folder is $SKBENCH_DATA or ../shared/data. A repetition takes a minute of one core.
"""

import argparse
import time
import warnings

import pandas as pd
from precision import cell_figures, tuned_trees
from reproduced.f24_study import mmlu_pro

from skbench import (
    CrossFitKFold,
    DirectEstimator,
    EmpiricalBayes,
    RepeatedSamplingStudy,
)
from skbench.assessment import Candidate

TREES = {
    "skbench": "xgboost",
    "10 to 200 trees, depth 2 to 6": tuned_trees([10, 25, 50, 100, 200], [2, 3, 4, 6]),
    "50 to 200 trees, depth 2 to 4": tuned_trees([50, 100, 200], [2, 3, 4]),
}
SPLITS = {
    "one random split": dict(cv=2, keep_topics=False),
    "8 random splits": dict(cv=CrossFitKFold(random_state=0), keep_topics=False),
    "8 splits by topic": dict(cv=CrossFitKFold(random_state=0), keep_topics=True),
}


def judged(regressor, split, data, repetitions):
    """Return error, coverage and seconds of one regressor with one kind of split."""
    candidate = Candidate(
        EmpiricalBayes(regressor, cv=split["cv"]), keep_topics=split["keep_topics"]
    )
    estimators = {"direct": DirectEstimator(), "EB": candidate}
    trial = RepeatedSamplingStudy(estimators, "proportional", repetitions, random_state=0)
    start = time.perf_counter()
    figures = cell_figures(trial.run(**data).results_).loc["EB"]
    return {
        "error / direct": figures["of direct"],
        "coverage": figures["coverage"],
        "width / Wilson": figures["of Wilson"],
        "seconds": (time.perf_counter() - start) / repetitions,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=24)
    repetitions = parser.parse_args().repetitions
    data, rows = mmlu_pro(), {}
    for split, how in SPLITS.items():
        for name, regressor in TREES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows[split, name] = judged(regressor, how, data, repetitions)
            print(split, name, pd.Series(rows[split, name]).round(3).to_dict(), flush=True)
    print(pd.DataFrame(rows).T.round(3).to_string())


if __name__ == "__main__":
    main()
