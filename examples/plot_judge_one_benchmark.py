"""
Correct an LLM judge by a few human labels
==========================================

A language model judged 2,000 answers, and people labeled 60 of them. The judge has an unknown bias,
and the labels are few. This script combines both, estimates the bias of the judge and the number of
labels that it saves, and checks the coverage of the intervals on many simulated benchmarks.
"""

import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd

from skbench import Estimate, ForestDisplay
from skbench.datasets import make_judged_items
from skbench.ppi import ChainRulePPI, ClassicalMean, PPIMean

simulated = partial(
    make_judged_items,
    n_groups=1,
    n_items=2000,
    n_labeled=60,
    group_std=0.0,
    intercept=0.8,  # 69% of the answers are correct
    sensitivity=0.8,
    specificity=0.95,
)
data = simulated(random_state=1)
judge, human = data.items["autorater"], data.items["human"]
truth = data.truth.iloc[0]
print(data.items.sample(5, random_state=0).to_string(index=False))

# %%
# The mean of the judge has a narrow interval around a biased value. All methods below are unbiased
# for any judge, and a good judge makes them more precise.

methods = {
    "labels only": ClassicalMean(),
    "PPI (weight 1)": PPIMean(power_tuning=False),
    "PPI++ (weight tuned)": PPIMean(),
    "chain rule": ChainRulePPI(),
}
print(f"\nmean of the judge {judge.mean():.3f}, true mean {truth:.3f}\n")
print(f"{'':26s} estimate  interval         bias  effective labels")
estimates = {}
for name, method in methods.items():
    method.fit(judge, human)
    e = method.estimate()
    low, high = e.low[0], e.high[0]
    print(
        f"{name:26s} {method.estimate_:7.3f}   {low:.3f} to {high:.3f}  "
        f"{judge.mean() - method.estimate_:+.3f} {method.effective_sample_size_:10.0f}"
    )
    estimates[name] = method.estimate()
needed = methods["PPI++ (weight tuned)"].labels_needed(width=0.1)
print(f"an interval of width 0.1 needs {needed:.0f} labels with this judge (PPI++)")

# %%
# Over 300 simulated benchmarks the interval of the judge never covers the true mean. The others
# cover it about 95% of the time.

hits, widths = {name: [] for name in methods}, {name: [] for name in methods}
naive_hits = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for seed in range(300):
        again = simulated(random_state=seed).items
        f = again["autorater"]
        naive_hits.append(abs(f.mean() - truth) < 1.96 * f.std() / np.sqrt(len(f)))
        for name, method in methods.items():
            e = method.fit(f, again["human"]).estimate()
            hits[name].append(e.low[0] <= truth <= e.high[0])
            widths[name].append(e.high[0] - e.low[0])
print(f"\n{'over 300 benchmarks':26s} covered   mean width")
print(f"{'judge only':26s} {np.mean(naive_hits):7.3f}")
for name in methods:
    print(f"{name:26s} {np.mean(hits[name]):7.3f} {np.mean(widths[name]):12.3f}")

# %%
# The same from the command line: ``skbench judge FILE --judge autorater --human human``.

spread = 1.96 * judge.std() / np.sqrt(len(judge))
naive = Estimate(
    [judge.mean()],
    [judge.mean() - spread],
    [judge.mean() + spread],
    [spread / 1.96],
    0.95,
    pd.RangeIndex(1),
    "judge only",
    "none",
)
forest = ForestDisplay.from_estimates({"judge only": naive, **estimates}, truth=[truth])
forest.plot(xlabel="proportion of correct answers")
if len(sys.argv) > 1:
    forest.figure_.savefig(sys.argv[1], dpi=150)
