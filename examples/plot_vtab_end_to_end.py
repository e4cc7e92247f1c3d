"""
VTAB: from counts to conclusions
================================

A complete analysis of 16 image models on the 19 tasks of the Visual Task Adaptation Benchmark. It
starts from counts of correct answers, and includes bootstrap and hierarchical model, aggregates,
normalization, ranks, rank sets, a consensus ranking and a map of weightings.

Source: VTAB leaderboard (github.com/google-research/task_adaptation); counts as Longjohn,
Gopalan and Casleton (2024) made them.
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd

from skbench.comparison import indistinguishable_groups, kemeny_order, rank_confidence_sets
from skbench.plot import DifferenceDisplay, ForestDisplay, RankDisplay, SimplexDisplay
from skbench.tasks import (
    HierarchicalBetaBinomial,
    TaskBootstrap,
    WeightSimplex,
    aggregate,
    differences,
    normalize_scores,
    rank_models,
    rank_probabilities,
)

MODELS = [
    "Sup-Rotation-100%", "Sup-Exemplar-100%", "Sup-100%", "Semi-Exemplar-10%",
    "Semi-Rotation-10%", "Rotation", "Exemplar", "Rel.Pat.Loc",
    "Jigsaw", "Uncond-BigGAN", "From-Scratch", "Cond-BigGAN",
    "WAE-MMD", "VAE", "WAE-UKL", "WAE-GAN",
]  # fmt: skip
# Task, category, number of test images; then correct answers of each model.
COUNTS = """
CIFAR-100 natural 10000
  5370 5670 5700 5320 4810 2730 1100 1910 1890 1520 1320 2110 1070 989 823 776
Caltech101 natural 6084
  5579 5487 5536 5390 5360 4721 4234 4167 4058 3571 2324 3778 2159 2086 1782 1819
DTD natural 1880
  1306 1265 1240 1143 1208 966 919 981 966 641 387 723 150 193 134 122
Flowers102 natural 6149
  5583 5429 5448 5337 5386 4230 4298 4242 4064 3068 2471 3689 1131 1119 805 737
Pets natural 3669
  3232 3291 3298 3129 3103 1772 1551 1515 1375 686 443 858 340 344 284 273
SVHN natural 26032
  23038 23142 22725 22908 22699 23272 22673 15853 14343 17024 17207 15463 15280 12833 9527 11037
Sun397 natural 21750
  7134 7503 7482 6307 5872 2805 2979 2414 2631 2051 1091 2588 1067 976 722 691
Camelyon specialized 32768
  27328 27426 26411 27262 26673 26345 25919 25395 24903 25001 24772 25296 24182 23789 22872 22609
EuroSAT specialized 5400
  5184 5167 5146 5140 5162 5049 5113 5000 4941 4006 4590 1652 3947 3947 3304 3191
Resisc45 specialized 6300
  5166 5071 5090 4869 5008 4372 4239 4120 4170 2249 2683 3036 1411 1480 1033 907
Retinopathy specialized 42670
  30338 30893 31234 30594 31149 30253 30935 30167 30893 28204 30978 31405 31234 28887 31405 31319
Clevr-Count structured 15000
  7095 5670 6150 6345 6135 6840 8220 6525 6420 6705 5820 1845 5160 5520 4815 4860
Clevr-Dist structured 15000
  8580 8400 8415 8610 8295 9135 9135 8940 8385 8370 8280 3675 8715 9180 8280 8265
DMLab structured 22735
  8321 8593 8252 8343 8616 9184 8343 7638 6934 6524 6047 6388 5979 6070 5092 5683
KITTI-Dist structured 711
  548 552 501 507 408 539 536 484 484 264 303 291 393 305 361 388
dSpr-Loc structured 73728
  65101 62152 63184 55222 64512 66060 67682 52125 51240 56623 57802 40181 64069 66281 53747 51683
dSpr-Orient structured 73728
  38412 39739 33914 39739 39444 36495 32661 21602 25804 35684 28901 40329 19390 16957 16957 13123
sNORB-Azim structured 12150
  6269 6026 5552 6403 6305 6342 5115 5734 5455 4118 3657 4033 3839 4325 3341 3280
sNORB-Elev structured 12150
  4094 4920 4301 3924 4337 5382 4896 4276 4410 4896 4568 3948 3414 4556 3414 3086
