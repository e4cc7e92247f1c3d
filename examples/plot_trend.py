"""
Does a model get worse over its releases?
=========================================

A service releases a new version of its model every few weeks, and tests each on the same 200
questions. Each of eight simulated versions loses about one percentage point. No version is
significantly worse than the one before. Is there a significant trend?
"""

import sys

import numpy as np
import pandas as pd

from skbench import TrendDisplay, compare_models, trend

DATES = ["2025-01-14", "2025-02-25", "2025-03-31", "2025-05-20", "2025-07-01", "2025-09-15",
         "2025-10-20", "2025-12-09"]  # fmt: skip
N_ITEMS = 200

# %%
# Questions differ in difficulty, and half of the loss is in law.

rng = np.random.default_rng(3)
hard = rng.normal(size=N_ITEMS)
topic = np.where(np.arange(N_ITEMS) % 4 == 0, "law", "other")
rows = []
for number, date in enumerate(DATES):
    loss = np.where(topic == "law", 0.14, 0.04) * number
    right = rng.random(N_ITEMS) < 1 / (1 + np.exp(-(1.8 - loss + 2 * hard)))
    columns = {"item": np.arange(N_ITEMS), "topic": topic, "score": right * 1.0}
    rows.append(pd.DataFrame({"model": f"service | {date}", "date": date, **columns}))
items = pd.concat(rows, ignore_index=True)

# %%
# One test of all versions: the slope per year, on the questions that they share.

found = trend(items, "date", by="topic")
print(found)
assert found.topics is not None  # because of by="topic"
print(found.topics[["slope", "low", "high", "adjusted_p", "verdict"]].round(3).to_string())

# %%
# Comparisons of all 28 pairs, with Bonferroni adjustment, do not detect the loss.

pairs = compare_models(items)
clear = np.isin(pairs.verdict, ["better", "worse"]).sum()
print(f"{clear} of {len(pairs)} pairs of versions differ significantly")

# %%
# Intervals of the scores are simultaneous. Versions share the questions, so the slope is more
# precise than these intervals suggest.

display = TrendDisplay.from_trend(found).plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
