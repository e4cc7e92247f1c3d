"""
How far can ten images per topic be trusted
===========================================

The robustness benchmark digits-C is known in full: 250 groups, every answer of five
classifiers to every image. So we can look at ten images per topic again and again,
and see how far each estimator is from the accuracy on all images, how often its
intervals hold it, and how wide they are.
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
# All estimators see the same draws. The paper's settings split model-topic pairs at
# random, although the models answered the same images.

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
# Empirical Bayes promises coverage on average over the groups. How far parts of them are
# from that average, a study can say and a single evaluation cannot.

by_truth = study.summary(by="truth")
shown = by_truth.loc[by_truth.index.isin(["EB, default"], level="estimator")]
print(shown[columns].to_string(float_format="%.3f"))

# %%
# Two pictures of the same table: errors, then coverage and width.

risk = RiskDisplay.from_summary(by_truth).plot()
coverage = CoverageDisplay.from_summary(by_truth).plot()
if len(sys.argv) > 1:
    coverage.figure_.savefig(sys.argv[1], dpi=150)
else:
    plt.show()
