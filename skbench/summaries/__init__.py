"""From item rows to one summary per group."""

from skbench.summaries._bounded import betting_estimate
from skbench.summaries._cluster_groups import ItemClusters, cluster_items
from skbench.summaries._embeddings import embed_groups
from skbench.summaries._item_correlation import item_correlation
from skbench.summaries._items import summarize_items
from skbench.summaries._metrics import group_metrics
from skbench.summaries._whole_benchmark import estimate_of_population

__all__ = [
    "ItemClusters",
    "betting_estimate",
    "cluster_items",
    "embed_groups",
    "estimate_of_population",
    "group_metrics",
    "item_correlation",
    "summarize_items",
]
