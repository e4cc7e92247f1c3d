"""
One broken group among many
===========================

The answers of one model on one topic cannot be parsed. The mixed model lists this group as an
outlier. Its estimate stays near its own items, and the interval covers the true value.
"""

import numpy as np
import pandas as pd

from skbench import DirectEstimator, MixedModel, summarize_items

rng = np.random.default_rng(0)
rows = pd.MultiIndex.from_product([range(4), range(20), range(20)])
items = rows.to_frame(index=False, name=["model", "topic", "item"])
accuracy = 0.8 + 0.03 * items["model"] + 0.005 * (items["topic"] % 4)
broken = (items["model"] == 2) & (items["topic"] == 7)
items["score"] = (rng.random(len(items)) < accuracy.mask(broken, 0.1)).astype(int)
items = items.assign(model="m" + items["model"].astype(str), topic="t" + items["topic"].astype(str))

g = summarize_items(items, by=["model", "topic"])
mixed = MixedModel().fit(**g.fit_args)
estimate = mixed.estimate()
direct = DirectEstimator().fit(**g.fit_args).estimate()

listed = estimate.to_frame()[estimate.is_outlying]
print(listed[["value", "low", "high", "outlier_probability"]].round(3))
print(direct.to_frame().loc[listed.index, ["value", "low", "high"]].round(3))
print("share of outlying groups:", round(mixed.outlier_share_, 3))
print("largest probability of an outlying topic:", mixed.topic_outlier_probability_.max().round(3))
