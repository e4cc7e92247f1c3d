"""
Bounded scores that pile up at one end
======================================

Win probabilities, F1 and rubric scores lie between 0 and 1 and often sit near one
end. Ten such scores may show next to no spread, because the rare high one is not
among them; a t interval is then tiny, and wrong. This script measures how often
three intervals cover the mean of such scores.
"""

import warnings

import numpy as np
import pandas as pd

from skbench import DirectEstimator, betting_estimate, summarize_items

N_GROUPS = 400
RARE, LOW, HIGH = 0.05, 0.01, 0.9

# %%
# A win probability is near 0.01, or, one time in twenty, near 0.9.

MEAN = (1 - RARE) * LOW + RARE * HIGH

rng = np.random.default_rng(0)


def simulated_items(n_items):
    size = N_GROUPS * n_items
    center = np.where(rng.random(size) < RARE, HIGH, LOW)
    scores = center + rng.uniform(-0.01, 0.01, size)
    return pd.DataFrame({"group": np.repeat(np.arange(N_GROUPS), n_items), "score": scores})


def result(estimate):
    covered = np.mean((estimate.low <= MEAN) & (MEAN <= estimate.high))
    return f"{covered:.3f} at width {np.mean(estimate.high - estimate.low):.3f}"


# %%
# The t interval needs the mean and its standard error, "bounded" the mean alone, and
# betting the scores themselves: it sees their spread and still keeps its level.

for n_items in (10, 40, 200):
    items = simulated_items(n_items)
    summary = summarize_items(items, "group")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that t intervals may fail here is the point
        t = DirectEstimator("t").fit(**summary.fit_args).estimate()
    bounded = DirectEstimator("bounded").fit(**summary.fit_args).estimate()
    betting = betting_estimate(items, "group", random_state=0)
    print(f"{n_items} scores per group, nominal 95%")
    for name, estimate in {"t": t, "bounded": bounded, "betting": betting}.items():
        print(f"  {name:8s} covers {result(estimate)}")
