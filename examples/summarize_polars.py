"""
From a polars frame to estimates
================================

``summarize_items`` takes pandas and polars frames, eager or lazy. A lazy frame is
never collected as a whole: sums per group are, and they are small.
"""

import polars as pl
from sklearn.linear_model import Ridge

from skbench import EmpiricalBayes, make_items, summarize_items

data = make_items(n_models=3, n_topics=15, n_items=20, random_state=0)
items = pl.from_pandas(data.items)
features = pl.from_pandas(data.features.reset_index())
print(items.head(3))

# %%
# What one would compute first, and all that is needed, is done by the query engine.

lazy = items.lazy().filter(pl.col("topic") != "topic-00")
summary = summarize_items(lazy, by=["model", "topic"], features=features)
print(summary)

# %%
# From here on everything is small and in pandas; the labels are a MultiIndex.

eb = EmpiricalBayes(Ridge(), random_state=0).fit(**summary.fit_args)
table = eb.estimate().to_frame()
print(table.loc["model-1"].head().round(3).to_string())

# %%
# And back to polars, if that is where the work goes on.

print(pl.from_pandas(table.reset_index()).select("model", "topic", "value", "low", "high").head(3))
