"""
Bounded scores near one end of the range
========================================

Win probabilities, F1 and rubric scores lie between 0 and 1, often near one end. Ten such scores may
hardly vary if they miss the rare high score. The t interval is then too short and misses the mean.
This script measures how often three intervals cover the mean.
"""

import warnings

import numpy as np
import pandas as pd

from skbench import DirectEstimator, betting_estimate, summarize_items

N_GROUPS = 400
RARE, LOW, HIGH = 0.05, 0.01, 0.9

# %%
# One win probability in twenty is near 0.9; the others are near 0.01.

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
# The t interval needs the mean and its standard error, and "bounded" needs only the mean. The
# betting interval needs the scores, uses their variance, and still keeps the confidence level.

for n_items in (10, 40, 200):
    items = simulated_items(n_items)
    summary = summarize_items(items, "group")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skbench warns that t intervals may fail here
        t = DirectEstimator("t").fit(**summary.fit_args).estimate()
    bounded = DirectEstimator("bounded").fit(**summary.fit_args).estimate()
    betting = betting_estimate(items, "group", random_state=0)
    print(f"{n_items} scores per group, nominal 95%")
    for name, estimate in {"t": t, "bounded": bounded, "betting": betting}.items():
        print(f"  {name:8s} covers {result(estimate)}")
