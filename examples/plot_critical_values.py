"""
Critical values of robust intervals
===================================

Shrunk estimates are biased. How wide must an interval be if only the second moment and the kurtosis
of the bias are known? ``stats.robust_eb.cva`` finds the worst distribution exactly, for whole
arrays.
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from skbench.stats.shrinkage.robust_eb import cva, noncoverage

# %%
# ``m2`` is the second moment of the bias in standard errors: sigma2 / A for the usual shrinkage
# factor. A normal prior has kurtosis 3. Infinite kurtosis allows any shape.

kurtoses = [1.0, 3.0, 10.0, np.inf]
print("95% critical values\n  m2  " + "".join(f"{f'kurtosis {k:g}':>14s}" for k in kurtoses))
for m2 in (0.0, 0.1, 0.5, 1.0, 4.0, 10.0):
    print(f"{m2:5.1f} " + "".join(f"{value:14.4f}" for value in cva(m2, kurtoses)))

# %%
# The usual 1.96 is not enough: with m2 = 1, it may miss far more often than 5%.

missed = noncoverage(1.96, 1.0, kurtoses)
print("\nworst non-coverage of +-1.96 at m2 = 1: " + ", ".join(f"{p:.3f}" for p in missed))

# %%
# The parametric interval assumes a normal prior. With kurtosis 3 and a shrinkage factor of 1/2
# (m2 = 1), the robust interval is wider by this factor.

shrinkage_factor = 0.5
robust = cva(1.0, 3.0) * shrinkage_factor
parametric = norm.ppf(0.975) * np.sqrt(shrinkage_factor)
print(f"robust / parametric half-width at m2 = 1, kurtosis 3: {robust / parametric:.3f}")

# %%
# All groups of a fit share one kurtosis. One call gives 10,000 critical values.

many = np.random.default_rng(0).lognormal(0, 1.5, 10_000)
start = time.perf_counter()
cva(many, 4.0)
print(f"10,000 critical values in {time.perf_counter() - start:.3f} s")

# %%

m2 = np.linspace(0, 6, 121)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for kurtosis in kurtoses:
    ax.plot(m2, cva(m2, kurtosis), label=f"kurtosis {kurtosis:g}")
ax.plot(m2, norm.ppf(0.975) * np.sqrt(1 + m2), "k--", linewidth=1, label="normal bias, known m2")
ax.set(xlabel="second moment of the bias, m2", ylabel="95% critical value")
ax.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
