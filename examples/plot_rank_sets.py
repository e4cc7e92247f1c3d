"""
Confidence sets for ranks
=========================

A leaderboard gives every model one rank, but another sample of items would give other ranks.
Rank confidence sets show which ranks each model may have. Models that share a letter are
not significantly different. Twelve simulated models answer the same 1,500 items of six
tasks. The three best models have equal skill.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbench.comparison import indistinguishable_groups, kemeny_order, rank_confidence_sets

N_TASKS, N_ITEMS = 6, 250
SKILL = np.array([1.2, 1.2, 1.2, 1.0, 0.9, 0.8, 0.4, 0.3, 0.2, -0.2, -0.6, -0.7])
MODELS = pd.Index([f"model {name}" for name in "ABCDEFGHIJKL"], name="model")

# %%
# All models answer the same items, which differ in difficulty.

rng = np.random.default_rng(3)
difficulty = rng.normal(0, 1.5, (1, N_TASKS, N_ITEMS))
chance = 1 / (1 + np.exp(difficulty - SKILL[:, None, None]))
answers = rng.random(chance.shape) < chance

accuracy = pd.Series(answers.mean(axis=(1, 2)), index=MODELS)
items = answers.reshape(len(MODELS), -1)
covariance = np.cov(items) / items.shape[1]
error = np.sqrt(np.diag(covariance))

# %%
# Standard errors alone treat models as independent. Their covariance makes differences on
# shared items more precise.

apart = rank_confidence_sets(accuracy, error)
shared = rank_confidence_sets(accuracy, covariance=covariance)
groups = indistinguishable_groups(shared)

ranks = {"independent": apart, "shared items": shared}
table = pd.DataFrame({"accuracy": accuracy.round(3)})
for name, sets in ranks.items():
    table[name] = [f"{a} to {b}" for a, b in zip(sets.low, sets.high, strict=True)]
table["letters"] = groups.dot(groups.columns)
order = accuracy.sort_values(ascending=False).index
print(table.loc[order].to_string())
print(f"\nmay be the best: {', '.join(shared.best())}")

# %%
# The order with the fewest disagreements with the six tasks.

by_task = pd.DataFrame(answers.mean(axis=2), index=MODELS)
consensus = kemeny_order(by_task)
print(f"Kemeny order ({consensus.method}): {' > '.join(m[-1] for m in consensus.order)}")
print(f"disagreements of tasks with this order: {consensus.cost}")

# %%
# Bars are confidence sets, and dots are the ranks of the estimates.

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for offset, (name, sets) in zip((0.17, -0.17), ranks.items(), strict=True):
    frame = sets.to_frame().loc[order]
    place = -np.arange(len(order)) + offset
    left, width = frame["low"] - 0.25, frame["high"] - frame["low"] + 0.5
    axes.barh(place, width, left=left, height=0.3, alpha=0.6, label=name)
axes.plot(np.arange(1, len(order) + 1), -np.arange(len(order)), "k.", label="rank of estimate")
axes.set_yticks(-np.arange(len(order)), [f"{m}  {table.loc[m, 'letters']}" for m in order])
axes.set_xticks(np.arange(1, len(order) + 1))
axes.set_xlabel("rank (95% simultaneous confidence sets)")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
