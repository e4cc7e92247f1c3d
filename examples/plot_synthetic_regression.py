"""
Synthetic regression: few and many items
========================================

A regression of direct estimates on features has nearly the same error for small and large groups.
The error of direct estimates decreases with the number of items. The regression is therefore better
for groups with few items and worse for groups with many.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from skbench import DirectEstimator, SyntheticRegression, make_items, summarize_items

# %%
# Four models on 60 topics of 5 to 320 items each. One known feature per topic explains much of its
# difficulty.

sizes = np.repeat([5, 10, 20, 40, 80, 160, 320], 9)[:60]
data = make_items(n_models=4, n_topics=60, n_items=sizes, feature_noise=0.4, random_state=1)
summary = summarize_items(data.items, ["model", "topic"], features=data.features)
truth = data.truth.loc[list(summary.labels)].to_numpy()

# %%
# Topic names cannot predict other topics, so the regression uses the feature and the model.

arguments = summary.fit_args | {"X": summary.X[["model", "feature"]]}
estimates = {
    "direct": DirectEstimator().fit(**arguments).estimate(),
    "synthetic": SyntheticRegression(Ridge(), random_state=0).fit(**arguments).estimate(),
}
errors = pd.DataFrame({name: (e.value - truth) ** 2 for name, e in estimates.items()})
by_size = np.sqrt(errors.groupby(summary.n).mean()).rename_axis("items per group")
print("root mean squared error by group size")
print(by_size.round(3).to_string())
winner = by_size.index[by_size["synthetic"] < by_size["direct"]]
print(f"\nThe regression has the smaller error only at sizes {winner.tolist()}.")

# %%

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (name, column), marker in zip(by_size.items(), "os", strict=True):
    ax.plot(by_size.index, column, marker=marker, label=name)
ax.set(xscale="log", xlabel="items per group", ylabel="root mean squared error", ylim=(0, None))
ax.set_xticks(by_size.index, [str(n) for n in by_size.index])
ax.minorticks_off()
ax.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
