"""
A new version of a judge, and a noisy judge
===========================================

A classifier reads 800 handwritten digits. A judge, a forest of ten random trees, returns a verdict
on each answer, and 200 answers have human labels (the true digits). The new version of the judge
learned from three times as many digits. How many verdicts change, and does the error decrease?
With another seed the forest returns different verdicts on the same answers. How much of the
variance of the score is this noise, and how many verdicts per answer are worth their cost?
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from skbench import judge_agreement

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
shuffled = rng.permutation(len(digits))
train, asked = shuffled[:300], shuffled[300:1100]
answers = GaussianNB(var_smoothing=0.01).fit(images[train], digits[train]).predict(images[asked])


def verdicts(n_learned, seed):
    """Verdicts of a judge that learned from some digits: 1 if it agrees with the answer."""
    judge = RandomForestClassifier(10, random_state=seed)
    judge.fit(images[train[:n_learned]], digits[train[:n_learned]])
    return (judge.predict(images[asked]) == answers) * 1.0


rows = pd.DataFrame({"human": (answers == digits[asked]) * 1.0})
truth = rows["human"].mean()
rows.loc[200:, "human"] = np.nan
rows["old"], rows["new"] = verdicts(100, 0), verdicts(300, 0)
for seed in (1, 2):
    rows[f"again {seed}"] = verdicts(300, seed)

# %%
# The change in bias is the change in the mean verdict over all 800 answers, because the labels are
# the same. Errors need the labels.

card = judge_agreement(rows, judges="new", previous="old", repeats=["again 1", "again 2"],
                       random_state=0)  # fmt: skip
for sentence in card.sentences():
    print(sentence)
changes, noise = card.changes, card.noise
assert changes is not None and noise is not None  # previous= and repeats= are given
print(changes.round(3))

# %%
# One row per number of verdicts per answer: the share of noise in the variance of the mean score,
# its standard error, and the number of answers with one verdict that have the same effect.

print(noise.round(4))

# %%
# More verdicts reduce the noise of the score but not its bias. The labels correct the bias.

print(f"mean verdict {rows['new'].mean():.3f}, true accuracy {truth:.3f}")
print(card.corrected.round(3))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
changed = {"disagreement": "flips", "mean verdict": "bias_change", "error": "error_change"}
for i, name in enumerate(changed.values()):
    value, low, high = (changes[f"{name}{end}"] for end in ("", "_low", "_high"))
    left.errorbar(value, -i, xerr=[[value - low], [high - value]], fmt="o", capsize=3, color="C0")
left.axvline(0, color="gray", linewidth=0.8)
left.axvline(changes["flips_by_noise"], ymin=0.68, color="C1", linestyle="--",
             label="new with itself")  # fmt: skip
left.set(
    yticks=[0, -1, -2], yticklabels=list(changed), ylim=(-2.5, 0.5), title="changes from old to new"
)
left.legend(loc="lower right", frameon=False)
right.plot(noise.index, 100 * noise["share"], "o-")
right.fill_between(noise.index, 100 * noise["share_low"], 100 * noise["share_high"], alpha=0.2)
right.set(xlabel="verdicts per answer", ylabel="percent", ylim=(0, None),
          title="noise in the variance of the mean score")  # fmt: skip
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
