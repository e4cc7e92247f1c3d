"""
A part of a benchmark, to tell the score on all of it
=====================================================

Who runs ten of sixty items per topic may ask two things: how good is the model at such items,
and what would its score be on these sixty? The second answer is partly known, and gets sharper
than the first with every item that is run, until nothing is left to guess.
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
# One draw of the items of every topic, the same for all models. Squared errors are relative to
# the mean of the items that were run.

print(f"{'':9s} error of              covered          width")
print("items run  such items  the 60  such items  60  such items  60")
widths = {"such items": [], "these 60": []}
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
        f"{n:9d} {errors[0]:11.2f} {errors[1]:7.2f} {covered[0]:11.2f} {covered[1]:4.2f} "
        f"{widths['such items'][-1]:10.2f} {widths['these 60'][-1]:4.2f}"
    )

# %%
# Both intervals shrink as more items are run, but only one of them to nothing.

figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for (name, width), style in zip(widths.items(), ("o--", "o-"), strict=True):
    ax.plot(runs, width, style, label=f"performance on {name}")
ax.set(xlabel=f"items run, of {SIZE} per topic", ylabel="mean width of 95% intervals")
ax.set_xlim(0, SIZE)
ax.set_ylim(0)
ax.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
