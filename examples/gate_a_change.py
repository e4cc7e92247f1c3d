"""
A gate that reports its power
=============================

Is the new version of a model no worse than the old one? With 60 answers, the gate is undecided and
reports how many it needs. With enough answers, it decides and names the topics that got worse. Two
classifiers on a real robustness benchmark represent two versions of a model.
"""

import numpy as np

from skbench import gate, load_digits_c

data = load_digits_c()
items = data.items
by_model = items.groupby("model")["score"].mean().sort_values(ascending=False)
old, new = by_model.index[:2]
print(by_model.round(3).to_string())

# %%
# With 60 answers, a loss of three points would rarely be detected.
few = np.random.default_rng(0).choice(items["item"].unique(), 60, replace=False)
print(gate(items[items["item"].isin(few)], old, new, margin=0.03))

# %%
# With all answers, the table for a pull request shows which topics got worse.
print(gate(items, old, new, margin=0.03, by="topic").to_markdown())
