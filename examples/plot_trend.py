"""
Is a model getting worse, version by version?
=============================================

A service releases its model anew every few weeks, and runs the same 200 questions each time. Each
of eight simulated versions loses about one point in a hundred, on questions like these. No release
looks bad beside the one before. Does the series?
"""

import sys

import numpy as np
import pandas as pd

from skbench import TrendDisplay, compare_models, trend

DATES = ["2025-01-14", "2025-02-25", "2025-03-31", "2025-05-20", "2025-07-01", "2025-09-15",
         "2025-10-20", "2025-12-09"]  # fmt: skip
N_ITEMS = 200

# %%
# The questions differ in how hard they are, and half of the loss is in law.

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
# One test of the whole series: the slope per year, on the questions that all versions answered.

found = trend(items, "date", by="topic")
print(found)
assert found.topics is not None  # by="topic" asked for them
print(found.topics[["slope", "low", "high", "adjusted_p", "verdict"]].round(3).to_string())

# %%
# Pairs of versions do not show it: 28 comparisons at once, each with its share of the error.

pairs = compare_models(items)
clear = np.isin(pairs.verdict, ["better", "worse"]).sum()
print(f"{clear} of {len(pairs)} pairs of versions differ clearly")

# %%
# Intervals of the scores hold for all versions at once. They share the questions, so the slope is
# known better than they suggest.

display = TrendDisplay.from_trend(found).plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
