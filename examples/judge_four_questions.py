"""
Four questions for an LLM judge
===============================

Each question is answered from a few human labels and many scores: a judge whose bias depends on
its score, two systems side by side, labels that were selected by their value, and a quantity
without an estimator of its own.
"""

import numpy as np
import pandas as pd

from skbench.ppi import (
    ChainRulePPI,
    ClassicalMean,
    Mean,
    MonteCarloPPI,
    PPIMean,
    RoganGladen,
    StratifiedPPI,
)

rng = np.random.default_rng(0)


def show(name, estimator, true_value):
    """Print one line of a table."""
    e = estimator.estimate()
    print(
        f"  {name:24s} {e.value[0]:6.3f} [{e.low[0]:6.3f}, {e.high[0]:6.3f}]  true {true_value:.3f}"
    )


def hidden(labels, n_labeled):
    """Keep the first labels; rows are in random order."""
    return np.where(np.arange(len(labels)) < n_labeled, labels, np.nan)


# %%
# The bias depends on the score. One correction for all scores leaves this dependence in the
# residuals; a correction in each fifth of the scores removes it.

score = rng.random(5000)
quality = 2 * score**3 - score + 0.1 * rng.normal(size=5000)
y = hidden(quality, 200)
print("A judge whose bias depends on its score, 200 of 5,000 answers with human ratings")
show("ratings only", ClassicalMean().fit(score, y), quality.mean())
show("one correction", PPIMean().fit(score, y), quality.mean())
show("one per stratum", StratifiedPPI().fit(score, y), quality.mean())

# %%
# Which of two systems do people prefer? In half of the ties the judge prefers the second, longer
# answer.

preference = rng.choice(["w", "t", "l"], 3000, p=[0.4, 0.35, 0.25])
fooled = (preference == "t") & (rng.random(3000) < 0.5)
verdict = np.where(fooled, "l", preference)
human = preference.astype(object)
human[150:] = None  # no human label
difference = np.mean(preference == "w") - np.mean(preference == "l")
raw = np.mean(verdict == "w") - np.mean(verdict == "l")
print(f"\nWins minus losses, 150 of 3,000 pairs with human labels; mean of the judge {raw:.3f}")
side = ChainRulePPI(verdicts="side by side")
show("side by side", side.fit(verdict, human), difference)

# %%
# People labeled 60 correct and 60 wrong answers. These labels show how often the judge errs on each
# kind, but not how common the kinds are. The chain rule assumes a random sample, so it is biased.

right = rng.random(4000) < 0.9
judge = np.where(rng.random(4000) < 0.85, right, ~right).astype(int)
chosen = np.concatenate([np.flatnonzero(right == kind)[:60] for kind in (True, False)])
y = np.full(4000, np.nan)
y[chosen] = right[chosen]
print("\nLabels selected by class, 60 correct and 60 wrong of 4,000")
show("Rogan-Gladen", RoganGladen().fit(judge, y), right.mean())
show("chain rule (biased)", ChainRulePPI().fit(judge, y), right.mean())

# %%
# What is the ratio of the ratings of long and short answers? Name the means, select their rows, and
# write the ratio.

table = pd.DataFrame({"judge": score, "long": rng.random(5000) < 0.5})
rating = score + 0.1 * table["long"]
parts = {}
for size, keep in {"long": lambda t: t["long"], "short": lambda t: ~t["long"]}.items():
    parts[f"judged_{size}"] = Mean("judge", "unlabeled", given=keep)
    parts[f"missed_{size}"] = Mean(lambda t: t["y"] - t["judge"], "labeled", given=keep)


def ratio(judged_long, missed_long, judged_short, missed_short):
    """Mean rating of long answers over that of short ones."""
    return (judged_long + missed_long) / (judged_short + missed_short)


truth = rating[table["long"]].mean() / rating[~table["long"]].mean()
print("\nRatio of ratings of long and short answers, 200 of 5,000 with human ratings")
show(
    "any quantity",
    MonteCarloPPI(parts, ratio, random_state=0).fit(table, hidden(rating, 200)),
    truth,
)
