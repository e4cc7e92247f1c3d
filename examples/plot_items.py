"""
Items with a wrong answer key
=============================

Wrong answer keys penalize the models that answer correctly. The scores of many models can reveal
them. This example reverses the keys of twelve items and counts how many are found. It uses real
scores if SKBENCH_DATA names a folder with ``item_matrix_gsm.csv.gz``, and simulated scores
otherwise.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from skbench import ScatterDisplay, item_audit

file = Path(os.environ.get("SKBENCH_DATA", ".")) / "item_matrix_gsm.csv.gz"
rng = np.random.default_rng(0)


def simulated(n_items=400, n_models=80):
    """Binary scores of models on items with different difficulty and discrimination."""
    slope = np.exp(rng.normal(0, 0.4, (n_items, 1)))
    logit = slope * rng.normal(0, 1.2, n_models) + rng.normal(0.3, 1.5, (n_items, 1))
    return rng.binomial(1, 1 / (1 + np.exp(-logit)))


scores = pd.read_csv(file).drop(columns="item").to_numpy() if file.exists() else simulated()
wrong = rng.choice(len(scores), 12, replace=False)
scores[wrong] = 1 - scores[wrong]
table = pd.DataFrame(scores).rename_axis(index="item", columns="model")
rows = table.stack().rename("score").reset_index()

# %%
# How many of the twelve are flagged, and how many of the others?

audit = item_audit(rows)
print(audit)
flagged = audit.flagged.index[audit.flagged["flagged"] == "wrong key"]
print(f"{len(set(flagged) & set(wrong))} of 12 found, {len(set(flagged) - set(wrong))} others")

# %%
# Their discrimination is negative, but so is that of some hard items with a correct key. An item is
# flagged if its reversed scores are like those of the other items.

print(audit.flagged.head(5).round(2))

# %%
# Five models are too few for conclusions about single items, and the audit reports this.

few = item_audit(rows[rows["model"] < 5])
print(few.sentences()[-1])

# %%
# Plot difficulty and discrimination of all items.

display = ScatterDisplay.from_item_audit(audit)
display.plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
