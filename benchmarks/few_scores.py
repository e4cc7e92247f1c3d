"""Nonbinary scores, few per group: the effect of trusting their variances.

The script draws items from full results without replacement, the same for all models. Scores are
the confidence of five classifiers in the correct digit (`load_digits_c`), and the F1 of five
systems on open questions by answer length (OpenQA-eval). It prints the squared error relative to
direct estimates and the coverage of 95% intervals for `MixedModel` and `EmpiricalBayes` with ridge.
Sampling variances are either plug-in (``variance="plug-in"``) or moderated (the default).

    python benchmarks/few_scores.py --repetitions 20

The questions are read from $SKBENCH_DATA or ../shared/data, and skipped if the file is missing.
"""

import argparse
import os
import warnings
from pathlib import Path

import pandas as pd
from sklearn.linear_model import RidgeCV

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    MixedModel,
    RepeatedSamplingStudy,
    load_digits_c,
)
from skbench.assessment import Candidate

ROOT = Path(__file__).parents[1]
ESTIMATORS = {
    "mixed": MixedModel(),
    "EB": EmpiricalBayes(RidgeCV()),
}


def confidence():
    """Load the probability of the correct digit: five classifiers on 50 damaged test sets."""
    items = load_digits_c().items
    return items.assign(score=items["confidence"])[["model", "topic", "item", "score"]]


def open_questions():
    """Load F1 of five systems, by the number of words in the first system's answer."""
    folder = Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))
    file = folder / "openqa_nq.csv.gz"
    if not file.exists():
        return None
    rows = pd.read_csv(file).rename(columns={"system": "model", "question_id": "item"})
    words = rows.groupby("item")["n_words"].transform("first").clip(upper=6)
    rows = rows.assign(topic=words.map("{} words".format), score=rows["f1"])
    return rows[["model", "topic", "item", "score"]]


def figures(items, n, repetitions):
    """Return error and coverage of every estimator with both kinds of variances."""
    believed = {
        f"{name}, believed": Candidate(estimator, variance="plug-in")
        for name, estimator in ESTIMATORS.items()
    }
    candidates = {"direct": DirectEstimator(interval="t")} | ESTIMATORS | believed
    study = RepeatedSamplingStudy(candidates, n, repetitions, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = study.run(items).results_
    rows = rows.assign(
        error=(rows["estimate"] - rows["truth"]) ** 2,
        coverage=(rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"]),
    )
    table = rows.groupby("estimator", observed=True)[["error", "coverage"]].mean()
    table["error"] /= table.loc["direct", "error"]
    return table.loc[[*believed, *ESTIMATORS]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    arguments = parser.parse_args()
    sets = {"confidence in the right digit": confidence(), "F1 on open questions": open_questions()}
    for name, items in sets.items():
        if items is None:
            continue
        for n in (5, 10, 20):
            table = figures(items, n, arguments.repetitions)
            print(f"{name}, {n} per group\n{table.round(3).to_string()}\n", flush=True)


if __name__ == "__main__":
    main()
