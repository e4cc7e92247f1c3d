"""
Estimate the score on a whole benchmark from a part
===================================================

After ten of sixty items per topic, there are two questions. How good is the model on items of this
kind? What would its score be on these sixty items? The second score is partly known, and its
interval shrinks to 0 as more items are run.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from skbench import MixedModel, make_items, sample_items, summarize_items

SIZE = 60
data = make_items(n_models=5, n_topics=40, n_items=SIZE, random_state=0)
by = ["model", "topic"]
score = data.items.groupby(by)["score"].mean()  # on all sixty

# %%
# Draw one sample of items per topic, the same for all models. Squared errors are relative to the
# direct estimate.

print(f"{'':9s} relative error        coverage         width")
print("items run  of the kind  the 60  kind   60   kind   60")
widths = {"items of this kind": [], "these 60 items": []}
runs = [5, 10, 15, 20, 30, 40, 50]
for n in runs:
    g = summarize_items(sample_items(data.items, n, random_state=n), by, features=data.features)
    mixed = MixedModel(random_state=0).fit(**g.fit_args)
    expected, whole = mixed.estimate(), mixed.estimate(population=SIZE)
    truth = score.loc[list(g.labels)].to_numpy()
    direct_error = np.mean((g.z - truth) ** 2)
    errors, covered = [], []
    for name, e in zip(widths, (expected, whole), strict=True):
        errors.append(np.mean((e.value - truth) ** 2) / direct_error)
        covered.append(np.mean((e.low <= truth) & (truth <= e.high)))
        widths[name].append(np.mean(e.high - e.low))
    print(
        f"{n:9d} {errors[0]:12.2f} {errors[1]:7.2f} {covered[0]:5.2f} {covered[1]:4.2f} "
        + " ".join(f"{width[-1]:6.2f}" for width in widths.values())
    )

# %%
# Both intervals become shorter with more items, but only the second one reaches width 0.

figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for (name, width), style in zip(widths.items(), ("o--", "o-"), strict=True):
    ax.plot(runs, width, style, label=f"score on {name}")
ax.set(xlabel=f"items run, of {SIZE} per topic", ylabel="mean width of 95% intervals")
ax.set_xlim(0, SIZE)
ax.set_ylim(0)
ax.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
