"""
A logistic mixed model
======================

Five models answer the same ten items of each of forty topics. The left panel shows how
far the mixed model pulls each direct estimate; the right one what intervals cover when
the correlation of errors on shared items is used, and when it is forgotten.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from skbench import DirectEstimator, LogisticMixedModel, make_items, summarize_items

ESTIMATORS = {
    "Wilson": DirectEstimator(),
    "shared items used": LogisticMixedModel(),
    "forgotten": LogisticMixedModel(item_correlation=None),
}
REPETITIONS = 20
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#777777"

rows = {name: [] for name in ESTIMATORS}
for seed in range(REPETITIONS):
    data = make_items(n_models=5, n_topics=40, n_items=10, item_std=1.5, random_state=seed)
    summary = summarize_items(data.items, ["model", "topic"])
    truth = data.truth.loc[summary.labels].to_numpy()
    for name, estimator in ESTIMATORS.items():
        estimate = estimator.fit(**summary.fit_args).estimate()
        hit = (estimate.low <= truth) & (truth <= estimate.high)
        error, width = (estimate.value - truth) ** 2, estimate.high - estimate.low
        rows[name].append([error.mean(), hit.mean(), width.mean()])
        if seed == 0 and name == "shared items used":
            first = summary.z, estimate.value

figures = {name: np.mean(values, axis=0) for name, values in rows.items()}
base = figures["Wilson"]
print("                    MSE / direct   coverage   width / Wilson")
for name, (error, hit, width) in figures.items():
    print(f"{name:18s} {error / base[0]:13.2f} {hit:10.3f} {width / base[2]:16.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
left.scatter(*first, s=14, color=BLUE, alpha=0.6, edgecolor="none")
left.set(xlabel="direct estimate", ylabel="mixed model", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
left.set_aspect("equal")
names = list(figures)
for at, name in enumerate(names):
    _, hit, width = figures[name]
    color = ORANGE if name == "forgotten" else BLUE
    right.plot(hit, at, "o", color=color)
    right.annotate(
        f"width {width / base[2]:.2f} ", (hit, at), xytext=(-8, 0), textcoords="offset points",
        ha="right", va="center",
    )  # fmt: skip
right.axvline(0.95, color=GREY, linewidth=0.8, linestyle="--")
right.set(xlabel="average coverage of 95 % intervals", ylim=(-0.6, len(names) - 0.3))
right.set_yticks(range(len(names)), names)
right.set_xlim(min(0.7, *(f[1] - 0.1 for f in figures.values())), 1.0)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
