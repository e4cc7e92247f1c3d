"""
A robustness benchmark, end to end
==================================

Five classifiers are trained on half of scikit-learn's digits. They classify the other half under
ten corruptions at five severities, which gives 250 groups. We use ten images per topic, the same
for all classifiers, to estimate all 250 accuracies. The accuracies on all other images serve as
true values.
"""

import sys

import numpy as np
from sklearn.linear_model import Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    ShrinkageDisplay,
    SyntheticRegression,
    load_digits_c,
    sample_items,
    summarize_items,
)

# %%
# The benchmark is computed here, so all answers are known.

data = load_digits_c()
print(data)
sample = sample_items(data.items, 10, random_state=0)
others = data.items.drop(index=sample.index)
summary = summarize_items(sample, by=["model", "topic"], features=data.features)
truth = others.groupby(["model", "topic"])["score"].mean().loc[list(summary.labels)].to_numpy()
print(summary)

# %%

estimators = {
    "direct": DirectEstimator(),
    "synthetic": SyntheticRegression(Ridge(), random_state=0),
    "EB, ridge inside": EmpiricalBayes(Ridge(), random_state=0),
    "EB, XGBoost inside": EmpiricalBayes(random_state=0),
}
estimates = {name: e.fit(**summary.fit_args).estimate() for name, e in estimators.items()}
squared_error = {name: np.mean((e.value - truth) ** 2) for name, e in estimates.items()}
print(f"\n{'':20s} MSE/direct  covered  width  guarantee")
for name, e in estimates.items():
    print(
        f"{name:20s} {squared_error[name] / squared_error['direct']:10.2f} "
        f"{np.mean((e.low <= truth) & (truth <= e.high)):8.2f} {np.mean(e.high - e.low):6.3f}"
        f"  {e.guarantee}"
    )

# %%
# The groups that were shrunk most, and whether this improved them.

display = ShrinkageDisplay.from_estimates(
    estimates["direct"], estimates["EB, ridge inside"], truth=truth, n=summary.n, max_rows=18
)
columns = ["direct", "shrunk", "truth", "improved"]
print(f"\nlargest shifts among {len(display.moves)} groups")
print(display.moves[columns].head().to_string(float_format="%.2f"))
print(f"{display.legend['toward']} groups")
display.plot(xlabel="accuracy")
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
