"""Many models on many tasks: intervals, ranks and differences."""

from skbench.benchmark._comparison import ModelComparison
from skbench.benchmark._leaderboard import Leaderboard, leaderboard
from skbench.benchmark.aggregate import (
    aggregate,
    category_means,
    normalize_scores,
    rank_models,
    rank_probabilities,
)
from skbench.benchmark.bootstrap import TaskBootstrap
from skbench.benchmark.compare import compare_models
from skbench.benchmark.confusion import ConfusionPosterior
from skbench.benchmark.consensus import KemenyOrder, kemeny_order
from skbench.benchmark.hierarchical import HierarchicalBetaBinomial
from skbench.benchmark.pairwise import difference_p_values, differences
from skbench.benchmark.plan import minimum_detectable_effect, required_items
from skbench.benchmark.rank_score import MeanRankScore
from skbench.benchmark.ranks import (
    RankConfidenceSets,
    indistinguishable_groups,
    rank_confidence_sets,
)
from skbench.benchmark.repeated_runs import RepeatedRuns
from skbench.benchmark.weights import WeightSimplex

__all__ = [
    "ConfusionPosterior",
    "HierarchicalBetaBinomial",
    "KemenyOrder",
    "Leaderboard",
    "MeanRankScore",
    "ModelComparison",
    "RankConfidenceSets",
    "RepeatedRuns",
    "TaskBootstrap",
    "WeightSimplex",
    "aggregate",
    "category_means",
    "compare_models",
    "difference_p_values",
    "differences",
    "indistinguishable_groups",
    "kemeny_order",
    "leaderboard",
    "minimum_detectable_effect",
    "normalize_scores",
    "rank_confidence_sets",
    "rank_models",
    "rank_probabilities",
    "required_items",
]
