"""
Fay-Herriot on milk expenditure
===============================

This is the standard data set of small area estimation: mean expenditure on fresh milk in 43 areas
of the United States in 1989. Each area has a standard error from a household survey and belongs to
one of four major areas. The linear model has one intercept per major area. The method applies to
any score with a known sampling variance.

Source: Arora and Lahiri (1997), On the superiority of the Bayesian method over the BLUP in small
area estimation problems, Statistica Sinica 7. The numbers are those of the data set ``milk`` of the
R package sae.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbench import DirectEstimator, FayHerriot

EXPENDITURE = """
1.099 1.075 1.105 0.628 0.753 0.981 1.257 1.095 1.405 1.356 0.615 1.460 1.338 0.854 1.176
1.111 1.257 1.430 1.278 1.292 1.002 1.183 1.044 1.267 1.193 0.791 0.795 0.759 0.796 0.565
0.886 0.952 0.807 0.582 0.684 0.787 0.440 0.759 0.770 0.800 0.756 0.865 0.640
"""
STANDARD_ERROR = """
0.163 0.080 0.083 0.109 0.119 0.141 0.202 0.127 0.168 0.178 0.100 0.201 0.148 0.143 0.149
0.145 0.135 0.172 0.137 0.163 0.125 0.247 0.140 0.171 0.106 0.121 0.121 0.259 0.106 0.089
0.225 0.205 0.119 0.067 0.106 0.126 0.092 0.132 0.100 0.113 0.083 0.121 0.129
"""
AREAS_PER_MAJOR_AREA = [7, 7, 11, 18]

z = np.array(EXPENDITURE.split(), dtype=float)
sigma2 = np.array(STANDARD_ERROR.split(), dtype=float) ** 2
major_area = np.repeat(["1", "2", "3", "4"], AREAS_PER_MAJOR_AREA)
X = pd.DataFrame({"major area": major_area}, index=pd.RangeIndex(1, 44, name="area"))

# %%
# The prior variance is the variance between areas of one major area. There are several estimators:

print("method         prior variance    mean squared error, mean over areas")
for method in ("reml", "ml", "fay-herriot", "adjusted-ml"):
    fit = FayHerriot(method).fit(X, z, sigma2)
    print(f"{method:14s} {fit.prior_variance_:14.6f} {fit.mse_.mean():20.6f}")

# %%
# The estimate of an area lies between its direct estimate and that of its major area. Noisy direct
# estimates are shrunk most.

direct = DirectEstimator(interval="normal").fit(X, z, sigma2).estimate()
fay_herriot = FayHerriot().fit(X, z, sigma2)
estimate, regression = fay_herriot.estimate(), fay_herriot.predict(X)
narrower = np.mean(estimate.high - estimate.low) / np.mean(direct.high - direct.low)
print(f"\nintervals have {narrower:.2f} times the direct width; the three noisiest areas:")
noisiest = np.argsort(-sigma2)[:3]
table = pd.DataFrame(
    {
        "direct": direct.value,
        "std. error": np.sqrt(sigma2),
        "regression": regression,
        "estimate": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
    },
    index=X.index,
)
print(table.iloc[noisiest].round(3).to_string())

# %%

figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
area = np.arange(1, 44)
ax.errorbar(
    area - 0.15, z, 1.96 * np.sqrt(sigma2), fmt="o", markersize=3, color="0.6", label="direct"
)
below, above = estimate.value - estimate.low, estimate.high - estimate.value
ax.errorbar(
    area + 0.15, estimate.value, [below, above], fmt="s", markersize=3, color="#0072b2",
    label=f"Fay-Herriot (95%, {estimate.guarantee})",
)  # fmt: skip
ax.step(area, regression, where="mid", color="#d55e00", linewidth=1, label="regression")
ax.set(xlabel="area", ylabel="milk expenditure, dollars")
ax.legend(frameon=False, ncols=3, loc="lower left")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
