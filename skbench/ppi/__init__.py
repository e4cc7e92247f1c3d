"""Estimate the mean human label from few human labels and many verdicts of an LLM judge.

Names are imported on first use.
"""

from skbench._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
