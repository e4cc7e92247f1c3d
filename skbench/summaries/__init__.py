"""From item rows to one summary per group."""

from skbench.summaries._items import summarize_items

__all__ = ["summarize_items"]
