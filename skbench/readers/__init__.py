"""Evaluation results in files -> item rows, one per (model, item)."""

from skbench.readers._features import read_features
from skbench.readers._programs import (
    read_euroeval,
    read_every_eval_ever,
    read_helm,
    read_inspect,
    read_lm_eval,
    read_promptfoo,
)
from skbench.readers._public import read_items, read_with_notes
from skbench.readers._rows import ItemRows

__all__ = [
    "ItemRows",
    "read_euroeval",
    "read_every_eval_ever",
    "read_features",
    "read_helm",
    "read_inspect",
    "read_items",
    "read_lm_eval",
    "read_promptfoo",
    "read_with_notes",
]
