"""
A card for four judges
======================

A classifier reads 600 handwritten digits, four others judge whether it is right, people (the
true digits) label 120 of its answers. How far does each judge agree with people, how many
independent judges are four, which vote of them is best, and what is the accuracy by judge and
labels together? Then: does a pairwise judge favor the first answer?
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skbench import judge_agreement, position_bias

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
shuffled = rng.permutation(len(digits))
train, asked = shuffled[:200], shuffled[200:800]
answers = GaussianNB(var_smoothing=0.01).fit(images[train], digits[train]).predict(images[asked])
human = answers == digits[asked]
rows = pd.DataFrame({"human": human * 1.0})
judges = {
    "tree": DecisionTreeClassifier(random_state=0),
    "ridge": RidgeClassifier(),
    "neighbors": KNeighborsClassifier(1),
    "neighbors-2": KNeighborsClassifier(2),  # of the same family: errs where the other does
}
for name, judge in judges.items():
    own = judge.fit(images[train], digits[train]).predict(images[asked])
    rows[name] = (own == answers) * 1.0
rows.loc[120:, "human"] = np.nan

# %%
card = judge_agreement(rows, human="human", judges=list(judges), random_state=0)
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
