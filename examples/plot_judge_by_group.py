"""
An autorater, ten human labels per topic, and empirical Bayes
=============================================================

Two hundred topics of 200 answers each: an autorater judged them all, people labeled
ten per topic. Correcting each topic by its own ten labels is unbiased and still rough.
This script corrects all topics in one pass and hands the result to empirical Bayes,
which also learns what the autorater's mean says of a topic.
"""

import sys
from functools import partial

import numpy as np
from sklearn.linear_model import LinearRegression

from skbench import EmpiricalBayes, ShrinkageDisplay
from skbench.datasets import make_judged_items
from skbench.ppi import ClassicalMean, GroupedPPI

AUTORATERS = {
    "95% right": partial(make_judged_items, sensitivity=0.95, specificity=0.95),
    "drifting by topic": partial(make_judged_items, sensitivity=0.9, specificity=0.9, drift=1.0),
    "useless": partial(make_judged_items, sensitivity=0.5, specificity=0.5),
}


def simulated(autorater):
    return AUTORATERS[autorater](200, 200, 10, random_state=0)


# %%
# ``GroupedPPI`` takes one table of rows, nan where there is no human label. It has the
# estimates of all topics, and a ``summary_`` made for shrinkage: its ``fit_args`` are
# what `EmpiricalBayes` takes, with the autorater's mean among the features.

data = simulated("drifting by topic")
items = data.items
grouped = GroupedPPI(features=data.features, random_state=0)
grouped.fit(items[["autorater"]], items["human"], items["group"])
print(grouped.summary_)
print(grouped.summary_.X.head(3).round(3))


# %%
# Four ways to use ten labels, against the truth that the simulator knows. Where the
# autorater is useless, it is given no weight, and nothing is lost.


def both(estimator, data):
    """Estimates of each topic by itself, and after shrinkage."""
    items = data.items
    grouped = GroupedPPI(estimator, features=data.features, random_state=0)
    grouped.fit(items[["autorater"]], items["human"], items["group"])
    eb = EmpiricalBayes(LinearRegression(), random_state=0)
    return grouped.estimate(), eb.fit(**grouped.summary_.fit_args).estimate()


print(f"\n{'autorater':18s} {'method':28s} MSE x 10,000  covered  width  guarantee")
for autorater in AUTORATERS:
    data = simulated(autorater)
    truth = data.truth.to_numpy()
    labels, labels_shrunk = both(ClassicalMean(), data)
    corrected, corrected_shrunk = both(None, data)
    estimates = {
        "labels alone": labels,
        "labels alone, shrunk": labels_shrunk,
        "with the autorater": corrected,
        "with the autorater, shrunk": corrected_shrunk,
    }
    for name, e in estimates.items():
        covered = np.mean((e.low <= truth) & (truth <= e.high))
        print(
            f"{autorater:18s} {name:28s} {1e4 * np.mean((e.value - truth) ** 2):9.0f} "
            f"{covered:11.3f} {np.mean(e.high - e.low):6.3f}  {e.guarantee}"
        )

# %%
# The same from the command line:
# ``skbench judge FILE --judge autorater --human human --by group``.

data = simulated("drifting by topic")
corrected, shrunk = both(None, data)
display = ShrinkageDisplay.from_estimates(
    corrected, shrunk, truth=data.truth.to_numpy(), n=grouped.n_labeled_, max_rows=25
)
display.plot(xlabel="share of right answers")
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