"""
lines = COUNTS.split("\n")[1:-1]
table = pd.DataFrame([f"{a} {b}".split() for a, b in zip(lines[::2], lines[1::2], strict=True)])
table.columns = ["task", "category", "n", *MODELS]
rows = table.melt(["task", "category", "n"], var_name="model", value_name="k")
rows[["n", "k"]] = rows[["n", "k"]].astype(int)
accuracy = rows["k"] / rows["n"]

# %%
# **Draws.** The bootstrap simulates scores on other test images. The hierarchical model estimates
# the accuracies, and borrows strength from the other tasks of a model. With at least 711 images per
# task the two agree.

boot = TaskBootstrap(random_state=0).fit(rows, accuracy, n=rows["n"])
bayes = HierarchicalBetaBinomial(random_state=0).fit(rows, accuracy, n=rows["n"])
estimates = {"bootstrap": boot.estimate(), "hierarchical": bayes.estimate()}
largest = max(abs(estimates["bootstrap"].value - estimates["hierarchical"].value))
print(f"bootstrap and hierarchical means differ by at most {100 * largest:.2f} points")
sensitivity = bayes.prior_sensitivity()
shift = sensitivity["shift"].abs().max()
print(f"other priors change them by at most {shift:.2f} standard errors")

# %%
# **Aggregates.** Seven tasks are natural, four specialized and eight structured. Equal weights of
# tasks give the structured ones 8/19, and equal weights of categories 1/3.

parts = aggregate(boot, by="category").interval().to_frame()["value"].unstack()
parts["equal tasks"] = estimates["bootstrap"].to_frame()["value"]
parts["equal categories"] = boot.estimate("category").to_frame()["value"]
print("\naccuracy in points")
print((100 * parts.loc[MODELS]).round(1).rename_axis(index=None, columns=None).to_string())

# %%
# **Normalization.** An accuracy of 0.5 is chance with two classes and excellent with 397. Rescale
# each task from the accuracy of guessing (one over the number of classes) to 1.

GUESSING = dict.fromkeys(rows["task"], 0.0)
GUESSING |= {"CIFAR-100": 1 / 100, "Caltech101": 1 / 102, "DTD": 1 / 47, "Flowers102": 1 / 102}
GUESSING |= {
    "Pets": 1 / 37,
    "SVHN": 1 / 10,
    "Sun397": 1 / 397,
    "Camelyon": 1 / 2,
    "EuroSAT": 1 / 10,
}
GUESSING |= {"Resisc45": 1 / 45, "Retinopathy": 1 / 5, "Clevr-Count": 1 / 8, "Clevr-Dist": 1 / 6}
GUESSING |= {"DMLab": 1 / 6, "KITTI-Dist": 1 / 4, "dSpr-Loc": 1 / 16, "dSpr-Orient": 1 / 16}
GUESSING |= {"sNORB-Azim": 1 / 18, "sNORB-Elev": 1 / 9}
above_guessing = aggregate(normalize_scores(boot.draws_, (GUESSING, 1.0))).interval()

# %%
# **Ranks.** The table has ranks by mean score and by normalized mean score, average ranks over
# tasks, the consensus ranking with the fewest contradictions (Kemeny), and confidence sets of
# ranks. Models that share a letter are not significantly different.

sets = rank_confidence_sets(estimates["bootstrap"])
groups = indistinguishable_groups(sets)
consensus = kemeny_order(rows.assign(z=accuracy).pivot(index="model", columns="task", values="z"))
ranking = pd.DataFrame(
    {
        "mean": rank_models(boot).interval().to_frame()["value"],
        "normalized": above_guessing.to_frame()["value"].rank(ascending=False),
        "average rank": rank_models(boot, "average rank").interval().to_frame()["value"],
        "Kemeny": pd.Series(range(1, 17), index=consensus.order),
        "set": pd.Series(
            [f"{low}-{high}" for low, high in zip(sets.low, sets.high, strict=True)],
            index=sets.labels,
        ),
        "letters": groups.dot(groups.columns),
    }
)
print("\nranks")
print(ranking.loc[MODELS].round(1).rename_axis(None).to_string())
n_pairs = len(MODELS) * (len(MODELS) - 1) // 2 * table.shape[0]
print(f"the consensus contradicts {consensus.cost} of {n_pairs} orders of two models on a task")

# %%
# **Differences** between the best four models with a Bonferroni correction for six pairs, and the
# **map of weightings**: the model that leads by two standard errors, for all weights of categories.

best = MODELS[:4]
pairs = [(a, b) for i, a in enumerate(best) for b in best[i + 1 :]]
leads = differences(aggregate(boot), pairs)
simplex = WeightSimplex(("specialized", "structured", "natural")).fit_draws(boot.draws_)

# %%
# **Conclusions** apply to test images like these, on these 19 tasks.

leader = MODELS[0]
clear = [b for (a, b), low in zip(leads.labels, leads.low, strict=True) if a == leader and low > 0]
share = simplex.fractions_
print(f"\n1. The best model on average is one of: {', '.join(sets.best())}.")
print(f"2. {leader} is significantly better on average than {' and '.join(clear)},")
print(f"   but not than {MODELS[1]}.")
print(f"3. {leader} is the best for {share[leader]:.0%} of the weightings of categories.")
print(f"   Rotation is the best for {share['Rotation']:.0%}, with weights on structured tasks.")
print(f"   The best two models are too close for {share.iloc[-1]:.0%} of the weightings.")
print("4. Nothing is known about other tasks, because only images are resampled.")

figure, axes = plt.subplots(2, 2, figsize=(15, 13), layout="constrained")
ForestDisplay.from_estimates(estimates).plot(axes[0, 0], xlabel="mean accuracy over 19 tasks")
RankDisplay.from_probabilities(rank_probabilities(rank_models(boot)), sets=sets).plot(axes[0, 1])
DifferenceDisplay.from_estimate(leads).plot(axes[1, 0], xlabel="difference of mean accuracy")
SimplexDisplay.from_simplex(simplex).plot(axes[1, 1])
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
