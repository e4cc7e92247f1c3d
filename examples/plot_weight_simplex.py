"""
Best model for every weighting of categories
============================================

The mean over tasks is one choice of weights. This plot shows all weights of the three categories of
the Visual Task Adaptation Benchmark for 16 models. Colors mark the best model, if it leads by more
than two standard errors. Gray marks weights for which the two best models are too close.

Source: means over the tasks of each category and their binomial standard errors, in
points, from the counts that Longjohn, Gopalan and Casleton (2024) use.
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd

from skbench.plot import SimplexDisplay
from skbench.tasks import WeightSimplex

CATEGORIES = ["natural", "specialized", "structured"]
# Model, its mean accuracy in each category, their standard errors.
SCORES = """
Sup-Rotation-100% 73.579 83.124 55.483 0.2052 0.1573 0.2289
Sup-Exemplar-100% 73.651 83.069 54.690 0.2082 0.1609 0.2278
Sup-100% 73.448 82.472 52.082 0.2086 0.1626 0.2436
Semi-Exemplar-10% 70.238 81.842 52.687 0.2188 0.1684 0.2421
Semi-Rotation-10% 69.545 82.371 52.509 0.2171 0.1638 0.2596
Rotation 53.666 78.549 57.287 0.2446 0.1847 0.2327
Exemplar 48.920 78.392 55.785 0.2424 0.1837 0.2331
Rel.Pat.Loc 46.007 76.547 48.394 0.2467 0.1917 0.2477
Jigsaw 43.964 76.522 47.870 0.2472 0.1939 0.2478
Uncond-BigGAN 35.915 63.070 45.714 0.2334 0.2273 0.2544
From-Scratch 27.908 68.946 43.563 0.2100 0.2132 0.2583
Cond-BigGAN 39.476 57.395 35.089 0.2404 0.2357 0.2536
WAE-MMD 20.775 60.621 43.371 0.1720 0.2158 0.2580
VAE 19.400 59.220 44.199 0.1772 0.2182 0.2581
WAE-UKL 15.057 55.245 38.996 0.1598 0.2190 0.2587
WAE-GAN 15.593 53.971 38.420 0.1569 0.2171 0.2576
"""
table = pd.DataFrame([line.split() for line in SCORES.split("\n")[1:-1]]).set_index(0)
table = table.astype(float) / 100
rows = pd.MultiIndex.from_product([table.index, CATEGORIES], names=["model", "category"])
rows = rows.to_frame(index=False)
rows["task"] = rows["category"]  # one task per category
score = table.iloc[:, :3].to_numpy().ravel()
sigma2 = table.iloc[:, 3:].to_numpy().ravel() ** 2

# %%
# All models classified the same images. If the same images are hard for them, their scores are
# correlated, and differences are more precise. Without single answers the correlation is unknown,
# and 0 is conservative.

corners = ("specialized", "structured", "natural")
simplexes = {
    rho: WeightSimplex(corners, rho=rho).fit(rows, score, sigma2=sigma2) for rho in (0.0, 0.5)
}
for rho, simplex in simplexes.items():
    shares = ", ".join(f"{name} {share:.1%}" for name, share in simplex.fractions_.items())
    print(f"correlation {rho}: {shares}")

# %%
# At equal weights (the dot) the two best models are too close, unless scores are correlated.
# "Rotation" is sixth at equal weights, but wins with nearly all weight on structured tasks.

middle = simplexes[0.0]
winners = pd.Series(middle.winners())
structured = pd.Series(middle.weights_[:, 1])
for name in middle.fractions_.index[:-1]:
    own = structured[winners == name]
    print(f"{name} wins with a weight of structured tasks from {own.min():.2f} to {own.max():.2f}")

figure, axes = plt.subplots(1, 2, figsize=(12, 6.6), layout="constrained")
for ax, simplex in zip(axes, simplexes.values(), strict=True):
    SimplexDisplay.from_simplex(simplex).plot(ax)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=130)
