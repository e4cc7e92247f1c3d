"""Evaluation results in files -> item rows, one per (model, item)."""

from skbench.readers._features import read_features
from skbench.readers._tabular import read_items

__all__ = ["read_features", "read_items"]
