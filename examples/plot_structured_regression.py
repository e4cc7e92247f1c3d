"""
Structured regression: a weighted lasso on intercepts
=====================================================

Structured regression needs no features. It has one intercept per model, topic and group, weights by
precision, and a lasso penalty that sets some intercepts to 0. Here we compare it with empirical
Bayes around a lasso without group intercepts.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    StructuredRegression,
    make_items,
    summarize_items,
)

# %%
# The models answer different items (``shared_items=False``), so the other models can inform the
# intercept of a topic.

estimators = {
    "direct": DirectEstimator(),
    "structured regression": StructuredRegression(random_state=0),
    "EB around a lasso": EmpiricalBayes(LassoCV(), random_state=0),
}
sizes = [10, 30, 100]
errors = np.zeros((len(estimators), len(sizes)))
for column, n_items in enumerate(sizes):
    data = make_items(n_models=8, n_topics=25, n_items=n_items, shared_items=False, random_state=3)
    summary = summarize_items(data.items, ["model", "topic"])
    truth = data.truth.loc[list(summary.labels)].to_numpy()
    for row, estimator in enumerate(estimators.values()):
        estimate = estimator.fit(**summary.fit_args).estimate()
        errors[row, column] = np.sqrt(np.mean((estimate.value - truth) ** 2))

    lasso = estimators["structured regression"].regressor_[-1]
    print(
        f"{n_items:3d} items per group: {np.count_nonzero(lasso.coef_)} of {lasso.coef_.size} "
        "intercepts kept"
    )
print(f"\nroot mean squared error at {', '.join(map(str, sizes))} items per group")
for name, row in zip(estimators, errors, strict=True):
    print(f"{name:24s} {'  '.join(f'{error:.4f}' for error in row)}")

# %%

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (name, row), marker in zip(zip(estimators, errors, strict=True), "osD", strict=True):
    ax.plot(sizes, row, marker=marker, label=name)
ax.set(xscale="log", xlabel="items per group", ylabel="root mean squared error", ylim=(0, None))
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
