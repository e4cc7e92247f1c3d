"""Integrations with harnesses, test runners, trackers and notebooks.

All packages are optional. Each function imports its package when it is called.
"""

from skbench._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
