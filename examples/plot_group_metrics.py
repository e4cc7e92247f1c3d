"""
Error rates of groups of people
===============================

A risk score predicts who will offend again within two years. This script estimates its false
positive rate by age and race from 500 people. It compares direct estimates, estimates that borrow
strength from groups of the same age or race, and the rates among all 6,172 people. Set SKBENCH_DATA
to a folder with ``compas_two_years.csv.gz``; otherwise the data are simulated.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbench import DirectEstimator, ForestDisplay, MixedModel, extremes, group_metrics

file = Path(os.environ.get("SKBENCH_DATA", ".")) / "compas_two_years.csv.gz"


def simulated(n_people=6000, seed=0):
    """Simulate people, with higher scores at a young age and in one of five groups."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "age_cat": rng.choice(["25 - 45", "Greater than 45", "Less than 25"], n_people),
            "race": rng.choice(list("ABCDE"), n_people, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "two_year_recid": rng.integers(2, size=n_people),
        }
    )
    shift = 2 * (people["age_cat"] == "Less than 25") + 1.5 * (people["race"] == "A")
    score = 3 + 2 * people["two_year_recid"] + shift + rng.normal(0, 2, n_people)
    return people.assign(decile_score=np.clip(score.round(), 1, 10))


people = pd.read_csv(file) if file.exists() else simulated()
people["predicted"] = (people["decile_score"] >= 5).astype(int)
frequent = people.groupby(["age_cat", "race"])["race"].transform("size") >= 100
people, by = people[frequent], ["age_cat", "race"]


def false_positive_rates(rows):
    return group_metrics(rows["two_year_recid"], rows["predicted"], rows[by], "fpr")


# %%
# The columns of `by` are also features, so groups of the same age or race borrow strength from each
# other.

g = false_positive_rates(people.sample(500, random_state=0))
direct = DirectEstimator().fit(**g.fit_args).estimate()
model = MixedModel().fit(**g.fit_args)
mixed = model.estimate()
print(mixed.to_frame()[["value", "low", "high"]].round(2))

# %%
# The worst group and the gap between the worst and the best, from joint draws. Lower is better.

found = extremes(model.sample(4000, random_state=0), greater_is_better=False, of="both")
print(found)
print(found.worst_probability.sort_values(ascending=False).head(3).round(2))

# %%
# Errors of the rates and of the gap over twenty samples, relative to the rates among all people.

everybody = false_positive_rates(people)
truth = pd.Series(everybody.z, everybody.labels)
errors, gaps = {"direct": [], "mixed model": []}, {"direct": [], "mixed model": []}
for seed in range(20):
    sample = false_positive_rates(people.sample(500, random_state=seed))
    own = truth.reindex(sample.labels).to_numpy()
    fitted = MixedModel().fit(**sample.fit_args)
    draws = fitted.sample(1000, random_state=0)
    errors["direct"].append(sample.z - own)
    errors["mixed model"].append(fitted.estimate().value - own)
    gaps["direct"].append(np.ptp(sample.z) - np.ptp(truth))
    gaps["mixed model"].append(extremes(draws).to_frame().loc["gap", "value"] - np.ptp(truth))
for name in errors:
    of_rates = np.sqrt(np.mean(np.concatenate(errors[name]) ** 2))
    of_gap = np.sqrt(np.mean(np.square(gaps[name])))
    print(f"{name}: root mean squared error {of_rates:.3f}, of the gap {of_gap:.3f}")

names = {"direct": direct, "mixed model": mixed}
display = ForestDisplay.from_estimates(names, sort_by="mixed model", truth=truth)
display.plot(xlabel="false positive rate")
if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=150)
