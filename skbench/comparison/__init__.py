"""Models against models: pairs, ranks, leaderboard, planning.

Names load when first used, as those of the package do.
"""

from skbench._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
