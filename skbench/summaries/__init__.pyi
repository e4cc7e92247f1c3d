"""The names of this room, for type checkers."""

from skbench.summaries._bounded import betting_estimate as betting_estimate
from skbench.summaries._cluster_groups import (
    ItemClusters as ItemClusters,
    cluster_items as cluster_items,
)
from skbench.summaries._embeddings import embed_groups as embed_groups
from skbench.summaries._item_correlation import item_correlation as item_correlation
from skbench.summaries._items import summarize_items as summarize_items
from skbench.summaries._metrics import group_metrics as group_metrics
from skbench.summaries._whole_benchmark import estimate_of_population as estimate_of_population
