"""
F1 of few positives, with its uncertainty
=========================================

Three spam filters ran on four mailboxes, some with few spam messages. F1 is not a mean over items,
so binomial intervals do not apply. It is 0 / 0 if a filter finds no spam and there is none. The
four proportions of a confusion matrix have a Dirichlet posterior, and F1 is a function of its
draws.
"""

import warnings

import pandas as pd
from scipy.stats import expon

from skbench.tasks import (
    ConfusionPosterior,
    aggregate,
    differences,
    rank_models,
    rank_probabilities,
)

# Mailbox, filter, true and false positives, false and true negatives.
MATRICES = """
work keyword 41 22 19 918
work bayes 48 9 12 931
work network 52 11 8 929
home keyword 110 35 50 305
home bayes 128 20 32 320
home network 131 24 29 316
club keyword 3 4 6 187
club bayes 4 1 5 190
club network 6 2 3 189
shop keyword 1 0 4 95
shop bayes 0 0 5 95
shop network 2 1 3 94
"""
matrices = pd.DataFrame([line.split() for line in MATRICES.split("\n")[1:-1]])
matrices.columns = ["task", "model", "tp", "fp", "fn", "tn"]
matrices = matrices.astype({name: int for name in ("tp", "fp", "fn", "tn")})

# %%
# One row per filter and mailbox: observed F1 and 90% intervals. "shop" has only five spam messages,
# so its intervals are very wide.

f1 = ConfusionPosterior("f1", random_state=0).fit(matrices)
cells = f1.draws_.interval(0.9).to_frame()[["low", "high"]]
cells.insert(0, "observed", f1.value_.ravel())
print(cells.astype(float).round(2).to_string())

# %%
# The mean over mailboxes, differences and ranks are functions of the same draws.

print("\nmean F1 over mailboxes")
print(f1.estimate().to_frame()[["value", "low", "high"]].astype(float).round(2).to_string())
leads = differences(aggregate(f1.draws_)).to_frame()[["value", "low", "high"]]
print("\ndifferences, Bonferroni")
print(leads.astype(float).round(2).to_string())
first = rank_probabilities(rank_models(f1.draws_)).iloc[:, 0]
print(f"\nprobability of being the best: {first.round(2).to_dict()}")

# %%
# A hierarchical prior estimates the prior counts of the four cells from all mailboxes of a filter.
# Small mailboxes are shrunk toward the others.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # these short chains have R-hat above 1.01
    pooled = ConfusionPosterior("f1", expon(scale=10), n_draws=4000, random_state=0).fit(matrices)
shop = [p.draws_.interval(0.9).to_frame().xs("shop", level="task") for p in (f1, pooled)]
print("\nshop alone and with a hierarchical prior")
table = pd.concat(dict(zip(["alone", "pooled"], shop, strict=True)), axis=1)
print(table.loc[:, (slice(None), ["value", "low", "high"])].astype(float).round(2).to_string())
