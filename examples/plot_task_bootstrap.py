"""
Aggregates, differences and ranks of eight models
=================================================

How precise are overall scores, differences and ranks of eight image models on the 19 tasks of the
Visual Task Adaptation Benchmark? Counts of correct answers are sufficient, because resampling 0/1
answers is a binomial draw.

Source: VTAB leaderboard (github.com/google-research/task_adaptation); counts as Longjohn,
Gopalan and Casleton (2024) made them, whose tables 6 and 8 this follows.
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd

from skbench.comparison import rank_confidence_sets
from skbench.plot import DifferenceDisplay, RankDisplay
from skbench.stats.ranking.multiplicity import holm
from skbench.stats.resampling import two_sided_p_value
from skbench.tasks import (
    TaskBootstrap,
    aggregate,
    differences,
    rank_models,
    rank_probabilities,
)

MODELS = [
    "Sup-Rotation-100%", "Sup-Exemplar-100%", "Sup-100%", "Semi-Exemplar-10%",
    "Semi-Rotation-10%", "Rotation", "Exemplar", "Rel.Pat.Loc",
]  # fmt: skip
# Task, category, number of test images, correct answers of each model.
COUNTS = """
CIFAR-100 natural 10000 5370 5670 5700 5320 4810 2730 1100 1910
Caltech101 natural 6084 5579 5487 5536 5390 5360 4721 4234 4167
DTD natural 1880 1306 1265 1240 1143 1208 966 919 981
Flowers102 natural 6149 5583 5429 5448 5337 5386 4230 4298 4242
Pets natural 3669 3232 3291 3298 3129 3103 1772 1551 1515
SVHN natural 26032 23038 23142 22725 22908 22699 23272 22673 15853
Sun397 natural 21750 7134 7503 7482 6307 5872 2805 2979 2414
Camelyon specialized 32768 27328 27426 26411 27262 26673 26345 25919 25395
EuroSAT specialized 5400 5184 5167 5146 5140 5162 5049 5113 5000
Resisc45 specialized 6300 5166 5071 5090 4869 5008 4372 4239 4120
Retinopathy specialized 42670 30338 30893 31234 30594 31149 30253 30935 30167
Clevr-Count structured 15000 7095 5670 6150 6345 6135 6840 8220 6525
Clevr-Dist structured 15000 8580 8400 8415 8610 8295 9135 9135 8940
DMLab structured 22735 8321 8593 8252 8343 8616 9184 8343 7638
KITTI-Dist structured 711 548 552 501 507 408 539 536 484
dSpr-Loc structured 73728 65101 62152 63184 55222 64512 66060 67682 52125
dSpr-Orient structured 73728 38412 39739 33914 39739 39444 36495 32661 21602
sNORB-Azim structured 12150 6269 6026 5552 6403 6305 6342 5115 5734
sNORB-Elev structured 12150 4094 4920 4301 3924 4337 5382 4896 4276
"""
table = pd.DataFrame([line.split() for line in COUNTS.split("\n")[1:-1]])
table.columns = ["task", "category", "n", *MODELS]
rows = table.melt(["task", "category", "n"], var_name="model", value_name="k")
rows[["n", "k"]] = rows[["n", "k"]].astype(int)

# %%
# The input has one row per model and task. At this level, two intervals overlap about when the
# models do not differ significantly at 5%.

boot = TaskBootstrap(random_state=0).fit(rows, rows["k"] / rows["n"], n=rows["n"])
level = 0.834  # Goldstein and Healy (1995)
parts = aggregate(boot, by="category").interval(level).to_frame()["value"].unstack()
overall = boot.estimate(confidence_level=level).to_frame()
parts["overall"] = overall["value"]
parts["low"], parts["high"] = overall["low"], overall["high"]
parts = parts.loc[MODELS].rename_axis(index=None, columns=None)
print(f"accuracy in points, {100 * level:.1f}% intervals of the overall mean")
print((100 * parts).round(1).to_string())

# %%
# Differences between the best three models: three comparisons, so each interval has level 98.33%.

score = aggregate(boot)
pairs = [(MODELS[0], MODELS[1]), (MODELS[0], MODELS[2]), (MODELS[1], MODELS[2])]
leads = differences(score, pairs)
best = score.values[:, score.labels[0].get_indexer(MODELS[:3])]
gaps = (best[:, [0, 0, 1]] - best[:, [1, 2, 2]]).round(9)
p_values = holm(two_sided_p_value(gaps))
print(f"\ndifferences at {100 * leads.confidence_level:.2f}% each")
for (a, b), low, high, p in zip(leads.labels, leads.low, leads.high, p_values, strict=True):
    print(f"  {a:17} - {b:17}: {100 * low:5.2f} to {100 * high:5.2f} points, Holm p = {p:.4f}")

# %%
# Five ways to rank models. "Rotation" is sixth by mean, but near the top by average rank.

schemes = ["mean", "geometric mean", "average rank", "noisy average rank", "binned average rank"]
ranks = {name: rank_models(boot, name, random_state=0).interval().to_frame() for name in schemes}
print("\nmean rank over the draws")
values = pd.DataFrame({name: frame["value"] for name, frame in ranks.items()})
print(values.loc[MODELS].rename_axis(None).round(1).to_string())

# %%
# With nearly all weight on structured tasks, another model wins. Shades are shares of draws, and
# frames are 95% confidence sets of the ranks.

weights = {"natural": 0.025, "specialized": 0.025, "structured": 0.95}
probabilities = rank_probabilities(rank_models(boot, weights=weights))
sets = rank_confidence_sets(boot.estimate(weights), covariance=boot.covariance(weights))
print(f"\nwith weight 0.95 on structured tasks the best may be: {', '.join(sets.best())}")

figure, (left, right) = plt.subplots(
    1, 2, figsize=(14, 4.6), layout="constrained", width_ratios=[1, 1.1]
)
DifferenceDisplay.from_estimate(leads).plot(left, xlabel="difference of mean accuracy")
RankDisplay.from_probabilities(probabilities, sets=sets).plot(
    right, xlabel="rank with weight 0.95 on structured tasks"
)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=130)
