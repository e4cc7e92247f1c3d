"""
Direct estimates and five binomial intervals
============================================

Which interval covers 95%, and at which accuracies, with ten items per topic and binary scores?
There are eleven possible counts, so coverage is a sum and needs no simulation.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom

from skbench import DirectEstimator

N_ITEMS = 10
INTERVALS = ["wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"]

# %%
# One group for every possible count, with each interval.

k = np.arange(N_ITEMS + 1)
z, n = k / N_ITEMS, np.full(k.size, N_ITEMS)
sigma2 = z * (1 - z) / n
X = np.zeros((k.size, 1))  # direct estimates use no features
estimates = {
    name: DirectEstimator().set_params(interval=name).fit(X, z, sigma2, n).estimate()
    for name in INTERVALS
}
print(f"95% intervals for 7 and for 10 correct answers out of {N_ITEMS}")
for name, e in estimates.items():
    seven, ten = ([round(float(end[i]), 3) for end in (e.low, e.high)] for i in (7, 10))
    print(f"  {name:16s} {seven!s:16s} {ten!s}")

# %%
# The coverage at an accuracy p is the probability of the counts whose interval contains p.

accuracy = np.linspace(0.005, 0.995, 397)
probability = binom.pmf(k[:, None], N_ITEMS, accuracy)
coverage = {
    name: np.sum(probability * ((e.low[:, None] <= accuracy) & (accuracy <= e.high[:, None])), 0)
    for name, e in estimates.items()
}
width = {name: (e.high - e.low) @ probability for name, e in estimates.items()}
print("\nover all accuracies        mean coverage   worst   mean width")
for name in INTERVALS:
    print(
        f"  {name:24s} {coverage[name].mean():10.3f} {coverage[name].min():9.3f} "
        f"{width[name].mean():9.3f}"
    )

# %%
# Clopper-Pearson never covers less than 95%. Wilson covers 95% on average. Wald is far too short
# near 0 and 1, the range of good models.

figure, axes = plt.subplots(1, 5, figsize=(12, 2.8), sharey=True, layout="constrained")
for ax, name in zip(axes, INTERVALS, strict=True):
    ax.axhline(0.95, color="0.6", linewidth=0.8)
    ax.plot(accuracy, coverage[name], linewidth=1.1, color="#0072b2")
    ax.set(title=name, xlabel="true accuracy", ylim=(0.5, 1.01))
axes[0].set_ylabel(f"coverage at n = {N_ITEMS}")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
