"""
A card for three judges
=======================

Three judges score 600 answers, people label 120 of them. How far does each agree with
people, how many independent judges are three, which vote of them is best, and what is the
accuracy by judge and labels together? Then: does a pairwise judge favor the first answer?
"""

import numpy as np
import pandas as pd

from skbench import judge_agreement, position_bias

rng = np.random.default_rng(0)
human = rng.random(600) < 0.65
rows = pd.DataFrame({"human": human * 1.0})
for name, tpr, tnr in [("lenient", 0.97, 0.6), ("careful", 0.9, 0.9), ("small", 0.75, 0.7)]:
    rows[name] = (rng.random(600) < np.where(human, tpr, 1 - tnr)) * 1.0
# A fourth one of the same family errs mostly where the careful one does.
rows["careful-2"] = np.where(rng.random(600) < 0.8, rows["careful"], rows["small"])
rows.loc[120:, "human"] = np.nan

# %%
judges = ["lenient", "careful", "small", "careful-2"]
card = judge_agreement(rows, human="human", judges=judges, random_state=0)
print(card.to_frame()[["kappa", "kappa_low", "kappa_high", "tpr", "tnr", "bias"]].round(2))
print(card.error_correlation.round(2))
for sentence in card.sentences():
    print(sentence)

# %%
# The accuracy of the system, corrected by the labels: judges that are off by much agree.
print(f"truth {human.mean():.3f}")
print(card.corrected.round(3))

# %%
# Pairs, each shown in both orders.
pairs = pd.DataFrame({"pair": np.repeat(np.arange(150), 2), "first": ["model_a", "model_b"] * 150})
p = 0.6 + np.where(pairs["first"] == "model_a", 0.12, -0.12)
pairs["winner"] = np.where(rng.random(300) < p, "model_a", "model_b")
print({name: round(x, 3) for name, x in position_bias(pairs, item="pair").items()})
