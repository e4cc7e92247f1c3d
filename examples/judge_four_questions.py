"""
Four questions to ask of an autorater
=====================================

The mean of yes and no is one thing to ask. Here are four more, each from a few human
labels and many scores: a judge that scores on a scale and is off by more at one end; two
systems side by side; labels picked by what the human label was; and a quantity that no
estimator here was written for.
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


def show(name, estimator, truth):
    """One line of a table: estimate, interval and truth."""
    e = estimator.estimate()
    print(f"  {name:24s} {e.value[0]:6.3f} [{e.low[0]:6.3f}, {e.high[0]:6.3f}]  truth {truth:.3f}")


def hidden(labels, n_labeled):
    """The first labels; rows come in random order."""
    return np.where(np.arange(len(labels)) < n_labeled, labels, np.nan)


# %%
# A score whose bias bends with the score. One correction for all scores leaves the bend in
# the residuals; one in each fifth of the scores takes it out.

score = rng.random(5000)
quality = 2 * score**3 - score + 0.1 * rng.normal(size=5000)
y = hidden(quality, 200)
print("A judge that is off by more at one end, 200 of 5,000 rated by people")
show("ratings alone", ClassicalMean().fit(score, y), quality.mean())
show("one correction", PPIMean().fit(score, y), quality.mean())
show("one in each stratum", StratifiedPPI().fit(score, y), quality.mean())

# %%
# Which of two systems do people prefer? The judge sees a tie as a win of the longer answer,
# the second one, half of the time.

preference = rng.choice(["w", "t", "l"], 3000, p=[0.4, 0.35, 0.25])
fooled = (preference == "t") & (rng.random(3000) < 0.5)
verdict = np.where(fooled, "l", preference)
human = preference.astype(object)
human[150:] = None  # nobody looked
difference = np.mean(preference == "w") - np.mean(preference == "l")
raw = np.mean(verdict == "w") - np.mean(verdict == "l")
print(f"\nWins minus losses, 150 of 3,000 pairs seen by people; the judge says {raw:.3f}")
side = ChainRulePPI(verdicts="side by side")
show("side by side", side.fit(verdict, human), difference)

# %%
# Somebody labeled 60 right and 60 wrong answers. They say how often the judge errs on
# each kind, and nothing of how common the kinds are: the chain rule, which takes labels for
# a random sample, is misled.

right = rng.random(4000) < 0.9
judge = np.where(rng.random(4000) < 0.85, right, ~right).astype(int)
chosen = np.concatenate([np.flatnonzero(right == kind)[:60] for kind in (True, False)])
y = np.full(4000, np.nan)
y[chosen] = right[chosen]
print("\nLabels picked by class, 60 right and 60 wrong of 4,000")
show("Rogan-Gladen", RoganGladen().fit(judge, y), right.mean())
show("chain rule (misled)", ChainRulePPI().fit(judge, y), right.mean())

# %%
# By what factor are long answers rated better than short ones? Name the means, say which
# rows each comes from, write the ratio.

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
print("\nRatings of long answers over those of short ones, 200 of 5,000 rated by people")
show(
    "any quantity",
    MonteCarloPPI(parts, ratio, random_state=0).fit(table, hidden(rating, 200)),
    truth,
)
