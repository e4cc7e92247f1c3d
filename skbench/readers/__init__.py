"""Read evaluation results from files into item rows, one per model and item."""

from skbench.readers._found import ItemRows
from skbench.readers._reading import read_features, read_items, read_with_notes

__all__ = ["ItemRows", "read_features", "read_items", "read_with_notes"]
