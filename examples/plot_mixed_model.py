"""
A mixed model of models and topics
==================================

We use ten images per topic of digits-C, a real robustness benchmark. One fit gives the estimates of
five classifiers on fifty topics, outlying groups, scores over all images of a benchmark, and the
probability that a topic is the worst.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from skbench import DirectEstimator, MixedModel, load_digits_c, sample_items, summarize_items

BY = ["model", "topic"]
data = load_digits_c()
sample = sample_items(data.items, 10, random_state=0)
others = data.items.drop(index=sample.index)
summary = summarize_items(sample, BY, features=data.features)
truth = others.groupby(BY)["score"].mean().loc[summary.labels].to_numpy()

mixed = MixedModel(random_state=0).fit(**summary.fit_args)
estimates = {"direct": DirectEstimator().fit(**summary.fit_args).estimate()}
estimates["mixed"] = mixed.estimate()

# %%
# Error, coverage and width. The accuracies on the 889 other images of each topic are the true
# values.

direct_error = np.mean((summary.z - truth) ** 2)
print("         error / direct  covered  width")
for name, e in estimates.items():
    error = np.mean((e.value - truth) ** 2) / direct_error
    covered = np.mean((e.low <= truth) & (truth <= e.high))
    print(f"{name:8s} {error:14.2f} {covered:8.2f} {np.mean(e.high - e.low):6.2f}")

# %%
# The log odds of each classifier on a topic of average difficulty, and the variances of topics and
# interactions (squared log odds).

print(mixed.model_effects_.round(2).to_string())
print(f"variances: topics {mixed.topic_variance_:.2f}, interaction", end=" ")
print(f"{mixed.interaction_variance_:.2f}, features {mixed.kernel_variances_.round(2)}")

# %%
# **The topic that was shrunk most.** Direct estimates have Wilson intervals (gray). The estimates
# of the mixed model (blue) borrow strength from the other models and topics.

moved = np.abs(estimates["mixed"].value - summary.z)
topics, models = (summary.labels.get_level_values(name) for name in ("topic", "model"))
shown = topics == mixed.topics_[np.argmax([moved[topics == t].mean() for t in mixed.topics_])]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
rows = np.arange(shown.sum())
for (name, e), color, shift in zip(
    estimates.items(), ("0.6", "tab:blue"), (0.1, -0.1), strict=True
):
    left.hlines(rows + shift, e.low[shown], e.high[shown], color=color)
    left.plot(e.value[shown], rows + shift, "o", color=color, label=name)
left.plot(truth[shown], rows, "|", color="black", markersize=14, label="truth")
left.set_yticks(rows, models[shown])
left.set(title=topics[shown][0], xlabel="accuracy", xlim=(0, 1))
left.legend(frameon=False)

# %%
# **Outlying groups.** No group of digits-C is clearly an outlier. We create one: ten incorrect
# answers of a classifier that is nearly always correct, as if its answers could not be parsed.

print("largest probability of being an outlier:", mixed.outlier_probability_.max().round(2))
broken = sample.copy()
group = (broken["model"] == "support vector machine") & (broken["topic"] == "blur-1")
broken.loc[group, "score"] = 0
g = summarize_items(broken, BY, features=data.features)
e = MixedModel(random_state=0).fit(**g.fit_args).estimate()
print(
    e.to_frame()
    .loc[e.is_outlying, ["value", "low", "high", "outlier_probability"]]
    .round(2)
    .to_string()
)

# %%
# **A finite population.** If the benchmark has forty images per topic and ten of them were used,
# the mean over the forty is partly known. Its interval comes from simulated totals.

forty = sample_items(data.items, 40, random_state=1)
g = summarize_items(sample_items(forty, 10, random_state=0), BY, features=data.features)
mean = forty.groupby(BY)["score"].mean().loc[g.labels].to_numpy()
fitted = MixedModel(random_state=0).fit(**g.fit_args)
for name, e in (("such images", fitted.estimate()), ("the forty", fitted.estimate(population=40))):
    error, covered = np.mean((e.value - mean) ** 2), np.mean((e.low <= mean) & (mean <= e.high))
    print(f"{name:12s} squared error {error:.4f}, covered {covered:.2f}")

# %%
# **The worst topic.** The topic with the lowest estimate may not be the worst. Joint draws of all
# groups give the probability that it is, and an interval for the accuracy on the worst topic.

draws = mixed.sample(4000, random_state=0)
own = models == "random forest"
values = draws.values[:, own]
is_worst = np.bincount(np.argmin(values, axis=1), minlength=own.sum()) / len(values)
low, high = np.quantile(values.min(axis=1), [0.025, 0.975])
print(f"random forest, accuracy on its worst topic: {low:.2f} to {high:.2f}")
first = np.argsort(is_worst)[-6:]
right.barh(topics[own][first], is_worst[first], color="tab:blue")
right.set(title="random forest", xlabel="probability of being the worst topic")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
