"""
Small test sets, many tasks: the hierarchical model
===================================================

The 19 tasks of the Visual Task Adaptation Benchmark have 711 to 73,728 test images. Here these
accuracies of eight models are the true values, and 10 images per task are simulated. The
hierarchical model assumes that the accuracies of one model follow a beta distribution, and
estimates this distribution from all of its tasks. Its gain over direct estimates depends on the
prior.

Source: VTAB leaderboard (github.com/google-research/task_adaptation), percent correct. The model is
that of Longjohn, Gopalan and Casleton (2024).
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import beta, expon

from skbench.plot import ForestDisplay
from skbench.stats.intervals.binomial import wilson_interval
from skbench.tasks import HierarchicalBetaBinomial

MODELS = [
    "Sup-Rotation-100%", "Sup-100%", "Semi-Rotation-10%", "Rotation",
    "Exemplar", "Jigsaw", "Cond-BigGAN", "VAE",
]  # fmt: skip
ACCURACY = """
CIFAR-100 53.7 57 48.1 27.3 11 18.9 21.1 9.9
Caltech101 91.7 91 88.1 77.6 69.6 66.7 62.1 34.3
Camelyon 83.4 80.6 81.4 80.4 79.1 76 77.2 72.6
Clevr-Count 47.3 41 40.9 45.6 54.8 42.8 12.3 36.8
Clevr-Dist 57.2 56.1 55.3 60.9 60.9 55.9 24.5 61.2
DMLab 36.6 36.3 37.9 40.4 36.7 30.5 28.1 26.7
DTD 69.5 66 64.3 51.4 48.9 51.4 38.5 10.3
EuroSAT 96 95.3 95.6 93.5 94.7 91.5 30.6 73.1
Flowers102 90.8 88.6 87.6 68.8 69.9 66.1 60 18.2
KITTI-Dist 77.1 70.5 57.4 75.8 75.4 68.1 40.9 42.9
Pets 88.1 89.9 84.6 48.3 42.3 37.5 23.4 9.4
Resisc45 82 80.8 79.5 69.4 67.3 66.2 48.2 23.5
Retinopathy 71.1 73.2 73 70.9 72.5 72.4 73.6 67.7
SVHN 88.5 87.3 87.2 89.4 87.1 55.1 59.4 49.3
Sun397 32.8 34.4 27 12.9 13.7 12.1 11.9 4.5
dSpr-Loc 88.3 85.7 87.5 89.6 91.8 69.5 54.5 89.9
dSpr-Orient 52.1 46 53.5 49.5 44.3 35 54.7 23
sNORB-Azim 51.6 45.7 51.9 52.2 42.1 44.9 33.2 35.6
sNORB-Elev 33.7 35.4 35.7 44.3 40.3 36.3 32.5 37.5
"""
N_ITEMS = 10

table = pd.DataFrame(
    [line.split() for line in ACCURACY.split("\n")[1:-1]], columns=["task", *MODELS]
)
rows = table.melt("task", var_name="model", value_name="truth")
rows["truth"] = rows["truth"].astype(float) / 100
rng = np.random.default_rng(3)
rows["z"] = rng.binomial(N_ITEMS, rows["truth"]) / N_ITEMS

# %%
# The input has one row per model and task, with accuracies and sizes. The estimated prior counts of
# a model act like ``a`` additional correct and ``b`` additional incorrect answers per task.

bayes = HierarchicalBetaBinomial(random_state=0).fit(rows, rows["z"], n=N_ITEMS)
print(bayes.prior_counts_.round(1).to_string())

# %%
# The prior of the paper, exponential with mean 10,000 for both counts, assumes similar tasks. Ten
# items per task cannot contradict it. All tasks of a model get nearly the same accuracy, and the
# errors are larger than those of direct estimates. skbench warns.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    published = HierarchicalBetaBinomial(prior="exponential", random_state=0)
    published = published.fit(rows, rows["z"], n=N_ITEMS)
print(f"\n{caught[0].message}")

cells = rows.pivot(index="model", columns="task").loc[MODELS]
truth, z = (cells[name][bayes.tasks_].to_numpy() for name in ("truth", "z"))
print(f"\nroot mean square error over {truth.size} models and tasks, in points:")
for name, value in [
    ("direct", z),
    ("hierarchical, uniform prior", bayes.posterior_mean_),
    ("hierarchical, exponential prior", published.posterior_mean_),
]:
    print(f"  {name:32s} {100 * np.sqrt(np.mean((value - truth) ** 2)):5.1f}")

# %%
# The mean over tasks, as an accuracy and as the score on new test sets of the same size. Use the
# second, with wider intervals, to predict whether another evaluation reproduces a score.

estimate = bayes.estimate()
new_run = HierarchicalBetaBinomial(kind="predictive", random_state=0)
new_run = new_run.fit(rows, rows["z"], n=N_ITEMS).estimate()
wider = np.mean(new_run.high - new_run.low) / np.mean(estimate.high - estimate.low)
print(f"\nintervals for new test sets are {wider:.2f} times as wide")
print(estimate.to_frame().drop(columns=["method", "guarantee"]).round(3).to_string())

# %%
# The result depends on the prior, so vary it. The mean over tasks changes little, unless the prior
# is informative and wrong: the last prior assumes an accuracy of 90% for every model.

report = bayes.prior_sensitivity(
    {
        "exponential": "exponential",
        "tasks differ": (expon(scale=1), expon(scale=1)),
        "near 90%": (beta(2, 2, 85, 10), beta(2, 2, 5, 10)),
    }
)
print()
print(report.xs("VAE", level="model").round(3).to_string())

# %%

figure, axes = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
ForestDisplay.from_estimates(
    {"hierarchical, new test sets": new_run, "hierarchical": estimate},
    truth=rows.groupby("model", sort=False)["truth"].mean(),
).plot(ax=axes[0])
axes[0].set_xlabel("mean accuracy over tasks")

model = "Rotation"
i = bayes.models_.get_loc(model)
drawn = bayes.draws_.values[:, i]
low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
wilson = np.array(wilson_interval(N_ITEMS * z[i], N_ITEMS))
order = np.argsort(truth[i])
position = np.arange(len(order))
mean = bayes.posterior_mean_[i]
for ends, value, shift, color, label in [
    (wilson, z[i], -0.18, "0.6", "direct (Wilson)"),
    (np.array([low, high]), mean, 0.18, "#0072b2", "hierarchical"),
]:
    axes[1].errorbar(
        value[order], position + shift, xerr=np.abs(ends - value)[:, order], fmt="o",
        markersize=4, color=color, label=label,
    )  # fmt: skip
axes[1].plot(truth[i][order], position, "|", markersize=14, color="#d55e00", label="true value")
a, b = bayes.prior_counts_.loc[model]
axes[1].axvline(a / (a + b), linestyle=":", color="0.4", label="mean of the beta distribution")
axes[1].plot(
    published.posterior_mean_[i][order], position, "x", color="0.3", markersize=5,
    label="exponential prior",
)  # fmt: skip
axes[1].set_yticks(position, bayes.tasks_[order])
axes[1].set(xlabel=f"accuracy of {model}, {N_ITEMS} images per task", xlim=(0, 1))
axes[1].legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
