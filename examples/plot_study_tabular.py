"""
Accuracy, Brier score and cross-entropy of subgroups
====================================================

A boosted classifier is trained on half of a table of people and tested on the other half. How good
is it for each subgroup by protected attributes, judged from a sample of the test half? Each person
has three scores: correctness, squared error of the predicted probability, and cross-entropy. Set
SKBENCH_DATA to a folder with ``compas_two_years.csv.gz`` and ``student_mat.csv.gz``. Without these
files, the script simulates people.
"""

import os
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from xgboost import XGBClassifier

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    JamesStein,
    RepeatedSamplingStudy,
    RiskDisplay,
    SyntheticRegression,
)
from skbench.assessment import summarize_studies

folder = Path(os.environ.get("SKBENCH_DATA", "."))
LEAST_GROUP = 20  # people in the test half

# %%
# Inputs of the classifier, outcome, and protected attributes.


def compas(path):
    table = pd.read_csv(path)
    known = ["sex", "age", "juv_fel_count", "juv_misd_count", "priors_count", "c_charge_degree"]
    return table[known], table["two_year_recid"], table[["race", "sex", "age_cat"]]


def student(path):
    table = pd.read_csv(path)
    groups = table[["sex"]].assign(age=table["age"].clip(upper=18).astype(str))
    return table.drop(columns=["G1", "G2", "G3"]), (table["G3"] >= 10).astype(int), groups


def simulated(n_people, seed):
    rng = np.random.default_rng(seed)
    groups = pd.DataFrame({name: rng.choice(list("abcd"), n_people) for name in ("sex", "age")})
    X = pd.DataFrame(rng.normal(size=(n_people, 4)), columns=list("uvwx"))
    shift = groups["age"].map(dict(zip("abcd", rng.normal(size=4), strict=True)))
    return X, (X["u"] + shift + rng.normal(size=n_people) > 0).astype(int), groups


# %%
# Train on one half, score the people of the other.


def scored_people(X, y, groups):
    X = pd.get_dummies(X, dtype=float)
    halves = train_test_split(X, y, groups, test_size=0.5, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test, _, people = halves
    booster = XGBClassifier(n_estimators=50, learning_rate=0.1, n_jobs=1, random_state=0)
    search = GridSearchCV(booster, {"max_depth": [1, 2, 3]}, cv=3, scoring="neg_log_loss")
    p = search.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    own = np.clip(np.where(y_test == 1, p, 1 - p), 1e-6, 1)
    people = people.assign(
        accuracy=(own > 0.5).astype(float),
        brier=(1 - own) ** 2,
        cross_entropy=-np.log(own),
        confidence=np.maximum(p, 1 - p),
    )
    sizes = people.groupby(list(groups.columns))["accuracy"].transform("size")
    return people[sizes >= LEAST_GROUP], list(groups.columns)


# %%
# One study per data set and score. The features are the attributes and the mean confidence of the
# sampled people. Scores that are not binary get t intervals.

estimators = {
    "direct": DirectEstimator(),
    "synthetic regression": SyntheticRegression(Ridge()),
    "empirical Bayes": EmpiricalBayes(Ridge()),
    "James-Stein": JamesStein(),
}
studies = {}
for name, file, read, share in (
    ("COMPAS", "compas_two_years.csv.gz", compas, "proportional"),
    ("student", "student_mat.csv.gz", student, 0.4),
):
    if (folder / file).exists():
        table = read(folder / file)
    else:
        print(f"{folder / file} does not exist (set SKBENCH_DATA), so people are simulated.")
        table, name = simulated(2000, seed=len(studies)), f"{name}, simulated"
    people, by = scored_people(*table)
    for score in ("accuracy", "brier", "cross_entropy"):
        study = RepeatedSamplingStudy(estimators, share, n_repeats=20, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # kept in study.warnings_
            study.run(people, by, score, features=["confidence"])
        studies[f"{name}, {score}"] = study
    sizes = study.results_["n"]
    print(f"{name}: {len(study.truth_)} groups of {sizes.min()} to {sizes.max()} sampled people")

table = summarize_studies(studies)
columns = ["guarantee", "mse_ratio", "standard_error", "coverage", "width_ratio"]
print(table[columns].to_string(float_format="%.3f"))

# %%

display = RiskDisplay.from_summary(table).plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
else:
    plt.show()
