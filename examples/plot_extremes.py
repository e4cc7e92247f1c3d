"""
The worst topic of each model
=============================

How low is the score of a model on its worst topic? Five classifiers read damaged digits, ten images
for each kind of damage. The lowest direct estimate is too low, because the topic was also unlucky.
Joint posterior draws correct this. The full data set has the true values.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbench import (
    Draws,
    Estimate,
    ForestDisplay,
    MixedModel,
    extremes,
    load_digits_c,
    summarize_items,
)

everything = load_digits_c().items
severity = everything["topic"].astype(str).str[-1].astype(int)
light = everything[severity <= 3]
by = ["model", "topic"]


def of_topics(scores):
    """Worst, best and gap of a Series by model and topic."""
    found = scores.groupby(level="model").agg(["min", "max"]).set_axis(["worst", "best"], axis=1)
    found["gap"] = found["best"] - found["worst"]
    return found.rename_axis(columns="extreme").stack()


def estimated(items, seed):
    """Extremes of ten images of each kind: by joint draws, direct, and true."""
    size = items.groupby(by, observed=True)["score"].agg(["mean", "size"])
    images = items[["topic", "item"]].drop_duplicates()
    images = images.groupby("topic", observed=True).sample(10, random_state=seed)
    g = summarize_items(items.merge(images), by)
    expected = MixedModel().fit(**g.fit_args).sample(4000, random_state=seed)
    # The true value is the mean of all images of a kind, so draw the unseen images, too.
    n = size["size"].reindex(g.labels).to_numpy()
    unseen = np.random.default_rng(seed).binomial((n - g.n).astype(int), expected.values)
    found = extremes(Draws((g.z * g.n + unseen) / n, g.labels, "posterior"), by="model")
    labels = found.estimate.labels
    direct, truth = (of_topics(x).reindex(labels) for x in (pd.Series(g.z, g.labels), size["mean"]))
    return found, direct, truth


# %%
# One sample of the lower three severities. Which kind of damage is the worst is uncertain, too.

found, direct, truth = estimated(light, seed=0)
print(found)
for name, chance in found.worst_probability.groupby(level="model"):
    print(chance.droplevel("model").nlargest(3).round(2).rename(name))

# %%
# Ten samples: error relative to direct extremes, and coverage of the intervals. At higher
# severities, classifiers guess, so that many accuracies are just above 0.08 and none is below.
# The model does not include such a floor, so its estimate of the worst topic is too low.


def study(items):
    rows = []
    for seed in range(10):
        ours, raw, true = estimated(items, seed)
        table = ours.to_frame()
        squares = {"ours": (table["value"] - true) ** 2, "direct": (raw - true) ** 2}
        rows.append(pd.DataFrame(squares | {"coverage": true.between(table["low"], table["high"])}))
    means = pd.concat(rows).groupby(level="extreme").mean()
    error = np.sqrt(means["ours"] / means["direct"])
    return pd.DataFrame({"relative error": error, "coverage": means["coverage"]}).round(2)


print(f"severities 1 to 3\n{study(light)}")
print(f"severities 1 to 5\n{study(everything)}")

# %%
# A forest plot of the extremes of each model.

labels = found.estimate.labels
nothing = np.full(len(labels), np.nan)
points = Estimate(direct.to_numpy(), nothing, nothing, nothing, 0.95, labels, "direct")
display = ForestDisplay.from_estimates(
    {"direct": points, "joint draws": found.estimate},
    labels=labels[labels.get_level_values("extreme") != "gap"],
    truth=truth,
)
display.plot(xlabel="accuracy")
if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=150)
