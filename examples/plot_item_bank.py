"""
A new classifier on ten images per topic, with the answers of earlier ones
==========================================================================

Whoever evaluates a new model often has earlier models' answers to every item. An `ItemBank` learns
from them which items are easy and which go together, and a `UnitLevelModel` needs few answers of
the new model then. Here four classifiers are the past, and the fifth is new.
"""

import sys

import numpy as np

from skbench import (
    DirectEstimator,
    ForestDisplay,
    ItemBank,
    UnitLevelModel,
    choose_items,
    items_needed,
    load_digits_c,
    summarize_items,
)

NEW = "random forest"
items = load_digits_c().items
columns = ["model", "topic", "item"]
bank = ItemBank().fit(items[items["model"] != NEW])
print(bank)

# %%
# Which items to run: spread evenly over predicted easiness within every topic, ten of each. Their
# chances of being chosen come along. They are equal here, so that the plain mean is fair, too.

new = items[items["model"] == NEW]
chosen = choose_items(bank, 500, chances="equal", random_state=0)
asked = chosen.merge(new, on=["topic", "item"])
X, y = asked[[*columns, "inclusion_probability"]], asked["score"]

# %%
# The estimate is about all images of a topic; the truth is known here.

model = UnitLevelModel(bank).fit(X, y)
estimate = model.estimate(by="topic")
truth = new.groupby("topic")["score"].mean().loc[list(estimate.labels)]
size = new.groupby("topic").size()
summary = summarize_items(asked, by="topic")
direct = DirectEstimator().fit(**summary.fit_args).estimate(population=size)
for name, e in {"mean of the items run": direct, "with the bank": estimate}.items():
    error = np.sqrt(np.mean((e.value - truth.to_numpy()) ** 2))
    covered = np.mean((e.low <= truth.to_numpy()) & (truth.to_numpy() <= e.high))
    print(
        f"{name:22s} error {error:.3f}  covered {covered:.2f}  width {(e.high - e.low).mean():.2f}"
    )
whole = model.estimate(by="model")
print(f"all topics: {whole.value[0]:.3f} [{whole.low[0]:.3f}, {whole.high[0]:.3f}]", end="; ")
print(f"truth {new['score'].mean():.3f}")

# %%
# How many items would do for a half width of .02 on the whole, as earlier models tell?

print(items_needed(bank, 0.02, n_models=1, random_state=0).n_items, "items in all")

# %%
# Ten topics of the fifty.

display = ForestDisplay.from_estimates(
    {"items run": direct, "with the bank": estimate},
    labels=list(estimate.labels[::5]),
    truth=truth,
)
display.plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
