"""
A new classifier on ten images per topic, with the answers of earlier ones
==========================================================================

Answers of earlier models show which items are easy and which are correlated. With such an
`ItemBank`, a `UnitLevelModel` needs few answers of a new model. Here the bank contains four
classifiers, and the fifth is new.
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
# Choose ten items per topic, spread over predicted easiness. The result contains their inclusion
# probabilities. They are equal here, so that the sample mean is unbiased too.

new = items[items["model"] == NEW]
chosen = choose_items(bank, 500, chances="equal", random_state=0)
asked = chosen.merge(new, on=["topic", "item"])
X, y = asked[[*columns, "inclusion_probability"]], asked["score"]

# %%
# Estimate the accuracy on all images of a topic. The true accuracy is known here.

model = UnitLevelModel(bank).fit(X, y)
estimate = model.estimate(by="topic")
truth = new.groupby("topic")["score"].mean().loc[list(estimate.labels)]
size = new.groupby("topic").size()
summary = summarize_items(asked, by="topic")
direct = DirectEstimator().fit(**summary.fit_args).estimate(population=size)
for name, e in {"direct estimate": direct, "with the bank": estimate}.items():
    error = np.sqrt(np.mean((e.value - truth.to_numpy()) ** 2))
    covered = np.mean((e.low <= truth.to_numpy()) & (truth.to_numpy() <= e.high))
    print(
        f"{name:16s} error {error:.3f}  coverage {covered:.2f}  width {(e.high - e.low).mean():.2f}"
    )
whole = model.estimate(by="model")
print(f"all topics: {whole.value[0]:.3f} [{whole.low[0]:.3f}, {whole.high[0]:.3f}]", end="; ")
print(f"true accuracy {new['score'].mean():.3f}")

# %%
# Number of items needed for a half width of 0.02 over all topics, judging by earlier models:

print(items_needed(bank, 0.02, n_models=1, random_state=0).n_items, "items in all")

# %%
# Plot ten of the fifty topics.

display = ForestDisplay.from_estimates(
    {"direct": direct, "with the bank": estimate},
    labels=list(estimate.labels[::5]),
    truth=truth,
)
display.plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
