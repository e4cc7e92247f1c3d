"""
The most precise estimate: several estimators, averaged
=======================================================

A model of counts, and the same model around boosted trees, look at the same direct estimates
in different ways and err in different places. Their mean errs less than they do on average,
and an interval that takes their errors as fully dependent still covers.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from skbench import AveragedEstimator, DirectEstimator, make_items, summarize_items

data = make_items(n_models=6, n_topics=30, n_items=10, random_state=0)
summary = summarize_items(data.items, ["model", "topic"], features=data.features)
truth = data.truth.loc[list(summary.labels)].to_numpy()

averaged = AveragedEstimator(random_state=0).fit(**summary.fit_args)
estimates = {"direct": DirectEstimator().fit(**summary.fit_args).estimate()}
estimates |= {member.estimate().method: member.estimate() for member in averaged.estimators_}
estimates["averaged"] = averaged.estimate()

# %%
# Squared error relative to the direct estimates, coverage, and width.

direct = estimates["direct"]
print(f"{'':28s} error  covered  width")
for name, e in estimates.items():
    error = np.mean((e.value - truth) ** 2) / np.mean((direct.value - truth) ** 2)
    covered = np.mean((e.low <= truth) & (truth <= e.high))
    print(f"{name:28s} {error:5.2f} {covered:8.2f} {np.mean(e.high - e.low):6.3f}")
print(f"intervals widened by {averaged.common_inflation_:.2f}")

# %%
# The squared error of the average, as its own data tell it (Stein's identity), and as the
# truth does:

told = np.mean(averaged.squared_error_)
true = np.mean((estimates["averaged"].value - truth) ** 2)
print(f"mean squared error: told {told:.4f}, true {true:.4f}")

# %%
# Each point is a group: near the diagonal, the estimate is right.

figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True, layout="constrained")
for ax, name in zip(axes, ("direct", "averaged"), strict=True):
    e = estimates[name]
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    ax.vlines(truth, e.low, e.high, color="tab:blue", alpha=0.15)
    ax.plot(truth, e.value, ".", color="tab:blue")
    ax.set(title=name, xlabel="true accuracy", aspect="equal")
axes[0].set_ylabel("estimate and interval")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
