"""
Mean rank score and repeated runs
=================================

Multilingual leaderboards evaluate each model on ten bootstrap samples of each data set. They
publish the mean with 1.96 standard errors, and combine data sets by the mean rank score. This
script computes both from simulated runs, and the coverage of the true values.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbench.tasks import MeanRankScore, RepeatedRuns

N_RUNS, N_ITEMS = 10, 600
TRUTH = pd.Series(
    {"alpha": 0.72, "alpha-twin": 0.72, "beta": 0.70, "gamma": 0.66, "delta": 0.60, "eps": 0.45}
)
DATASETS = pd.DataFrame(
    [
        ("sentiment-da", "sentiment", "Danish"),
        ("quiz-da", "knowledge", "Danish"),
        ("proverbs-da", "knowledge", "Danish"),
        ("sentiment-sv", "sentiment", "Swedish"),
        ("quiz-sv", "knowledge", "Swedish"),
    ],
    columns=["dataset", "task", "language"],
)

# %%
# Each data set is one sample of items. The ten runs resample it, so they share its sampling error.


def simulated_runs(rng):
    labels = DATASETS.merge(TRUTH.rename("truth").rename_axis("model").reset_index(), how="cross")
    on_the_items = rng.binomial(N_ITEMS, labels["truth"]) / N_ITEMS
    return labels, 100 * rng.binomial(N_ITEMS, on_the_items, (N_RUNS, len(labels))).T / N_ITEMS


labels, raw = simulated_runs(np.random.default_rng(3))
scores = pd.DataFrame(
    {variant: MeanRankScore(variant).fit(labels, raw).scores_ for variant in ("welch", "pooled")}
)
print("mean rank score (1 is the best possible)")
print(scores.sort_values("welch").round(3).to_string())

# %%
# The models alpha and alpha-twin are equal. How often does the Welch test distinguish them?

rng = np.random.default_rng(1)
runs = {"bootstrap": RepeatedRuns(), "sem": RepeatedRuns(interval="sem")}
distinguished, covered = [], {name: [] for name in runs}
for _ in range(100):
    labels, raw = simulated_runs(rng)
    on_datasets = MeanRankScore().fit(labels, raw).dataset_scores_
    distinguished.append(on_datasets.loc["alpha"] != on_datasets.loc["alpha-twin"])
    for interval, hits in covered.items():
        estimate = runs[interval].fit(labels[["model", "dataset"]], raw).estimate()
        truth = 100 * labels["truth"].to_numpy()
        hits.append((estimate.low <= truth) & (truth <= estimate.high))
print(f"\nequal models get different rank scores on {np.mean(distinguished):.0%} of the data sets")
for interval, hits in covered.items():
    print(f"95% intervals, {interval:9}: coverage {np.mean(hits):.0%}")

# %%
# Intervals and true values of the last simulation, on one data set.

here = labels["dataset"] == "quiz-da"
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for offset, interval in ((0.12, "bootstrap"), (-0.12, "sem")):
    e = runs[interval].fit(labels.loc[here, ["model"]], raw[here]).estimate()
    place = -np.arange(len(e)) + offset
    ends = [e.value - e.low, e.high - e.value]
    axes.errorbar(e.value, place, xerr=ends, fmt="o", ms=4, capsize=2, label=interval)
axes.plot(100 * labels.loc[here, "truth"], -np.arange(len(e)), "k|", ms=16, label="true value")
axes.set_yticks(-np.arange(len(e)), e.labels)
axes.set_xlabel("score on quiz-da (95% intervals from ten runs)")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
