"""Choosing between methods: splitters, scorers and estimates of risk."""

from skbench.selection._folds import LabeledKFold

__all__ = ["LabeledKFold"]
