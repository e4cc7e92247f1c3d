"""The estimators of the papers on two real benchmarks, by repeated sampling.

Each repetition draws few items of every topic without replacement, the same items for
all models; the truth is the mean over all items. Prints mean squared errors relative to
the direct estimator with standard errors over repetitions, coverage and width, for 10,
20 and 50 items per topic and for the proportional design, then mean and median over
all of these.

    python benchmarks/repeated_sampling.py --repetitions 200 --folder /tmp/studies

Finished repetitions stay in the folder, so an interrupted run goes on where it stopped,
and a larger number of repetitions continues a smaller one; use one folder per regressor
and another with ``--task-intercepts``.
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
    CoverageDisplay,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    RepeatedSamplingStudy,
    RiskDisplay,
    SamplingDisplay,
    StructuredRegression,
    SyntheticRegression,
    summarize_studies,
)

ROOT = Path(__file__).parents[1]
DESIGNS = (10, "proportional", 20, 50)
REGRESSORS = {"xgboost": None, "ridge": Ridge()}  # None is XGBoost, tuned
ESTIMATES_SHOWN = ["direct", "synthetic regression", "EB, default"]
OVERVIEW = {
    "mse_ratio": "Mean squared error relative to direct",
    "standard_error": "its standard error over repetitions",
    "small": "the same among groups of at most 15 items",
    "large": "the same among groups of more than 15 items",
    "coverage": "Coverage of the 95 % intervals",
    "width_ratio": "their width relative to direct",
}


def as_published(regressor):
    """Fogliato et al. (2024): one random split of model-topic pairs, plug-in variance."""
    published = EmpiricalBayes(
        regressor, cv=2, prior_variance="moments", pool=False, unlike_share=0
    )
    return Candidate(published, variance="plug-in", keep_topics=False)


def estimators(regressor):
    return {
        "direct": DirectEstimator(),
        "synthetic regression": SyntheticRegression(regressor),
        "EB, paper's settings": as_published(regressor),
        "EB, default": EmpiricalBayes(regressor),
        "structured regression": StructuredRegression(),
        "James-Stein": JamesStein(),
        "Fay-Herriot": FayHerriot(),
    }


def with_task_intercepts(regressor):
    """The regressions as the paper has them, one intercept per model and per task.

    Told which groups share items, they leave out the names of topics, which say nothing
    of a topic outside the folds; their interval then holds, and their values are worse.
    """
    regressions = {
        "synthetic regression": SyntheticRegression(regressor),
        "structured regression": StructuredRegression(),
    }
    return {"direct": DirectEstimator()} | {
        name: Candidate(estimator, keep_topics=False) for name, estimator in regressions.items()
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
    on_trial = with_task_intercepts if arguments.task_intercepts else estimators
    study = RepeatedSamplingStudy(
        on_trial(REGRESSORS[arguments.regressor]),
        n_items=n_items,
        n_repeats=arguments.repetitions,
        random_state=0,
        n_jobs=arguments.n_jobs,
        path=arguments.folder and arguments.folder / f"{name}-{n_items}",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dropped groups are printed below
        return study.run(**DATA[name]())


def print_overview(studies):
    for name, study in studies.items():
        print(
            f"{name:28} {study.n_repeats} repetitions, {len(study.truth_)} groups, "
            f"{len(study.dropped_)} too small, {len(study.failures_)} failures"
        )
    table = summarize_studies(studies)
    for column, title in OVERVIEW.items():
        wide = table[column].dropna().unstack("study", sort=False)
        print(f"\n{title}\n{wide.to_string(float_format='%.3f', na_rep='')}")


def save_pictures(studies, folder):
    """Figures 2, 3, 4 and 6 of the paper, and coverage by truth."""
    folder.mkdir(parents=True, exist_ok=True)
    table = summarize_studies(studies)
    by_size = {
        name: study.summary(by="n")
        for name, study in studies.items()
        if name.endswith("proportional")
    }
    rows = pd.concat(
        part.rename(lambda size, name=name: f"{name.split(',')[0]}, {size}", level="n")
        for name, part in by_size.items()
    )
    first = next(iter(studies.values()))
    few = [name for name in ESTIMATES_SHOWN if name in set(first.results_["estimator"])]
    pictures = {
        "risk": RiskDisplay.from_summary(table).plot(),
        "risk_by_size": RiskDisplay.from_summary(rows).plot(),
        "coverage": CoverageDisplay.from_summary(table).plot(),
        "coverage_by_truth": CoverageDisplay.from_summary(first.summary(by="truth")).plot(),
        "samples": SamplingDisplay.from_results(first.results_, estimators=few).plot(
            xlabel="accuracy"
        ),
    }
    for name, display in pictures.items():
        display.figure_.savefig(folder / f"{name}.png", dpi=90)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--data", choices=DATA, action="append", help="default: all")
    parser.add_argument("--regressor", choices=REGRESSORS, default="xgboost")
    parser.add_argument("--task-intercepts", action="store_true", help="regressions only")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--pictures", type=Path, help="folder for the figures")
    arguments = parser.parse_args()
    studies = {
        f"{name}, {n_items}": run(name, n_items, arguments)
        for name in arguments.data or DATA
        for n_items in DESIGNS
    }
    print_overview(studies)
    if arguments.pictures:
        save_pictures(studies, arguments.pictures)


if __name__ == "__main__":
    main()
