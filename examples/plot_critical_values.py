"""
Critical values of robust intervals
===================================

A shrunk estimate is biased. How wide must its interval be, if all that is known of
the bias is its second moment and its kurtosis? ``stats.robust_eb.cva`` solves for
the worst distribution, exactly and for whole arrays.
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from skbench.stats.shrinkage.robust_eb import cva, noncoverage

# %%
# ``m2`` is the second moment of the bias in standard errors, sigma2 / A at the usual
# shrinkage. Kurtosis 3 is that of a normal prior; infinity allows any shape.

kurtoses = [1.0, 3.0, 10.0, np.inf]
print("95% critical values\n  m2  " + "".join(f"{f'kurtosis {k:g}':>14s}" for k in kurtoses))
for m2 in (0.0, 0.1, 0.5, 1.0, 4.0, 10.0):
    print(f"{m2:5.1f} " + "".join(f"{value:14.4f}" for value in cva(m2, kurtoses)))

# %%
# The usual 1.96 would not do: with as much bias as noise it may miss far more often.

missed = noncoverage(1.96, 1.0, kurtoses)
print("\nworst non-coverage of +-1.96 at m2 = 1: " + ", ".join(f"{p:.3f}" for p in missed))

# %%
# What it costs against a parametric interval, which believes in a normal prior: with
# kurtosis 3 and estimates shrunk by half (m2 = 1), the robust interval is this much
# wider.

shrinkage_factor = 0.5
robust = cva(1.0, 3.0) * shrinkage_factor
parametric = norm.ppf(0.975) * np.sqrt(shrinkage_factor)
print(f"robust / parametric half-width at m2 = 1, kurtosis 3: {robust / parametric:.3f}")

# %%
# All groups of a fit share a kurtosis, so that 10,000 critical values are one call.

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
