"""
How reliable are ten images per topic?
======================================

All answers of five classifiers to every image of digits-C are known (250 groups). We repeatedly
sample ten images per topic. For each estimator, we measure the error against the accuracy on all
images, and the coverage and width of its intervals.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.linear_model import Ridge

from skbench import (
    CoverageDisplay,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    RepeatedSamplingStudy,
    RiskDisplay,
    SyntheticRegression,
    load_digits_c,
)
from skbench.assessment import Candidate

# %%
# All estimators use the same samples. The paper's settings split model-topic pairs at random,
# although the models answered the same images.

paper = EmpiricalBayes.as_published().set_params(regressor=Ridge())
estimators = {
    "direct": DirectEstimator(),
    "synthetic regression": SyntheticRegression(Ridge()),
    "EB, paper's settings": Candidate(paper, variance="plug-in"),
    "EB, default": EmpiricalBayes(Ridge()),
    "James-Stein": JamesStein(),
    "Fay-Herriot": FayHerriot(),
}
data = load_digits_c()
study = RepeatedSamplingStudy(estimators, n_items=10, n_repeats=20, random_state=0)
study.run(data.items, features=data.features)
columns = ["guarantee", "mse_ratio", "standard_error", "coverage", "width_ratio"]
print(study.summary()[columns].to_string(float_format="%.3f"))

# %%
# Empirical Bayes covers on average over the groups. A study shows the coverage of parts of the
# groups, which a single evaluation cannot.

by_truth = study.summary(by="truth")
shown = by_truth.loc[by_truth.index.isin(["EB, default"], level="estimator")]
print(shown[columns].to_string(float_format="%.3f"))

# %%
# Two figures of the same table: errors, then coverage and width.

risk = RiskDisplay.from_summary(by_truth).plot()
coverage = CoverageDisplay.from_summary(by_truth).plot()
if len(sys.argv) > 1:
    coverage.figure_.savefig(sys.argv[1], dpi=150)
else:
    plt.show()
