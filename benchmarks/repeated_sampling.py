"""The estimators of the papers on two real benchmarks, by repeated sampling.

Each repetition draws few items of every topic without replacement, the same items for
all models; the truth is the mean over all items. Prints mean squared errors relative to
the direct estimator with standard errors over repetitions, coverage and width, for 10,
20 and 50 items per topic and for the proportional design, then mean and median over
all of these.

    python benchmarks/repeated_sampling.py --repetitions 200 --folder /tmp/studies

Finished repetitions stay in the folder, so an interrupted run goes on where it stopped,
and a larger number of repetitions continues a smaller one; use one folder per regressor.
With XGBoost inside, a repetition on MMLU-Pro takes about 2.5 s of one core, with
``--regressor ridge`` 0.5 s. The data
(mmlu_pro_dev.csv.gz, bbh_codex.csv.gz) is read from $SKBENCH_DATA or ../shared/data.
"""

import argparse
import os
import warnings
from pathlib import Path

import pandas as pd
from sklearn.linear_model import Ridge

from skbench import (
    Candidate,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    RepeatedSamplingStudy,
    StructuredRegression,
    SyntheticRegression,
    summarize_studies,
)

ROOT = Path(__file__).parents[1]
DESIGNS = (10, "proportional", 20, 50)
REGRESSORS = {"xgboost": None, "ridge": Ridge()}  # None is XGBoost, tuned
COLUMNS = [
    *("mse_ratio", "standard_error", "small", "large", "squared_bias", "variance"),
    *("coverage", "coverage_small", "coverage_large", "width_ratio", "failed"),
]


def estimators(regressor):
    return {
        "direct": DirectEstimator(),
        "synthetic regression": SyntheticRegression(regressor),
        # Fogliato et al. (2024): one random split of model-topic pairs, plug-in variance.
        "EB, paper's settings": Candidate(
            EmpiricalBayes(regressor, cv=2, prior_variance="moments", pool=False),
            variance="plug-in",
            keep_topics=False,
        ),
        "EB, default": EmpiricalBayes(regressor),
        "structured regression": StructuredRegression(),
        "James-Stein": JamesStein(),
        "Fay-Herriot": FayHerriot(),
    }


def data_folder():
    return Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))


def mmlu_pro():
    """Ten models on 46 subjects; features are mean embeddings of the drawn questions."""
    wide = pd.read_csv(data_folder() / "mmlu_pro_dev.csv.gz")
    models = wide.columns[wide.columns.get_loc("lsa15") + 1 :].tolist()
    embedding = [name for name in wide.columns if name.startswith("lsa")]
    return {
        "items": wide,
        "by": ["model", "src"],
        "score": models,
        "item": "question_id",
        "features": [*embedding, "question_chars", "n_options"],
    }


def big_bench_hard():
    """One model prompted in two ways, as two models, on 27 tasks; no features."""
    items = pd.read_csv(data_folder() / "bbh_codex.csv.gz")
    return {
        "items": items.rename(columns={"mode": "model"}),
        "by": ["model", "task"],
        "score": "correct",
    }


DATA = {"MMLU-Pro": mmlu_pro, "BIG-Bench-Hard": big_bench_hard}


def run(name, n_items, arguments):
    study = RepeatedSamplingStudy(
        estimators(REGRESSORS[arguments.regressor]),
        n_items=n_items,
        n_repeats=arguments.repetitions,
        random_state=0,
        n_jobs=arguments.n_jobs,
        path=arguments.folder and arguments.folder / f"{name}-{n_items}",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dropped groups are printed below
        return study.run(**DATA[name]())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--data", choices=DATA, action="append", help="default: all")
    parser.add_argument("--regressor", choices=REGRESSORS, default="xgboost")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    studies = {}
    for name in arguments.data or DATA:
        for n_items in DESIGNS:
            study = studies[f"{name}, {n_items}"] = run(name, n_items, arguments)
            print(
                f"\n{name}, {n_items}: {arguments.repetitions} repetitions, "
                f"{len(study.truth_)} groups, {len(study.dropped_)} too small"
            )
            print(study.summary()[COLUMNS].to_string(float_format="%.3f"), flush=True)
    table = summarize_studies(studies)[COLUMNS]
    print("\nOver all of these")
    print(table.loc[["mean", "median"]].to_string(float_format="%.3f"))


if __name__ == "__main__":
    main()
