"""
Which models are worth their cost?
==================================

Seven simulated models answer 200 questions. Models that reason longer have higher scores, and a few
answers take ten times the usual number of tokens. Which models are significantly dominated in score
and cost?
"""

import sys

import numpy as np
import pandas as pd

from skbench import ScatterDisplay, tradeoff

N_ITEMS = 200
MODELS = pd.DataFrame(
    {
        "skill": [2.4, 1.9, 1.7, 1.2, 0.2, 0.7, -0.6],
        "tokens": [5200, 2900, 1500, 1900, 2900, 420, 310],
        "spread": [1.0, 1.1, 0.7, 0.8, 0.8, 0.4, 0.3],  # of the logarithm of tokens
    },
    index=["large-thinking", "medium-thinking", "medium", "rival", "old", "small", "tiny"],
)

# %%
# Hard questions are hard for all models, and take more tokens.

rng = np.random.default_rng(0)
hard = rng.normal(0, 1.2, N_ITEMS)
parts = []
for name, model in MODELS.iterrows():
    own = 0.6 * hard / 1.2 + 0.8 * rng.normal(0, 1, N_ITEMS)
    score = rng.random(N_ITEMS) < 1 / (1 + np.exp(hard - model["skill"]))
    tokens = model["tokens"] * np.exp(model["spread"] * own - model["spread"] ** 2 / 2)
    columns = {"model": name, "item": np.arange(N_ITEMS), "score": score, "tokens": tokens.round()}
    parts.append(pd.DataFrame(columns))
items = pd.concat(parts, ignore_index=True).astype({"score": float})

# %%
# Mean scores and costs per question, and the verdicts.

found = tradeoff(items, cost="tokens")
for sentence in found.sentences():
    print(sentence)
print(found.to_frame().drop(columns="on_observed_frontier").round(2).to_string())

# %%
# One pays the mean, which is far from the median. The costliest tenth of the answers of a reasoning
# model takes four tenths of its tokens.

share = items.groupby("model", sort=False)["tokens"].agg(
    mean="mean",
    median="median",
    share_of_costliest_tenth=lambda x: x.nlargest(N_ITEMS // 10).sum() / x.sum(),
)
print(share.round(2).to_string())

# %%
# The dashed line is the observed frontier. Models below it are dominated by the estimates; gray
# models are significantly dominated.

display = ScatterDisplay.from_tradeoff(found).plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
