"""Models against models: pairs, ranks, leaderboard, planning."""

from skbench.comparison._comparison import ModelComparison
from skbench.comparison._gate import gate
from skbench.comparison._gate_result import GateResult
from skbench.comparison._inspect import InspectStopping
from skbench.comparison._pass_at_k import PassAtK, pass_at_k
from skbench.comparison._sequential import SequentialComparison, SequentialMean
from skbench.comparison._sequential_base import SequentialResult
from skbench.comparison._trend_result import Trend
from skbench.comparison.bradley_terry import BradleyTerry
from skbench.comparison.compare import compare_models
from skbench.comparison.consensus import KemenyOrder, kemeny_order
from skbench.comparison.extremes import Extremes, extremes
from skbench.comparison.leaderboards import Leaderboard, leaderboard
from skbench.comparison.plan import minimum_detectable_effect, required_items
from skbench.comparison.ranks import (
    RankConfidenceSets,
    indistinguishable_groups,
    rank_confidence_sets,
)
from skbench.comparison.tradeoffs import Tradeoff, tradeoff
from skbench.comparison.trend import trend

__all__ = [
    "BradleyTerry",
    "Extremes",
    "GateResult",
    "InspectStopping",
    "KemenyOrder",
    "Leaderboard",
    "ModelComparison",
    "PassAtK",
    "RankConfidenceSets",
    "SequentialComparison",
    "SequentialMean",
    "SequentialResult",
    "Tradeoff",
    "Trend",
    "compare_models",
    "extremes",
    "gate",
    "indistinguishable_groups",
    "kemeny_order",
    "leaderboard",
    "minimum_detectable_effect",
    "pass_at_k",
    "rank_confidence_sets",
    "required_items",
    "tradeoff",
    "trend",
]
