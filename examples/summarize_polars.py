"""
From a polars frame to estimates
================================

``summarize_items`` accepts pandas and polars frames, eager or lazy. A lazy frame is never
collected as a whole, because polars computes the sums of each group.
"""

import polars as pl
from sklearn.linear_model import Ridge

from skbench import EmpiricalBayes, make_items, summarize_items

data = make_items(n_models=3, n_topics=15, n_items=20, random_state=0)
items = pl.from_pandas(data.items)
features = pl.from_pandas(data.features.reset_index())
print(items.head(3))

# %%
# The query engine filters the rows and computes the sums.

lazy = items.lazy().filter(pl.col("topic") != "topic-00")
summary = summarize_items(lazy, by=["model", "topic"], features=features)
print(summary)

# %%
# The summary and the estimates are small pandas objects with a MultiIndex of labels.

eb = EmpiricalBayes(Ridge(), random_state=0).fit(**summary.fit_args)
table = eb.estimate().to_frame()
print(table.loc["model-1"].head().round(3).to_string())

# %%
# Convert the table back to polars.

print(pl.from_pandas(table.reset_index()).select("model", "topic", "value", "low", "high").head(3))
