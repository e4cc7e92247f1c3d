"""Compare models: pairs, ranks, leaderboards and planning.

Names are imported on first use.
"""

from skbench._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
