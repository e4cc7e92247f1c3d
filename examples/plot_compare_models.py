"""
Comparing two models on the same questions
==========================================

Two models answer 400 questions about 80 texts, with five questions per text. How precise is
the difference of their accuracies? Pairing reduces the standard error, and clusters of
questions change it. How many questions does the next comparison need?
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbench import make_items
from skbench.comparison import (
    compare_models,
    leaderboard,
    minimum_detectable_effect,
    required_items,
)
from skbench.stats.clusters.clustered import clustered_standard_error

# %%
# Simulated answers. Texts differ in difficulty, equally for all models.

items = make_items(
    n_models=5,
    n_topics=1,
    n_items=400,
    cluster_size=5,
    cluster_correlation=0.6,
    item_std=1.5,
    random_state=0,
).items
first, second = items.groupby("model")["score"].mean().nlargest(2).index

# %%
# Compare the two best models. Texts are the clusters.

comparison = compare_models(items, first, second, cluster="cluster")
print(comparison)

# %%
# Four standard errors of the same difference. Without pairing it is too large. Without
# clusters it may be too large or too small.

wide = items.pivot(index="item", columns="model", values="score")
texts = items.drop_duplicates("item").set_index("item")["cluster"][wide.index]
a, b = wide[first], wide[second]
errors = pd.Series(
    {
        "unpaired, clusters ignored": np.sqrt((a.var() + b.var()) / len(wide)),
        "unpaired, clustered": np.hypot(
            clustered_standard_error(a, texts), clustered_standard_error(b, texts)
        ),
        "paired, clusters ignored": np.sqrt((a - b).var() / len(wide)),
        "paired, clustered": clustered_standard_error(a - b, texts),
    }
)
print("\nstandard error of the difference")
print(errors.round(4).to_string())

# %%
# Questions needed in the next comparison to detect a difference of two to ten percentage
# points, again with five questions per text.

omega2 = comparison.omega2[0]
print("\nquestions needed to detect a difference with power 80%")
effects = np.array([0.02, 0.03, 0.05, 0.1])
needed = [required_items(effect, omega2=omega2) for effect in effects]
for effect, n in zip(effects, needed, strict=True):
    print(f"  {effect:.2f}: {n:6d}")

# %%
# Five models have ten pairs. A leaderboard tests all of them simultaneously. It gives every
# model a confidence set of ranks, and the same letter to models that do not differ
# significantly.

board = leaderboard(items, cluster="cluster")
print()
print(board.to_frame()[["rank", "rank_low", "rank_high", "ties", "estimate"]].round(3))

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3), layout="constrained")
left.barh(errors.index, errors, color=["0.75", "0.75", "0.75", "#0072b2"], height=0.6)
left.invert_yaxis()
left.set(xlabel="standard error of the difference")
n = np.geomspace(50, 10_000, 200)
detectable = [minimum_detectable_effect(round(x), omega2=omega2) for x in n]
right.loglog(n, detectable, color="#0072b2")
right.set(xlabel="questions", ylabel="difference detected\nwith power 80%")
right.set_xticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
right.set_yticks([0.02, 0.05, 0.1, 0.2], ["0.02", "0.05", "0.1", "0.2"])
right.minorticks_off()
right.grid(color="0.9")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
