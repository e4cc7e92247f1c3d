"""
An LLM judge, ten human labels per topic, and empirical Bayes
=============================================================

An LLM judge scored 200 answers on each of 200 topics, and people labeled ten per topic. Correcting
each topic by its ten labels is unbiased but imprecise. This script corrects all topics at once.
Empirical Bayes then borrows strength from other topics, with the judge's mean as a feature.
"""

import sys
from functools import partial

import numpy as np
from sklearn.linear_model import LinearRegression

from skbench import EmpiricalBayes, ShrinkageDisplay
from skbench.datasets import make_judged_items
from skbench.ppi import ClassicalMean, GroupedPPI

AUTORATERS = {
    "95% correct": partial(make_judged_items, sensitivity=0.95, specificity=0.95),
    "drifting by topic": partial(make_judged_items, sensitivity=0.9, specificity=0.9, drift=1.0),
    "useless": partial(make_judged_items, sensitivity=0.5, specificity=0.5),
}


def simulated(autorater):
    return AUTORATERS[autorater](200, 200, 10, random_state=0)


# %%
# ``GroupedPPI`` takes one table of rows with nan for missing human labels. Its ``summary_`` is the
# input for shrinkage: ``fit_args`` are the arguments of `EmpiricalBayes`, with the judge's mean as
# a feature.

data = simulated("drifting by topic")
items = data.items
grouped = GroupedPPI(features=data.features, random_state=0)
grouped.fit(items[["autorater"]], items["human"], items["group"])
print(grouped.summary_)
print(grouped.summary_.X.head(3).round(3))


# %%
# Four ways to use ten labels, compared with the true means of the simulation. A useless judge gets
# no weight and does no harm.


def both(estimator, data):
    """Estimates of the topics without and with shrinkage."""
    items = data.items
    grouped = GroupedPPI(estimator, features=data.features, random_state=0)
    grouped.fit(items[["autorater"]], items["human"], items["group"])
    eb = EmpiricalBayes(LinearRegression(), random_state=0)
    return grouped.estimate(), eb.fit(**grouped.summary_.fit_args).estimate()


print(f"\n{'judge':18s} {'method':28s} MSE x 10,000  covered  width  guarantee")
for autorater in AUTORATERS:
    data = simulated(autorater)
    truth = data.truth.to_numpy()
    labels, labels_shrunk = both(ClassicalMean(), data)
    corrected, corrected_shrunk = both(None, data)
    estimates = {
        "labels only": labels,
        "labels only, shrunk": labels_shrunk,
        "with the judge": corrected,
        "with the judge, shrunk": corrected_shrunk,
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
display.plot(xlabel="proportion of correct answers")
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
