"""
Choosing an estimator without true values
=========================================

Six candidates estimate the accuracy of five classifiers on digits-C from ten images per topic. Each
candidate is fitted to nine tenths of the images and judged by the rest, ten times. In this example
the true accuracies (on all other images) are known, so we can compare estimated and true risks.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    StructuredRegression,
    SyntheticRegression,
    compare_estimators,
    load_digits_c,
    sample_items,
    summarize_items,
)

BY = ["model", "topic"]
data = load_digits_c()
seen = sample_items(data.items, 10, random_state=0)
truth = data.items.drop(index=seen.index).groupby(BY)["score"].mean()

# %%
# The first candidate is chosen in case of doubt.

candidates = {
    "direct": DirectEstimator(),
    "James-Stein": JamesStein(),
    "Fay-Herriot": FayHerriot(),
    "structured regression": StructuredRegression(random_state=0),
    "synthetic regression": SyntheticRegression(Ridge(), random_state=0),
    "empirical Bayes": EmpiricalBayes(Ridge(), random_state=0),
}
comparison = compare_estimators(candidates, seen, BY, features=data.features, random_state=0)
print(comparison)

# %%
# The chosen estimator is fitted to all ten images. The ratio shows its gain in images.

print(f"\n{comparison.estimate.method}: {comparison.estimate.sample_size_ratio}")

# %%
# The true errors of all candidates, fitted to all ten images.

summary = summarize_items(seen, BY, features=data.features)
mu = truth.loc[list(summary.labels)].to_numpy()
true_risk = pd.Series(
    {
        name: np.mean((estimator.fit_predict(**summary.fit_args) - mu) ** 2)
        for name, estimator in candidates.items()
    }
)
table = pd.DataFrame(
    {
        "estimated / direct": comparison.risk.risk / comparison.risk.risk["direct"],
        "true / direct": true_risk / true_risk["direct"],
    }
)
print(f"\n{table.round(2).to_string()}")
print(f"regret of the choice: {true_risk[comparison.choice] / true_risk.min():.3f}")

# %%

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
rows = np.arange(len(table))
ax.errorbar(
    1000 * comparison.risk.risk,
    rows - 0.1,
    xerr=1960 * comparison.risk.standard_error,
    fmt="o",
    capsize=3,
    label="estimated from the items, 95% interval",
)
ax.plot(1000 * true_risk, rows + 0.1, "D", color="0.3", label="true risk, with all ten images")
names = [f"{name} (chosen)" if name == comparison.choice else name for name in table.index]
ax.set_yticks(rows, names)
ax.invert_yaxis()
ax.set_xlim(left=0)
ax.set_xlabel("mean squared error x 1000")
ax.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
