"""Pictures of estimates. A display computes its numbers first and draws them on request."""

from skbench.plot._forest import ForestDisplay
from skbench.plot._shrinkage import ShrinkageDisplay

__all__ = ["ForestDisplay", "ShrinkageDisplay"]
