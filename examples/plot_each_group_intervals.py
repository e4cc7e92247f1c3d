"""
Intervals that cover every group, assisted by a prior
=====================================================

Intervals of shrinkage estimators cover on average over groups, and outlying groups less often. If
each group must be covered, a prior can still select among the exact intervals. The selected
intervals are short near the prior mean and longer elsewhere, with 95% coverage at every accuracy.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom
from sklearn.linear_model import RidgeCV

from skbench import EmpiricalBayes, MixedModel, make_items, summarize_items
from skbench.stats.intervals.binomial import clopper_pearson_interval, wilson_interval
from skbench.stats.shrinkage.fab import fab_binomial_interval

# %%
# **One group of 20 items with a prior of 0.7 +- 0.1.** Coverage at each true accuracy is a sum over
# the 21 possible counts. It is lowest next to the end of an interval, so the least coverage is
# found there.

n, counts = 20, np.arange(21)
intervals = {
    "Wilson": wilson_interval(counts, n),
    "Clopper-Pearson": clopper_pearson_interval(counts, n),
    "assisted": fab_binomial_interval(counts, n, 14, 6),
}
p = np.linspace(0.001, 0.999, 999)


def coverage_at(p, low, high):
    inside = (low <= p[:, None]) & (p[:, None] <= high)
    return np.sum(binom.pmf(counts, n, p[:, None]) * inside, axis=1)


figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
print(f"{'':16s} least coverage       width at .7   at .2")
for name, (low, high) in intervals.items():
    coverage = coverage_at(p, low, high)
    ends = np.concatenate([low, high])
    least = coverage_at(np.concatenate([ends - 1e-9, ends + 1e-9]).clip(0, 1), low, high).min()
    width = binom.pmf(counts, n, p[:, None]) @ (high - low)
    print(f"{name:16s} {least:14.3f} {np.interp(0.7, p, width):18.3f} {width[199]:7.3f}")
    axes[0].plot(p, coverage, label=name, linewidth=1)
    axes[1].plot(p, width, label=name)
axes[0].axhline(0.95, color="0.5", linewidth=0.8)
axes[0].set(xlabel="true accuracy", ylabel="coverage", ylim=(0.82, 1.005))
axes[1].set(xlabel="true accuracy", ylabel="mean width")
axes[1].legend()

# %%
# **A table of groups.** ``EmpiricalBayes(interval="fab")`` learns each prior from the other topics.
# The methods differ in groups whose true accuracy is far from the mean.

data = make_items(n_models=5, n_topics=40, n_items=20, topic_std=1.2, random_state=0)
summary = summarize_items(data.items, ["model", "topic"], features=data.features)
truth = data.truth.loc[list(summary.labels)].to_numpy()
exact = EmpiricalBayes(RidgeCV(), interval="fab", random_state=0)
fitted = {
    "mixed model": MixedModel().fit(**summary.fit_args).estimate(),
    "assisted": exact.fit(**summary.fit_args).estimate(),
}
k = np.round(summary.z * summary.n)
low, high = clopper_pearson_interval(k, summary.n)
far = np.abs(truth - np.mean(truth)) > 0.3
print(f"\n{'':16s} covered  of {far.sum()} far groups  width  guarantee")
for name, e in fitted.items():
    hit = (e.low <= truth) & (truth <= e.high)
    width = np.mean(e.high - e.low)
    print(f"{name:16s} {hit.mean():7.2f} {hit[far].mean():14.2f} {width:10.3f}  {e.guarantee}")
hit = (low <= truth) & (truth <= high)
print(
    f"{'Clopper-Pearson':16s} {hit.mean():7.2f} {hit[far].mean():14.2f} {np.mean(high - low):10.3f}"
)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
