"""
A gate that knows its power
===========================

Is the new version of a model no worse than the old one? A gate on 60 answers cannot tell,
and says so; one on as many as it asks for can, and names the topic that broke. Two
classifiers on a real robustness benchmark stand in for versions of a model.
"""

import numpy as np

from skbench import gate, load_digits_c

data = load_digits_c()
items = data.items
by_model = items.groupby("model")["score"].mean().sort_values(ascending=False)
old, new = by_model.index[:2]
print(by_model.round(3).to_string())

# %%
# Sixty answers: whatever comes out, a loss of three points would hardly be seen.
few = np.random.default_rng(0).choice(items["item"].unique(), 60, replace=False)
print(gate(items[items["item"].isin(few)], old, new, margin=0.03))

# %%
# All answers, and what got worse: a table for a pull request.
print(gate(items, old, new, margin=0.03, by="topic").to_markdown())
