"""Plots of estimates. A display computes its numbers first, and draws them on request."""

from skbench.plot._coverage import CoverageDisplay
from skbench.plot._difference import DifferenceDisplay
from skbench.plot._forest import ForestDisplay
from skbench.plot._rank import RankDisplay
from skbench.plot._risk import RiskDisplay
from skbench.plot._sampling import SamplingDisplay
from skbench.plot._scatter import ScatterDisplay
from skbench.plot._shrinkage import ShrinkageDisplay
from skbench.plot._simplex import SimplexDisplay
from skbench.plot._trend import TrendDisplay

__all__ = [
    "CoverageDisplay",
    "DifferenceDisplay",
    "ForestDisplay",
    "RankDisplay",
    "RiskDisplay",
    "SamplingDisplay",
    "ScatterDisplay",
    "ShrinkageDisplay",
    "SimplexDisplay",
    "TrendDisplay",
]
