"""
James-Stein on eighteen batters
===============================

The classical example: given 45 at bats in the 1970 season, what is the batting average of each of
18 players over the rest of the season? The direct estimate is the player's own average. James-Stein
shrinks all averages toward their mean by one factor.

Source: Efron and Morris (1975), Data analysis using Stein's estimator and its generalizations, JASA
70, Table 1.
"""

import sys

import numpy as np
import pandas as pd

from skbench import DirectEstimator, JamesStein, ShrinkageDisplay

# Hits in the first 45 at bats, and batting average over the rest of the season.
BATTERS = {
    "Clemente": (18, 0.346),
    "F. Robinson": (17, 0.298),
    "F. Howard": (16, 0.276),
    "Johnstone": (15, 0.222),
    "Berry": (14, 0.273),
    "Spencer": (14, 0.270),
    "Kessinger": (13, 0.263),
    "L. Alvarado": (12, 0.210),
    "Santo": (11, 0.269),
    "Swoboda": (11, 0.230),
    "Unser": (10, 0.264),
    "Williams": (10, 0.256),
    "Scott": (10, 0.303),
    "Petrocelli": (10, 0.264),
    "E. Rodriguez": (10, 0.226),
    "Campaneris": (9, 0.285),
    "Munson": (8, 0.316),
    "Alvis": (7, 0.200),
}
AT_BATS = 45

hits, rest = (np.array(column) for column in zip(*BATTERS.values(), strict=True))
X = pd.DataFrame({"constant": 1.0}, index=pd.Index(BATTERS, name="batter"))
z = hits / AT_BATS
common_variance = z.mean() * (1 - z.mean()) / AT_BATS

# %%
# All players have one sampling variance, computed from the overall mean as in the paper.

direct = DirectEstimator(sampling_variance=common_variance).fit(X, z, n=[AT_BATS] * len(z))
james_stein = JamesStein(sampling_variance=common_variance).fit(X, z)
before, after = direct.estimate(), james_stein.estimate()
table = pd.DataFrame(
    {"first 45": z, "James-Stein": after.value, "rest of season": rest}, index=X.index
)
print(table.round(3).to_string())
print(f"\nweight of the player's own average: {james_stein.shrinkage_factor_:.3f}")

# %%

sums = [np.sum((e.value - rest) ** 2) for e in (before, after)]
covered = [np.sum((e.low <= rest) & (rest <= e.high)) for e in (before, after)]
print(f"sum of squared errors: direct {sums[0]:.4f}, James-Stein {sums[1]:.4f}")
print(f"a factor of {sums[0] / sums[1]:.1f}; {covered[0]} and {covered[1]} of 18 intervals cover")

# %%

display = ShrinkageDisplay.from_estimates(before, after, truth=rest)
display.plot(xlabel="batting average")
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
