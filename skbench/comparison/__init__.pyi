"""The names of this room, for type checkers."""

from skbench.comparison._comparison import ModelComparison as ModelComparison
from skbench.comparison._gate import gate as gate
from skbench.comparison._gate_result import GateResult as GateResult
from skbench.comparison._pass_at_k import PassAtK as PassAtK, pass_at_k as pass_at_k
from skbench.comparison._sequential import (
    SequentialComparison as SequentialComparison,
    SequentialMean as SequentialMean,
)
from skbench.comparison._sequential_base import SequentialResult as SequentialResult
from skbench.comparison._trend_result import Trend as Trend
from skbench.comparison.bradley_terry import BradleyTerry as BradleyTerry
from skbench.comparison.compare import compare_models as compare_models
from skbench.comparison.consensus import KemenyOrder as KemenyOrder, kemeny_order as kemeny_order
from skbench.comparison.extreme_groups import Extremes as Extremes, extremes as extremes
from skbench.comparison.leaderboards import Leaderboard as Leaderboard, leaderboard as leaderboard
from skbench.comparison.plan import (
    minimum_detectable_effect as minimum_detectable_effect,
    required_items as required_items,
)
from skbench.comparison.ranks import (
    RankConfidenceSets as RankConfidenceSets,
    indistinguishable_groups as indistinguishable_groups,
    rank_confidence_sets as rank_confidence_sets,
)
from skbench.comparison.tradeoffs import Tradeoff as Tradeoff, tradeoff as tradeoff
from skbench.comparison.trends import trend as trend
