"""
Agreement of four judges
========================

A classifier reads 600 handwritten digits. Four other classifiers judge whether its answers are
correct, and 120 answers have human labels (the true digits). `judge_agreement` shows how well each
judge agrees with the labels, how many independent judges the four are equivalent to, which vote is
best, and the accuracy of the classifier by judge and labels together. `position_bias` shows
whether a pairwise judge favors the first answer.
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
    "neighbors-2": KNeighborsClassifier(2),  # the same family with similar errors
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
# The accuracy of the classifier, corrected by the labels. Even judges with a large bias agree.
print(f"true accuracy {human.mean():.3f}")
print(card.corrected.round(3))

# %%
# Pairs of answers, each shown in both orders.
pairs = pd.DataFrame({"pair": np.repeat(np.arange(150), 2), "first": ["model_a", "model_b"] * 150})
p = 0.6 + np.where(pairs["first"] == "model_a", 0.12, -0.12)
pairs["winner"] = np.where(rng.random(300) < p, "model_a", "model_b")
print({name: round(x, 3) for name, x in position_bias(pairs, item="pair").items()})
