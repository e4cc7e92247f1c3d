"""From item rows to one summary per group."""

from skbench.summaries._bounded import betting_estimate
from skbench.summaries._item_correlation import item_correlation
from skbench.summaries._items import summarize_items

__all__ = ["betting_estimate", "item_correlation", "summarize_items"]
